"""What agents left that knell did not start: found by environment, program and ancestry alone."""

import json
import os
import signal
import sys
from pathlib import Path
from uuid import uuid4

import pytest

import robin
from house import House, alive, descendants, eventually
from scenes import end, in_pid_namespace
from shells import Shell

# Stands for claude: it starts two MCP servers and two background tools, as the real one does, and
# says their PIDs.
CLAUDE = f"""#!{sys.executable}
import os, subprocess, sys, time
env = dict(os.environ, CLAUDECODE="1", CLAUDE_CODE_SESSION_ID=sys.argv[2])
sleep = ("sleep", "1000")
words = (sleep, sleep, ("sh", "-c", "sleep 1000 & wait"), ("sh", "-c", "sleep 1000 & wait"))
found = [subprocess.Popen(one, env=env, stdin=subprocess.DEVNULL).pid for one in words]
with open(sys.argv[1] + ".new", "w") as note:
    note.write(" ".join(map(str, (os.getpid(), *found))))
os.rename(sys.argv[1] + ".new", sys.argv[1])
time.sleep(1000)
"""
SESSION = str(uuid4())[:-1]  # and one digit; other tests look at this machine meanwhile


def program(house: House, name: str, source: str) -> Path:
    path = house.root / name
    path.write_text(source)
    path.chmod(0o755)
    return path


def hand_started(house: House, shell: Shell, number: int = 1) -> tuple[int, list[int]]:
    """A claude at a shell, and what it has started."""
    path = program(house, "claude", CLAUDE)
    note = house.root / f"note-{number}"
    shell.type(f"{path} {note} {SESSION}{number}")
    eventually(note.exists)
    pid, *below = map(int, note.read_text().split())
    return pid, below


def listed(house: House) -> dict[int, str]:
    """PID → what it is, as both verbs list it; without what other tests left meanwhile."""
    lists = house.json("doctor")["foreign"], house.json("reap", "--foreign")["foreign"]
    mine = descendants()
    found = [{one["pid"]: one["via"] for one in rows if one["pid"] in mine} for rows in lists]
    assert found[0] == found[1]
    return found[0]


# As the first process of a namespace, where what has lost its parent goes to PID 1, as it does on a
# machine without a subreaper: a tmux server, and a claude that lost its shell.
SERVER = """
import json, subprocess, sys, time
sys.path[:0] = {path!r}
from knell import Knell
claude = {claude!r}
tmux = ("tmux", "-L", "work", "-f", "/dev/null")
subprocess.run((*tmux, "new-session", "-d", "-s", "work", claude), check=True)
asked = (*tmux, "display-message", "-p", "#{{pid}}")
server = int(subprocess.run(asked, check=True, capture_output=True, text=True).stdout)
lost = ("setsid", "sh", "-c", claude + " > /dev/null 2>&1 & echo $!")
lost = int(subprocess.run(lost, check=True, capture_output=True, text=True).stdout)
knell, found = Knell(), []
while lost not in found:
    found = [one.process.pid for one in knell.foreign()]
verbs = [sys.executable, "-m", "knell", "reap", "--foreign", str(server), "--yes"]
refused = subprocess.run(verbs, check=False, capture_output=True, text=True)
lives = subprocess.run(asked, check=False, capture_output=True).returncode == 0
print(json.dumps([server in found, refused.returncode, refused.stderr, lives]))
"""


def test_P11_a_tmux_server_is_no_leftover_whatever_its_arguments_say(house: House) -> None:
    """Its command line ends in the path of an agent's program, its environment is an agent's."""
    claude = program(house, "claude", f"#!{sys.executable}\nimport time\ntime.sleep(1000)\n")
    house.env |= {"CLAUDECODE": "1", "CLAUDE_CODE_SESSION_ID": f"{SESSION}9"}
    told = in_pid_namespace(house, SERVER.format(path=sys.path, claude=str(claude)))
    listed, code, why, lives = json.loads(told)
    assert (listed, code, lives) == (False, 1, True)
    assert "is not among the foreign leftovers" in why


