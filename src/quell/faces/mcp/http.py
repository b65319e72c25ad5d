"""One server for all agents: streamable HTTP on loopback, each agent known by its run's token."""

import asyncio
import contextlib
import json
import signal
import socket
from collections.abc import Callable, Generator
from typing import Any

import uvicorn
from mcp.server.streamable_http_manager import StreamableHTTPASGIApp, StreamableHTTPSessionManager
from mcp.server.transport_security import TransportSecuritySettings

from quell.api import Quell
from quell.core.errors import Refused
from quell.faces.mcp.asker import NOBODY, Asker, Means, note_refusal, plain
from quell.faces.mcp.server import Context, Face
from quell.faces.mcp.work import Work
from quell.life.caller import Caller

HOST = "127.0.0.1"
PATH = "/mcp"
LARGEST = 1024 * 1024  # bytes of one request
FAREWELL = 2  # seconds for open requests when the server stops; deeds take what they need
ASKER = "quell.asker"

Scope = dict[str, Any]


def serve(means: Means, port: int, ready: Callable[[str], None]) -> None:
    """Until TERM or Ctrl-C; what was begun is finished. `ready` is told the address."""
    check_outside(means)
    with bound(port) as listening:
        port = int(listening.getsockname()[1])
        work = Work()
        try:
            asyncio.run(
                _serve(means, work, listening, lambda: ready(f"http://{HOST}:{port}{PATH}"))
            )
        finally:
            work.finish()


def check_outside(means: Means) -> None:
    """Inside an agent it would be part of that agent, end with it, and act in its name."""
    with Quell(env=plain(means.env)) as quell:
        who = quell.served.around()
        if who.runs:
            why = f"the server for all agents cannot be a part of '{who.agent}'"
            note_refusal(quell, who, why)
            raise Refused(why, "the operator starts it, outside of every agent")


def bound(port: int) -> socket.socket:
    listening = socket.socket(socket.AF_INET, socket.SOCK_STREAM)
    listening.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    try:
        listening.bind((HOST, port))
    except (OSError, OverflowError) as error:
        listening.close()
        raise Refused(
            f"cannot listen on {HOST}:{port}: {error}", "choose another --port"
        ) from error
    return listening


async def _serve(
    means: Means, work: Work, listening: socket.socket, ready: Callable[[], None]
) -> None:
    port = int(listening.getsockname()[1])
    face = Face(means, work, lambda ctx: lambda: asker_of(ctx))
    manager = StreamableHTTPSessionManager(
        app=face.server(),
        stateless=True,  # nothing to steal, nothing to lose when the server is started anew
        security_settings=allowed(port),
        max_request_body_size=LARGEST,
    )
    gate = Gate(means, work, StreamableHTTPASGIApp(manager), allowed(port))
    config = uvicorn.Config(
        gate, log_level="warning", lifespan="off", timeout_graceful_shutdown=FAREWELL
    )
    server = Server(config)
    loop = asyncio.get_running_loop()
    for number in (signal.SIGTERM, signal.SIGINT):
        loop.add_signal_handler(number, server.leave)
    async with manager.run():
        listening.listen()
        ready()
        await server.serve(sockets=[listening])


def allowed(port: int) -> TransportSecuritySettings:
    """A page that another site has sent to a browser names another host, or its own origin."""
    names = [f"{HOST}:{port}", f"localhost:{port}"]
    return TransportSecuritySettings(
        allowed_hosts=names, allowed_origins=[f"http://{name}" for name in names]
    )


def asker_of(ctx: Context) -> Asker:
    """Whom the gate has let in."""
    request: Any = ctx.request
    found = request.scope.get(ASKER) if request is not None else None
    return found if isinstance(found, Asker) else Asker(Caller(NOBODY))


class Server(uvicorn.Server):
    """Leaves when told, and leaves the signal alone: the deeds are still to be waited for."""

    @contextlib.contextmanager
    def capture_signals(self) -> Generator[None, None, None]:
        yield

    def leave(self) -> None:
        self.should_exit = True


class Gate:
    """Before anything is read: the right host, no foreign origin, a token of a live run."""

    def __init__(
        self, means: Means, work: Work, inside: Any, allowed: TransportSecuritySettings
    ) -> None:
        self._means = means
        self._work = work
        self._inside = inside
        self._allowed = allowed

    async def __call__(self, scope: Scope, receive: Any, send: Any) -> None:
        if scope["type"] != "http":
            return
        headers = {
            name.decode("latin-1").lower(): value.decode("latin-1")
            for name, value in scope["headers"]
        }
        trouble = self._strange(scope, headers)
        if trouble:
            await told(send, *trouble)
            return
        token = bearer(headers.get("authorization", ""))
        holder = await self._work.done(lambda _: self._holder(token))
        if holder is None:
            await told(send, 401, "the token of a live run is needed: Authorization: Bearer …")
            return
        await self._inside({**scope, ASKER: Asker(holder)}, receive, send)

    def _strange(self, scope: Scope, headers: dict[str, str]) -> tuple[int, str] | None:
        if headers.get("host", "") not in self._allowed.allowed_hosts:
            return 421, "this host is not served here"
        origin = headers.get("origin", "")
        if origin and origin not in self._allowed.allowed_origins:
            return 403, "this origin is not welcome"
        return None if scope["path"] == PATH else (404, f"the server is at {PATH}")

    def _holder(self, token: str) -> Caller | None:
        """Only digests are compared, so that a guess tells nothing by its time."""
        with Quell(env=plain(self._means.env)) as quell:
            held = quell.served.holder_of(token) if token else None
            if held is None:
                why = "no live run has this token" if token else "no token"
                note_refusal(quell, Caller(NOBODY), why)
            return held


def bearer(header: str) -> str:
    scheme, _, token = header.partition(" ")
    return token.strip() if scheme.lower() == "bearer" else ""


async def told(send: Any, status: int, text: str) -> None:
    headers = [(b"content-type", b"application/json")]
    if status == 401:  # noqa: PLR2004 - which the standard wants explained
        headers.append((b"www-authenticate", b"Bearer"))
    await send({"type": "http.response.start", "status": status, "headers": headers})
    body = json.dumps({"error": text}).encode()
    await send({"type": "http.response.body", "body": body})
