"""The page's server attacked line by line: nobody but the operator's browser or script gets in."""

import json
import os
import socket
import subprocess
import sys
from pathlib import Path

import pytest

from faces.web.serving import Server, served
from house import House, alive, eventually
from knell.faces.web.guard import LARGEST
from scenes import number

PATHS = ("/", "/index.html", "/api/server", "/api/snapshot", "/api/changes", "/api/session")
READS = (
    *("/api/server", "/api/snapshot", "/api/changes", "/api/events", "/api/receipts", "/api/tasks"),
    *("/api/worktrees", "/api/openapi.json", "/api/agent?name=luna", "/api/logs?name=luna"),
    "/api/night?since=2026-01-01T00:00:00Z",
)
WRITES = ("/api/plan", "/api/act", "/api/link")


def kill_plan(server: Server, run: str) -> dict[str, object]:
    told = server.post("/api/plan", {"deed": "kill", "runs": [run]})
    assert told.status == 200, told.text
    return {"deed": "kill", "runs": [run], "plan": told.json["plan"]}


def test_another_name_for_this_address_is_refused_on_every_path(house: House) -> None:
    """DNS rebinding: a page of evil.example, whose name now leads to 127.0.0.1, gets nothing."""
    with served(house) as server:
        server.enter()
        for host in ("evil.example", f"evil.example:{server.port}", "127.0.0.1", "", "127.0.0.1:1"):
            for path in PATHS:
                assert server.get(path, host=host or "x").status == 421
            for path in (*WRITES, "/api/session"):
                assert server.post(path, {}, host=host or "x").status == 421
        assert server.get("/api/server", host=f"localhost:{server.port}").status == 200


def test_a_page_of_another_site_is_refused(house: House) -> None:
    run = house.spawn(name="luna").run
    with served(house) as server:
        server.enter()
        wanted = kill_plan(server, run.id)
        for origin in ("http://evil.example", "null", f"http://127.0.0.1:{server.port + 1}"):
            assert server.get("/api/snapshot", origin=origin).status == 403
            for path in WRITES:
                assert server.post(path, wanted, origin=origin).code == "foreign_origin"
        for site in ("cross-site", "same-site"):
            assert server.get("/api/snapshot", sec_fetch_site=site).status == 403
            assert server.post("/api/act", wanted, sec_fetch_site=site).status == 403
        assert server.post("/api/act", wanted, origin="").code == "foreign_origin"
        assert "access-control-allow-origin" not in server.get("/api/snapshot").headers
        assert alive(number(run.process))


def test_without_a_session_there_is_only_the_empty_page(house: House) -> None:
    with served(house) as server:
        assert server.get("/").status == 200
        for path in READS:
            assert server.get(path).code == "no_session"
            assert server.get(path, cookie=f"knell_{server.port}=guess").code == "no_session"
            assert server.get(path, authorization="Bearer guess").code == "no_session"
        for path in WRITES:
            assert server.post(path, {}).code == "no_session"


def test_a_link_opens_once(house: House) -> None:
    with served(house) as server:
        assert server.enter("guess").status == 401
        first = server.enter()
        assert first.status == 200
        kept = first.headers["set-cookie"].lower()
        assert "httponly" in kept
        assert "samesite=strict" in kept
        assert "domain" not in kept
        assert server.enter(server.token).code == "no_session"
        assert server.enter(server.link()).status == 200


def test_a_script_gets_a_bearer_token_and_needs_no_origin(house: House) -> None:
    with served(house) as server:
        body = {"token": server.token, "script": True}
        told = server.post("/api/session", body, origin="")
        assert "set-cookie" not in told.headers
        server.bearer = told.json["bearer"]
        assert server.get("/api/snapshot").status == 200
        assert server.post("/api/link", {}, origin="").status == 200
        assert server.post("/api/link", {}, origin="http://evil.example").status == 403


def test_no_get_changes_anything(house: House) -> None:
    run = house.spawn(name="luna").run
    with served(house) as server:
        server.enter()
        wanted = kill_plan(server, run.id)
        query = f"deed=kill&runs={run.id}&plan={wanted['plan']}"
        for path in (*WRITES, "/api/session"):
            for method in ("GET", "HEAD", "PUT", "DELETE", "PATCH", "OPTIONS"):
                assert server.ask(method, f"{path}?{query}").status in (404, 405)
        assert server.get(f"/api/snapshot?{query}").status == 400
        assert alive(number(run.process))
        assert house.knell.list()[0].state == "running"


def test_only_json_is_read(house: House) -> None:
    """A form can be posted by any page of any site; JSON cannot."""
    run = house.spawn(name="luna").run
    with served(house) as server:
        server.enter()
        wanted = kill_plan(server, run.id)
        for kind in (
            *("application/x-www-form-urlencoded", "text/plain", "multipart/form-data"),
            *("text/plain; application/json", "application/json-patch+json", ""),
        ):
            assert server.post("/api/act", wanted, content_type=kind).code == "not_json"
        for body in (b"", b"{", b"[]", b"null", b"[" * 30_000, b'{"deed": "kill"}', b"\xff"):
            assert server.post("/api/act", body).status == 400
        for change in ({"deed": "purge"}, {"runs": "all"}, {"runs": [1]}, {"runs": []}, {"x": 1}):
            assert server.post("/api/act", wanted | change).status == 400
        assert alive(number(run.process))


