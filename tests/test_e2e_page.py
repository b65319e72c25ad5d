"""The page of `make e2e` says which runs of its table were whole, and whether they agree."""

from typing import Any

from e2e.cells import RIGHT, SCENES, UNSURE, WRONG
from e2e.programs import PROGRAMS
from e2e.runs import this_run
from e2e.whole_runs import KEPT, Counts, note_whole_run, told_whole_runs

COUNTS = Counts(passed=168, failed=1, skipped=26)
CELLS = len(SCENES) * len(PROGRAMS)


def record_of(outcome: str = RIGHT) -> dict[str, Any]:
    """Every cell came out like that, in this run."""
    cell = [outcome, "", this_run()]
    return {"cells": {scene: dict.fromkeys(PROGRAMS, cell) for scene in SCENES}}


def test_a_run_with_a_cell_of_another_run_is_not_whole() -> None:
    record = record_of()
    record["cells"][SCENES[3]]["codex"] = [RIGHT, "", "2026-01-01 00:00 UTC, code 0123456789"]
    note_whole_run(record, COUNTS, 30)
    assert "whole" not in record
    assert told_whole_runs(record) == "No run of all tests with all four programs is on record."


def test_a_run_without_a_cell_is_not_whole() -> None:
    record = record_of()
    del record["cells"][SCENES[-1]]["gemini"]
    note_whole_run(record, COUNTS, 30)
    assert "whole" not in record


def test_two_whole_runs_are_counted_and_compared() -> None:
    record = record_of()
    note_whole_run(record, COUNTS, 30)
    assert told_whole_runs(record).endswith("\nThe table was run whole once.")
    note_whole_run(record, COUNTS, 31)
    row = f"| {this_run()} | 31 | 168 | 1 | 26 | {CELLS} | 0 | 0 | 0 |"
    assert row in told_whole_runs(record).splitlines()
    assert f"agree in each of its {CELLS} cells" in told_whole_runs(record)


def test_what_came_out_otherwise_is_named() -> None:
    record = record_of()
    note_whole_run(record, COUNTS, 30)
    record["cells"][SCENES[0]]["codex"] = [WRONG, "it died", this_run()]
    record["cells"][SCENES[1]]["gemini"] = [UNSURE, "it said so", this_run()]
    note_whole_run(record, COUNTS, 30)
    told = told_whole_runs(record)
    assert f"* {SCENES[0]}, codex: right, then wrong" in told
    assert f"* {SCENES[1]}, gemini: right, then unsure" in told
    assert f"| {CELLS - 2} | 1 | 0 | 1 |" in told


def test_old_whole_runs_leave_the_page() -> None:
    record = record_of()
    for minutes in range(KEPT + 2):
        note_whole_run(record, COUNTS, minutes)
    assert [one[1] for one in record["whole"]] == [2, 3, 4, 5]
