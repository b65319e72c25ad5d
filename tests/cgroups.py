"""Where tests may make cgroups, and who is in one."""

import os
from pathlib import Path


def mounted() -> Path | None:
    """Where cgroup v2 is, if this user may make groups in its own."""
    for line in Path("/proc/self/mountinfo").read_text().splitlines():
        if " - cgroup2 " in line:
            own = Path("/proc/self/cgroup").read_text().split("0::", 1)[1].split("\n")[0]
            place = Path(line.split()[4] + own.rstrip("/"))
            return place if os.access(place, os.W_OK) else None
    return None


def inside(path: str) -> set[int]:
    return {int(pid) for pid in Path(path, "cgroup.procs").read_text().split()}
