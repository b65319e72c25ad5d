"""How knell must refuse: one line that says what, one that says what to do, the right exit code."""

import subprocess
from typing import NamedTuple

Done = subprocess.CompletedProcess[str]

FAILED, USAGE = 1, 2


class Complaint(NamedTuple):
    what: str
    hint: str


def complaint(done: Done, code: int) -> Complaint:
    """What it said, after making sure that it said it in the one way there is."""
    assert done.returncode == code, (done.returncode, done.stdout, done.stderr)
    assert done.stdout == ""
    lines = done.stderr.splitlines()
    assert len(lines) == 2, done.stderr
    assert lines[0].startswith("error: "), done.stderr
    assert lines[1].startswith("hint: "), done.stderr
    assert all(line.isprintable() for line in lines), done.stderr
    what, hint = lines[0].removeprefix("error: "), lines[1].removeprefix("hint: ")
    assert what
    assert hint
    return Complaint(what, hint)
