"""The agent programs that quell knows: one file each, facts only, imported one at a time."""

import os
from collections.abc import Sequence
from importlib import import_module

from quell.core.kind import Kind

NAMES = ("claude", "agy", "codex", "gemini", "opencode", "command")

# Base names, without `.exe`: npm installs the native claude and opencode as `bin/claude.exe` on
# every system, and that name shows up wherever the program starts itself again.
PROGRAMS = ("claude", "agy", "codex", "gemini", "opencode")
PACKAGES = {
    "@anthropic-ai/claude-code": "claude",
    "@openai/codex": "codex",
    "@google/gemini-cli": "gemini",
    "opencode-ai": "opencode",
}
INTERPRETERS = ("node", "nodejs", "bun", "python")
TAKES_A_VALUE = ("-r", "--require", "--import", "--loader", "-W", "-X")
NO_SCRIPT = ("-e", "--eval", "-p", "--print", "-c", "-m", "-")


def kind(name: str) -> Kind:
    """The facts about one kind; KeyError if there is none of that name."""
    if name not in NAMES:
        raise KeyError(name)
    found: Kind = import_module(f"{__name__}.{name}").KIND
    return found


def recognise(argv: Sequence[str]) -> str:
    """Which kind a command line is; `command` when it is none, however often it names one."""
    if not argv:
        return "command"
    found = _named(argv[0])
    if found == "command" and _is_interpreter(argv[0]):
        return _named(_script(argv))
    return found


def arguments(argv: Sequence[str]) -> tuple[str, ...]:
    """What a person gave the program: not its name, nor the interpreter that runs it."""
    script = _script(argv) if recognise(argv) != _named(argv[0]) else argv[0]
    return tuple(argv[argv.index(script) + 1 :])


def _named(path: str) -> str:
    base = os.path.basename(path).removesuffix(".exe")
    if base in PROGRAMS:
        return base
    # Claude's own installer: the daemon and what it starts run as .../claude/versions/2.1.197.
    if path.split("/")[-3:-1] == ["claude", "versions"]:
        return "claude"
    # A script such as `codex.js` counts only inside the package: people name theirs so too.
    _, _, inside = path.rpartition("node_modules/")
    for package, name in PACKAGES.items():
        if inside.startswith(f"{package}/"):
            return name
    return "command"


def _is_interpreter(path: str) -> bool:
    return os.path.basename(path).rstrip("0123456789.") in INTERPRETERS


def _script(argv: Sequence[str]) -> str:
    """The file that an interpreter runs, empty if it runs something else."""
    rest = iter(argv[1:])
    for word in rest:
        if word in NO_SCRIPT:
            return ""
        if word in TAKES_A_VALUE:
            next(rest, "")
        elif not word.startswith("-"):
            return word
    return ""
