"""How busy the machine and its agents are, as the kernel's files tell; None where they do not."""

import os
from collections.abc import Sequence
from typing import TYPE_CHECKING, NamedTuple

from quell.core.run import Run

if TYPE_CHECKING:
    from quell.api import Quell

SAMPLE = 0.2  # seconds between the two readings of a share of a processor
TICKS, PAGE = os.sysconf("SC_CLK_TCK"), os.sysconf("SC_PAGE_SIZE")
MEGABYTE = 1024 * 1024


class Usage(NamedTuple):
    cpu_percent: float | None = None  # of one processor
    memory_mb: float | None = None


class _Process(NamedTuple):
    parent: int
    ticks: int
    pages: int
    start: int


def memory_free_mb() -> float | None:
    """What programs may take without making others swap."""
    for line in _lines("/proc/meminfo"):
        if line.startswith("MemAvailable:"):
            return int(line.split()[1]) / 1024
    return None


def cpu_free_percent(quell: "Quell") -> float | None:
    """Over the next moment, of all processors together."""
    before = _machine_ticks()
    quell.world.kernel.wait([], SAMPLE)
    after = _machine_ticks()
    if before is None or after is None or after[1] <= before[1]:
        return None
    return 100.0 * (after[0] - before[0]) / (after[1] - before[1])


def _machine_ticks() -> tuple[int, int] | None:
    """Idle ones, and all."""
    lines = _lines("/proc/stat")
    if not lines:
        return None
    ticks = [int(word) for word in lines[0].split()[1:9]]  # guests are counted in user already
    return ticks[3] + ticks[4], sum(ticks)


def usage(quell: "Quell", runs: Sequence[Run]) -> dict[str, Usage]:
    """Of each run with everything below it: two looks for all of them together."""
    before = _table()
    quell.world.kernel.wait([], SAMPLE)
    after = _table()
    roots = {pid: run.id for run in runs for pid in _roots(run)}
    below = _children(after)
    trees = {run.id: _tree(run, below, roots) for run in runs}
    return {run: _used(tree & after.keys(), before, after) for run, tree in trees.items()}


def _roots(run: Run) -> list[int]:
    return [process.pid for process in (run.keeper, run.process) if process]


def _tree(run: Run, below: dict[int, list[int]], roots: dict[int, str]) -> set[int]:
    """Its processes; a run within it is its own."""
    mine: set[int] = set()
    todo = _roots(run)
    while todo:
        pid = todo.pop()
        if pid not in mine and roots.get(pid, run.id) == run.id:
            mine.add(pid)
            todo += below.get(pid, ())
    return mine


def _used(mine: set[int], before: dict[int, _Process], after: dict[int, _Process]) -> Usage:
    if not mine:
        return Usage()
    spent = sum(after[pid].ticks - before[pid].ticks for pid in mine if _same(pid, before, after))
    pages = sum(after[pid].pages for pid in mine)
    return Usage(round(100.0 * spent / TICKS / SAMPLE, 1), round(pages * PAGE / MEGABYTE, 1))


def _same(pid: int, before: dict[int, _Process], after: dict[int, _Process]) -> bool:
    return pid in before and before[pid].start == after[pid].start


def _children(table: dict[int, _Process]) -> dict[int, list[int]]:
    below: dict[int, list[int]] = {}
    for pid, process in table.items():
        below.setdefault(process.parent, []).append(pid)
    return below


def _table() -> dict[int, _Process]:
    found: dict[int, _Process] = {}
    try:
        names = os.listdir("/proc")
    except OSError:
        return found
    for name in names:
        text = _text(f"/proc/{name}/stat") if name.isdigit() else ""
        if text:
            words = text.rpartition(")")[2].split()  # a program's name may hold line ends
            ticks = int(words[11]) + int(words[12])
            found[int(name)] = _Process(int(words[1]), ticks, int(words[21]), int(words[19]))
    return found


def _lines(path: str) -> list[str]:
    return _text(path).splitlines()


def _text(path: str) -> str:
    try:
        with open(path, errors="replace") as file:
            return file.read()
    except OSError:  # gone meanwhile, or no Linux
        return ""
