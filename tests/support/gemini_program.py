#!/usr/bin/env python3
"""Does with its files what gemini 0.61.0 was seen to do (tests/core/recordings/gemini.clear).

    gemini --session-id ID | --resume ID

Typed lines: `hold` begins a turn that never ends, until Escape; `/clear` and `/new`; `/resume ID`
stands for the choice in a list; `/quit`; anything else is a turn.
"""

import json
import os
import sys
import termios
import time
import tty
import uuid
from datetime import UTC, datetime
from pathlib import Path

TMP = Path(os.environ["HOME"], ".gemini", "tmp", Path.cwd().name)
CHATS = TMP / "chats"
CONTEXT = {"type": "user", "content": [{"text": "<session_context>\nThe date is known."}]}


def now() -> str:
    return datetime.fromtimestamp(time.time(), UTC).isoformat(timespec="milliseconds")


def show(text: str) -> None:
    sys.stdout.write(text)
    sys.stdout.flush()


def append(path: Path, *records: dict[str, object]) -> None:
    with path.open("a") as file:
        file.writelines(json.dumps(record) + "\n" for record in records)


def texts_of(path: Path) -> list[str]:
    """What a person said in it, after the last record that wrote all messages anew."""
    said: list[str] = []
    for line in path.read_text().splitlines():
        record = json.loads(line)
        if "messages" in record.get("$set", {}):
            said = []
        if record.get("type") == "user":
            said.append(record["content"][0]["text"])
    return said


def files_of(session: str) -> list[Path]:
    return sorted(CHATS.glob(f"session-*-{session[:8]}.jsonl"))


class Gemini:
    def __init__(self, first: str) -> None:
        self.first = first
        self.open = False
        self.path = Path()
        self.session = ""
        self.shown = "gemini is here"

    def draw(self, typed: str) -> None:
        """Its prompt, and the menu of commands where this one stands alone."""
        menu = "\r\n───\r\n quit      Exit the cli" if typed == "/quit" else ""
        prompt = f" > {typed}" if typed else " >   Type your message or @path/to/file"
        show(f"\x1b[2J\x1b[H{self.shown}\r\n{prompt}{menu}")

    def begin(self, session: str) -> Path:
        # The real name holds the minute: a resume in the same one appends to the same file.
        path = CHATS / f"session-2026-11-16T16-{time.time_ns()}-{session[:8]}.jsonl"
        append(path, {"sessionId": session, "startTime": now(), "kind": "main"})
        append(path, {"$set": {"messages": [CONTEXT]}})
        return path

    def turn_to(self, session: str) -> None:
        self.session = session
        self.path = files_of(session)[0]
        append(self.path, {"$set": {"sessionId": session}})

    def log(self, text: str) -> None:
        file = TMP / "logs.json"
        lines = json.loads(file.read_text()) if file.exists() else []
        lines.append({"sessionId": self.first, "type": "user", "message": text, "timestamp": now()})
        file.write_text(json.dumps(lines, indent=2))

    def take(self, text: str) -> bool:
        """Whether it goes on."""
        self.log(text.split(maxsplit=1)[0] if text.startswith("/") else text)
        if text == "/quit":
            self.leave()
            return False
        if text in ("/clear", "/new"):
            self.session = str(uuid.uuid4())
            self.path = self.begin(self.session)
        elif text.startswith("/resume "):
            self.turn_to(text.split()[1])
        elif not text.startswith("/"):
            append(self.path, {"type": "user", "timestamp": now(), "content": [{"text": text}]})
            self.open = text == "hold"
            if not self.open:
                append(self.path, {"type": "gemini", "content": f"answer to {text}"})
        self.shown = f"done: {text}"
        return True

    def cancel(self) -> None:
        if self.open:
            self.open = False
            append(self.path, {"type": "info", "content": "Request cancelled."})
            append(self.path, {"$set": {"messages": [CONTEXT]}})

    def leave(self) -> None:
        if not texts_of(self.path):
            self.path.unlink()
        goodbye = "│  Agent powering down. Goodbye!"
        show(f"\x1b[2J\x1b[H{goodbye}\r\n│  Session ID:     {self.session}\r\n")


def clean_up(current: str) -> None:
    """It takes a conversation with an empty file for broken, and deletes all files of its id."""
    broken = {path.stem[-8:] for path in CHATS.glob("session-*") if not texts_of(path)}
    for path in CHATS.glob("session-*"):
        if path.stem[-8:] in broken and path.stem[-8:] != current[:8]:
            path.unlink()


def main(flag: str, session: str) -> int:
    CHATS.mkdir(parents=True, exist_ok=True)
    (TMP / ".project_root").write_text(str(Path.cwd()))
    clean_up(session)
    gemini = Gemini(session)
    if flag == "--resume":
        if not files_of(session):
            show("Error resuming session: Invalid session identifier\n")
            return 42
        gemini.turn_to(session)
        gemini.begin(session)  # the stub
    else:
        gemini.session, gemini.path = session, gemini.begin(session)
    gemini.shown = f"gemini is here: {texts_of(gemini.path)}"
    return converse(gemini)


def converse(gemini: Gemini) -> int:
    if os.isatty(0):
        tty.setraw(0, termios.TCSANOW)
    typed = ""
    gemini.draw(typed)
    while key := os.read(0, 1).decode("latin-1"):
        if key == "\x1b":
            gemini.cancel()
        elif key in "\x15\x03":
            typed = ""
        elif key in "\r\n":
            if typed and not gemini.take(typed):
                return 0
            typed = ""
        else:
            typed += key
        gemini.draw(typed)
    return 0


sys.exit(main(*sys.argv[1:3]))
