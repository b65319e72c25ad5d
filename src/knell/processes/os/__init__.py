"""What depends on the operating system: `system` is the module for this one.

There are two: linux.py, which can prove an end, and portable.py, which needs only POSIX and psutil
and on macOS asks darwin.py. KNELL_PROCESSES=portable chooses the second on Linux too, and so does a
kernel that gives us no pidfds. The rest of `processes` asks `system`, `use.use` and `cgroup`, which
is empty where there is none. The keeper runs alone and imports files of this folder by their names
(keeper/machine.py).
"""

import os
import sys
from typing import TYPE_CHECKING

from knell.core.errors import BadRequest

ASKED = os.environ.get("KNELL_PROCESSES", "")
if ASKED not in ("", "linux", "portable"):
    raise BadRequest(f"KNELL_PROCESSES={ASKED}: no such layer", "it is linux or portable")


def _has_pidfds() -> bool:
    """Whether this kernel has them, and lets us: some containers forbid the call."""
    try:
        os.close(os.pidfd_open(os.getpid()))
    except (OSError, AttributeError):
        return False
    return True


if TYPE_CHECKING or (sys.platform == "linux" and ASKED != "portable" and _has_pidfds()):
    from knell.processes.os import linux as system
else:
    from knell.processes.os import cgroup
    from knell.processes.os import portable as system

    cgroup.used = False  # here and not in portable.py, which may be imported without being chosen

__all__ = ["system"]
