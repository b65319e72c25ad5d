"""The runs of all tests with all four programs: what came of each, so that two can be compared."""

from typing import Any, NamedTuple

from e2e.cells import EMPTY, RIGHT, SCENES, UNSURE, WRONG
from e2e.programs import PROGRAMS
from e2e.runs import name_of, this_run

KEPT = 4  # whole runs that the page names
OUTCOMES = (RIGHT, UNSURE, EMPTY, WRONG)


class Counts(NamedTuple):
    """Of the tests of this run."""

    passed: int = 0
    failed: int = 0
    skipped: int = 0


class WholeRun(NamedTuple):
    name: str
    minutes: int
    counts: Counts
    outcomes: dict[str, list[str]]  # by scene, one for each program

    @classmethod
    def from_json(cls, record: list[Any]) -> "WholeRun":
        name, minutes, counts, outcomes = record
        return cls(name, minutes, Counts(*counts), outcomes)

    def counted(self, outcome: str) -> int:
        return sum(cells.count(outcome) for cells in self.outcomes.values())


def note_whole_run(record: dict[str, Any], counts: Counts, minutes: int) -> None:
    """If every cell is of this run: nobody has chosen some of the tests."""
    cells = {
        scene: [record["cells"].get(scene, {}).get(one, []) for one in PROGRAMS] for scene in SCENES
    }
    if {name_of(cell) for row in cells.values() for cell in row} == {this_run()}:
        outcomes = {scene: [cell[0] for cell in row] for scene, row in cells.items()}
        whole = [*record.get("whole", []), WholeRun(this_run(), minutes, counts, outcomes)]
        record["whole"] = whole[-KEPT:]


def told_whole_runs(record: dict[str, Any]) -> str:
    """A row for each, and whether the two newest agree."""
    runs = [WholeRun.from_json(one) for one in record.get("whole", [])]
    if not runs:
        return "No run of all tests with all four programs is on record."
    head = ["run of all tests, with all four", "minutes", *Counts._fields, *OUTCOMES]
    rows = [
        [run.name, run.minutes, *run.counts, *map(run.counted, OUTCOMES)] for run in reversed(runs)
    ]
    lines = [f"| {' | '.join(map(str, row))} |" for row in (head, ["---"] * len(head), *rows)]
    return "\n".join([*lines, "", compared(runs)])


def compared(runs: list[WholeRun]) -> str:
    """What a reader wants to know first: is a cell the same when it is run again?"""
    if len(runs) < 2:
        return "The table was run whole once."
    before, last = (cells_of(run) for run in runs[-2:])
    changed = [
        f"* {scene}, {program}: {before.get((scene, program), 'not run')}, then {outcome}"
        for (scene, program), outcome in last.items()
        if before.get((scene, program)) != outcome
    ]
    told = "The table was run whole twice"
    if not changed:
        return f"{told} or more; the two newest runs agree in each of its {len(last)} cells."
    return "\n".join([f"{told} or more; the two newest runs differ:", "", *changed])


def cells_of(run: WholeRun) -> dict[tuple[str, str], str]:
    return {
        (scene, program): outcome
        for scene, row in run.outcomes.items()
        for program, outcome in zip(PROGRAMS, row, strict=True)
    }
