"""`knell web` as a process: how it starts, streams, acts and ends."""

import contextlib
import json
import os
import signal
import socket
import ssl
import subprocess
import sys
import time
from pathlib import Path

import pytest

from faces.web.serving import Server, served
from house import House, alive, eventually
from knell.core.inputs import schema
from knell.faces.web.endpoints import ENDPOINTS, openapi
from scenes import DEAF, number, started


def wanted(server: Server, deed: str, *runs: str) -> dict[str, object]:
    told = server.post("/api/plan", {"deed": deed, "runs": list(runs)})
    assert told.status == 200, told.text
    return {"deed": deed, "runs": list(runs), "plan": told.json["plan"]}


def act(server: Server, deed: str, *runs: str) -> list[str]:
    told = server.post("/api/act", wanted(server, deed, *runs))
    assert told.status == 200, told.text
    return told.json["lines"]


# -- how it starts -----------------------------------------------------------------------------


def test_a_port_that_is_taken_is_said(house: House) -> None:
    with socket.create_server(("127.0.0.1", 0)) as other:
        done = house.run("web", "--port", str(other.getsockname()[1]))
    assert done.returncode == 1
    assert "cannot listen on 127.0.0.1" in done.stderr
    assert "choose another --port" in done.stderr


@pytest.mark.parametrize(
    ("args", "told"),
    [
        (("--host", "0.0.0.0"), "no name that a browser could use"),
        (("--host", "192.0.2.1"), "must be encrypted"),
        (("--tls-cert", "a.pem"), "belong together"),
        (("--tls-cert", "a.pem", "--tls-key", "b.pem"), "the TLS files cannot be used"),
        (("--behind-proxy", "agents.example"), "the address that browsers see"),
        (("--behind-proxy", "https://agents.example/path"), "the address that browsers see"),
        (("--behind-proxy", "http://agents.example"), "by https"),
    ],
)
def test_a_way_in_that_is_not_safe_is_refused(
    house: House, args: tuple[str, ...], told: str
) -> None:
    done = house.run("web", "--port", "0", *args)
    assert done.returncode == 2
    assert told in done.stderr


def test_tls_and_a_key_that_is_not_its_own(house: House) -> None:
    for name in ("one", "two"):
        subprocess.run(
            ["openssl", "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-days", "2", "-subj",
             "/CN=localhost", "-keyout", f"{name}.key", "-out", f"{name}.pem"],
            cwd=house.root, check=True, capture_output=True, timeout=300,
        )  # fmt: skip
    wrong = house.run("web", "--port", "0", "--tls-cert", "one.pem", "--tls-key", "two.key")
    assert "the TLS files cannot be used" in wrong.stderr
    with served(house, "--tls-cert", "one.pem", "--tls-key", "one.key") as server:
        assert server.address.startswith("https://127.0.0.1:")
        context = ssl.create_default_context(cafile=str(house.root / "one.pem"))
        context.check_hostname = False
        with (
            socket.create_connection((server.host, server.port), 120) as plain,
            context.wrap_socket(plain) as link,
        ):
            link.sendall(f"GET / HTTP/1.1\r\nhost: {server.netloc}\r\n\r\n".encode())
            assert b"200" in link.recv(100).partition(b"\r\n")[0]


def test_behind_a_proxy_only_its_name_is_known(house: House) -> None:
    with served(house, "--behind-proxy", "https://agents.example") as server:
        assert server.address.startswith("https://agents.example/#")
    with served(house, "--behind-proxy", "http://localhost:1") as server:
        server.host, server.port = "127.0.0.1", listening_port(server)
        assert server.get("/").status == 200
        assert server.get("/", host=f"127.0.0.1:{server.port}").status == 421


def listening_port(server: Server) -> int:
    """As the kernel has it: of the sockets that listen, the one of this process."""
    inodes = set()
    for name in os.listdir(f"/proc/{server.process.pid}/fd"):
        with contextlib.suppress(FileNotFoundError):  # closed since
            link = os.readlink(f"/proc/{server.process.pid}/fd/{name}")
            if link.startswith("socket:["):
                inodes.add(link[8:-1])
    for line in Path("/proc/net/tcp").read_text().splitlines()[1:]:
        cells = line.split()
        if cells[3] == "0A" and cells[9] in inodes:
            return int(cells[1].partition(":")[2], 16)
    raise AssertionError("it does not listen")


