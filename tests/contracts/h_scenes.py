"""What the tests of the H contract play with: agents that tell what they heard, and odd callers."""

import json
import os
import sqlite3
import subprocess
import sys
from contextlib import closing
from pathlib import Path
from typing import Any

from house import House, eventually
from knell.core.agent import Agent
from knell.core.run import Place, Run, State
from knell.life.start.spawn import Spawned
from needs import skip_without

NOBODY = 65534


# -- agents that tell -----------------------------------------------------------------------------

HEARS = """
def note(word):
    with open({log!r}, "a") as log:
        log.write(str(os.getpid()) + " " + word + chr(10))

def heard(number, _):
    note(signal.Signals(number).name)
    if number == signal.SIGTERM and {linger} >= 0:
        time.sleep({linger})
        note("finished")
        os._exit(0)

for number in (signal.SIGHUP, signal.SIGINT, signal.SIGTERM):
    signal.signal(number, heard)
for _ in range({children}):
    told, say = os.pipe()
    if not os.fork():
        os.write(say, b"x")
        break
    os.read(told, 1)
else:
    tell()
while True:
    signal.pause()
"""


def hears(house: House, *, linger: float = 0, children: int = 0) -> str:
    """A body that writes down each signal; after TERM it needs `linger` seconds, or never goes."""
    return HEARS.format(log=str(house.root / "heard"), linger=linger, children=children)


def heard(house: House) -> list[tuple[int, str]]:
    """(pid, signal or `finished`), in the order of hearing."""
    path = house.root / "heard"
    lines = path.read_text().splitlines() if path.exists() else []
    return [(int(pid), word) for pid, word in (line.split() for line in lines)]


def words_of(house: House, pid: int) -> list[str]:
    return [word for one, word in heard(house) if one == pid]


# -- a tmux that closes nothing by itself ---------------------------------------------------------


def desk(house: House) -> str:
    """The operator's own pane, on a server that keeps panes whose program has ended."""
    house.tmux("new-session", "-d", "-s", "desk", "sleep", "1000")
    house.tmux("set-option", "-w", "-g", "remain-on-exit", "on")
    return house.panes()[0]


# -- records --------------------------------------------------------------------------------------


def rows(house: House, query: str) -> list[tuple[Any, ...]]:
    """Straight from the file, past knell."""
    with closing(sqlite3.connect(f"file:{house.state}/knell.db?mode=ro", uri=True)) as db:
        return db.execute(query).fetchall()


def farewell(house: House, agent: str = "luna") -> dict[str, Any]:
    """What the newest `life.stopped` event of an agent says."""
    events = house.json("events", agent)["events"]
    return [event["data"] for event in events if event["type"] == "life.stopped"][-1]


def ghost(house: House, name: str = "ghost", tag: str = "") -> None:
    """An agent that was written down by a knell that died before it could start anything."""
    dead = house.process("sleep", "1000")
    owner = house.knell.world.processes.identify(dead.pid)
    dead.kill()
    dead.wait()
    run = Run(
        id=house.knell.world.new_id(),
        agent=name,
        host=house.knell.world.host,
        state=State.SPAWNING,
        place=Place("headless"),
        started_at=house.knell.world.now(),
        owner=owner,
    )
    house.knell.world.store.runs.add(Agent(name, "command", "/", ("sleep", "9"), tag=tag), run)


# -- callers who may not do everything ------------------------------------------------------------


def as_nobody(house: House, *args: str, home: Path | None = None) -> Any:
    """`knell ARGS` by a user who may read every file, because of the interpreter's place, and
    signal only what is his."""
    skip_without("needs_root")
    rights = "+dac_override,+dac_read_search"
    who = ("--reuid", str(NOBODY), "--regid", str(NOBODY), "--clear-groups")
    env = house.env | ({"HOME": str(home), "KNELL_HOME": str(home / "state")} if home else {})
    argv = ["setpriv", *who, "--inh-caps", rights, "--ambient-caps", rights]
    return subprocess.run(
        [*argv, sys.executable, "-m", "knell", *args],
        env=env, cwd=house.root, stdin=subprocess.DEVNULL,
        capture_output=True, text=True, check=False, timeout=300,
    )  # fmt: skip


def nobodys_home(house: House) -> Path:
    home = house.root / "nobody"
    home.mkdir()
    os.chown(home, NOBODY, NOBODY)
    return home


# -- an AI tool that can be asked to leave --------------------------------------------------------

CLAUDE = """#!{python} -IS
import json, os, signal, sys, time, tty

signal.alarm(1200)
def note(word):
    with open({log!r}, "a") as log:
        log.write(json.dumps(word) + chr(10))

def heard(number, _):
    note(signal.Signals(number).name)
    os._exit(0)

def draw(prompt):  # as the real one does: a line above and below what is being typed
    line = chr(0x2500) * 20
    shown = [line, chr(0x276F) + " " + prompt, line]
    os.write(1, (chr(27) + "[2J" + chr(27) + "[H" + "\\r\\n".join(shown)).encode())

for number in (signal.SIGHUP, signal.SIGTERM):
    signal.signal(number, heard)
words = sys.argv[1:]
if "--settings" in words:  # by which knell lets it tell its conversation
    at = words.index("--settings")
    del words[at : at + 2]
session = words[1]
folder = os.path.join(os.environ["HOME"], ".claude", "projects", "here")
os.makedirs(folder, exist_ok=True)
open(os.path.join(folder, session + ".jsonl"), "a").close()
if os.isatty(0):
    tty.setraw(0)
    draw("")
note(words)
prompt = ""
while os.isatty(0):
    key = os.read(0, 1).decode()
    if key == chr(13) and prompt == "/exit":
        time.sleep({saving})
        note("saved")
        sys.exit(0)
    prompt = prompt + key if key.isprintable() else ""
    draw(prompt)
while True:
    signal.pause()  # headless: nobody will type
"""


def claude(house: House, name: str = "luna", *, saving: float = 0, place: str = "tmux") -> Spawned:
    """A stand-in for Claude Code: leaves on `/exit`, and needs a while to save its work."""
    programs = house.root / "programs"
    programs.mkdir(exist_ok=True)
    program = programs / "claude"
    log = str(house.root / "claude")
    program.write_text(CLAUDE.format(python=sys.executable, log=log, saving=saving))
    program.chmod(0o755)
    if str(programs) not in house.env["PATH"]:
        house.env["PATH"] = f"{programs}:{house.env['PATH']}"
    before = len(claude_notes(house))
    server = "test" if place == "tmux" else ""
    cwd = str(house.root)
    spawned = house.knell.spawn("claude", name=name, place=place, server=server, cwd=cwd)
    eventually(lambda: len(claude_notes(house)) > before)
    return spawned


def claude_notes(house: House) -> list[Any]:
    """Its arguments, the signals it heard, and whether it could save."""
    path = house.root / "claude"
    return [json.loads(line) for line in path.read_text().splitlines()] if path.exists() else []
