"""A stand-in for opencode that serves and attaches as the real one does, and agents that use it."""

import json
import os
import sqlite3
import subprocess
import sys
import urllib.request
from base64 import b64encode
from contextlib import closing
from pathlib import Path
from typing import Any

from forked import run_script
from house import House, alive, eventually
from knell.core.ports.teams import Backend
from knell.core.receipt import Receipt
from knell.core.run import Run
from knell.life.start.spawn import Spawned
from preloaded import Forked

# `$LAB/<pid>.mute`: it takes calls and answers none. `$LAB/broken`: it exits. `$LAB/log`: what it
# was asked. An agent that attached leaves `$LAB/<session>.up`.
OPENCODE = """#!{python} -S
import base64, json, os, pathlib, signal, sys, urllib.request
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
signal.alarm(1200)
lab = pathlib.Path(os.environ["LAB"])
login = os.environ["OPENCODE_SERVER_USERNAME"] + ":" + os.environ["OPENCODE_SERVER_PASSWORD"]
key = "Basic " + base64.b64encode(login.encode()).decode()

class Answers(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    def log_message(self, *_): pass
    def answer(self, code, body):
        self.send_response(code)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)
    def do_GET(self):
        if (lab / f"{{os.getpid()}}.mute").exists():
            return self.rfile.read()  # till the caller has had enough
        if self.headers["Authorization"] != key:
            return self.answer(401, b"")
        self.answer(200, json.dumps({{"healthy": True, "pid": os.getpid()}}).encode())
    def do_POST(self):
        self.rfile.read(int(self.headers["Content-Length"]))
        if self.headers["Authorization"] != key:
            return self.answer(401, b"")
        with open(lab / "log", "a") as log:
            log.write(self.path + "\\n")
        id = "ses_" + os.urandom(6).hex()
        if "abort" in self.path:
            return self.answer(404 if (lab / "forgetful").exists() else 200, b"true")
        self.answer(200, json.dumps({{"id": id}}).encode())

class Server(ThreadingHTTPServer):
    daemon_threads = True
    request_queue_size = 100

words = sys.argv[1:]
if words[0] == "serve":
    with open(lab / "born", "a") as log:
        log.write(f"{{os.getpid()}}\\n")
    if (lab / "broken").exists():
        sys.exit("its settings are broken")
    Server((words[2], int(words[4])), Answers).serve_forever()
ask = urllib.request.Request(words[1] + "/global/health", headers={{"Authorization": key}})
urllib.request.urlopen(ask).read()
(lab / (words[words.index("--session") + 1] + ".up")).write_text(json.dumps(words))
signal.pause()
"""


class Lab:
    """A house with the stand-in on its PATH, and one project."""

    def __init__(self, house: House) -> None:
        self.house = house
        self.root = house.root / "lab"
        self.project = house.root / "project"
        bin = house.root / "bin"
        for path in (self.root, self.project, self.project / ".git", bin):
            path.mkdir()
        program = bin / "opencode"
        program.write_text(OPENCODE.format(python=sys.executable))
        program.chmod(0o755)
        house.env["PATH"] = f"{bin}{os.pathsep}{house.env['PATH']}"
        house.env["LAB"] = str(self.root)

    def agent(self, name: str, cwd: Path | None = None, **wish: Any) -> Spawned:
        """An agent of the project that has attached."""
        wish.setdefault("place", "headless")
        where = str(cwd or self.project)
        spawned = self.house.knell.spawn("opencode", name=name, cwd=where, shared=True, **wish)
        eventually((self.root / f"{spawned.agent.conversation}.up").exists)
        return spawned

    def remember(self, spawned: Spawned) -> None:
        """Its conversation is on disk, where the real program would have put it."""
        folder = self.house.home / ".local" / "share" / "opencode"
        folder.mkdir(parents=True)
        with closing(sqlite3.connect(folder / "opencode.db")) as db, db:
            db.execute("CREATE TABLE session (id, directory, parent_id, time_updated)")
            row = [spawned.agent.conversation, str(self.project)]
            db.execute("INSERT INTO session VALUES (?, ?, NULL, 1)", row)

    def servers(self) -> list[Backend]:
        return self.house.knell.world.store.backends.all()

    @property
    def server(self) -> Backend:
        [server] = self.servers()
        return server

    @property
    def users(self) -> list[str]:
        """Of the one server, by name."""
        return [self.run(run).agent for run in self.server.runs]

    def run(self, id: str) -> Run:
        run = self.house.knell.world.store.runs.run(id)
        assert run
        return run

    @property
    def born(self) -> list[int]:
        """Every server process that ever began."""
        path = self.root / "born"
        return [int(line) for line in path.read_text().split()] if path.exists() else []

    @property
    def living(self) -> list[int]:
        return [pid for pid in self.born if alive(pid)]

    @property
    def asked(self) -> list[str]:
        path = self.root / "log"
        return path.read_text().splitlines() if path.exists() else []

    def receipt(self, server: Backend) -> Receipt:
        receipt = self.house.knell.world.store.endings.receipt(server.id)
        assert receipt
        return receipt

    def says(self, server: Backend, path: str = "/global/health") -> int:
        """The status that somebody with the password gets."""
        agent = self.house.knell.world.store.runs.agent(self.run(server.id).agent)
        assert agent
        secret = dict(agent.env)["OPENCODE_SERVER_PASSWORD"]
        key = b64encode(f"opencode:{secret}".encode()).decode()
        ask = urllib.request.Request(
            f"http://127.0.0.1:{server.port}{path}", headers={"Authorization": f"Basic {key}"}
        )
        with urllib.request.urlopen(ask, timeout=300) as reply:
            return int(reply.status)


def pid_of(spawned: Spawned) -> int:
    assert spawned.run.process
    return spawned.run.process.pid


def words_of(lab: Lab, spawned: Spawned) -> list[str]:
    """How its program was called."""
    return json.loads((lab.root / f"{spawned.agent.conversation}.up").read_text())


def spawn_words(lab: Lab, name: str) -> tuple[str, ...]:
    place = ("--in", "headless", "--cwd", str(lab.project))
    return ("spawn", *place, "--shared", "--name", name, "opencode")


def begun(lab: Lab, name: str) -> Forked | subprocess.Popen[str]:
    """`knell spawn --shared` as a person, not waited for."""
    to = {"stdin": subprocess.DEVNULL, "stdout": subprocess.PIPE, "stderr": subprocess.PIPE}
    return lab.house.begin(*spawn_words(lab, name), text=True, **to)


def cut_down(lab: Lab, at: str, *words: str) -> int:
    """`knell WORDS`, killed by -9 "at" a method of the store's backends, or right "after" it."""
    when, method = at.split()
    code = (
        "import os, signal, sys\n"
        "from knell.stores.backends import SqliteBackends as Backends\n"
        f"real = Backends.{method}\n"
        "def last(*told):\n"
        f"    {when == 'after'} and real(*told)\n"
        "    os.kill(os.getpid(), signal.SIGKILL)\n"
        f"Backends.{method} = last\n"
        "from knell.faces.cli import main\n"
        "main()"
    )
    return run_script(lab.house, code, *words)
