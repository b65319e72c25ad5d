"""What the tests of the M contract play with: a workspace with a registry file, and its agents."""

import contextlib
import json
import os
import pty
import shlex
import subprocess
import sys
from pathlib import Path
from typing import Any, NamedTuple

from ruamel.yaml import YAML

from house import House, eventually
from knell.core.run import Run

STAND_IN = Path(__file__).with_name("m_stand_in.py")
NAME = "shop-creator-claude"
AGY = "shop-creator-agy"
OWN = {"claude": "claude_session_id_own", "agy": "agy_conversation_id_own"}

# As a person leaves it: comments, odd spacing, fields that knell has never heard of.
HEAD = """\
# who works in this shop   (by hand, keep the order)
version:   2

tmux_sessions:   # one row each
"""
ROW = """\
- name: {name}   # since monday
  status:   {status}
  tmux_server: {server}
  start_command: '{agent} --model   opus'   # as it was typed
  {own}: null      # it never had one
  role: creator
  pane: {{pid: {pid},  cmd: {agent}, cwd: {cwd}}}   # for the audit
  mcp_attachments:
  - files
  -   browser      # slow
  priority: 3      # of nobody's schema
"""
TAIL = """
# the end of the list
owner: "zoë"
"""


class Started(NamedTuple):
    pid: int
    conversation: str


class Shop:
    """A workspace below the house. What runs in its tmux sessions knell does not know yet."""

    def __init__(self, house: House, folder: str = "shop") -> None:
        self.house = house
        self.folder = house.root / folder
        self.file = self.folder / ".hermes" / "agent-sessions.yaml"
        self.file.parent.mkdir(parents=True)
        install(house)

    # -- agents -------------------------------------------------------------------------------

    def session(
        self, name: str = NAME, habits: str = "", *, server: str = "test", args: str = ""
    ) -> Started:
        """A tmux session with an agent, as another tool starts it."""
        program = "agy" if name.endswith("agy") else "claude"
        before = len(ready(self.house))
        argv = ("env", f"STAND_IN={habits}", program, *shlex.split(args))
        new = ("new-session", "-d", "-s", name, "-c", str(self.folder), "--", *argv)
        self.house.tmux(*new, server=server)
        return eventually(lambda: ready(self.house)[before:])[0]

    def typed(self, name: str, habits: str = "", *, server: str = "test") -> Started:
        """The same, typed by a person into the shell of a session."""
        before = len(ready(self.house))
        self.shell(name, server=server)
        program = "agy" if name.endswith("agy") else "claude"
        line = f"STAND_IN={shlex.quote(habits)} {program}"
        self.house.tmux("send-keys", "-t", f"={name}:", line, "Enter", server=server)
        return eventually(lambda: ready(self.house)[before:])[0]

    def shell(self, name: str, *, server: str = "test") -> None:
        """A session with nothing in it but a shell that waits."""
        argv = ("env", "PS1=idle$ ", "sh", "-i")
        new = ("new-session", "-d", "-s", name, "-c", str(self.folder), "--", *argv)
        self.house.tmux(*new, server=server)
        eventually(lambda: "idle$" in self.screen(name, server=server))

    def spawn(self, kind: str = "claude", habits: str = "", name: str = "luna") -> Run:
        """An agent that knell starts, in a session of its name."""
        before = len(ready(self.house))
        spawned = self.house.knell.spawn(
            kind,
            name=name,
            place="tmux",
            server="test",
            session=name,
            cwd=str(self.folder),
            env={"STAND_IN": habits},
        )
        eventually(lambda: ready(self.house)[before:])
        return spawned.run

    def has_session(self, name: str = NAME, *, server: str = "test") -> bool:
        names = self.house.tmux("list-sessions", "-F", "#{session_name}", server=server)
        return name in names.splitlines()

    def screen(self, name: str = NAME, *, server: str = "test") -> str:
        return self.house.tmux("capture-pane", "-p", "-t", f"={name}:", server=server)

    def say(self, text: str, name: str = NAME, *, server: str = "test") -> None:
        """Types a message to the agent and waits until it has heard it."""
        self.house.tmux("send-keys", "-t", f"={name}:", text, "Enter", server=server)
        eventually(lambda: ["heard", text] in [words for _, words in notes(self.house)])

    # -- the file -----------------------------------------------------------------------------

    def list(self, *rows: str) -> str:
        """Writes the registry; returns what is in it now."""
        self.file.write_text(HEAD + "".join(rows) + TAIL)
        return self.file.read_text()

    def row_text(self, name: str = NAME, **fields: Any) -> str:
        known = {"status": "running", "server": "test", "pid": 1, "cwd": self.folder}
        known["agent"] = "agy" if name.endswith("agy") else "claude"
        known["own"] = OWN[str(known["agent"])]
        more = fields.pop("more", "")
        return ROW.format(name=name, **{**known, **fields}) + more

    def data(self) -> Any:
        """As another program reads it."""
        return YAML(typ="safe", pure=True).load(self.file.read_text())

    def row(self, name: str = NAME) -> dict[str, Any]:
        return next(row for row in self.data()["tmux_sessions"] if row["name"] == name)

    # -- the command line ---------------------------------------------------------------------

    def run(self, *args: str, **options: Any) -> subprocess.CompletedProcess[str]:
        return self.house.run(*args, cwd=self.folder, **options)

    def stop(self, *options: str, name: str = NAME) -> subprocess.CompletedProcess[str]:
        return self.run("stop", "--session", name, *options)

    def delete(self, *options: str, name: str = NAME) -> subprocess.CompletedProcess[str]:
        return self.run("delete", "--session", name, *options)

    def receipt(self, *args: str) -> dict[str, Any]:
        """The one receipt of a command, from its JSON."""
        done = self.run(*args, "--json")
        told = json.loads(done.stdout)
        assert len(told["receipts"]) == 1, done
        return told["receipts"][0]

    def resume(self, name: str, *options: str) -> dict[str, Any]:
        done = self.run("resume", name, *options, "--json")
        assert done.returncode == 0, done.stderr
        return json.loads(done.stdout)


