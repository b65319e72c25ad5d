"""docs/chaos.md: what `make chaos` has just broken, and that nothing was lost by it."""

import platform
import re
from collections import Counter
from collections.abc import Mapping
from pathlib import Path

DOCS = Path(__file__).resolve().parents[2] / "docs"
PAGE = DOCS / "chaos.md"


class Tally:
    """Counted over one run: faults by their name, and the promises that held."""

    def __init__(self, seed: int, version: str) -> None:
        self.seed = seed
        self.version = version  # long or short
        self.faults: Counter[str] = Counter()
        self.held: Counter[str] = Counter()  # passed tests by the id of the fault once found
        self.promises: dict[str, list[str]] = {}  # by the test file's name

    def broke(self, fault: str, times: int = 1) -> None:
        """Call it after the checks: it counts faults that were survived."""
        self.faults[fault] += times

    def passed(self, file: str, promise: str) -> None:
        known = self.promises.setdefault(file, [])
        if promise not in known:
            known.append(promise)

    def add(self, faults: Mapping[str, int], promises: Mapping[str, list[str]]) -> None:
        """What another process of the same run has counted."""
        self.faults.update(faults)
        for file, known in promises.items():
            for promise in known:
                self.passed(file, promise)


def page(tally: Tally) -> str:
    faults = "\n".join(f"| {name} | {count} |" for name, count in sorted(tally.faults.items()))
    promises = "\n".join(
        f"\n### {file.removeprefix('test_').replace('_', ' ')}\n\n"
        + "\n".join(f"- {promise}" for promise in sorted(known))
        for file, known in sorted(tally.promises.items())
    )
    found = "\n".join(
        f"| {id} | {what} | {tally.held[id]} |" for id, what in found_faults().items()
    )
    return f"""<!-- written by `make chaos`; change tests/chaos/report.py instead -->

# Broken on purpose

`make chaos` breaks knell in every way below and then looks at what is left: processes, rows, tasks,
receipts. It writes this page only if nothing was lost. This was the {tally.version} version, on
Linux {platform.release()} with Python {platform.python_version()}. The same seed makes the same
choices: `make chaos SEED={tally.seed}{"" if tally.version == "long" else " QUICK=1"}`.

## How often

| fault | times |
|---|---|
{faults}

## The faults that were once found

Each was made again, in every way that its tests know, and held every time.

| id | what holds now | tests |
|---|---|---|
{found}

## What held
{promises}
"""


def is_complete(tally: Tally) -> bool:
    """Whether every file of this folder and every fault had its say: a part is no page."""
    files = {file.stem for file in Path(__file__).parent.glob("test_*.py")}
    return files <= set(tally.promises) and found_faults().keys() <= set(tally.held)


def found_faults() -> dict[str, str]:
    """What holds now for each fault that was once found, by its id; from docs/contracts.md."""
    text = (DOCS / "contracts.md").read_text("utf-8")
    return dict(re.findall(r"^- \*\*([PK]\d+)\*\* (.+)$", text, re.MULTILINE))


def write(tally: Tally) -> None:
    PAGE.write_text(page(tally))
