#!/usr/bin/env python3
"""Plays Claude Code for the pages: keeps its conversation, draws its prompt, leaves at /exit.

    claude [--session-id ID | --resume ID] [OPTIONS] [PROMPT]

It answers a prompt with the words of the prompt. Beside it runs what an MCP server would be, in a
session of its own. Without a terminal it answers once and leaves, or stays if nothing was asked.
"""

import json
import os
import re
import signal
import subprocess
import sys
import termios
import tty
import uuid
from pathlib import Path

RULE = "─" * 60
SIGN = "\u276f"
ROOT = Path(os.environ["HOME"], ".claude")
VALUED = ("--session-id", "--resume", "--settings", "--model")
CLEARS = "\x03\x15\x1b"  # Ctrl-C, Ctrl-U, Escape
BOUND = 600


def parsed(words: list[str]) -> tuple[dict[str, str], str]:
    """Options with their values, and the prompt."""
    options: dict[str, str] = {}
    rest: list[str] = []
    while words:
        word = words.pop(0)
        if word in VALUED:
            options[word] = words.pop(0)
        elif not word.startswith("-"):
            rest.append(word)
    return options, " ".join(rest)


class Claude:
    def __init__(self, options: dict[str, str]) -> None:
        self.session = options.get("--resume") or options.get("--session-id") or str(uuid.uuid4())
        key = re.sub(r"[^A-Za-z0-9]", "-", os.getcwd())
        self.file = ROOT / "projects" / key / f"{self.session}.jsonl"
        if "--resume" in options and not self.file.exists():
            sys.exit(f"No conversation found with session ID: {self.session}")
        self.file.parent.mkdir(parents=True, exist_ok=True)
        self.file.touch()

    def note_itself(self) -> None:
        (ROOT / "sessions").mkdir(exist_ok=True)
        start = Path("/proc/self/stat").read_text().rpartition(")")[2].split()[19]
        told = {"pid": os.getpid(), "sessionId": self.session, "procStart": start}
        (ROOT / "sessions" / f"{os.getpid()}.json").write_text(json.dumps(told))

    def answer(self, prompt: str) -> str:
        said = {"role": "user", "content": prompt}
        text = [{"type": "text", "text": f"You said: {prompt}"}]
        words = {"id": str(uuid.uuid4()), "content": text, "stop_reason": "end_turn"}
        with self.file.open("a") as file:
            file.write(json.dumps({"type": "user", "message": said}) + "\n")
            file.write(json.dumps({"type": "assistant", "message": words}) + "\n")
        return text[0]["text"]

    def draw(self, typed: str) -> None:
        lines: list[str] = []
        for record in map(json.loads, self.file.read_text().splitlines()):
            content = record["message"]["content"]
            lines += [
                f"{SIGN} {content}" if isinstance(content, str) else f"● {content[0]['text']}",
                "",
            ]
        lines += [RULE, f"{SIGN} {typed}", RULE, "  ? for shortcuts"]
        sys.stdout.write("\033[H\033[2J" + "\r\n".join(lines) + "\r\n")
        sys.stdout.flush()

    def talk(self) -> None:
        """Until a person types /exit."""
        typed = ""
        while typed != "/exit\r":
            self.draw(typed)
            for letter in os.read(0, 1024).decode(errors="replace"):
                typed = "" if letter in CLEARS else typed + letter
            if typed.endswith("\r") and typed != "/exit\r":
                self.answer(typed.strip())
                typed = ""


def main() -> None:
    signal.alarm(BOUND)
    options, prompt = parsed(sys.argv[1:])
    claude = Claude(options)
    subprocess.Popen(
        ["mcp-server-files", str(BOUND)], executable="/bin/sleep", start_new_session=True
    )
    answer = claude.answer(prompt) if prompt else ""
    claude.note_itself()
    if not sys.stdin.isatty():
        sys.stdout.write(answer + "\n" if prompt else "")
        if not prompt:
            signal.pause()
        return
    before = termios.tcgetattr(0)
    tty.setraw(0)
    try:
        claude.talk()
    finally:
        termios.tcsetattr(0, termios.TCSADRAIN, before)


if __name__ == "__main__":
    main()