def test_P11_what_a_killed_claude_leaves_is_listed_while_its_shell_is_open(house: House) -> None:
    shell = Shell(house)
    pid, below = hand_started(house, shell)
    assert listed(house) == {}  # while it lives, all of that is its own
    os.kill(pid, signal.SIGKILL)
    eventually(lambda: not alive(pid))
    assert listed(house) == dict.fromkeys(below, "left by claude")
    ended = house.json("reap", "--foreign", *map(str, below), "--yes")
    assert [one["result"] for one in ended["receipts"]] == ["ended"] * 4
    assert not any(map(alive, below))
    assert alive(shell.pid)


def test_P11_only_the_dead_session_has_leftovers(house: House) -> None:
    """Another claude goes on; what one of its tools has sent into the background is its own."""
    one, other = Shell(house), Shell(house)
    dead, left = hand_started(house, one, 1)
    living, _ = hand_started(house, other, 2)
    daemon = house.root / "daemon"
    house.env |= {"CLAUDECODE": "1", "CLAUDE_CODE_SESSION_ID": f"{SESSION}2"}
    parent = house.process("setsid", "sh", "-c", f"sh -c 'sleep 1000 & echo $! > {daemon}'")
    parent.wait()
    del house.env["CLAUDECODE"], house.env["CLAUDE_CODE_SESSION_ID"]
    os.kill(dead, signal.SIGKILL)
    eventually(lambda: not alive(dead))
    assert listed(house) == dict.fromkeys(left, "left by claude")
    os.kill(living, signal.SIGKILL)
    eventually(lambda: not alive(living))
    assert int(daemon.read_text()) in listed(house)
    house.run("reap", "--foreign", *map(str, listed(house)), "--yes")


def orphan(house: House, *words: str, **env: str) -> int:
    """A process with this command line and these variables that has lost its parent."""
    note = house.root / "orphan"
    note.unlink(missing_ok=True)
    quoted = " ".join(words)
    house.env |= env
    house.process(
        "setsid", "sh", "-c", f"{quoted} > {house.root}/out 2>&1 & echo $! > {note}"
    ).wait()
    for name in env:
        del house.env[name]
    return int(note.read_text())


MARKS = {"CLAUDECODE": "1", "CLAUDE_CODE_SESSION_ID": f"{SESSION}7"}


def test_P11_knells_own_processes_are_no_leftovers(house: House) -> None:
    watch = orphan(house, sys.executable, "-m", "knell", "watch", **MARKS)
    house.spawn(name="luna", env=tuple(MARKS.items()))
    assert listed(house) == {}
    end(watch)


# In a namespace, as any claude of the machine would be a session that the daemon serves.
DAEMON = """
import json, os, subprocess, sys
sys.path[:0] = {path!r}
from knell import Knell
claude, knell = {claude!r}, Knell()
start = ("setsid", "sh", "-c", claude + " daemon run > /dev/null 2>&1 & echo $!")
daemon = int(subprocess.run(start, check=True, capture_output=True, text=True).stdout)
found = {{}}
while not found:
    found = {{one.process.pid: one.via for one in knell.foreign()}}
# The namespace, and the loop with it, would not end if the daemon were listed beside a session.
plain = {{key: value for key, value in os.environ.items() if not key.startswith("CLAUDE")}}
shell = subprocess.Popen(("sh", "-c", claude + " & wait"), env=plain)
while knell.foreign():
    pass
print(json.dumps(found == {{daemon: "left by claude"}}))
"""


def test_P11_a_daemon_of_the_vendor_is_no_leftover_while_it_is_in_use(house: House) -> None:
    claude = program(house, "claude", f"#!{sys.executable}\nimport time\ntime.sleep(1000)\n")
    house.env |= MARKS
    told = in_pid_namespace(house, DAEMON.format(path=sys.path, claude=str(claude)))
    assert json.loads(told) is True


@pytest.mark.parametrize("source", ["settings", "package"])
def test_P11_kinds_from_outside_count_too(house: House, source: str) -> None:
    robin.Aviary(house, {"settings": robin.in_settings, "package": robin.as_package}[source])
    left = orphan(house, "sleep", "1000", ROBIN_SESSION="talk-1")
    assert listed(house) == {left: "left by robin"}
    end(left)
