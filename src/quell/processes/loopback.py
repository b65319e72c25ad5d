"""HTTP to programs on this machine, with an end in sight whatever they do."""

import io
import socket
import time
from base64 import b64encode
from http.client import HTTPException, HTTPResponse, IncompleteRead
from typing import cast

from quell.core.serving import Call, Reply

HOST = "127.0.0.1"
LARGEST = 1 << 20  # bytes of a reply
LISTEN = "0A"  # the state of a socket, as the kernel writes it


class _Heard:
    """As much of a socket as an HTTPResponse reads."""

    def __init__(self, text: bytes) -> None:
        self._text = text

    def makefile(self, _mode: str) -> io.BytesIO:
        return io.BytesIO(self._text)


def call(call: Call, seconds: float) -> Reply | None:
    """The reply; None if there is no complete one within that time, however it dribbles."""
    until = time.monotonic() + seconds
    try:
        with socket.create_connection((HOST, call.port), timeout=max(0.001, seconds)) as line:
            line.sendall(_request(call))
            return _heard(line, call.method, until)
    except OSError:
        return None


def _heard(line: socket.socket, method: str, until: float) -> Reply | None:
    heard = b""
    while (left := until - time.monotonic()) > 0 and len(heard) < LARGEST:
        line.settimeout(left)
        piece = line.recv(1 << 16)
        heard += piece
        reply = _reply(heard, method, over=not piece)
        if reply or not piece:
            return reply
    return None


def _request(call: Call) -> bytes:
    body = call.body.encode()
    lines = [
        f"{call.method} {call.path} HTTP/1.1",
        f"Host: {HOST}:{call.port}",
        "Connection: close",
        f"Content-Length: {len(body)}",
    ]
    if body:
        lines.append("Content-Type: application/json")
    if call.login[0]:
        lines.append(f"Authorization: Basic {b64encode(':'.join(call.login).encode()).decode()}")
    return "\r\n".join([*lines, "", ""]).encode() + body


def _reply(heard: bytes, method: str, *, over: bool) -> Reply | None:
    """None as long as something is missing."""
    if b"\r\n\r\n" not in heard:
        return None
    response = HTTPResponse(cast("socket.socket", _Heard(heard)), method=method)
    try:
        response.begin()
        # Without a length, only the end of the line tells that this is all.
        if response.length is None and not response.chunked and not over:
            return None
        return Reply(response.status, response.read())
    except (IncompleteRead, HTTPException, ValueError):
        return None


def is_free(port: int) -> bool:
    """Whether nobody listens there. Only looked up: whoever tries it by listening is in the way of
    a server that is just about to."""
    return not any(port in _listened(table) for table in ("/proc/net/tcp", "/proc/net/tcp6"))


def _listened(table: str) -> set[int]:
    try:
        with open(table) as file:
            lines = [line.split() for line in file.readlines()[1:]]
    except OSError:
        return set()  # a kernel without IPv6
    return {int(line[1].rsplit(":", 1)[1], 16) for line in lines if line[3] == LISTEN}
