"""How far a kill walks through the source: few files, and few calls from one to another."""

import re
import subprocess
import sys
from pathlib import Path

TRACE = Path(__file__).parents[2] / "scripts" / "trace"
FILES, CALLS = 35, 150


def test_a_kill_visits_few_files() -> None:
    command = [sys.executable, TRACE, "--only", "kill"]
    told = subprocess.run(command, capture_output=True, text=True, check=True).stdout
    found = re.search(r"^kill: (\d+) files, (\d+) calls", told, re.MULTILINE)
    assert found, told
    assert (int(found[1]) <= FILES, int(found[2]) <= CALLS) == (True, True), told
