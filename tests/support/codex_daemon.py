#!/usr/bin/env python3
"""Plays codex with its shared daemon: codex NOTES [starts]

It is a person's session and only waits. With `starts` it starts the daemon as its child, in a
session of its own: `codex app-server … --managed-daemon NOTES`. For each id in the variable
SESSIONS the daemon runs a tool, which bears the id as the real one's do (CODEX_THREAD_ID). Pids are
noted as lines `daemon PID` and `SESSION PID`; a person's session notes `session PID`.
"""

import os
import signal
import subprocess
import sys
from typing import NoReturn

LONGEST_LIFE = 600  # seconds, should a test fail to end it
DAEMON = ("app-server", "--listen", "unix://", "--managed-daemon")


def note(file: str, *words: object) -> None:
    with open(file, "a", encoding="utf-8") as notes:
        notes.write(" ".join(map(str, words)) + "\n")


def wait() -> NoReturn:
    while True:
        signal.pause()


def serve(notes: str) -> None:
    for session in os.environ["SESSIONS"].split():
        env = {**os.environ, "CODEX_THREAD_ID": session}
        tool = subprocess.Popen(["sleep", str(LONGEST_LIFE)], env=env)
        note(notes, session, tool.pid)
    note(notes, "daemon", os.getpid())


def main(words: list[str]) -> NoReturn:
    signal.alarm(LONGEST_LIFE)
    if tuple(words[: len(DAEMON)]) == DAEMON:
        serve(words[-1])
    elif words[-1] == "starts":
        subprocess.Popen([sys.argv[0], *DAEMON, words[0]], start_new_session=True)
    else:
        note(words[0], "session", os.getpid())
    wait()


main(sys.argv[1:])