def at_terminal(shop: Shop, answer: str, *args: str) -> tuple[int, str]:
    """`knell ARGS` by a person who answers its question; exit code and everything on the screen."""
    screen, keyboard = pty.openpty()
    os.write(screen, answer.encode())
    argv = (sys.executable, "-m", "knell", *args)
    asking = subprocess.Popen(
        argv, env=shop.house.env, cwd=shop.folder, stdin=keyboard, stdout=keyboard, stderr=keyboard
    )
    os.close(keyboard)
    told = b""
    with contextlib.suppress(OSError):  # EIO: nobody has the other end open any more
        while more := os.read(screen, 4096):
            told += more
    os.close(screen)
    return asking.wait(timeout=300), told.decode().replace("\r\n", "\n")


def hurry(house: House, *, exit_wait: float = 0.3, grace: float = 0.3) -> None:
    """Shorter waits, for agents of whom it is known that they will not go."""
    config = house.root / "config.toml"
    config.write_text(f"[stop]\nexit_wait = {exit_wait}\ngrace = {grace}\n")
    house.env["KNELL_CONFIG"] = str(config)


def configure(house: House, text: str) -> None:
    (house.root / "config.toml").write_text(text)
    house.env["KNELL_CONFIG"] = str(house.root / "config.toml")


def install(house: House) -> None:
    """`claude` and `agy` on the PATH of this house."""
    programs = house.root / "programs"
    if programs.exists():
        return
    programs.mkdir()
    for name in ("claude", "agy"):
        (programs / name).write_text(f"#!{sys.executable} -IS\n{STAND_IN.read_text()}")
        (programs / name).chmod(0o755)
    house.env["PATH"] = f"{programs}:{house.env['PATH']}"
    house.env["STAND_IN_LOG"] = str(house.root / "stand-in.log")


def notes(house: House) -> list[tuple[int, list[Any]]]:
    """(pid, what happened to it), in order."""
    path = house.root / "stand-in.log"
    lines = path.read_text().splitlines(keepends=True) if path.exists() else []
    told = [json.loads(line) for line in lines if line.endswith("\n")]
    return [(one["pid"], one["words"]) for one in told]


def notes_of(house: House, pid: int) -> list[list[Any]]:
    return [words for one, words in notes(house) if one == pid]


def ready(house: House) -> list[Started]:
    return [Started(pid, words[1]) for pid, words in notes(house) if words[0] == "ready"]


# -- delegated jobs -------------------------------------------------------------------------------

JOB = "job-7"


def job(shop: Shop, status: str = "running") -> Path:
    """A delegated job, as the registry of jobs keeps it."""
    folder = shop.folder / ".mam" / "jobs"
    folder.mkdir(parents=True)
    told = {"schema_version": 1, "job_id": JOB, "status": status, "last_seq": 4, "prompt": "mend"}
    path = folder / f"{JOB}.json"
    path.write_text(json.dumps(told))
    path.chmod(0o600)
    return path


def job_events(shop: Shop) -> list[dict[str, Any]]:
    log = shop.folder / ".mam" / "jobs" / f"{JOB}.events.log"
    return [json.loads(line) for line in log.read_text().splitlines()] if log.exists() else []


# -- where conversations lie ----------------------------------------------------------------------


def claude_file(shop: Shop, conversation: str) -> Path:
    key = "".join(c if c.isalnum() else "-" for c in str(shop.folder.resolve()))
    return shop.house.home / ".claude" / "projects" / key / f"{conversation}.jsonl"


def agy_file(shop: Shop, conversation: str) -> Path:
    root = shop.house.home / ".gemini" / "antigravity-cli"
    return root / "conversations" / f"{conversation}.db"


def texts(file: Path) -> list[str]:
    """What was said in a conversation, record by record."""
    return [json.loads(line)["text"] for line in file.read_text().splitlines()]


def files_below(folder: Path) -> dict[str, bytes]:
    """Every file and what is in it."""
    found = sorted(path for path in folder.rglob("*") if path.is_file())
    return {str(path.relative_to(folder)): path.read_bytes() for path in found}


def reached(receipt: dict[str, Any]) -> list[str]:
    return [rung["rung"] for rung in receipt["rungs"] if rung["reached"]]
