"""Scenes with a tmux server that an agent and a person share; adopted agents too."""

import os
import signal
import subprocess
from pathlib import Path

import pytest

from house import House, eventually
from knell.core.receipt import Receipt
from scenes import adopted, started

OPEN = "tmux -L x -f /dev/null new-session -d -s"
WORK = f"{OPEN} work sleep 333"
PERSON = {"SSH_CONNECTION": "a person's"}  # adopted agents are told from people by such variables


def tmux(house: House, *words: str, program: str = "tmux") -> str:
    """As a person uses it."""
    argv = [program, "-L", "x", "-f", "/dev/null", *words]
    done = subprocess.run(
        argv, env=house.env | PERSON, capture_output=True, text=True, check=False, timeout=300
    )
    return done.stdout


def panes(house: House) -> dict[str, int]:
    """Session → the pid in its pane; and the server's own."""
    form = "#{session_name} #{pane_pid} #{pid}"
    lines = [line.split() for line in tmux(house, "list-panes", "-a", "-F", form).splitlines()]
    found = {line[0]: int(line[1]) for line in lines}
    return found | ({"server": int(lines[0][2])} if lines else {})


def does(*commands: str) -> str:
    """The body of an agent that has these commands executed, and stays."""
    return "\n".join((*(f"os.system({command!r})" for command in commands), "tell()", "sleep()"))


def agent(house: House, how: str, *commands: str) -> None:
    """An agent that executes these, spawned or adopted before it does."""
    if how == "spawned":
        started(house, does(*commands))
        return
    went = house.root / "went"
    deeds = f"[os.system(c) for c in {(*commands, f'touch {went}')!r}]"
    dev = adopted(house, f"signal.signal(10, lambda *_: {deeds})\ntell()\nsleep()")
    os.kill(dev.pid, signal.SIGUSR1)
    eventually(went.exists)


def daemon(house: House, rest: str = "exec sleep 444") -> str:
    return f"(setsid sleep 555 & echo $! > {house.root}/daemon); {rest}"


def has_program(pid: int, program: str) -> bool:
    """Whether it has become that program, with the environment that it has there."""
    return Path(f"/proc/{pid}/cmdline").read_bytes().startswith(program.encode())


def kill(house: House) -> Receipt:
    return house.kill("luna", grace=1)[0].receipts[0]


def pids_in(receipt: Receipt) -> set[int]:
    return {one.pid for one in receipt.processes}


def written(file: Path) -> int:
    return int(eventually(lambda: file.exists() and file.read_text().strip()))


KINDS = pytest.mark.parametrize(
    "how", ["spawned", pytest.param("adopted", marks=pytest.mark.needs_cgroup)]
)
