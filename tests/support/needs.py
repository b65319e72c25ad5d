"""What a test may need of the user who runs it and of the machine, with one reason to skip each."""

import os
import sys
from pathlib import Path

import pytest

# The markers in pyproject.toml, and the reason for which a test without it is skipped.
REASONS = {
    "needs_root": "needs root",
    "needs_linux": "needs Linux: /proc, namespaces, pidfds",
    "needs_cgroup": "needs a cgroup v2 that this user may write",
}


MOUNTS = Path("/proc/self/mountinfo")


def mounted() -> Path | None:
    """Where cgroup v2 is, if this user may make groups in its own."""
    for line in MOUNTS.read_text().splitlines() if MOUNTS.exists() else ():
        if " - cgroup2 " in line:
            own = Path("/proc/self/cgroup").read_text().split("0::", 1)[1].split("\n")[0]
            place = Path(line.split()[4] + own.rstrip("/"))
            return place if os.access(place, os.W_OK) else None
    return None


def is_there(need: str) -> bool:
    if need == "needs_linux":
        return sys.platform == "linux"
    return os.geteuid() == 0 if need == "needs_root" else mounted() is not None


def skip_without(need: str) -> None:
    """For fixtures, and where only one case of a test needs it; else the marker says it."""
    if not is_there(need):
        pytest.skip(REASONS[need])
