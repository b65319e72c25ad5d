"""Plays an agent that is moved by hand: it does what the stage tells it, and nothing by itself.

Started as `claude` it keeps a conversation where the real program does. It leaves when the stage
is gone, so that nobody plays on after a test.
"""

import json
import os
import re
import signal
import socket
import sys
import tty
from collections.abc import Callable
from pathlib import Path
from typing import Any

BURNT = 0.03  # seconds of CPU time that a tool uses when it is told to work
LONGEST = 1800  # seconds; no day takes that long
SPINNER = "✢✳✶✻✽"


def conversation_file() -> Path:
    session = sys.argv[sys.argv.index("--session-id") + 1]
    root = Path(os.environ["HOME"], ".claude", "projects")
    return root / re.sub("[^A-Za-z0-9]", "-", os.getcwd()) / f"{session}.jsonl"


class Actor:
    def __init__(self) -> None:
        self.held: list[Any] = []  # open for as long as it lives
        self.blinks = 0
        self.tool: tuple[int, int] | None = None  # where a tool hears, and where it answers

    def beat(self, wall: float) -> None:
        path = os.environ["KNELL_HEARTBEAT"]
        Path(path).touch()
        os.utime(path, (wall, wall))

    def say(self, wall: float, record: dict[str, Any]) -> None:
        path = conversation_file()
        path.parent.mkdir(parents=True, exist_ok=True)
        with path.open("a") as file:
            file.write(json.dumps(record) + "\n")
        os.utime(path, (wall, wall))

    def show(self, text: str) -> None:
        """A new screen where there is one; else more of the log."""
        self.draw(("\x1b[H\x1b[2J\x1b[3J" if sys.stdout.isatty() else "") + text)

    def write(self, text: str) -> None:
        self.draw(text + "\r\n")

    def blink(self) -> None:
        self.blinks += 1
        glyph = SPINNER[self.blinks % len(SPINNER)]
        line = (
            f"{glyph} Pondering… (esc to interrupt · {self.blinks * 15}s · ↓ {self.blinks} tokens)"
        )
        self.draw(f"\r\x1b[2K{line}")

    def draw(self, text: str) -> None:
        """Returns when the terminal has drawn it, however busy the machine is: a terminal answers
        the question for its status after it has drawn all that came before the question."""
        sys.stdout.write(text)
        sys.stdout.flush()
        if sys.stdout.isatty():
            tty.setcbreak(0)
            os.write(1, b"\x1b[5n")
            while os.read(0, 1) != b"n":
                pass

    def burn(self) -> None:
        """A child of its own works for a moment; it is started by the first word."""
        if self.tool is None:
            self.tool = start_tool()
        hears, answers = self.tool
        os.write(hears, b"!")
        os.read(answers, 1)

    def dial(self, port: int) -> None:
        """Whoever answers hangs up; this side never does."""
        self.held.append(socket.create_connection(("127.0.0.1", port)))

    def stop_child(self) -> None:
        child = os.fork()
        if not child:
            os.kill(os.getpid(), signal.SIGSTOP)
            os._exit(0)
        os.waitpid(child, os.WUNTRACED)


TOOL = f"""
import os, time
while os.read(0, 1):
    until = time.process_time() + {BURNT}
    while time.process_time() < until:
        pass
    os.write(1, b".")
"""


def start_tool() -> tuple[int, int]:
    """A program of its own: what the agent's own program uses is not counted as work."""
    heard, hears = os.pipe()
    answers, answered = os.pipe()
    if not os.fork():
        os.dup2(heard, 0)
        os.dup2(answered, 1)
        os.closerange(3, 64)
        os.execv(sys.executable, [sys.executable, "-ISc", TOOL])
    os.close(heard)
    os.close(answered)
    return hears, answers


def main() -> None:
    signal.alarm(LONGEST)
    actor = Actor()
    stage = socket.socket(socket.AF_UNIX)
    stage.connect(os.environ["DAY_STAGE"])
    with stage.makefile("rw") as lines:
        lines.write(os.environ["DAY_NAME"] + "\n")
        lines.flush()
        for line in lines:
            deed, *given = json.loads(line)
            does: Callable[..., None] = getattr(actor, deed)
            does(*given)
            lines.write("done\n")
            lines.flush()


if __name__ == "__main__":
    main()
