"""The port to programs that listen on this machine's loopback: HTTP, and which ports are free."""

from typing import NamedTuple, Protocol


class HttpCall(NamedTuple):
    """One HTTP request to a program on this machine."""

    port: int
    path: str
    method: str = "GET"
    body: str = ""  # JSON
    login: tuple[str, str] = ("", "")  # user and password; an empty user: none is sent


class HttpReply(NamedTuple):
    status: int
    body: bytes


class Loopback(Protocol):
    def call(self, call: HttpCall, seconds: float) -> HttpReply | None: ...
    def is_free(self, port: int) -> bool: ...
