"""One server for all agents: who gets in, and as whom."""

import http.client
import json
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import pytest

from house import House, eventually
from mcp_desk import NOT_LEADER, OFFICIAL, Desk, http_server, is_live, member, refusals, team

LIST = {"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": {"name": "list-agents"}}


@pytest.fixture
def address(house: House) -> Iterator[str]:
    with http_server(house) as address:
        yield address
        house.kill("all", yes=True)  # open streams would only delay its leaving


def token_of(pid: int) -> str:
    """As the agent itself finds it in its environment."""
    lines = Path(f"/proc/{pid}/environ").read_bytes().split(b"\0")
    return next(
        line.partition(b"=")[2].decode() for line in lines if line.startswith(b"KNELL_TOKEN=")
    )


def token(house: House, name: str) -> str:
    process = house.spawn(name=name).run.process
    assert process
    return token_of(process.pid)


def post(
    address: str, body: Any = LIST, *, method: str = "POST", **headers: str
) -> tuple[int, str]:
    parts = urlsplit(address)
    told = {
        "Content-Type": "application/json",
        "Accept": "application/json, text/event-stream",
        **{name.replace("_", "-"): value for name, value in headers.items()},
    }
    connection = http.client.HTTPConnection(parts.netloc, timeout=300)
    data = body if isinstance(body, bytes) else json.dumps(body).encode()
    try:
        connection.request(method, parts.path, data, told)
        answer = connection.getresponse()
        return answer.status, answer.read().decode()
    finally:
        connection.close()


@pytest.mark.parametrize("by_http", [False, True])
def test_the_official_client_is_served(house: House, address: str, *, by_http: bool) -> None:
    ada = Desk(house, "ada", address if by_http else "stdio", agent=OFFICIAL)
    house.knell.team("blue").create(leader="ada")
    member(house, "bob")
    assert "kill-agent" in {tool["name"] for tool in ada.whole("tools")["tools"]}
    assert ada.whole("templates")["resourceTemplates"]
    answer = ada.whole("kill-agent", progress=True, teamName="blue", agentId="bob", force=True)
    assert (answer["error"], answer["told"]["success"]) == (False, True)
    assert answer["steps"]
    assert not is_live(house, "bob")


def test_agents_are_told_apart_by_their_tokens(house: House, address: str) -> None:
    ada = team(house, address)
    member(house, "luna")
    bob = Desk(house, "bob", address)
    house.knell.team("blue").add("bob")
    assert bob.kill("luna", force=True)["error"] == NOT_LEADER
    told = ada.kill("luna", force=True)
    assert told == {
        "success": True,
        "method": "force",
        "phase": "force_killed",
        "reassignedTasks": [],
    }
    assert house.knell.receipt("luna").by == "agent:ada"
    assert [one["by"] for one in refusals(house)] == ["agent:bob"]
    kid = bob.call("spawn-agent", kind="command", args=["sleep", "9"], name="kid")
    assert kid["error"] == "Only the team leader can spawn agents"
    kid = ada.call(
        "spawn-agent", kind="command", args=["sleep", "600"], name="kid", place="headless"
    )
    run = house.knell.world.store.runs.run(kid["run"])
    assert run
    assert run.parent == ada.run.id


def test_without_a_token_nobody_gets_in(house: House, address: str) -> None:
    headers = ("", "Basic abc", "Bearer", "Bearer ", "Bearer forged")
    for number, header in enumerate(headers, 1):
        given = {"Authorization": header} if header else {}
        status, text = post(address, **given)
        assert (status, json.loads(text)["code"]) == (401, "caller_unproven"), header
        assert "list-agents" not in text, header
        assert [one["by"] for one in refusals(house)] == ["unknown via mcp"] * number, header


def test_a_token_is_taken_as_long_as_its_run_lives(house: House, address: str) -> None:
    secret = token(house, "luna")
    status, text = post(address, Authorization=f"Bearer {secret}")
    assert status == 200
    assert '"success": true' in text.replace("\\", "")
    house.kill("luna")
    assert post(address, Authorization=f"Bearer {secret}")[0] == 401
    house.run("resume", "luna")
    assert is_live(house, "luna")
    assert post(address, Authorization=f"Bearer {secret}")[0] == 401, "a new life has a new token"
    assert [one["why"] for one in refusals(house)] == ["no live run has this token"] * 2


def test_a_wrong_host_or_origin_is_turned_away(house: House, address: str) -> None:
    """A page in a browser whose name was pointed at 127.0.0.1 sends its own name."""
    secret = f"Bearer {token(house, 'luna')}"
    port = urlsplit(address).port
    for host in ("evil.example", f"evil.example:{port}", "127.0.0.1:1", f"127.0.0.1:{port}.evil"):
        assert post(address, Authorization=secret, Host=host)[0] == 421
    for origin in ("http://evil.example", "null", f"http://127.0.0.1:{port}.evil", "file://"):
        assert post(address, Authorization=secret, Origin=origin)[0] == 403
    for origin in (f"http://127.0.0.1:{port}", f"http://localhost:{port}"):
        assert post(address, Authorization=secret, Origin=origin)[0] == 200


def test_requests_over_size_and_nonsense(house: House, address: str) -> None:
    secret = f"Bearer {token(house, 'luna')}"
    big = {**LIST, "params": {"name": "list-agents", "arguments": {"teamName": "x" * 1_100_000}}}
    assert post(address, big, Authorization=secret)[0] == 413
    assert post(address, big)[0] == 401, "who is not known is not listened to"
    for nonsense in (b"", b"{", b"[]", b"\xff", b'{"jsonrpc": "2.0"}', b"[" * 50_000):
        assert 400 <= post(address, nonsense, Authorization=secret)[0] < 500
    assert post(address, Authorization=secret, Content_Type="text/plain")[0] in {400, 415}
    assert post(address.replace("/mcp", "/"), Authorization=secret)[0] == 404
    assert post(address, Authorization=secret)[0] == 200


def test_the_server_listens_on_loopback_only(house: House, address: str) -> None:
    assert urlsplit(address).hostname == "127.0.0.1"
    port = urlsplit(address).port or 0
    listening = [
        line.split()[1]
        for line in Path("/proc/net/tcp").read_text().splitlines()[1:]
        if line.split()[3] == "0A"
    ]
    assert f"0100007F:{port:04X}" in listening
    assert f"00000000:{port:04X}" not in listening


def test_it_is_not_started_inside_an_agent(house: House) -> None:
    house.run("spawn", "--in", "headless", "--name", "bob", "--", *_tries())
    eventually((house.root / "tried").exists)
    assert "cannot be a part of 'bob'" in (house.root / "tried").read_text()
    assert [one["by"] for one in refusals(house)] == ["agent:bob"]


def _tries() -> tuple[str, ...]:
    knell = f"{sys.executable} -m knell mcp --http --port 0"
    return ("sh", "-c", f"{knell} > trying 2>&1; mv trying tried; sleep 600")


def test_a_port_that_is_taken_and_options_that_clash(house: House, address: str) -> None:
    done = house.run("mcp", "--http", "--port", str(urlsplit(address).port))
    assert done.returncode == 1
    assert "cannot listen on 127.0.0.1" in done.stderr
    assert house.run("mcp", "--http", "--operator").returncode == 2
    assert house.run("mcp", "--http", "--port", "70000").returncode == 2
