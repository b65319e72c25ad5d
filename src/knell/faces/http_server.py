"""What the HTTP servers of knell share: the socket, headers, how they stop, slow clients."""

import asyncio
import contextlib
import socket
from collections.abc import Generator
from typing import Any, cast

import uvicorn
from uvicorn.protocols.http.h11_impl import H11Protocol

from knell.core.codes import Code
from knell.core.errors import Refused

HEADER_SECONDS = 10.0  # for the whole header of a request
MOST_WAITING = 100  # connections without a whole request


def bind(host: str, port: int) -> socket.socket:
    """A socket at that address; 0 is any port that is free."""
    listening = None
    try:
        family = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)[0][0]
        listening = socket.socket(family, socket.SOCK_STREAM)
        listening.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        listening.bind((host, port))
    except (OSError, OverflowError, UnicodeError) as error:
        if listening:
            listening.close()
        raise Refused(
            f"cannot listen on {host}:{port}: {error}",
            "choose another --port",
            code=Code.PORT_TAKEN,
        ) from error
    return listening


def header_texts(scope: dict[str, Any]) -> dict[str, str]:
    """Names in small letters; of several with one name, the last."""
    return {k.decode("latin-1").lower(): v.decode("latin-1") for k, v in scope["headers"]}


def bearer(headers: dict[str, str]) -> str:
    """The token that a script shows; empty without one."""
    scheme, _, token = headers.get("authorization", "").partition(" ")
    return token.strip() if scheme.lower() == "bearer" else ""


class HttpServer(uvicorn.Server):
    """Stops when `leave` is called. It does not raise the signal again, as uvicorn would, because
    calls that have begun are still to be waited for."""

    @contextlib.contextmanager
    def capture_signals(self) -> Generator[None, None, None]:
        yield

    def leave(self) -> None:
        self.should_exit = True


class LimitedConnection(H11Protocol):
    """Is closed if a request's header does not come in time, or if it is the oldest of too many
    connections that wait for one: so half-sent requests keep no client out."""

    def __init__(self, *args: Any, **options: Any) -> None:
        super().__init__(*args, **options)
        self.since = 0.0  # when it began to wait for a request
        self._timer: asyncio.TimerHandle | None = None

    @property
    def waits(self) -> bool:
        """Whether no request of it is being answered."""
        return self.cycle is None or self.cycle.response_complete  # pyright: ignore[reportUnnecessaryComparison]

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        super().connection_made(transport)
        self._set_timer()
        waiting = [one for one in cast("set[LimitedConnection]", self.connections) if one.waits]
        if len(waiting) > MOST_WAITING:
            min(waiting, key=lambda one: one.since).transport.abort()

    def data_received(self, data: bytes) -> None:
        super().data_received(data)
        self._set_timer()

    def on_response_complete(self) -> None:
        super().on_response_complete()
        self._set_timer()

    def connection_lost(self, exc: Exception | None) -> None:
        super().connection_lost(exc)
        if self._timer:
            self._timer.cancel()

    def _set_timer(self) -> None:
        """It runs from the moment when the connection begins to wait; what trickles in meanwhile
        does not prolong it."""
        if self.waits and self._timer is None:
            self.since = self.loop.time()
            self._timer = self.loop.call_later(HEADER_SECONDS, self.transport.abort)
        elif not self.waits and self._timer:
            self._timer.cancel()
            self._timer = None
