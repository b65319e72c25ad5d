"""docs/e2e.md: what `make e2e` has proven and measured, each part as it was seen last."""

import platform
import re
import subprocess
from pathlib import Path
from typing import Any, NamedTuple

from e2e.cells import changing, table
from e2e.home import DOCILE, STUBBORN
from e2e.programs import PROGRAMS
from e2e.runs import told_runs
from e2e.whole_runs import Counts, note_whole_run, told_whole_runs
from knell import __version__

PATIENCE = 4.0  # seconds in which whatever wants to leave by itself may do so
TABLES = ("alone", "kept", "verbs")
# Rows of the tables, in their order: several processes measure them.
NAMED_WAYS = ("a person types `/exit`", "`tmux kill-pane`", "`kill PID`", "`kill -9 PID`")
VERBS = ("stop", "kill", "kill --force")
CALLS = (
    "`kill-agent`, `force`",
    "`kill-agent`",
    "`answer-shutdown`, rejects",
    "`kill-agent` by a worker",
    "`kill-agent`, `force`, of one that it started",
)
HERE = Path(__file__).resolve().parent
PAGE = HERE.parent.parent / "docs" / "e2e.md"


class Figure(NamedTuple):
    """One ending of one Claude."""

    agent_gone: float  # seconds from the deed to its exit
    all_gone: float | None  # to the last exit of anything it had started; None: never
    left: int  # processes that were still there
    rungs: str = ""  # of knell's receipt


Rows = dict[tuple[str, str], Figure]  # by the way of ending and the MCP server's habit


class ToolFigure(NamedTuple):
    """One call of a tool by the model of a real Claude, and what came of it."""

    what: str
    answer: str
    seconds: float  # from the model's asking to its being told
    ended: int = 0  # processes, by the receipt
    rungs: str = ""


class Figures:
    """Everything measured in one run, by the way of ending and the MCP server's habit."""

    def __init__(self) -> None:
        self.alone: Rows = {}
        self.kept: Rows = {}
        self.verbs: Rows = {}
        self.calls: list[ToolFigure] = []
        self.offered = 0  # tools of knell's that Claude offers to its model
        self.promises: list[str] = []  # first lines of the tests that passed

    def to_json(self) -> dict[str, Any]:
        tables = {name: rows_of(getattr(self, name)) for name in TABLES}
        calls = [list(call) for call in self.calls]
        return {**tables, "calls": calls, "offered": self.offered, "promises": self.promises}

    def add(self, others: "Figures") -> None:
        """What another process has measured in the same run."""
        for name in TABLES:
            getattr(self, name).update(getattr(others, name))
        self.calls += others.calls
        self.offered = self.offered or others.offered
        self.promises += [one for one in others.promises if one not in self.promises]

    @classmethod
    def from_json(cls, record: dict[str, Any]) -> "Figures":
        figures = cls()
        for name in TABLES:
            table: Rows = getattr(figures, name)
            table |= {(way, habit): Figure(*rest) for way, habit, *rest in record.get(name, ())}
        figures.calls = [ToolFigure(*call) for call in record.get("calls", ())]
        figures.offered = record.get("offered", 0)
        figures.promises = record.get("promises", [])
        return figures


def rows_of(table: Rows) -> list[list[Any]]:
    return [[*key, *figure] for key, figure in table.items()]


def page(record: dict[str, Any]) -> str:
    figures = Figures.from_json(record["figures"])
    return f"""<!-- written by `make e2e`; change tests/e2e/report.py instead -->

# Against the real programs

`make e2e` installs {", ".join(named_programs())} from the npm registry into a
temporary directory, gives each a home, a project and a stand-in for its model on loopback
(`tests/e2e/model.py`), and lets knell spawn, stop, kill and resume it in a tmux of its own. No key
and no account is needed; whatever a program wants of the outside world is refused. A test fails if
any process is left after it. `make e2e KINDS=codex` renews one column.

Seen last with {", ".join(record["versions"])}, while other work went on. Run it on your machine.

## What comes back

Whether a conversation is the right one is read off what the model is sent after the resume: all
that was said before, and nothing of a neighbour's. *right*: it was, and nothing was left, sent or
approved. *unsure*: knell said so itself, and resumed and deleted nothing. *wrong*: anything else.

{table(record, list(PROGRAMS))}

{told_runs(record, list(PROGRAMS))}

{told_whole_runs(record)}

*passed*, *failed* and *skipped* are tests; *right* and the words after it are cells of the table. A
test is skipped where knell says that it is unsure. The code is named by the first characters of a
sum over all files of `src/knell` (`tests/e2e/runs.py`). `make e2e KINDS=…` makes a run of its own.

## Claude Code with MCP servers

The project has an MCP server (`tests/e2e/mcp_server.py`). A *docile* one leaves when its input
ends. A *stubborn* one minds neither TERM, INT and HUP nor the end of its input, and has a child in
a session of its own, as a server has that opens a browser.

### The same end, without knell and under it

Left: processes of Claude, its server and the server's child; without knell {PATIENCE:g} s after the
last exit. Gone: seconds until the last exit.

| what happens | server | left without knell | gone | left under knell | gone |
|---|---|---|---|---|---|
{both_rows(figures)}

### The verbs

| verb | server | rungs climbed | Claude gone | everything gone | left |
|---|---|---|---|---|---|
{verb_rows(figures)}

`stop` pauses between the keys, and presses Enter only when the screen shows `/exit` alone in an
empty prompt. After Claude's own exit, what it left behind gets TERM and, 2 s later, KILL.

## A leader that is a real Claude Code

The operator makes a team with a Claude as its leader; knell's MCP server is attached to it with
`spawn --mcp`, or by `--mcp-config` with what `knell mcp --config claude` prints. The stand-in model
then asks for a tool, and the answer is what the next request tells it. Claude offers all of knell's
{figures.offered} tools, as `mcp__knell__kill-agent` and so on; it calls them without a question if
`permissions.allow` in its settings names `mcp__knell`. At its start it waits for no server: a
prompt that comes early finds no such tool, and the model asks for `WaitForMcpServers` first.

Seconds: from the model's asking for the tool to its being told.

| asked for | answer | seconds | processes ended | rungs climbed |
|---|---|---|---|---|
{call_rows(figures)}

## What was proven

{promise_rows(figures)}
"""


