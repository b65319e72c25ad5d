"""Linux: whether /proc tells what the kernel knows: which boot this is, and who has a number.
Sandboxes and containers mount other files there."""

import os

from knell.core.process import Gone, ProcessId, Unknown
from knell.processes.os import proc

ELSEWHERE = "it is in another PID namespace, which cannot be seen from here"
TWO_BOOTS = "the boot's id is another one, yet a process of its number and start is there"
COVERED = "something lies over /proc: it shows another process than the kernel has there"
BOOT_ID = "/proc/sys/kernel/random/boot_id"


def past_boot(process: ProcessId, here: str, *, is_there: bool) -> Gone | Unknown:
    """What becomes of a process of another boot, if that is another one: sandboxes and containers
    mount a file over the boot's id. `is_there`: whether one of its number and start is seen.

    What is around our PID namespace is never seen. But of two places that are both inside the first
    one, neither is known to be around the other, so that a container knows its own past."""
    if is_there:  # the id that was recorded may have been the false one
        return Unknown(TWO_BOOTS)
    if is_boot_told():
        return Gone("rebooted")
    first = f"/{proc.FIRST_PID_NAMESPACE}"
    outside = process.boot.endswith(first) and not here.endswith(first)
    return Unknown(ELSEWHERE) if outside else Gone("rebooted")


def is_boot_told() -> bool:
    """Whether it is the kernel's own file that tells the boot, and no other lies over it."""
    over, told = "", ""
    for line in os.fsdecode(proc.read("/proc/self/mountinfo")).splitlines():
        left, _, right = line.partition(" - ")
        root, mounted = left.split()[3:5]
        if (BOOT_ID + "/").startswith(mounted.rstrip("/") + "/") and len(mounted) >= len(over):
            over = mounted
            inside = root.rstrip("/") + BOOT_ID.removeprefix(mounted.rstrip("/"))
            told = inside if right.startswith("proc ") else ""
    return "/proc" + told == BOOT_ID


def reused_number(process: ProcessId, shown: int) -> Gone | Unknown:
    """What becomes of a process where /proc shows another start than its own, under the pid
    `shown`. The pidfd asks the kernel itself, where pidfds have numbers."""
    if shown != process.pid:
        return Unknown(COVERED)
    try:
        fd = os.pidfd_open(process.pid) if process.inode else -1
    except ProcessLookupError:
        return Gone()
    if fd < 0:
        return Gone("reused")
    try:
        return Unknown(COVERED) if proc.number_of(fd) == process.inode else Gone("reused")
    finally:
        os.close(fd)
