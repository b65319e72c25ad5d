"""What `make chaos` runs of the other folders."""

import os
import subprocess
import sys
from pathlib import Path

TESTS = Path(__file__).resolve().parent
SOME = ("stores/test_team_model.py", "core/test_run.py", "core/test_codes.py")


def test_chaos_takes_the_tests_with_made_up_examples() -> None:
    """`make test` makes up only some of their examples, and the same ones each time"""
    argv = [sys.executable, "-m", "pytest", "--collect-only", "-q", "-n", "0", str(TESTS / "chaos")]
    done = subprocess.run(
        [*argv, *(str(TESTS / one) for one in SOME)],
        env=os.environ | {"KNELL_CHAOS": "short"},
        cwd=TESTS.parent, capture_output=True, text=True, check=True, timeout=300,
    )  # fmt: skip
    taken = [line.rpartition("tests/")[2] for line in done.stdout.splitlines() if "::" in line]
    assert [one for one in taken if not one.startswith("chaos/")] == [
        "stores/test_team_model.py::TestTeamLife::runTest",
        "core/test_run.py::test_whatever_happens_a_run_ends_once_and_for_good",
        "core/test_run.py::test_only_a_seen_end_or_a_letting_go_ends_a_run",
    ]
