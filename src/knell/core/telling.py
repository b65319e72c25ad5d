"""How a program is asked, for one run only, to tell which conversation it is in.

A kind's `tell` gets the command line and the environment of a start, and gives them back with what
makes the program tell: an option, a variable, small files in the run's directory. The user's own
settings are read where they must be kept in force, and never written. The program then appends
lines to the file TOLD in the run's directory, each `SECONDS ID` or `SECONDS ID WORD`; the word LEFT
says that it has left that conversation and is in none yet.
"""

import json
from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple

TOLD = "told"  # in the run's directory
BEGAN = "began"  # in the run's directory: the id that the program was started with
LEFT = "left"
SCRIPT = "tell"  # the script that appends to it
TAIL = 65_536  # bytes of its end that are read


class TellRequest(NamedTuple):
    """A start as it would be without a request to tell."""

    argv: tuple[str, ...]
    env: Mapping[str, str]
    cwd: str
    rundir: str
    read: Callable[[str], str | None]  # the text of a small file; None if it cannot be read


class Telling(NamedTuple):
    """The same start, with what makes the program tell."""

    argv: tuple[str, ...]
    env: Mapping[str, str]
    files: tuple[tuple[str, str], ...] = ()  # name in the run's directory, text


class ToldLine(NamedTuple):
    at: float  # seconds after 1970; 0 if the line does not say
    id: str
    word: str = ""


def told_lines(text: bytes) -> list[ToldLine]:
    """Every whole line, the oldest first. The agent may write there too: an id is not checked."""
    found: list[ToldLine] = []
    for line in text.decode("ascii", "replace").split("\n")[:-1]:
        at, _, rest = line.partition(" ")
        id, _, word = rest.partition(" ")
        if id:
            found.append(ToldLine(_seconds(at), id, word))
    return found


def _seconds(text: str) -> float:
    whole, _, part = text.partition(".")
    if not (whole.isascii() and whole.isdigit() and len(whole) < 12):  # noqa: PLR2004 - a far year
        return 0.0
    return float(f"{whole}.{part if part.isascii() and part.isdigit() else 0}")


# It must be quick and need nothing but sh: the program waits for it, or starts it at each turn.
# Only ids are written down, never what was said. The file is bounded by a change of its name.
_NOTE = """\
umask 077
told=${{0%/*}}/{told}
case $text in *'"{key}":"'*) ;; *) text= ;; esac
id=${{text#*'"{key}":"'}}
id=${{id%%'"'*}}
case $id in
'' | *[!0-9A-Za-z_-]*) ;;
*)
  if [ -n "$(find "$told" -size +1000k 2>/dev/null)" ]; then mv -f "$told" "$told.old"; fi
  printf '%s %.128s\\n' "$(date +%s.%N)" "$id" >>"$told" ;;
esac
"""
_FROM_INPUT = """\
#!/bin/sh
# Notes for knell which conversation this run is in. The program gives its words on standard input.
{{
text=$(head -c 8192)
cat
{note}}} >/dev/null 2>&1
exit 0
"""
_FROM_ARGUMENT = """\
#!/bin/sh
# Notes for knell which conversation this run is in. The program gives its words as the last
# argument. What stands before it is the program that the user wants to be notified.
{{
for text do :; done
{note}}} >/dev/null 2>&1
if [ $# -gt 1 ]; then exec "$@"; fi
exit 0
"""


def script_from_input(key: str) -> str:
    """A script that notes the id after `"key":"` in what it reads."""
    return _FROM_INPUT.format(note=_NOTE.format(told=TOLD, key=key))


def script_from_argument(key: str) -> str:
    """The same for a last argument; it then executes the arguments before it, with that one."""
    return _FROM_ARGUMENT.format(note=_NOTE.format(told=TOLD, key=key))


# -- the user's own settings, kept in force -------------------------------------------------------


def without_option(args: Sequence[str], option: str) -> tuple[tuple[str, ...], str]:
    """The arguments without that option, and the value of the last of them; empty if none."""
    rest: list[str] = []
    value = ""
    words = iter(args)
    for word in words:
        if word == "--":
            rest += (word, *words)
        elif word == option:
            value = next(words, "")
        elif word.startswith(f"{option}="):
            value = word.partition("=")[2]
        else:
            rest.append(word)
    return tuple(rest), value


def with_hook(settings: str, event: str, command: str) -> str | None:
    """JSON settings with one more hook; None for what is no such JSON: the program will say so."""
    try:
        document: Any = json.loads(settings)
        hooks: Any = document.setdefault("hooks", {})
        handlers: Any = hooks.setdefault(event, [])
        handlers.append({"hooks": [{"type": "command", "command": command, "timeout": 5}]})
    except (ValueError, AttributeError, TypeError, RecursionError):
        return None
    return json.dumps(document)