@pytest.mark.usefixtures("unused")
def test_a_store_that_cannot_be_read_is_said(house: House) -> None:
    (house.state / "knell.db").mkdir()
    done = house.run("web", "--port", "0")
    assert done.returncode == 1
    assert done.stderr.startswith("error:")


# -- how it ends -------------------------------------------------------------------------------


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_a_signal_ends_it_at_once_with_open_streams(house: House, number: int) -> None:
    with served(house, alone=True) as server:  # signals meet a start of its own
        server.enter()
        with server.stream() as first, server.stream() as second:
            assert next(first)
            assert next(second)
            assert server.end(number) == 0
            for _ in first:  # it ends, and does not hang
                pass
        with pytest.raises(ConnectionRefusedError):
            socket.create_connection((server.host, server.port))


def test_a_deed_that_has_begun_is_finished(house: House) -> None:
    """A browser that is closed in the middle of a kill, and then the server's own end."""
    luna = started(house, DEAF)
    with served(house) as server:
        server.enter()
        body = json.dumps(wanted(server, "kill", luna.run.id)).encode()
        head = (
            f"POST /api/act HTTP/1.1\r\nhost: {server.netloc}\r\norigin: {server.origin}\r\n"
            f"cookie: {server.cookie}\r\ncontent-type: application/json\r\n"
            f"content-length: {len(body)}\r\n\r\n"
        )
        with socket.create_connection((server.host, server.port)) as link:
            link.sendall(head.encode() + body)
            eventually(lambda: house.knell.list()[0].state == "stopping")
        server.end()
    eventually(lambda: not alive(luna.pid))
    receipt = house.knell.receipt("luna")
    assert receipt.proof == "proven"
    assert receipt.by == "operator"


# -- the stream --------------------------------------------------------------------------------


def change(stream: object, name: str) -> dict[str, object]:
    """The next message that has this."""
    while True:
        told = next(stream)  # type: ignore[call-overload]
        data = json.loads(told.get("data", "{}"))
        if name in data:
            return data | {"id": told.get("id")}


def test_a_stream_brings_the_picture_and_then_what_changes(house: House) -> None:
    house.spawn(name="luna")
    with served(house) as server:
        server.enter()
        with server.stream() as stream:
            first = change(stream, "full")
            assert [row["name"] for row in first["agents"]] == ["luna"]  # type: ignore[index]
            assert first["watch"] is None
            nova = house.spawn(name="nova")
            rows = change(stream, "rows")["rows"]
            assert [row["name"] for row in rows] == ["nova"]  # type: ignore[index]
            house.kill("nova")
            gone = change(stream, "gone")
            assert gone["gone"] == ["nova"]
            assert nova.run.id in [row["run"] for row in gone["ended"]]  # type: ignore[index]


def test_after_a_cut_a_stream_goes_on_where_it_was(house: House) -> None:
    house.spawn(name="luna")
    with served(house) as server:
        server.enter()
        with server.stream() as stream:
            number = str(change(stream, "full")["id"])
        house.spawn(name="nova")
        house.kill("nova")
        with server.stream(last_event_id=number) as stream:
            missed = change(stream, "events")["events"]
            types = [(event["agent"], event["type"]) for event in missed]  # type: ignore[index]
            assert ("nova", "life.started") in types
            assert ("nova", "life.stopped") in types
            assert all(event["id"] > int(number) for event in missed)  # type: ignore[index]


def test_who_comes_from_another_store_starts_afresh(house: House) -> None:
    house.spawn(name="luna")
    with served(house) as server:
        server.enter()
        with server.stream(last_event_id="999999") as stream:
            assert next(stream) == {"retry": "1000"}
            assert next(stream)["event"] == "resync"
            assert change(stream, "full")


def test_without_browsers_it_rests(house: House) -> None:
    house.spawn(name="luna")
    with served(house) as server:
        server.enter()
        with server.stream() as stream:
            change(stream, "full")
        eventually(lambda: idle(server.process.pid))


def idle(pid: int) -> bool:
    """Whether it used no processor time for a second."""
    before = ticks(pid)
    until = time.monotonic() + 1
    eventually(lambda: time.monotonic() > until)
    return ticks(pid) == before


