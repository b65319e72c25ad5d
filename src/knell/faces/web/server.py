"""Serves until TERM or Ctrl-C: binds the port, says the address, ends open streams at the end."""

import asyncio
import contextlib
import os
import signal
import socket
import tempfile
import webbrowser
from collections.abc import Callable, Generator
from pathlib import Path

import uvicorn

from knell.api import Knell
from knell.core.authority import PROVE
from knell.core.codes import Code
from knell.core.environment import without_caller
from knell.core.errors import Refused
from knell.faces.http_server import HttpServer, LimitedConnection, bind
from knell.faces.web.app import WebApp
from knell.faces.web.guard import WebGuard
from knell.faces.web.options import WebOptions, check, names
from knell.faces.web.sessions import WebSessions
from knell.faces.work import Work

SHUTDOWN_SECONDS = 1  # for open requests when it stops; deeds that have begun may take longer


def serve(options: WebOptions, ready: Callable[[str], None]) -> None:
    """`ready` gets the address with its one-time token, once the server answers there."""
    check(options)
    check_outside(options)
    with bind(options.host, options.port) as listening, Work() as work:
        asyncio.run(_serve(options, work, listening, ready))


def check_outside(options: WebOptions) -> None:
    """The page acts with the authority of the operator: no agent may start it. A broken store or
    setting is said here as well, before anything is served."""
    with Knell(env=options.env) as knell:
        caller = knell.caller()
        if caller.runs:
            raise Refused(
                f"knell web cannot be a part of '{caller.agent}': it acts for the operator",
                "the operator starts it, outside of every agent",
                code=Code.INSIDE_AN_AGENT,
            )
        if caller.doubt and not options.readonly:  # the agent may end, and the server would go on
            why = f"it is not proven who starts it: {caller.doubt}"
            raise Refused(why, PROVE, code=Code.CALLER_UNPROVEN)
        knell.list()
        if options.fleet:
            knell.fleet.check_operator()


async def _serve(
    options: WebOptions, work: Work, listening: socket.socket, ready: Callable[[str], None]
) -> None:
    port = int(listening.getsockname()[1])
    known, sessions = names(options, port), WebSessions(port)
    env = without_caller(options.env)
    app = WebApp(options, known, sessions, lambda: Knell(env=env), work)
    guard = WebGuard(app.asgi, known, sessions, readonly=options.readonly)
    config = uvicorn.Config(
        guard, log_level="critical", lifespan="off", timeout_graceful_shutdown=SHUTDOWN_SECONDS,
        http=LimitedConnection, ws="none", server_header=False, proxy_headers=False,
        ssl_certfile=options.tls_cert or None, ssl_keyfile=options.tls_key or None,
    )  # fmt: skip
    server = HttpServer(config)
    app.streams.start()

    def leave() -> None:
        app.end()
        server.leave()

    loop = asyncio.get_running_loop()
    for number in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP):
        loop.add_signal_handler(number, leave)
    app.begin()
    listening.listen()
    ready(f"{known.address}/#{sessions.new_link()}")
    try:
        await server.serve(sockets=[listening])
    finally:
        app.end()
        await asyncio.to_thread(app.feed.join)


@contextlib.contextmanager
def opened_in_browser() -> Generator[Callable[[str], None]]:
    """A function that opens an address in the browser, and leaves nothing behind.

    The address goes through a file that only this user can read: other users see the arguments of
    every process, and would see the token."""
    with tempfile.TemporaryDirectory(prefix="knell-web-") as folder:
        path = Path(folder, "open.html")

        def show(address: str) -> None:
            descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
            with os.fdopen(descriptor, "w") as file:
                file.write(f'<meta http-equiv="refresh" content="0; url={address}">')
            webbrowser.open(path.as_uri())

        yield show
