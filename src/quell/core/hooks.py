"""Heartbeat hooks: where each agent program keeps its hooks, and what we put there.

Where the facts come from is in docs/hooks.md: the programs' own packages, and a trial of each.
"""

from collections.abc import Mapping
from typing import Any, NamedTuple

NAME = "quell-heartbeat"
# Every command of ours ends like this: a comment inside the sh script, so that whatever shell
# the program uses sees one quoted word.
MARK = "# quell'"

START, END = "SessionStart", "SessionEnd"  # the same in all three
BEAT_SECONDS = 5
END_SECONDS = 3  # Codex allows no more
LINE_BYTES = 8192  # of what the program says about a session


class Program(NamedTuple):
    """One agent program, as far as its hooks are concerned."""

    name: str
    variable: str  # moves the settings directory
    below: str  # from that variable's directory to the settings directory
    home: str  # from the person's home to the settings directory
    files: tuple[str, ...]  # where hooks may stand; new ones go to the first
    beats: tuple[str, ...]  # events that show life
    switches: str  # the file that can switch hooks off
    comments: bool = False  # its JSON may have comments
    reads_bom: bool = False  # its JSON may start with a byte order mark
    milliseconds: bool = False  # the timeout's unit; otherwise seconds
    answers: bool = False  # it wants JSON on stdout
    expands: bool = False  # it puts variables into its settings when it reads them
    named: bool = False  # a hook has a name

    def directory(self, env: Mapping[str, str]) -> str:
        moved = env.get(self.variable)
        return f"{moved}{self.below}" if moved else f"{env.get('HOME', '')}/{self.home}"


# Only events that Claude has had since 1.0.85: with one that it does not know, it drops all hooks
# of that file (2.0.0 does, 2.1.197 no longer).
CLAUDE = Program(
    "claude", "CLAUDE_CONFIG_DIR", "", ".claude", ("settings.json",),
    ("UserPromptSubmit", "PreToolUse", "PostToolUse", "Notification", "Stop", "SubagentStop",
     "PreCompact"),
    switches="settings.json", reads_bom=True,
)  # fmt: skip
CODEX = Program(
    "codex", "CODEX_HOME", "", ".codex", ("hooks.json", "config.toml"),
    ("UserPromptSubmit", "PreToolUse", "PostToolUse", "Stop", "SubagentStop", "PreCompact"),
    switches="config.toml",
)  # fmt: skip
GEMINI = Program(
    "gemini", "GEMINI_CLI_HOME", "/.gemini", ".gemini", ("settings.json",),
    ("BeforeAgent", "BeforeTool", "AfterTool", "AfterAgent", "Notification", "PreCompress"),
    switches="settings.json", comments=True, milliseconds=True, answers=True, expands=True,
    named=True,
)  # fmt: skip
PROGRAMS = {program.name: program for program in (CLAUDE, CODEX, GEMINI)}


def entries(program: Program) -> dict[str, dict[str, Any]]:
    """Event → our one handler for it."""
    beat = _handler(program, "", BEAT_SECONDS)
    return {
        START: _handler(program, "session-start", BEAT_SECONDS),
        **dict.fromkeys(program.beats, beat),
        END: _handler(program, "session-end", END_SECONDS),
    }


def _handler(program: Program, record: str, seconds: int) -> dict[str, Any]:
    name = {"name": NAME} if program.named else {}
    timeout = seconds * 1000 if program.milliseconds else seconds
    return {**name, "type": "command", "command": _command(program, record), "timeout": timeout}


def _command(program: Program, record: str) -> str:
    """A silent script that always succeeds; with `record`, it also writes down what it is told."""
    # A program that expands would paste the path into the script, with whatever quotes are in it.
    path = '"$(printenv QUELL_HEARTBEAT)"' if program.expands else '"$QUELL_HEARTBEAT"'
    steps = f'set -- {path}; [ -n "$1" ] && touch "$1"'
    if record:
        told = f'"$(head -c {LINE_BYTES} | tr -d "\\r\\n")"'
        line = 'printf "%s %s\\n" "$(date -u +%Y-%m-%dT%H:%M:%SZ)" "$2"'
        steps = f'umask 077; set -- {path} {told}; [ -n "$1" ] && touch "$1" && '
        steps += f'{line} >>"$(dirname "$1")/{record}"'
    # Standard input is read to its end: a hook that leaves before it was told everything counts
    # as failed (Claude: "closed stdin before hook input was fully written"; Codex alike).
    answer = ' echo "{}";' if program.answers else ""
    return f"sh -c '{{ {steps}; cat; }} >/dev/null 2>&1;{answer} exit 0 {MARK}"
