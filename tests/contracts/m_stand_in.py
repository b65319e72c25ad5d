"""Plays `claude` or `agy` in a terminal, by the name it was started under.

It has a prompt, keeps a conversation where the real program does, and notes what happened to it.
Its habits are words in STAND_IN: silent (no message was sent yet), half (a half-typed prompt),
wants (an open question to which Enter says yes), asks (a question instead of leaving), stays (no
exit keys), deaf (no TERM and no HUP), slow (needs a second to leave), torn (half a record at the
end), noteless (no file by its PID), strays (another conversation than the one asked for), breeds
(a child that took itself out of the session), fails (says why and ends, before it has a prompt).

With -p or --print it prints an answer and exits, as `claude -p` does.
"""

import json
import os
import re
import select
import signal
import sys
import termios
import tty
import uuid
from pathlib import Path
from typing import Any, NoReturn

NAME = os.path.basename(sys.argv[0])
HABITS = os.environ.get("STAND_IN", "").split()
EXIT = {"claude": "/exit", "agy": "Exit"}[NAME]
LOST = {"claude": "No conversation found with session ID: {}", "agy": "no conversation {}"}[NAME]
PRINTS = bool({"-p", "--print"} & {*sys.argv})
HOME = Path(os.environ["HOME"])
CLAUDE = Path(os.environ.get("CLAUDE_CONFIG_DIR") or HOME / ".claude")
PROJECTS = Path(os.environ.get("CLAUDE_PROJECT_DIR") or CLAUDE / "projects")
AGY = HOME / ".gemini" / "antigravity-cli"


def note(*words: Any) -> None:
    line = json.dumps({"pid": os.getpid(), "name": NAME, "words": words})
    with open(os.environ["STAND_IN_LOG"], "a") as log:
        log.write(line + "\n")


def show(text: str, end: str = "\r\n") -> None:
    sys.stdout.write(text + end)
    sys.stdout.flush()


# -- the conversation -----------------------------------------------------------------------------


def conversation_file(name: str) -> Path:
    if NAME == "agy":
        return AGY / "conversations" / f"{name}.db"
    return PROJECTS / re.sub("[^A-Za-z0-9]", "-", os.getcwd()) / f"{name}.jsonl"


def asked_for(*flags: str) -> str:
    words = sys.argv[1:]
    return next((words[words.index(flag) + 1] for flag in flags if flag in words), "")


class Conversation:
    def __init__(self) -> None:
        earlier = asked_for("--resume", "-r", "--conversation")
        if earlier and not conversation_file(earlier).exists():
            show(LOST.format(earlier))
            note("lost", earlier)
            sys.exit(1)
        straying = earlier and "strays" in HABITS
        self.id = (not straying and (earlier or asked_for("--session-id"))) or str(uuid.uuid4())
        self.file = conversation_file(self.id)
        self.resumed = self.file.exists()
        if not self.file.exists() and "silent" not in HABITS and not PRINTS:
            self.add("hello")
        if "torn" in HABITS:
            with self.file.open("a") as file:
                file.write('{"text": "cut sho')
        self.announce()

    def said(self) -> list[str]:
        """What a resumed conversation shows."""
        records = self.file.read_text().splitlines() if self.resumed else []
        return [f"earlier: {json.loads(record)['text']}" for record in records]

    def add(self, text: str) -> None:
        self.file.parent.mkdir(parents=True, exist_ok=True)
        with self.file.open("a") as file:
            file.write(json.dumps({"sessionId": self.id, "text": text}) + "\n")

    def announce(self) -> None:
        """What the real programs write beside it, so that others can tell who is in it."""
        if NAME == "agy":
            self.announce_workspace()
            if "silent" not in HABITS:  # a conversation begins with the first word
                self.file.parent.mkdir(parents=True, exist_ok=True)
                self.held = self.file.open("a")  # as a database is
        elif "noteless" not in HABITS and not PRINTS:
            start = Path("/proc/self/stat").read_text().rsplit(")", 1)[1].split()[19]
            told = {"pid": os.getpid(), "sessionId": self.id, "procStart": start}
            self.live_file.parent.mkdir(parents=True, exist_ok=True)
            self.live_file.write_text(json.dumps(told))

    def announce_workspace(self) -> None:
        brain, cache = AGY / "brain" / self.id, AGY / "cache" / "last_conversations.json"
        brain.mkdir(parents=True, exist_ok=True)
        (brain / "plan.md").write_text("a plan")
        cache.parent.mkdir(exist_ok=True)
        known = json.loads(cache.read_text()) if cache.exists() else {}
        cache.write_text(json.dumps({**known, os.getcwd(): self.id}))

    @property
    def live_file(self) -> Path:
        return PROJECTS.parent / "sessions" / f"{os.getpid()}.json"