def named_programs() -> list[str]:
    return [f"{one.name} {one.version}" for one in PROGRAMS.values()]


def still_made(promises: list[str]) -> list[str]:
    """Those that a test still makes, in the order of the tests."""
    tests = " ".join(test.read_text("utf-8") for test in sorted(HERE.glob("test_*.py")))
    text = " ".join(tests.split())
    found = {promise: text.find(f'"""{promise}') for promise in promises}
    return sorted((one for one, where in found.items() if where >= 0), key=lambda one: found[one])


def versions() -> list[str]:
    tmux = subprocess.run(["tmux", "-V"], capture_output=True, text=True, check=True).stdout
    kernel = ".".join(re.findall(r"\d+", platform.release())[:2])
    python = ".".join(platform.python_version_tuple()[:2])
    return [
        f"knell {__version__}",
        tmux.strip(),
        f"Python {python}",
        f"{platform.system()} {kernel}",
    ]


def in_order(rows: Rows, names: tuple[str, ...]) -> list[tuple[tuple[str, str], Figure]]:
    """The docile server first."""
    return sorted(rows.items(), key=lambda row: (names.index(row[0][0]), row[0][1]))


def both_rows(figures: Figures) -> str:
    return "\n".join(
        f"| {way} | {habit} | {told(alone)} | {told(figures.kept[way, habit])} |"
        for (way, habit), alone in in_order(figures.alone, NAMED_WAYS)
    )


def told(figure: Figure) -> str:
    """Two cells: how many are left, and when the last one had gone."""
    return f"{f'**{figure.left}**' if figure.left else 0} | {seconds(figure.all_gone)}"


def verb_rows(figures: Figures) -> str:
    return "\n".join(
        f"| `{verb}` | {habit} | {figure.rungs} | {seconds(figure.agent_gone)} "
        f"| {seconds(figure.all_gone)} | {figure.left} |"
        for (verb, habit), figure in in_order(figures.verbs, VERBS)
    )


def call_rows(figures: Figures) -> str:
    return "\n".join(
        f"| {call.what} | {call.answer} | {seconds(call.seconds)} | {call.ended or ''} "
        f"| {call.rungs} |"
        for call in sorted(figures.calls, key=lambda call: CALLS.index(call.what))
    )


def promise_rows(figures: Figures) -> str:
    return "\n".join(f"* {promise}" for promise in figures.promises)


def seconds(value: float | None) -> str:
    return "never" if value is None else f"{value:.1f}"


def is_complete(figures: Figures) -> bool:
    """Whether every table has its rows: a run of some of the tests writes no page."""
    habits = {DOCILE, STUBBORN}
    tables = (figures.alone, figures.kept, figures.verbs)
    whole = all({habit for _, habit in table} == habits for table in tables)
    return whole and set(figures.alone) == set(figures.kept) and bool(figures.calls)


def write(figures: Figures, whole: tuple[Counts, int] | None, *, passed: bool) -> None:
    """Renews what was seen in this run, and leaves the rest of the page as it was seen last.
    `whole` are the counts and the minutes of a run with all four programs."""
    with changing() as record:
        kept = record.setdefault("figures", {}).get("promises", [])
        if passed and is_complete(figures):
            record["figures"] = figures.to_json()
        record["figures"]["promises"] = still_made([*kept, *figures.promises])
        record["versions"] = versions()
        if whole:
            note_whole_run(record, *whole)
        PAGE.write_text(page(record), "utf-8")
