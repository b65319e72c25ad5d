"""Heartbeat hooks: what knell puts into the settings of a program that has hooks.

Which programs have them is a fact of their kinds; where the facts come from is in docs/hooks.md.
"""

from collections.abc import Mapping
from typing import Any, NamedTuple

NAME = "knell-heartbeat"
# Every command that knell writes ends like this: a comment inside the sh script, so that any
# shell that the program uses sees one quoted word.
MARK = "# knell'"

START, END = "SessionStart", "SessionEnd"  # the same in all programs that have hooks
BEAT_SECONDS = 5
END_SECONDS = 3  # Codex allows no more
LINE_BYTES = 8192  # of what the program says about a session


class Hooks(NamedTuple):
    """The hooks of one agent program: where its settings keep them, and what it wants of them."""

    variable: str  # moves the settings directory
    home: str  # from the person's home to the settings directory
    files: tuple[str, ...]  # where hooks may stand; new ones go to the first
    beats: tuple[str, ...]  # events that show life
    switches: str  # the file that can switch hooks off
    below: str = ""  # from that variable's directory to the settings directory
    comments: bool = False  # its JSON may have comments
    reads_bom: bool = False  # its JSON may start with a byte order mark
    milliseconds: bool = False  # the timeout's unit; otherwise seconds
    answers: bool = False  # it wants JSON on stdout
    expands: bool = False  # it puts variables into its settings when it reads them
    named: bool = False  # a hook has a name
    asks_for_trust: bool = False  # it runs a hook only once a person has trusted it

    def directory(self, env: Mapping[str, str]) -> str:
        moved = env.get(self.variable)
        return f"{moved}{self.below}" if moved else f"{env.get('HOME', '')}/{self.home}"


def entries(hooks: Hooks) -> dict[str, dict[str, Any]]:
    """Event → our one handler for it."""
    beat = _handler(hooks, "", BEAT_SECONDS)
    return {
        START: _handler(hooks, "session-start", BEAT_SECONDS),
        **dict.fromkeys(hooks.beats, beat),
        END: _handler(hooks, "session-end", END_SECONDS),
    }


def _handler(hooks: Hooks, record: str, seconds: int) -> dict[str, Any]:
    name = {"name": NAME} if hooks.named else {}
    timeout = seconds * 1000 if hooks.milliseconds else seconds
    return {**name, "type": "command", "command": _command(hooks, record), "timeout": timeout}


def _command(hooks: Hooks, record: str) -> str:
    """A silent script that always succeeds; with `record`, it also records its standard input."""
    # A program that expands would paste the path into the script, with whatever quotes are in it.
    path = '"$(printenv KNELL_HEARTBEAT)"' if hooks.expands else '"$KNELL_HEARTBEAT"'
    steps = f'set -- {path}; [ -n "$1" ] && touch "$1"'
    if record:
        stdin = f'"$(head -c {LINE_BYTES} | tr -d "\\r\\n")"'
        line = 'printf "%s %s\\n" "$(date -u +%Y-%m-%dT%H:%M:%SZ)" "$2"'
        steps = f'umask 077; set -- {path} {stdin}; [ -n "$1" ] && touch "$1" && '
        steps += f'{line} >>"$(dirname "$1")/{record}"'
    # Standard input is read to its end: a hook that exits before it has read everything counts
    # as failed (Claude: "closed stdin before hook input was fully written"; Codex alike).
    answer = ' echo "{}";' if hooks.answers else ""
    return f"sh -c '{{ {steps}; cat; }} >/dev/null 2>&1;{answer} exit 0 {MARK}"
