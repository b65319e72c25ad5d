"""A person at a shell: an interactive bash in a tmux pane, with `knell` on its PATH."""

import itertools
import os
import shlex
import sys
from pathlib import Path

from house import House, alive, eventually
from knell.core.run import Run
from knell.life.base.take_in import take_in_journals

PROMPT = "ready> "
WIDTH, HEIGHT = 90, 24

# What an agent on a terminal may use: say() writes a line that the test reads, hear() says each
# signal's name, LOG is where.
PROLOGUE = """
import os, signal, sys, time
signal.alarm(1200)
LOG = os.open(sys.argv[1], os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600)

def say(*words):
    os.write(LOG, (" ".join(map(str, words)) + "\\n").encode())

def hear(*numbers):
    for number in numbers:
        signal.signal(number, lambda n, _: say(signal.Signals(n).name))

def wait():
    say("ready", os.getpid())
    while True:
        time.sleep(9)
"""


class Log:
    """What one agent said."""

    def __init__(self, path: Path) -> None:
        self.path = path

    def lines(self) -> list[str]:
        return self.path.read_text().splitlines() if self.path.exists() else []

    def await_line(self, start: str, nth: int = 1) -> str:
        """The nth line that starts like this, once it is there."""
        return eventually(lambda: [*self._starting(start), *([""] * nth)][nth - 1])

    def await_pid(self) -> int:
        """The pid of an agent that is ready."""
        return int(self.await_line("ready").split()[1])

    def _starting(self, start: str) -> list[str]:
        return [line for line in self.lines() if line.split(" ")[0] == start]


class Shell:
    """One bash. Lines are typed as a person types them; each answers when its prompt is back."""

    numbers = itertools.count()

    def __init__(self, house: House, *command: str) -> None:
        self.house = house
        self.session = f"shell-{next(self.numbers)}"
        argv = command or ("bash", "--norc", "--noprofile", "-i")
        env = ("env", f"PATH={path_with_knell(house)}", f"PS1={PROMPT}", "HISTFILE=")
        told = house.tmux(
            "new-session", "-d", "-P", "-F", "#{pane_id} #{pane_pid}",
            "-s", self.session, "-x", str(WIDTH), "-y", str(HEIGHT), "--", *env, *argv,
        ).split()  # fmt: skip
        self.pane, self.pid = told[0], int(told[1])

    def type(self, line: str) -> None:
        self.house.tmux("send-keys", "-t", self.pane, "-l", line)
        self.press("Enter")

    def press(self, *keys: str) -> None:
        self.house.tmux("send-keys", "-t", self.pane, *keys)

    def ask(self, line: str) -> str:
        """Types a line and returns what it printed, once the shell is free again."""
        answer = self.house.root / f"answer-{next(self.numbers)}"
        self.type(f"{line} > {answer}.new 2>&1; mv {answer}.new {answer}")
        eventually(answer.exists)
        return answer.read_text().strip()

    def screen(self) -> str:
        return self.house.tmux("capture-pane", "-p", "-t", self.pane)

    def shows(self, text: str) -> None:
        eventually(lambda: text in self.screen())

    def told(self, form: str) -> str:
        return self.house.tmux("display-message", "-p", "-t", self.pane, form).strip()

    def front(self) -> int:
        """The process group that the terminal belongs to."""
        text = Path(f"/proc/{self.pid}/stat").read_text()
        return int(text.rsplit(")", 1)[1].split()[5])

    def close(self) -> None:
        """As a person does who is done with the pane."""
        self.house.tmux("kill-pane", "-t", self.pane)
        eventually(lambda: not alive(self.pid))


def path_with_knell(house: House) -> str:
    """A PATH on which `knell` is this one, started without a process in between."""
    bin_dir = house.root / "bin"
    if not bin_dir.exists():
        bin_dir.mkdir()
        script = bin_dir / "knell"
        script.write_text(f'#!/bin/sh\nexec {shlex.quote(sys.executable)} -m knell "$@"\n')
        script.chmod(0o755)
    return f"{bin_dir}:{os.environ['PATH']}"


def agent(house: House, body: str) -> tuple[str, Log]:
    """A shell's words that start a program with this body, and its log."""
    log = house.root / f"{os.urandom(4).hex()}.log"
    source = log.with_suffix(".py")
    source.write_text(PROLOGUE + body)
    return f"{shlex.quote(sys.executable)} -S {source} {log}", Log(log)


def run_of(house: House, name: str) -> Run:
    """The newest run of that agent, once its keeper has reported."""

    def reported() -> Run | None:
        runs = house.knell.world.store.runs.of(name)
        take_in_journals(house.knell.world)
        return runs[0] if runs and runs[0].keeper else None

    run = eventually(reported)
    assert run
    return run


def keeper_of(house: House, name: str) -> int:
    keeper = run_of(house, name).keeper
    assert keeper
    return keeper.pid
