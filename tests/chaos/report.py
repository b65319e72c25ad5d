"""docs/chaos.md: what `make chaos` has just broken, and that nothing was lost by it."""

import platform
from collections import Counter
from pathlib import Path

PAGE = Path(__file__).resolve().parent.parent.parent / "docs" / "chaos.md"


class Tally:
    """Counted over one run: faults by their name, and the promises that held."""

    def __init__(self, seed: int, version: str) -> None:
        self.seed = seed
        self.version = version  # long or short
        self.faults: Counter[str] = Counter()
        self.promises: dict[str, list[str]] = {}  # by the test file's name

    def broke(self, fault: str, times: int = 1) -> None:
        """Call it after the checks: it counts faults that were survived."""
        self.faults[fault] += times

    def passed(self, file: str, promise: str) -> None:
        known = self.promises.setdefault(file, [])
        if promise not in known:
            known.append(promise)


def page(tally: Tally) -> str:
    faults = "\n".join(f"| {name} | {count} |" for name, count in sorted(tally.faults.items()))
    promises = "\n".join(
        f"\n### {file.removeprefix('test_').replace('_', ' ')}\n\n"
        + "\n".join(f"- {promise}" for promise in known)
        for file, known in sorted(tally.promises.items())
    )
    return f"""<!-- written by `make chaos`; change tests/chaos/report.py instead -->

# Broken on purpose

`make chaos` breaks quell in every way below and then looks at what is left: processes, rows, tasks,
receipts. It writes this page only if nothing was lost. This was the {tally.version} version, on
Linux {platform.release()} with Python {platform.python_version()}. The same seed makes the same
choices: `make chaos SEED={tally.seed}{"" if tally.version == "long" else " QUICK=1"}`.

## How often

| fault | times |
|---|---|
{faults}

## What held
{promises}
"""


def is_complete(tally: Tally) -> bool:
    """Whether every file of this folder had its say: a part of the run is no page."""
    return {file.stem for file in Path(__file__).parent.glob("test_*.py")} <= set(tally.promises)


def write(tally: Tally) -> None:
    PAGE.write_text(page(tally))
