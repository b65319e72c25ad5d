"""What this kernel can do for us, found by trying."""

import os
import sys

from quell.processes import identity

Fact = tuple[str, bool, str, str]  # what, whether it is there, what was seen, what to do


def abilities() -> list[Fact]:
    version = ".".join(str(part) for part in sys.version_info[:3])
    return [
        ("python", True, f"{version} on {os.uname().sysname} {os.uname().release}", ""),
        _pidfd(),
        _subreaper(),
        _cgroup(),
    ]


def _pidfd() -> Fact:
    try:
        fd = os.pidfd_open(os.getpid())
    except (OSError, AttributeError):
        return ("pidfd", False, "none: endings are found, not proven", "needs Linux 5.3")
    inode = identity.inode_of(fd)
    trouble = identity.send(fd, 0)  # signal 0 only asks whether we may
    os.close(fd)
    told = "with unique numbers (pidfs)" if inode else "without pidfs"
    return ("pidfd", not trouble, told, trouble)


def _subreaper() -> Fact:
    listed = os.path.exists(f"/proc/self/task/{os.getpid()}/children")
    return ("keeper", sys.platform == "linux", "child subreaper", "" if listed else "slow walks")


def _cgroup() -> Fact:
    """The keeper's own test: may this user make a leaf beside its own cgroup?"""
    parent = _own_cgroup()
    if not parent:
        return ("cgroup", True, "no cgroup v2 here; the keeper alone is enough", "")
    if os.access(parent, os.W_OK) and os.path.exists(os.path.join(parent, "cgroup.procs")):
        return ("cgroup", True, f"a leaf of its own for each run below {parent}", "")
    return ("cgroup", True, f"{parent} is not writable; the keeper alone is enough", "")


def _own_cgroup() -> str:
    try:
        with open("/proc/self/mountinfo") as mounts, open("/proc/self/cgroup") as mine:
            here = next((line[3:].strip() for line in mine if line.startswith("0::")), "")
            mounted = [line.split()[4] for line in mounts if " - cgroup2 " in line]
    except OSError:
        return ""
    return mounted[0] + here.rstrip("/") if mounted else ""
