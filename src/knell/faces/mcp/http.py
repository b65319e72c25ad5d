"""One server for all agents: streamable HTTP on loopback, each agent known by its run's token."""

import asyncio
import signal
import socket
import threading
import time
from collections import Counter
from collections.abc import Callable
from typing import Any

import uvicorn
from mcp.server.streamable_http_manager import StreamableHTTPASGIApp, StreamableHTTPSessionManager
from mcp.server.transport_security import TransportSecuritySettings
from starlette.responses import JSONResponse

from knell.core.authority import Caller
from knell.core.codes import Code
from knell.core.errors import Refused
from knell.faces.http_server import HttpServer, LimitedConnection, bearer, bind, header_texts
from knell.faces.mcp import callers
from knell.faces.mcp.callers import ServerOptions, ToolCaller
from knell.faces.mcp.server import Context, ToolServer
from knell.faces.work import Work

HOST = "127.0.0.1"
PATH = "/mcp"
LARGEST = 1024 * 1024  # bytes of one request
MOST_OPEN = 32  # requests of one agent at a time
SHUTDOWN_SECONDS = 2  # for open requests when it stops; calls that end agents may take longer
MOST_NOTED = 20  # refusals a minute in the audit trail; the others are counted
MINUTE = 60.0
UNPROVEN = "the token of a live run is needed: Authorization: Bearer"
CALLER = "knell.caller"  # the key under which the guard puts the caller

Scope = dict[str, Any]


def serve(options: ServerOptions, port: int, ready: Callable[[str], None]) -> None:
    """Serves until TERM or Ctrl-C; calls that have begun are finished. `ready` gets the address."""
    check_outside(options)
    with bind(HOST, port) as listening, Work() as work:
        asyncio.run(_serve(options, work, listening, ready))


def check_outside(options: ServerOptions) -> None:
    """Refuses to start inside an agent: the server would end with that agent and act as it."""
    with callers.knell_of(options) as knell:
        caller = knell.caller()
        if caller.runs:
            why = f"the server for all agents cannot be a part of '{caller.agent}'"
            knell.server.note_refusal(why, "mcp")
            raise Refused(
                why, "the operator starts it, outside of every agent", code=Code.INSIDE_AN_AGENT
            )


async def _serve(
    options: ServerOptions, work: Work, listening: socket.socket, ready: Callable[[str], None]
) -> None:
    port = int(listening.getsockname()[1])
    tools = ToolServer(options, work, caller_of)
    manager = StreamableHTTPSessionManager(
        app=tools.server(),
        stateless=True,  # no session to steal, and none to lose when the server restarts
        security_settings=allowed(port),
        max_request_body_size=LARGEST,
    )
    guard = RequestGuard(options, work, StreamableHTTPASGIApp(manager), allowed(port))
    config = uvicorn.Config(
        guard, log_level="error", lifespan="off", timeout_graceful_shutdown=SHUTDOWN_SECONDS,
        http=LimitedConnection, ws="none",
    )  # fmt: skip
    server = HttpServer(config)
    loop = asyncio.get_running_loop()
    for number in (signal.SIGTERM, signal.SIGINT):
        loop.add_signal_handler(number, server.leave)
    async with manager.run():
        listening.listen()
        ready(f"http://{HOST}:{port}{PATH}")
        await server.serve(sockets=[listening])
    await work.run(lambda _: guard.trail.tell_rest())


def allowed(port: int) -> TransportSecuritySettings:
    """Requests by a page of another site in a browser name another host, or that site as origin."""
    names = [f"{HOST}:{port}", f"localhost:{port}"]
    return TransportSecuritySettings(
        allowed_hosts=names, allowed_origins=[f"http://{name}" for name in names]
    )


def caller_of(ctx: Context) -> ToolCaller:
    """The caller that the guard has let in."""
    request: Any = ctx.request
    found = request.scope.get(CALLER) if request is not None else None
    return found if isinstance(found, ToolCaller) else ToolCaller(callers.STRANGER)


class RefusalTrail:
    """Writes into the audit trail that a stranger was refused; in a flood, how often."""

    def __init__(self, options: ServerOptions) -> None:
        self._options = options
        self._lock = threading.Lock()
        self._minute = -MINUTE
        self._noted = 0
        self._left_out = 0

    def note(self, why: str) -> None:
        now = time.monotonic()
        with self._lock:
            if now - self._minute >= MINUTE:
                self._minute, self._noted = now, 0
            self._noted += 1
            if self._noted > MOST_NOTED:
                self._left_out += 1
                return
            more, self._left_out = self._left_out, 0
        self._write(f"{why}; {more} refusals before it were not noted" if more else why)

    def tell_rest(self) -> None:
        """Writes down how many refusals were left out since the last note."""
        if self._left_out:
            self._write(f"{self._left_out} refusals were not noted")
            self._left_out = 0

    def _write(self, why: str) -> None:
        with callers.knell_for(self._options, callers.STRANGER) as knell:
            knell.server.note_refusal(why, "mcp")


class RequestGuard:
    """Refuses a request, before its body is read, unless it names this host, comes from no other
    site's page, and bears the token of a live run."""

    def __init__(
        self, options: ServerOptions, work: Work, inside: Any, allowed: TransportSecuritySettings
    ) -> None:
        self._options = options
        self._work = work
        self._inside = inside
        self._allowed = allowed
        self._open: Counter[str] = Counter()  # requests of each run
        self.trail = RefusalTrail(options)

    async def __call__(self, scope: Scope, receive: Any, send: Any) -> None:
        if scope["type"] != "http":
            return
        headers = header_texts(scope)
        trouble, holder = self._strange(scope, headers), None
        if not trouble:
            token = bearer(headers)
            holder = await self._work.run(lambda _: self._holder(token))
        if holder is None:
            refusal = trouble or error_answer(
                401, Code.CALLER_UNPROVEN, UNPROVEN, {"www-authenticate": "Bearer"}
            )
            await refusal(scope, receive, send)
            return
        if self._open[holder.run] >= MOST_OPEN:
            refusal = error_answer(
                429, Code.TOO_MANY_REQUESTS, f"{MOST_OPEN} requests of '{holder.agent}' are open"
            )
            await refusal(scope, receive, send)
            return
        self._open[holder.run] += 1
        try:
            await self._inside({**scope, CALLER: ToolCaller(holder)}, receive, send)
        finally:
            self._open[holder.run] -= 1
            self._open += Counter()  # forgets the runs that have no request open

    def _strange(self, scope: Scope, headers: dict[str, str]) -> JSONResponse | None:
        if headers.get("host", "") not in self._allowed.allowed_hosts:
            text = "this server does not answer to that name"
            return error_answer(421, Code.UNKNOWN_HOST, text)
        origin = headers.get("origin", "")
        if origin and origin not in self._allowed.allowed_origins:
            text = "requests from pages of another site are refused"
            return error_answer(403, Code.FOREIGN_ORIGIN, text)
        if scope["path"] == PATH:
            return None
        return error_answer(404, Code.NOT_FOUND, f"the server is at {PATH}")

    def _holder(self, token: str) -> Caller | None:
        """Only digests are compared, so that the time of an answer does not help to guess."""
        holder = None
        if token:
            with callers.knell_for(self._options, callers.STRANGER) as knell:
                holder = knell.server.holder_of(token)
        if holder is None:
            self.trail.note("no live run has this token" if token else "no token")
        return holder


def error_answer(
    status: int, code: Code, text: str, headers: dict[str, str] | None = None
) -> JSONResponse:
    return JSONResponse({"error": text, "code": code}, status, headers)
