"""docs/e2e.md: what `make e2e` has just proven and measured, written when all of it passed."""

import platform
import subprocess
from pathlib import Path
from typing import NamedTuple

from e2e.claude_home import DOCILE, STUBBORN, VERSION
from quell import __version__

PAGE = Path(__file__).resolve().parent.parent.parent / "docs" / "e2e.md"


class Figure(NamedTuple):
    """One ending of one Claude."""

    agent_gone: float  # seconds from the deed to its exit
    all_gone: float | None  # to the last exit of anything it had started; None: never
    left: int  # processes that were still there
    rungs: str = ""  # of quell's receipt


class Figures:
    """Everything measured in one run, by the way of ending and the MCP server's habit."""

    def __init__(self) -> None:
        self.alone: dict[tuple[str, str], Figure] = {}
        self.kept: dict[tuple[str, str], Figure] = {}
        self.verbs: dict[tuple[str, str], Figure] = {}
        self.promises: list[str] = []  # first lines of the tests that passed


def page(figures: Figures) -> str:
    return f"""<!-- written by `make e2e`; change tests/e2e/report.py instead -->

# Against the real program

`make e2e` installs Claude Code {VERSION} from the npm registry into a temporary directory, gives it a home, a project and
a stand-in for its model on loopback (`tests/e2e/model.py`), and lets quell spawn, stop, kill and resume it in a tmux of its own.
No key, no account; whatever the program wants of the outside world is refused. Each test fails if any process is left.

The project has an MCP server (`tests/e2e/mcp_server.py`). *Docile*: it leaves when its input ends. *Stubborn*: it ignores TERM, INT,
HUP and the end of its input, and has started a child in a session of its own, as a server that opens a browser does.

Seconds on one machine, rounded; run it on yours. With quell {__version__}, {tmux_version()}, Python {platform.python_version()}, {platform.system()} {kernel_version()}.

## The same ending, without quell and under it

What was left alive, of Claude, its MCP server and that server's child.

| what happens to it | server | without quell | | under quell | |
|---|---|---|---|---|---|
{both_rows(figures)}

## quell's own endings

| verb | server | rungs climbed | Claude gone | everything gone | left |
|---|---|---|---|---|---|
{verb_rows(figures)}

Claude leaves in its own time; what is left then gets TERM, 2 s, and KILL. The time of `stop` includes the pauses between the keys,
without which a half-read Escape would turn the next key into another.

## What was proven

{promise_rows(figures)}
"""


def both_rows(figures: Figures) -> str:
    return "\n".join(
        f"| {way} | {habit} | {told(alone)} | {told(figures.kept[way, habit])} |"
        for (way, habit), alone in figures.alone.items()
    )


def told(figure: Figure) -> str:
    """Two cells: who is left, and when the last one had gone."""
    if figure.left:
        return f"**{figure.left} left** | never"
    return f"nothing left | {seconds(figure.all_gone)}"


def verb_rows(figures: Figures) -> str:
    return "\n".join(
        f"| `{verb}` | {habit} | {figure.rungs} | {seconds(figure.agent_gone)} "
        f"| {seconds(figure.all_gone)} | {figure.left} |"
        for (verb, habit), figure in figures.verbs.items()
    )


def promise_rows(figures: Figures) -> str:
    return "\n".join(f"* {promise}" for promise in figures.promises)


def seconds(value: float | None) -> str:
    return "never" if value is None else f"{value:.1f} s"


def tmux_version() -> str:
    return subprocess.run(["tmux", "-V"], capture_output=True, text=True, check=True).stdout.strip()


def kernel_version() -> str:
    return ".".join(platform.release().split("-")[0].split(".")[:2])


def is_complete(figures: Figures) -> bool:
    """Whether every table has its rows: a run of some of the tests writes no page."""
    habits = {DOCILE, STUBBORN}
    tables = (figures.alone, figures.kept, figures.verbs)
    return all({habit for _, habit in table} == habits for table in tables) and set(
        figures.alone
    ) == set(figures.kept)


def write(figures: Figures) -> None:
    PAGE.write_text(page(figures), "utf-8")