def ticks(pid: int) -> int:
    words = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return int(words[11]) + int(words[12])


# -- deeds -------------------------------------------------------------------------------------


def test_every_deed_to_its_effect(house: House) -> None:
    luna = house.spawn(name="luna").run
    with served(house) as server:
        server.enter()
        assert "was asked to leave" in act(server, "ask", luna.id)[0]
        assert house.knell.list()[0].team_status == "shutting_down"
        assert "proven gone" in act(server, "stop", luna.id)[0]
        assert house.knell.list() == []
        act(server, "resume", luna.id)
        second = house.knell.list()[0]
        assert second.run != luna.id
        assert act(server, "restart", second.run) == ["'luna' runs again"]
        third = house.knell.list()[0]
        assert third.run != second.run
        assert "proven gone" in act(server, "kill", third.run)[0]
        assert not alive(third.pid or 0)
        assert house.knell.receipt("luna").by == "operator"
        assert act(server, "cleanup", third.run)


def test_a_plan_that_no_longer_fits_is_refused_and_shown_anew(house: House) -> None:
    luna = house.spawn(name="luna").run
    with served(house) as server:
        server.enter()
        agreed = wanted(server, "kill", luna.id)
        house.kill("luna")
        told = server.post("/api/act", agreed)
        assert told.status == 409
        assert told.code == "plan_changed"
        assert told.json["agents"] == []
        again = house.spawn(name="luna").run
        assert server.post("/api/act", agreed).status == 409
        assert alive(number(again.process))
        stop = wanted(server, "stop", again.id)
        assert server.post("/api/act", stop | {"deed": "kill"}).status == 409
        assert alive(number(again.process))


def test_a_plan_that_grew_is_refused(house: House) -> None:
    """An agent that it started meanwhile would be ended too: nobody has agreed to that."""
    go = house.root / "go"
    argv = [sys.executable, "-m", "knell", "spawn", "--name", "child", "--in", "headless", "--"]
    body = (
        f"tell()\nwhile not os.path.exists({str(go)!r}): time.sleep(0.05)\n"
        f"import subprocess; subprocess.run({[*argv, 'sleep', '600']!r})\nsleep()"
    )
    luna = started(house, body)
    with served(house) as server:
        server.enter()
        agreed = wanted(server, "kill", luna.run.id)
        go.touch()
        eventually(lambda: len(house.knell.list()) == 2)
        told = server.post("/api/act", agreed)
        assert told.code == "plan_changed"
        assert any("child" in line for line in told.json["lines"])
        assert alive(luna.pid)
        assert server.post("/api/act", agreed | {"plan": told.json["plan"]}).status == 200
    assert house.knell.list() == []


# -- the API's page ----------------------------------------------------------------------------


def test_the_api_describes_itself(house: House) -> None:
    with served(house) as server:
        server.enter()
        told = server.get("/api/openapi.json").json
    assert told == json.loads(json.dumps(openapi()))
    for one in ENDPOINTS:
        operation = told["paths"][one.path][one.method.lower()]
        assert operation["summary"] == one.what
        if one.method == "POST":
            shape = operation["requestBody"]["content"]["application/json"]["schema"]
            assert shape == json.loads(json.dumps(schema(one.inputs)))


def test_the_same_shapes_as_the_command_line(house: House) -> None:
    house.spawn(name="luna", tag="night")
    house.spawn(name="nova")
    house.kill("nova", reason="the sprint is over")
    with served(house) as server:
        server.enter()
        rows = server.get("/api/snapshot").json["agents"]
        assert rows[0].keys() == house.json("list")["agents"][0].keys()
        shown = server.get("/api/agent?name=luna").json
        assert shown.keys() - house.json("show", "luna").keys() == {"verdict", "screen"}
        kept = house.json("receipt", "nova")
        assert server.get("/api/receipt?name=nova").json == kept
        found = server.get("/api/receipts?text=sprint%20NOVA").json["receipts"]
        assert [one["agent"] for one in found] == ["nova"]
        assert server.get("/api/receipts?text=sprint%20luna").json["receipts"] == []
        assert server.get("/api/receipts?text=%25").json["receipts"] == []