# -- the prompt -----------------------------------------------------------------------------------


class Prompt:
    """Draws everything anew after each key: what was said, then a question or the prompt."""

    def __init__(self, conversation: Conversation) -> None:
        self.conversation = conversation
        self.lines = conversation.said()
        self.text = "half-typed words " if "half" in HABITS else ""
        self.question = "Run rm -rf here? [Enter: yes]" if "wants" in HABITS else ""
        self.interrupts = 0
        self.deeds = {"\x15": self.clear, "\x1b": self.refuse, "\r": self.submit}
        self.deeds |= {"\x03": self.interrupt, "\x04": self.end_of_input}
        self.draw()

    def draw(self) -> None:
        rule = "─" * 30
        box = (rule, f"\u276f {self.text}", rule) if NAME == "claude" else (f"> {self.text}",)
        show("\x1b[H\x1b[2J\x1b[3J", end="")
        for line in (*self.lines[-9:], *((self.question,) if self.question else box)):
            show(line)

    def take(self, keys: str) -> None:
        """What comes together with an Escape is Alt with a key: the real ones do not obey it."""
        if keys.startswith("\x1b") and len(keys) > 1:
            keys = keys[2:]
        for key in keys:
            if key != "\x03":
                self.interrupts = 0
            if key in self.deeds:
                self.deeds[key]()
            else:
                self.text += key
        self.draw()

    def clear(self) -> None:
        self.text = ""

    def refuse(self) -> None:
        if self.question:
            note("refused")
            self.question = ""

    def submit(self) -> None:
        line, self.text = self.text, ""
        if self.question:
            note("approved", line)
            self.question = ""
        elif line == EXIT and "asks" in HABITS:
            self.question = "Move this session to the background? (y/n)"
        elif line == EXIT and "stays" not in HABITS:
            leave("exit", self.conversation)
        elif line:
            note("heard", line)
            self.conversation.add(line)
            self.lines.append(f"You said: {line}")

    def interrupt(self) -> None:
        """The first empties the prompt, or warns; one more leaves."""
        self.interrupts += not self.text
        self.text = ""
        if self.interrupts > 1 and NAME == "claude":
            leave("interrupted", self.conversation)

    def end_of_input(self) -> None:
        if NAME == "agy":
            leave("end of input", self.conversation)


def leave(why: str, conversation: Conversation, code: int = 0) -> NoReturn:
    if "slow" in HABITS:
        select.select([], [], [], 1)
    note("left", why)
    conversation.live_file.unlink(missing_ok=True)
    os._exit(code)


def breed() -> None:
    if os.fork():
        return
    os.setsid()
    signal.signal(signal.SIGHUP, signal.SIG_IGN)
    signal.alarm(1200)
    note("child")
    while True:
        signal.pause()


def answer() -> NoReturn:
    """One prompt without a terminal: the words of claude 2.1.197."""
    words = sys.argv[1:]
    prompt = words[-1] if words[-2:-1] and words[-2] in ("--", "-p") else ""
    if not prompt:
        show("Error: Input must be provided either through stdin or as a prompt argument")
        os._exit(1)
    conversation = Conversation()
    earlier = [line.removeprefix("earlier: ") for line in conversation.said()]
    conversation.add(prompt)
    note("ready", conversation.id, words, os.getcwd())
    note("heard", prompt)
    show(f"answer to {prompt} after {', '.join(earlier) or 'nothing'}")
    leave("answered", conversation)


def live_briefly() -> None:
    """Ends here if it never shows a prompt."""
    if "fails" in HABITS:
        select.select([], [], [], 1)
        show("no key was given")
        os._exit(3)
    if PRINTS:
        answer()


def main() -> None:
    signal.alarm(1200)  # no test is that long
    live_briefly()
    if "breeds" in HABITS:
        breed()
    if sys.stdin.isatty():
        tty.setraw(0, termios.TCSANOW)
    conversation = Conversation()

    def heard(number: int, _: Any) -> None:
        word = signal.Signals(number).name
        note(word)
        if "deaf" not in HABITS:
            leave(word, conversation, 128 + number)

    for number in (signal.SIGHUP, signal.SIGTERM):
        signal.signal(number, heard)
    prompt = Prompt(conversation)
    note("ready", conversation.id, sys.argv[1:], os.getcwd())
    while True:
        try:
            keys = os.read(0, 1024).decode(errors="replace")
        except OSError:
            keys = ""  # its terminal is gone
        if keys:
            prompt.take(keys)
        else:
            select.select([], [], [], 0.1)  # handlers run in between


main()
