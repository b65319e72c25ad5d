#!/usr/bin/env python3
"""Does what opencode 1.18.33 was seen to do with its sessions and with knell's plugin.

    opencode [--session ID]        opencode run WORDS…

Typed lines: `/new`; `/sessions ID` stands for the choice in a list; `/exit`; anything else is a
turn, and begins a session where there is none.
"""

import json
import os
import sqlite3
import sys
import time
import uuid
from pathlib import Path
from urllib.parse import unquote, urlsplit

DATA = Path(os.environ["HOME"], ".local", "share", "opencode")
TABLE = "session (id TEXT, parent_id TEXT, directory TEXT, time_updated INTEGER)"


def show(text: str) -> None:
    sys.stdout.write(text)
    sys.stdout.flush()


def plugin_folder(settings: str) -> Path | None:
    """Where the plugin writes, by the settings that opencode would read; None if it has none."""
    for plugin in json.loads(settings).get("plugin", []) if settings else []:
        if isinstance(plugin, list) and Path(unquote(urlsplit(plugin[0]).path)).is_file():
            return Path(plugin[1]["folder"])
    return None


class Opencode:
    def __init__(self, settings: str) -> None:
        DATA.mkdir(parents=True, exist_ok=True)
        self.db = sqlite3.connect(DATA / "opencode.db", isolation_level=None, timeout=60)
        self.db.execute(f"CREATE TABLE IF NOT EXISTS {TABLE}")
        self.session = ""
        self.folder = plugin_folder(settings)
        if self.folder and not self.is_teller(self.folder / "teller"):
            self.folder = None

    def is_teller(self, file: Path) -> bool:
        try:
            with file.open("x") as new:
                new.write(str(os.getpid()))
        except FileExistsError:
            return file.read_text() == str(os.getpid())
        return True

    def turn_to(self, session: str) -> None:
        words = session or f"{self.session} left"
        if self.folder and (session or self.session):
            with (self.folder / "told").open("a") as file:
                file.write(f"{time.time():.3f} {words}\n")
        self.session = session

    def has(self, session: str) -> bool:
        return bool(self.db.execute("SELECT 1 FROM session WHERE id = ?", [session]).fetchall())

    def say(self) -> None:
        if not self.session:
            new = f"ses_{uuid.uuid4().hex[:26]}"
            row = [new, str(Path.cwd()), time.time_ns() // 1_000_000]
            self.db.execute("INSERT INTO session VALUES (?, NULL, ?, ?)", row)
            self.turn_to(new)
        now = time.time_ns() // 1_000_000
        self.db.execute("UPDATE session SET time_updated = ? WHERE id = ?", [now, self.session])


def draw(text: str) -> None:
    frame = "─\n┃\n┃  Ask anything… \n┃\n┃  Build · m1 loop\n╹▀▀▀▀\n"
    show(f"\x1b[2J\x1b[H{text}\n{frame}")


def main(words: list[str]) -> int:
    if words[:1] == ["run"]:
        program = Opencode(os.environ.get("OPENCODE_CONFIG_CONTENT", ""))
        program.say()
        show(f"in {program.session}\n")
        return 0
    config = "" if "--pure" in words else os.environ.get("OPENCODE_TUI_CONFIG", "")
    program = Opencode(Path(config).read_text() if config else "")
    if words[:1] == ["--session"]:
        if not program.has(words[1]):
            show("Session not found\n")
            return 1
        program.turn_to(words[1])
    draw(f"in {program.session or 'none'}")
    for line in sys.stdin:
        word = line.strip("\x1b\x03\n ")
        if word == "/exit":
            break
        if word == "/new":
            program.turn_to("")
        elif word.startswith("/sessions "):
            program.turn_to(word.split()[1])
        elif word:
            program.say()
        draw(f"in {program.session or 'none'}")
    if program.session:
        show(f"\x1b[2J\x1b[H  Continue  opencode -s {program.session}\n")
    return 0


sys.exit(main(sys.argv[1:]))
