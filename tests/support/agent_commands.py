"""An agent that runs `knell ARGS` inside itself, in processes that it forks.

A command that an agent of a test starts with `python -m knell` takes 120 ms, nearly all of it for
starting Python and importing knell. This agent imports knell when it is first told a command, and
forks for each: the commands are its children as before, with its stamp in /proc, its terminal and
its cgroup, and prove who they are as before.

How it is used. `AGENT` is the source of a program for `python -S -c AGENT` (any agent of a test may
have it as its command). It listens on the UNIX socket that the variable DOOR names, and makes the
file that KNELL_READY names once it does. Each connection is one command. What is said is a line of
JSON, `{"words": [...], "env": {...}, "without": [...]}`, and what is answered is another,
`[code, out, err]`; `tell` says it and `heard` reads the answer:

    env = {"DOOR": str(door), "KNELL_READY": str(ready)}
    house.knell.spawn(command=(sys.executable, "-S", "-c", AGENT), env=env, name="luna", ...)
    eventually(ready.exists)
    with tell(door, "ask", "wendy", "--json") as caller:
        code, out, err = heard(caller)          # (-1, "", "") if it did not live to answer

Words are those of `knell`, or ("env",) for its environment, or ("exec", *argv) for any program. A
command with an environment of its own (`env`, `without`) is started with `python -m knell`, since
others may read in /proc with which environment a process began.
"""

import importlib
import json
import os
import socket
from pathlib import Path
from typing import Any, NoReturn

from preloaded import become_knell, settle

# What only a command needs is imported by the first one: many agents are only there.
AGENT = """
import os, sys, _signal, _socket
_signal.alarm(1200)
door = _socket.socket(_socket.AF_UNIX)
if os.path.exists(os.environ["DOOR"]):  # of its run before
    os.unlink(os.environ["DOOR"])
door.bind(os.environ["DOOR"])
door.listen(100)
def forked(words, support):
    with alone:
        if "agent_commands" not in sys.modules:
            import site
            site.main()
            sys.path.append(support)
            import agent_commands
            agent_commands.preload()
        out, out_, err, err_ = *os.pipe(), *os.pipe()
        pid = os.fork()
        if not pid:
            sys.modules["agent_commands"].become(words, out_, err_)
        os.close(out_), os.close(err_)
    said = {out: b"", err: b""}
    readers = [threading.Thread(target=lambda fd=fd: said.update({fd: whole(fd)})) for fd in said]
    [reader.start() for reader in readers]
    [reader.join() for reader in readers]
    code = os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])
    return [code, *(data.decode() for data in said.values())]
def whole(fd):
    with open(fd, "rb") as file:
        return file.read()
def serve(caller):
    told = json.loads(caller.makefile().readline())
    env = {**os.environ, **told["env"]}
    for name in told["without"]:
        env.pop(name, None)
    words = told["words"]
    if words == ["env"]:
        answer = [0, json.dumps(dict(os.environ)), ""]
    elif words[0] != "exec" and env == dict(os.environ):
        answer = forked(words, told["support"])
    else:
        argv = words[1:] if words[0] == "exec" else [sys.executable, "-m", "knell", *words]
        done = subprocess.run(argv, env=env, capture_output=True, text=True, stdin=-3)
        answer = [done.returncode, done.stdout, done.stderr]
    try:
        caller.sendall((json.dumps(answer) + "\\n").encode())
    except OSError:
        pass
    caller.close()
if os.environ.get("DEAF"):
    [_signal.signal(n, _signal.SIG_IGN) for n in (1, 2, 15)]
open(os.environ["KNELL_READY"], "w").close()
number = door._accept()[0]
import json, socket, subprocess, threading
alone = threading.Lock()  # who imports or forks
while True:
    caller = socket.socket(fileno=number)
    threading.Thread(target=serve, args=(caller,), daemon=True).start()
    del caller  # it is closed when its answer is given
    number = door._accept()[0]
"""
SUPPORT = str(Path(__file__).parent)
# What the commands of agents need; a child that needs more imports it itself.
WARM = (
    *("datetime", "hashlib", "select", "sqlite3", "tomllib", "uuid"),
    *("knell.faces.cli.group", "knell.faces.cli.verbs.messages", "knell.api.verbs"),
    *("knell.life.teams.answer", "knell.life.teams.ask", "knell.life.teams.agent_status"),
    *("knell.life.teams.task", "knell.life.skills", "knell.stores.runs", "knell.wiring"),
    "knell.processes.os.linux",
)


# -- the test's side -------------------------------------------------------------------------------


def tell(
    door: Path, *words: str, env: dict[str, str] | None = None, without: Any = ()
) -> socket.socket:
    """Begins `knell WORDS` inside the agent at that door."""
    caller = socket.socket(socket.AF_UNIX)
    caller.settimeout(300)
    caller.connect(str(door))
    told: dict[str, Any] = {"words": words, "env": env or {}, "without": list(without)}
    told |= {"support": SUPPORT}
    caller.sendall((json.dumps(told) + "\n").encode())
    return caller


def heard(caller: socket.socket) -> tuple[int, str, str]:
    """Its exit code and what it said; code -1 if the agent did not live to tell."""
    try:
        line = caller.makefile().readline()
    except OSError:
        line = ""
    code, out, err = json.loads(line) if line else (-1, "", "")
    return code, out, err


# -- inside the agent ------------------------------------------------------------------------------


def preload() -> None:
    for name in WARM:
        importlib.import_module(name)
    settle()


def become(words: list[str], out: int, err: int) -> NoReturn:
    """This process is the command from here on."""
    become_knell(words, (os.open(os.devnull, os.O_RDWR), out, err))
