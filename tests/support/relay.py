"""A TCP relay between a host and its database that forwards, swallows, delays or closes.

`SWALLOW` is the cruel one: the kernel acknowledges every byte, keepalives are answered, and nobody
reads what was sent.
"""

import contextlib
import enum
import selectors
import socket
import threading
import time
from collections.abc import Iterator
from typing import NamedTuple

LINGER = b"\1\0\0\0\0\0\0\0"  # struct linger {1, 0}: close sends a reset
CHUNK = 1 << 16


class Mode(enum.Enum):
    FORWARD = "forward"
    SWALLOW = "acknowledges and drops, in both directions"
    DEAF = "forwards what the host says, and drops every answer"
    CLOSE = "resets every connection, and each new one"


class Late(NamedTuple):
    """Bytes that wait for their moment."""

    due: float
    to: socket.socket
    data: bytes


class Relay:
    """Listens on a port of 127.0.0.1, in a thread of its own."""

    def __init__(self, port: int, address: str = "127.0.0.1") -> None:
        self.to = (address, port)
        self.mode, self.delay = Mode.FORWARD, 0.0
        self.seen = 0  # connections so far
        self.passed = 0  # bytes forwarded so far, both ways
        self._listener = socket.create_server(("127.0.0.1", 0))
        self.port: int = self._listener.getsockname()[1]
        self._wake, self._woken = socket.socketpair()
        self._selector = selectors.DefaultSelector()
        self._selector.register(self._listener, selectors.EVENT_READ)
        self._selector.register(self._woken, selectors.EVENT_READ)
        self._peer: dict[socket.socket, socket.socket] = {}
        self._hosts: set[socket.socket] = set()  # the ends towards hosts
        self._late: list[Late] = []
        self._over = False
        self._thread = threading.Thread(target=self._serve, daemon=True)
        self._thread.start()

    def become(self, mode: Mode, delay: float = 0.0) -> None:
        self.mode, self.delay = mode, delay
        self._wake.send(b"!")

    def close(self) -> None:
        self._over = True
        self._wake.send(b"!")
        self._thread.join(60)

    # -- the thread -------------------------------------------------------------------------------

    def _serve(self) -> None:
        while not self._over:
            wait = max(0.0, self._late[0].due - time.monotonic()) if self._late else None
            for key, _ in self._selector.select(wait):
                self._hear(key.fileobj)  # type: ignore[arg-type]
            self._deliver()
            if self.mode is Mode.CLOSE:
                self._drop_all()
        self._drop_all()
        for one in (self._listener, self._wake, self._woken):
            one.close()
        self._selector.close()

    def _hear(self, one: socket.socket) -> None:
        if one is self._woken:
            one.recv(CHUNK)
        elif one is self._listener:
            self._accept()
        elif one in self._peer:
            self._read(one)

    def _accept(self) -> None:
        near, _ = self._listener.accept()
        self.seen += 1
        try:
            far = socket.create_connection(self.to, timeout=60)
        except OSError:
            near.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, LINGER)
            near.close()
            return
        self._peer |= {near: far, far: near}
        self._hosts.add(near)
        for end in (near, far):
            self._selector.register(end, selectors.EVENT_READ)

    def _read(self, one: socket.socket) -> None:
        try:
            data = one.recv(CHUNK)
        except OSError:
            data = b""
        if not data and self.mode in (Mode.SWALLOW, Mode.DEAF) and one not in self._hosts:
            self._selector.unregister(one)  # the host does not learn that the database has gone
        elif not data:
            self._drop(one)
        elif self.mode is Mode.FORWARD or (self.mode is Mode.DEAF and one in self._hosts):
            self._late.append(Late(time.monotonic() + self.delay, self._peer[one], data))

    def _deliver(self) -> None:
        now = time.monotonic()
        due = [late for late in self._late if late.due <= now]
        self._late = [late for late in self._late if late.due > now]
        for late in due:
            if late.to in self._peer:
                # Counted first: whoever has got the bytes finds them counted.
                self.passed += len(late.data)
                with contextlib.suppress(OSError):
                    late.to.sendall(late.data)

    def _drop(self, one: socket.socket) -> None:
        for end in (one, self._peer[one]):
            with contextlib.suppress(KeyError):
                self._selector.unregister(end)
            end.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, LINGER)
            end.close()
            self._peer.pop(end, None)
            self._hosts.discard(end)

    def _drop_all(self) -> None:
        while self._peer:
            self._drop(next(iter(self._peer)))


@contextlib.contextmanager
def relaying(port: int) -> Iterator[Relay]:
    relay = Relay(port)
    try:
        yield relay
    finally:
        relay.close()
