"""Plays the prompt of codex 0.166.0, as far as leaving it matters: codex_prompt.py NOTES [HABIT…]

It draws what the real one draws (tests/kinds/exit_screens) and takes the same keys: C-c takes
all lines of a prompt and ends it on an empty one, C-u takes one line, Enter sends everything.
Habits: late (reads once a second), hung (never reads), asks (a question about an update, at which
Escape and C-c do nothing and Enter says yes), breeds (a child that it ends before it leaves).
What it sends, says yes to, and how it leaves is a line each in the file NOTES.
"""

import os
import select
import signal
import subprocess
import sys
import tty

NOTES, *HABITS = sys.argv[1:]
SIGN = "\u203a"
CHILDREN: list[subprocess.Popen[bytes]] = []
EMPTY = "Ask Codex to do anything"
FOOTER = "  stand-in default \u00b7 ~/project"
UPDATE = f"Update available!\r\n\r\n{SIGN} 1. Update now\r\n  2. Skip"
QUIT, INTERRUPT, CLEAR, ENTER, ESCAPE, BREAK = "/quit", "\x03", "\x15", "\r", "\x1b", "\n"


def note(words: str) -> None:
    with open(NOTES, "a", encoding="utf-8") as file:
        file.write(words.replace("\n", "|") + "\n")


def draw(typed: str) -> None:
    prompt = typed.replace("\n", "\r\n  ") or EMPTY
    menu = f"{SIGN} /quit  exit Codex\r\n" if typed == QUIT else ""
    shown = UPDATE if "asks" in HABITS else f"{menu}\r\n{SIGN} {prompt}\r\n\r\n{FOOTER}"
    os.write(1, f"\x1b[H\x1b[2J{shown}".encode())


def leave(why: str) -> None:
    for child in CHILDREN:  # as a program that ends its servers before it leaves
        child.communicate()
    note(f"left by {why}")
    os._exit(0)


def sent(typed: str) -> str:
    if "asks" in HABITS:
        note("said yes")
    elif typed == QUIT:
        leave(QUIT)
    else:
        note(f"sent {typed}")
    return ""


def after(key: str, typed: str) -> str:
    if key == INTERRUPT and not typed and "asks" not in HABITS:
        leave("C-c")
    if key in (INTERRUPT, ESCAPE):
        return "" if key == INTERRUPT else typed
    if key == CLEAR:
        return typed.rpartition("\n")[0]
    return sent(typed) if key == ENTER else typed + key


def main() -> None:
    signal.alarm(600)
    if "breeds" in HABITS:
        CHILDREN.append(subprocess.Popen(["cat"], stdin=subprocess.PIPE, stdout=subprocess.DEVNULL))
        note(f"child {CHILDREN[0].pid}")
    tty.setraw(0)
    typed = ""
    while True:
        draw(typed)
        select.select([], [], [], 1.0 if "late" in HABITS else 0.0)
        if "hung" in HABITS and typed:
            signal.pause()
        burst = os.read(0, 4096).decode()
        if burst.startswith(ESCAPE) and len(burst) > 1:
            burst = burst[2:]  # Alt with a key
        for key in burst:
            typed = after(key, typed)


main()
