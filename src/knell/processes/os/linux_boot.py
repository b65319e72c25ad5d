"""Linux: which boot and PID namespace this is, and who runs; or that /proc does not tell."""

import functools
import os

from knell.core.errors import WorldError
from knell.processes.os import proc

NO_PROC = "/proc is not there, or does not tell which boot this is"
MOUNT_IT = "mount it anew, as `unshare --mount-proc` does"

boot_id = functools.cache(proc.boot_id)


@functools.cache
def here() -> str:
    """As in proc.py. A boot that cannot be read is no other boot: raises WorldError."""
    try:
        if boot_id():
            return proc.here(boot_id())
    except OSError:
        pass
    raise WorldError(NO_PROC, MOUNT_IT)


def my_number() -> int:
    """As /proc has it: in a PID namespace without a /proc of its own, getpid() gives another."""
    try:
        return int(os.readlink("/proc/self"))
    except OSError:
        raise WorldError(NO_PROC, MOUNT_IT) from None


def pids() -> list[int]:
    """Everybody's. None at all cannot be, because we are there: then nothing can be seen."""
    found = proc.pids()
    if not found:
        raise WorldError(NO_PROC, MOUNT_IT)
    return found
