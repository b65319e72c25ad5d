"""Which run of `make e2e` a cell was seen in, and of which code: the page of several runs says so.

Names of runs sort by time. The code is told by its own bytes: the page is committed after the run,
so that no commit could be named.
"""

import functools
import hashlib
import os
from collections import Counter
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

SOURCE = Path(__file__).resolve().parents[2] / "src" / "knell"
UNKNOWN = "earlier runs, which were not noted"
RUN = "KNELL_E2E_RUN"  # the run's name, for the processes that share its tests among them


@functools.cache
def this_run() -> str:
    """Named by the first process; those that it shares its tests with inherit the name."""
    now = f"{datetime.now(UTC):%Y-%m-%d %H:%M} UTC, code {code_digest()}"
    return os.environ.get(RUN, now)


def code_digest() -> str:
    """The first characters of the SHA-256 of all files of knell's, by their names."""
    files = sorted(path for path in SOURCE.rglob("*") if path.is_file())
    kept = [path for path in files if "__pycache__" not in path.parts]
    sums = (hashlib.sha256(path.read_bytes()).digest() for path in kept)
    names = (os.fsencode(path.relative_to(SOURCE)) for path in kept)
    parts = [part for pair in zip(names, sums, strict=True) for part in pair]
    return hashlib.sha256(b"\0".join(parts)).hexdigest()[:10]


def runs_of(record: dict[str, Any], programs: list[str]) -> dict[str, Counter[str]]:
    """For each run, how many cells of each program were seen last in it."""
    found: dict[str, Counter[str]] = {}
    for cells in record["cells"].values():
        for program, cell in cells.items():
            if program in programs:
                found.setdefault(name_of(cell), Counter())[program] += 1
    return dict(sorted(found.items(), reverse=True))


def name_of(cell: list[str]) -> str:
    return cell[2] if len(cell) > 2 else UNKNOWN


def told_runs(record: dict[str, Any], programs: list[str]) -> str:
    """From which runs the cells of the table are."""
    runs = runs_of(record, programs)
    lines = [f"* {name}: {counted(cells)}" for name, cells in runs.items()]
    told = f"All cells are of one code and one beginning: {next(iter(runs), UNKNOWN)}."
    if len(runs) > 1:
        codes = {name.rpartition("code ")[2] for name in runs}
        code = f"of one code, {codes.pop()}," if len(codes) == 1 else "of different codes,"
        told = "\n".join([f"The cells are {code} and of several runs:", "", *lines])
    return told


def counted(cells: Counter[str]) -> str:
    return ", ".join(f"{number} of {program}" for program, number in sorted(cells.items()))
