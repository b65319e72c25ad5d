#!/usr/bin/env python3
"""A small stand-in for an agent program: it keeps a conversation and leaves at `/bye`.

    robin [--talk ID | --again ID] [--mcp JSON] [PROMPT]

Typed lines: `/bye` leaves; `ask` asks a question; `work` begins a turn; anything else is answered.
It writes what it was started with beside its conversations, for the test to read.
"""

import json
import os
import sys
from pathlib import Path

ROOT = Path(os.environ.get("ROBIN_HOME") or Path.home() / ".robin")


def say(text: str) -> None:
    sys.stdout.write(text)
    sys.stdout.flush()


def note(talk: Path, who: str, **more: object) -> None:
    with talk.open("a") as file:
        file.write(json.dumps({"who": who, **more}) + "\n")


def main(words: list[str]) -> int:
    flag, told = (words[0], words[1]) if words[:1] in (["--talk"], ["--again"]) else ("", "0")
    talk = ROOT / "talks" / f"{told}.jsonl"
    talk.parent.mkdir(parents=True, exist_ok=True)
    if flag == "--again" and not talk.exists():
        say("robin: there is no such talk\n")
        return 1
    started = {"argv": sys.argv[1:], "env": sorted(os.environ), "pid": os.getpid()}
    note(talk, "robin", done=True)
    (ROOT / "notes" / told).mkdir(parents=True, exist_ok=True)
    (ROOT / "started.json").write_text(json.dumps(started))
    say("robin is here\n")
    while True:
        say("robin> ")
        line = sys.stdin.readline()
        if not line or line.strip() == "/bye":
            return 0
        if line.strip() == "ask":
            say("May I sing?\n[1] yes  [2] no\n")
            line = sys.stdin.readline()
        note(talk, "user", text=line.strip())
        if line.strip() != "work":
            note(talk, "robin", done=True)


sys.exit(main(sys.argv[1:]))
