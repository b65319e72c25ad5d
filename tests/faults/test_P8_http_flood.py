"""P8: strangers at the MCP server fill neither its connections nor the audit trail."""

import http.client
import json
import re
import socket
import time
from collections.abc import Iterator
from contextlib import ExitStack
from resource import RLIMIT_NOFILE, prlimit
from urllib.parse import urlsplit

import pytest

from house import House, descendants
from mcp_desk import http_server, refusals

CALL = {"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": {"name": "list-agents"}}
HALF = b"POST /mcp HTTP/1.1\r\nHost: 127.0.0.1\r\nX-Slow: "
FILES = 250  # that the server may have open
FLOOD = 300


@pytest.fixture
def address(house: House) -> Iterator[str]:
    before = set(descendants())
    with http_server(house) as address:
        [server] = set(descendants()) - before
        prlimit(server, RLIMIT_NOFILE, (FILES, FILES))
        yield address
        house.kill("all", yes=True)


def secret_of(house: House, name: str) -> str:
    process = house.spawn(name=name).run.process
    assert process
    with open(f"/proc/{process.pid}/environ", encoding="utf-8") as file:
        found = re.search(r"\0KNELL_TOKEN=([^\0]*)", file.read())
    assert found
    return found[1]


def post(address: str, secret: str = "") -> int:
    parts = urlsplit(address)
    headers = {"Content-Type": "application/json", "Accept": "application/json, text/event-stream"}
    if secret:
        headers["Authorization"] = f"Bearer {secret}"
    connection = http.client.HTTPConnection(parts.netloc, timeout=60)
    try:
        connection.request("POST", parts.path, json.dumps(CALL), headers)
        answer = connection.getresponse()
        answer.read()
        return answer.status
    finally:
        connection.close()


def half_sent(address: str) -> socket.socket:
    parts = urlsplit(address)
    link = socket.create_connection((parts.hostname or "", parts.port or 0), timeout=60)
    link.sendall(HALF)
    return link


def test_P8_half_sent_requests_keep_no_client_out(house: House, address: str) -> None:
    secret = secret_of(house, "luna")
    with ExitStack() as links:
        for _ in range(FLOOD):
            links.enter_context(half_sent(address))
        assert post(address, secret) == 200


def test_P8_a_header_that_does_not_come_is_not_waited_for(address: str) -> None:
    """Nor one of which a letter comes now and then."""
    with half_sent(address) as link:
        link.settimeout(1)
        until = time.monotonic() + 60
        closed = False
        while not closed and time.monotonic() < until:
            try:
                link.sendall(b"x")
                closed = link.recv(1) == b""
            except TimeoutError:
                continue
            except ConnectionError:
                closed = True
    assert closed


def test_P8_a_flood_without_a_token_fills_no_trail(house: House) -> None:
    with http_server(house) as address:
        for _ in range(100):
            assert post(address) == 401
        assert 0 < len(refusals(house)) <= 40
    counted = re.search(r"(\d+) refusals were not noted", refusals(house)[-1]["why"])
    assert counted, "the server says so when it ends"
    assert int(counted[1]) + len(refusals(house)) - 1 == 100


def test_P8_one_agent_cannot_take_every_place(house: House, address: str) -> None:
    """It may have 32 requests open; another agent is answered meanwhile."""
    greedy, modest = secret_of(house, "luna"), secret_of(house, "nova")
    parts = urlsplit(address)
    begun = f"POST /mcp HTTP/1.1\r\nHost: {parts.netloc}\r\nAuthorization: Bearer {greedy}\r\n"
    begun += "Content-Type: application/json\r\nAccept: application/json, text/event-stream\r\n"
    begun += "Content-Length: 900\r\n\r\n{"
    with ExitStack() as links:
        until = time.monotonic() + 60
        while post(address, greedy) != 429:  # a busy server may have dropped the first of them
            assert time.monotonic() < until
            for _ in range(32):
                link = socket.create_connection((parts.hostname or "", parts.port or 0), timeout=60)
                links.enter_context(link).sendall(begun.encode())
        assert post(address, modest) == 200
    until = time.monotonic() + 60
    while post(address, greedy) != 200:
        assert time.monotonic() < until
