"""What happens on the wire: progress, nonsense, and clients that leave in the middle."""

import json
import os
import signal
import subprocess
from typing import Any

import pytest

from house import House, alive, eventually
from mcp_desk import Desk, http_server, is_live, is_on_record, member, plain_desk, team

HELLO = {
    "jsonrpc": "2.0",
    "id": 1,
    "method": "initialize",
    "params": {
        "protocolVersion": "2025-06-18",
        "capabilities": {},
        "clientInfo": {"name": "test", "version": "0"},
    },
}
READY = {"jsonrpc": "2.0", "method": "notifications/initialized"}


class Wire:
    """A server over standard input and output, and every byte that it is sent."""

    def __init__(self, house: House, *options: str) -> None:
        pipe = subprocess.PIPE
        self.process = house.begin(
            "mcp", *options, stdin=pipe, stdout=pipe, stderr=subprocess.DEVNULL
        )
        self.ask(HELLO)
        self.send(json.dumps(READY).encode())

    def send(self, line: bytes) -> None:
        assert self.process.stdin
        self.process.stdin.write(line + b"\n")
        self.process.stdin.flush()

    def ask(self, message: dict[str, Any]) -> dict[str, Any]:
        self.send(json.dumps(message).encode())
        assert self.process.stdout
        while True:
            told = json.loads(self.process.stdout.readline())
            if told.get("id") == message["id"]:
                return told

    def call(self, tool: str, id: int = 2, **given: Any) -> dict[str, Any]:
        params = {"name": tool, "arguments": given}
        return {"jsonrpc": "2.0", "id": id, "method": "tools/call", "params": params}

    def close(self) -> int:
        assert self.process.stdin
        assert self.process.stdout
        self.process.stdin.close()
        self.process.stdout.close()
        return self.process.wait(300)


# -- progress ----------------------------------------------------------------------------------


@pytest.mark.parametrize("http", [False, True])
def test_every_rung_is_told_as_it_is_climbed(house: House, *, http: bool) -> None:
    if not http:
        _climb(house, "stdio")
        return
    with http_server(house) as address:
        _climb(house, address)
        house.kill("all", yes=True)


def _climb(house: House, where: str) -> None:
    ada = team(house, where)
    member(house, "luna", "ignores_term")
    answer = ada.whole("kill-agent", progress=True, teamName="blue", agentId="luna", force=True)
    assert answer["told"]["success"] is True
    rungs = [step for step in answer["steps"] if step.startswith("rung: ")]
    assert rungs == ["rung: term", "rung: kill"]
    assert answer["steps"][-1] == "ended, and on record"


# -- nonsense ----------------------------------------------------------------------------------


NONSENSE = (
    b"",
    b"{",
    b"[]",
    b"null",
    b"\xff\xfe\x00",
    b'{"jsonrpc": "2.0"}',
    b'{"jsonrpc": "1.0", "id": 5, "method": "tools/list"}',
    b'{"jsonrpc": "2.0", "id": {}, "method": "tools/list"}',
    b'{"jsonrpc": "2.0", "id": 99, "result": {}}',
    b"[" * 100_000,
)


def test_malformed_requests_do_not_end_the_server(house: House) -> None:
    wire = Wire(house, "--operator")
    for line in NONSENSE:
        wire.send(line)
    for method in ("no/such", "tools/call"):
        told = wire.ask({"jsonrpc": "2.0", "id": 7, "method": method, "params": {"x": 1}})
        assert told["error"]["code"] in {-32601, -32602}
    unknown = wire.ask(wire.call("rm", id=8))
    assert "there is no tool" in unknown["error"]["message"]
    odd = wire.ask(
        {**wire.call("list-agents", id=9), "params": {"name": "list-agents", "arguments": 5}}
    )
    assert odd["error"]["code"] == -32602
    assert wire.ask(wire.call("list-agents", id=10))["result"]["structuredContent"]["success"]
    assert wire.close() == 0


def test_a_request_over_size_is_not_taken_in(house: House) -> None:
    wire = Wire(house, "--operator")
    wire.send(json.dumps(wire.call("send-message", id=5, to="x", message="y" * 3_000_000)).encode())
    assert wire.ask(wire.call("list-agents", id=6))["result"]["structuredContent"]["success"]
    assert wire.close() == 0


# -- clients that leave ------------------------------------------------------------------------


def asked_to_end(house: House, agent: str) -> bool:
    events = house.knell.world.store.events.read(0, agent, 100)
    return any(event.type == "life.rung" for event in events)


@pytest.mark.parametrize("how", ["closed", "TERM"])
def test_a_kill_is_finished_when_its_client_has_left(house: House, how: str) -> None:
    team(house)
    member(house, "luna", "ignores_term")
    wire = Wire(house, "--operator")
    kill = wire.call("kill-agent", teamName="blue", agentId="luna", force=True)
    wire.send(json.dumps(kill).encode())
    eventually(lambda: asked_to_end(house, "luna"))
    assert is_on_record(house, "luna")
    if how == "TERM":
        wire.process.send_signal(signal.SIGTERM)
        assert wire.process.wait(300) == 0
    assert wire.close() == 0
    assert not is_on_record(house, "luna"), "the server left before the kill was on record"
    assert house.knell.receipt("luna").proof == "proven"


@pytest.mark.parametrize("http", [False, True])
def test_a_kill_is_finished_when_its_client_was_killed(house: House, *, http: bool) -> None:
    """The client is the leader itself: it is killed in the middle of the kill."""
    if not http:
        _leader_dies(house, "stdio")
        return
    with http_server(house) as address:
        _leader_dies(house, address)


def _leader_dies(house: House, where: str) -> None:
    ada = team(house, where)
    member(house, "luna", "ignores_term")
    run = house.knell.show("luna")
    ada.begin("kill-agent", teamName="blue", agentId="luna", force=True)
    eventually(lambda: asked_to_end(house, "luna"))
    assert ada.run.process
    os.kill(ada.run.process.pid, signal.SIGKILL)
    eventually(lambda: house.knell.list() == [])
    assert run
    receipt = house.knell.receipt("luna")
    assert (receipt.result, receipt.outcome) == ("ended", "terminated")
    assert receipt.survivors == ()


def test_a_message_is_not_lost_to_a_client_that_has_left(house: House) -> None:
    """A poll that is broken off takes nothing out of the inbox."""
    bob = Desk(house, "bob")
    wire = Wire(house, "--operator")
    wire.send(json.dumps(wire.call("poll-inbox", agentId="bob", waitSeconds=30)).encode())
    assert wire.ask(wire.call("list-agents", id=3))["result"]
    assert wire.close() == 0
    house.knell.messages.send("bob", text="still here")
    assert [one["message"] for one in bob.call("poll-inbox")["messages"]] == ["still here"]


def test_standard_input_that_is_no_pipe(house: House) -> None:
    empty = house.root / "empty"
    empty.touch()
    with empty.open() as file:
        for stdin in (file, subprocess.DEVNULL):
            with house.begin("mcp", stdin=stdin, stderr=subprocess.PIPE, text=True) as done:
                _, said = done.communicate(timeout=300)
            assert done.returncode == 2
            assert "standard input is no pipe" in said


def test_a_server_without_a_client_leaves(house: House) -> None:
    assert house.run("mcp", input="").returncode == 0


def test_what_the_server_started_lives_on_after_it(house: House) -> None:
    with plain_desk(house, DESK_OPTIONS='["--operator"]') as person:
        words = ["sleep", "600"]
        told = person.call("spawn-agent", kind="command", args=words, name="kid", place="headless")
    assert alive(told["pid"])
    assert is_live(house, "kid")