def test_a_large_body_is_refused(house: House) -> None:
    with served(house) as server:
        server.enter()
        assert server.post("/api/plan", b" " * (LARGEST + 1)).code == "too_large"
        big = json.dumps({"deed": "kill", "runs": ["x" * LARGEST]}).encode()
        assert server.post("/api/plan", big).code == "too_large"
        chunks = b"".join(b"%x\r\n%s\r\n" % (9999, b" " * 9999) for _ in range(12))
        told = raw(
            server, "POST /api/plan", f"transfer-encoding: chunked\r\n{pass_for(server)}", chunks
        )
        assert b"413" in told.partition(b"\r\n")[0]


def test_a_half_sent_body_is_given_up_and_holds_nobody_up(house: House) -> None:
    run = house.spawn(name="luna").run
    with served(house) as server:
        server.enter()
        links = [socket.create_connection((server.host, server.port)) for _ in range(30)]
        for link in links:
            head = f"POST /api/act HTTP/1.1\r\n{pass_for(server)}content-length: 900\r\n\r\n{{"
            link.sendall(head.encode())
        assert server.get("/api/server").status == 200
        links[0].settimeout(120)
        assert b"408" in links[0].recv(100).partition(b"\r\n")[0]
        for link in links:
            link.close()
        assert server.get("/api/server").status == 200
        assert alive(number(run.process))


def pass_for(server: Server) -> str:
    return (
        f"host: {server.netloc}\r\norigin: {server.origin}\r\ncookie: {server.cookie}\r\n"
        "content-type: application/json\r\n"
    )


def raw(server: Server, line: str, head: str, body: bytes) -> bytes:
    with socket.create_connection((server.host, server.port), 120) as link:
        link.sendall(f"{line} HTTP/1.1\r\n{head}\r\n".encode())
        try:
            link.sendall(body)
        except OSError:
            pass  # it was refused before it was read
        return link.recv(4096)


def test_every_answer_says_what_browsers_must_not_do(house: House) -> None:
    with served(house) as server:
        server.enter()
        for told in (server.get("/"), server.get("/api/server"), server.get("/x", host="evil")):
            policy = told.headers["content-security-policy"]
            assert "default-src 'self'" in policy
            assert "frame-ancestors 'none'" in policy
            assert "unsafe" not in policy
            assert told.headers["x-content-type-options"] == "nosniff"
            assert told.headers["referrer-policy"] == "no-referrer"
            assert told.headers["cross-origin-resource-policy"] == "same-origin"
        assert server.get("/api/server").headers["cache-control"] == "no-store"


def test_only_the_files_of_the_page_are_served(house: House) -> None:
    with served(house) as server:
        for path in ("/../guard.py", "/..%2fguard.py", "//etc/passwd", "/%2e%2e/app.py"):
            assert server.get(path).status in (404, 400), path


def test_read_only_changes_nothing_whatever_is_sent(house: House) -> None:
    run = house.spawn(name="luna").run
    with served(house, "--readonly") as server:
        server.enter()
        assert server.get("/api/server").json["readonly"] is True
        for deed in server.get("/api/server").json["deeds"]:
            wanted = {"deed": deed, "runs": [run.id], "plan": "x"}
            assert server.post("/api/act", wanted).code == "read_only"
            assert server.post("/api/plan", {"deed": deed, "runs": [run.id]}).code == "read_only"
        assert server.get("/api/snapshot").json["agents"][0]["name"] == "luna"
        assert alive(number(run.process))


@pytest.mark.needs_root
def test_another_local_user_gets_nothing(house: House) -> None:
    """He can reach the port, and read the arguments of every process; the token is in none."""
    house.spawn(name="luna")
    with served(house, alone=True) as server:  # with arguments of its own
        script = (
            "import os, socket, sys\n"
            "os.setgroups([]); os.setgid(65534); os.setuid(65534)\n"
            "link = socket.create_connection(('127.0.0.1', int(sys.argv[1])))\n"
            "head = f'GET /api/snapshot HTTP/1.1\\r\\nhost: 127.0.0.1:{sys.argv[1]}\\r\\n\\r\\n'\n"
            "link.sendall(head.encode())\n"
            "print(link.recv(100).split()[1].decode())\n"
        )
        argv = ["/usr/bin/python3", "-I", "-c", script, str(server.port)]
        done = subprocess.run(argv, capture_output=True, text=True, check=False, timeout=120)
        assert (done.stdout.strip(), done.stderr) == ("401", "")
        shown = Path(f"/proc/{server.process.pid}/cmdline").read_bytes()
        assert server.token.encode() not in shown


def test_the_browser_is_opened_without_the_token_among_its_arguments(house: House) -> None:
    note = house.root / "opened"
    browser = house.root / "browser"
    browser.write_text(
        f'#!/bin/sh\npage="${{1#file://}}"\n'
        f'(echo "$*"; cat "$page"; echo; ls -l "$page") > {note}.new\nmv {note}.new {note}\n'
    )
    browser.chmod(0o700)
    house.env["BROWSER"] = f"{browser} %s"
    with served(house, "--open", alone=True) as server:
        eventually(note.exists)
        arguments, page, listed = note.read_text().split("\n", 2)
        assert server.token not in arguments
        assert server.address in page
        assert listed.startswith("-rw------- ")
        server.end()
    assert not os.path.exists(arguments.removeprefix("file://"))


def test_no_agent_can_start_it(house: House) -> None:
    note = house.root / "told"
    body = f"{sys.executable} -m knell web --port 0 2> {note}.new; mv {note}.new {note}; sleep 60"
    house.knell.spawn(
        command=("sh", "-c", body), name="luna", place="headless", cwd=str(house.root)
    )
    eventually(note.exists)
    assert "it acts for the operator" in note.read_text()
    house.kill("luna")
