"""Plays `codex` as 0.166.0 was seen to behave, for tests without npm.

It has its rollout files open for writing, also the old one after /new; it writes one only when
something is said; at the end of each turn it starts its notify program, for a side thread that has
no file too. It holds a lock on each conversation that it has entered, made anew each time, and
removes them as it leaves; the next codex removes those of a crashed one. SIGUSR1 is a turn, SIGUSR2
is /new, or /resume of the id in the file `codex.goto`. With NEST=1 a tool of it runs another codex.
"""

import contextlib
import fcntl
import json
import os
import signal
import subprocess
import sys
import time
import uuid
from pathlib import Path
from typing import IO

HOME = Path(os.environ["HOME"])
CODEX = Path(os.environ.get("CODEX_HOME") or HOME / ".codex")
ROOT = CODEX / "sessions/2026/11/16"
LOCKS = CODEX / "thread-writer-locks"


def note(*words: object) -> None:
    with (HOME / "codex.notes").open("a") as file:
        file.write(json.dumps([os.getpid(), *words]) + "\n")


def notify_program() -> list[str]:
    found = [word.removeprefix("notify=") for word in sys.argv if word.startswith("notify=")]
    return json.loads(found[-1]) if found else []


class Thread:
    def __init__(self, id: str = "") -> None:
        self.id = id or str(uuid.uuid4())
        earlier = list(ROOT.glob(f"rollout-*-{self.id}.jsonl")) if id else []
        self.path = earlier[0] if earlier else None
        self.file: IO[str] | None = self.path.open("a") if self.path else None
        LOCKS.mkdir(parents=True, exist_ok=True)
        self.lock = LOCKS / f"{self.id}.lock"
        self.lock.unlink(missing_ok=True)
        self.held = self.lock.open("w")
        fcntl.flock(self.held, fcntl.LOCK_EX)

    def turn(self, text: str) -> None:
        if self.file is None:
            ROOT.mkdir(parents=True, exist_ok=True)
            name = f"rollout-{time.strftime('%Y-%m-%dT%H-%M-%S')}-{self.id}.jsonl"
            self.file = (ROOT / name).open("a")
            meta = {"id": self.id, "cwd": os.getcwd(), "source": "cli"}
            self.write("session_meta", meta)
        self.write("event_msg", {"type": "user_message", "message": text})
        self.write("event_msg", {"type": "task_complete"})
        for id in (self.id, str(uuid.uuid4())):  # the second is the thread that makes a title
            told = {"type": "agent-turn-complete", "thread-id": id, "input-messages": [text]}
            if argv := notify_program():
                subprocess.run([*argv, json.dumps(told, separators=(",", ":"))], check=True)
        note("turn", self.id)

    def write(self, kind: str, payload: dict[str, str]) -> None:
        assert self.file
        self.file.write(json.dumps({"type": kind, "payload": payload}) + "\n")
        self.file.flush()


def swap(id: str) -> str:
    """Somebody moves the conversation away, or another into its place, as codex reads it."""
    [path] = ROOT.glob(f"rollout-*-{id}.jsonl")
    if os.environ["SWAP"] == "gone":
        path.unlink()
        return ""
    other = str(uuid.uuid4())
    path.rename(str(path).replace(id, other))
    return other


def remove_dead_locks() -> None:
    for path in LOCKS.glob("*.lock"):
        with path.open("r+") as file, contextlib.suppress(BlockingIOError):
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
            path.unlink()


def main() -> None:
    wanted = {signal.SIGUSR1, signal.SIGUSR2, signal.SIGTERM, signal.SIGHUP}
    signal.pthread_sigmask(signal.SIG_BLOCK, wanted)
    resumed = sys.argv[sys.argv.index("resume") + 1] if "resume" in sys.argv else ""
    if resumed and "SWAP" in os.environ:
        resumed = swap(resumed)
    remove_dead_locks()
    threads = [Thread(resumed)]
    note("ready", threads[-1].id, sys.argv[1:])
    nested = None
    while True:
        got = signal.sigwait(wanted)
        if got == signal.SIGUSR1:
            threads[-1].turn(os.environ.get("SAYS", "say amber"))
            if os.environ.get("NEST") and nested is None:
                env = {**os.environ, "NEST": "", "SAYS": "say nested"}
                nested = subprocess.Popen([sys.executable, sys.argv[0], "exec"], env=env)
                note("nested", str(nested.pid))
        elif got == signal.SIGUSR2:
            goto = HOME / "codex.goto"
            threads.append(Thread(goto.read_text() if goto.exists() else ""))
            note("new", threads[-1].id)
        else:
            for thread in threads:
                thread.lock.unlink(missing_ok=True)
            return


main()
