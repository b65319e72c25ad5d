"""HTTP to programs on this machine, bounded in time whatever they do: fulfils `Loopback`."""

import io
import socket
import time
from base64 import b64encode
from http.client import HTTPException, HTTPResponse, IncompleteRead
from typing import cast

from knell.core.ports.loopback import HttpCall, HttpReply
from knell.processes.os.use import use

HOST = "127.0.0.1"
LARGEST = 1 << 20  # bytes of a reply


class _Heard:
    """As much of a socket as an HTTPResponse reads."""

    def __init__(self, text: bytes) -> None:
        self._text = text

    def makefile(self, _mode: str) -> io.BytesIO:
        return io.BytesIO(self._text)


def call(call: HttpCall, seconds: float) -> HttpReply | None:
    """The reply; None if there is no complete one within that time, however it dribbles."""
    until = time.monotonic() + seconds
    try:
        with socket.create_connection((HOST, call.port), timeout=max(0.001, seconds)) as line:
            line.sendall(_request(call))
            return _heard(line, call.method, until)
    except OSError:
        return None


def _heard(line: socket.socket, method: str, until: float) -> HttpReply | None:
    heard = b""
    while (left := until - time.monotonic()) > 0 and len(heard) < LARGEST:
        line.settimeout(left)
        piece = line.recv(1 << 16)
        heard += piece
        reply = _reply(heard, method, over=not piece)
        if reply or not piece:
            return reply
    return None


def _request(call: HttpCall) -> bytes:
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


def _reply(heard: bytes, method: str, *, over: bool) -> HttpReply | None:
    """None as long as something is missing."""
    if b"\r\n\r\n" not in heard:
        return None
    response = HTTPResponse(cast("socket.socket", _Heard(heard)), method=method)
    try:
        response.begin()
        # Without a length, only the end of the line tells that this is all.
        if response.length is None and not response.chunked and not over:
            return None
        return HttpReply(response.status, response.read())
    except (IncompleteRead, HTTPException, ValueError):
        return None


def is_free(port: int) -> bool:
    """Whether no program listens there. Only looked up: trying it by listening would be in the way
    of a server that is just about to."""
    return not any((state, held) == (use.LISTEN, port) for state, held, _ in use.tcp_sockets())
