"""HTTP to a neighbour on this machine: whole replies, or none, and never without end."""

import socket
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress

import pytest

from knell.core.ports.loopback import HttpCall, HttpReply
from knell.processes.loopback import call, is_free

Deed = Callable[[socket.socket], None]


@contextmanager
def neighbour(deed: Deed) -> Iterator[tuple[int, list[bytes]]]:
    """Takes one call, reads its head and does as told; what it heard is in the list."""
    heard: list[bytes] = []
    with socket.create_server(("127.0.0.1", 0)) as door:
        door.settimeout(300)

        def serve() -> None:
            with suppress(OSError):
                line, _ = door.accept()
                with line:
                    heard.append(line.recv(1 << 16))
                    deed(line)

        thread = threading.Thread(target=serve, daemon=True)
        thread.start()
        yield door.getsockname()[1], heard
    thread.join(300)


def says(*pieces: bytes) -> Deed:
    def deed(line: socket.socket) -> None:
        for piece in pieces:
            line.sendall(piece)
        line.recv(1)  # the line stays open until the caller hangs up

    return deed


def test_a_reply_is_whole_when_its_length_says_so() -> None:
    with neighbour(says(b"HTTP/1.1 200 OK\r\nContent-Len", b"gth: 4\r\n\r\ntr", b"ue")) as (
        port,
        heard,
    ):
        asked = HttpCall(port, "/x?y=1", "POST", '{"a": 1}', ("opencode", "secret"))
        assert call(asked, 20) == HttpReply(200, b"true")
    assert heard[0].startswith(b"POST /x?y=1 HTTP/1.1\r\nHost: 127.0.0.1:")
    assert b"\r\nAuthorization: Basic b3BlbmNvZGU6c2VjcmV0\r\n" in heard[0]
    assert heard[0].endswith(b'\r\n\r\n{"a": 1}')


def test_a_reply_in_chunks_is_put_together() -> None:
    chunks = (
        b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n2\r\ntr\r\n",
        b"2\r\nue\r\n0\r\n\r\n",
    )
    with neighbour(says(*chunks)) as (port, _):
        assert call(HttpCall(port, "/"), 20) == HttpReply(200, b"true")


def test_without_a_length_it_ends_with_the_line() -> None:
    with neighbour(lambda line: line.sendall(b"HTTP/1.0 401 No\r\n\r\nno")) as (port, _):
        assert call(HttpCall(port, "/"), 20) == HttpReply(401, b"no")


@pytest.mark.parametrize(
    "said",
    [
        b"",
        b"HTTP/1.1 200 OK\r\n",
        b"HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\nhalf",
        b"\0\xff\r\n\r\n",
    ],
    ids=["nothing", "half a head", "half a body", "no HTTP"],
)
def test_what_is_not_whole_in_time_is_no_reply(said: bytes) -> None:
    with neighbour(says(said)) as (port, _):
        assert call(HttpCall(port, "/"), 0.2) is None


def test_who_dribbles_gains_no_time() -> None:
    stop = threading.Event()

    def dribble(line: socket.socket) -> None:
        line.sendall(b"HTTP/1.1 200 OK\r\n")
        while not stop.wait(0.02):
            line.sendall(b"X: y\r\n")

    with neighbour(dribble) as (port, _):
        assert call(HttpCall(port, "/"), 0.3) is None
        stop.set()


def test_nobody_there_is_no_reply() -> None:
    with socket.create_server(("127.0.0.1", 0)) as door:
        port = door.getsockname()[1]
        assert not is_free(port)
    assert is_free(port)
    assert call(HttpCall(port, "/"), 5) is None


def test_who_listens_on_every_address_holds_the_port_too() -> None:
    with socket.create_server(("", 0)) as door:
        assert not is_free(door.getsockname()[1])
