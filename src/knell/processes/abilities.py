"""What knell can use on this system, found by trying, and what that means: a part of `doctor`."""

import os
import sys

from knell.processes.os import ASKED, cgroup, system

Fact = tuple[str, bool, str, str]  # what, whether it is there, what was seen, what to do
PROVEN = "when the keeper says that a run has ended, that is proven"
NONE_FOUND = "an end is 'none found', never 'proven': a daemon without a stamp can escape"
ESCAPES = "docs/promise.md says exactly what escapes"


def abilities() -> list[Fact]:
    version = ".".join(str(part) for part in sys.version_info[:3])
    python = f"{version} on {os.uname().sysname} {os.uname().release}"
    facts = _of_linux() if system.LAYER == "linux" else _of_portable()
    return [("python", True, python, ""), _layer(), *facts, _environment(), _promise()]


def _layer() -> Fact:
    if system.LAYER == "linux":
        return ("layer", True, "linux: /proc, pidfds, a keeper that adopts orphans", "")
    why = f"this is {os.uname().sysname}"
    if sys.platform == "linux":
        why = "KNELL_PROCESSES asks for it" if ASKED else "this machine gives us no pidfds"
    base = "libproc, kqueue, psutil" if system.LAYER == "darwin" else "POSIX and psutil"
    hint = "unset KNELL_PROCESSES" if ASKED == "portable" and sys.platform == "linux" else ""
    return ("layer", sys.platform != "linux", f"{system.LAYER}: {base}, because {why}", hint)


def _promise() -> Fact:
    proves = system.LAYER == "linux"
    return ("promise", proves, PROVEN if proves else NONE_FOUND, "" if proves else ESCAPES)


def _of_linux() -> list[Fact]:
    fd = system.open_process(os.getpid())
    inode, trouble = system.number_of(fd), system.send(fd, 0)  # 0 only asks whether it is allowed
    system.close(fd)
    seen = "processes have unique numbers (pidfs)" if inode else "no unique numbers (pidfs)"
    listed = "" if system.lists_children() else "slow: no lists of children"
    return [
        ("pidfd", not trouble, seen, trouble),
        ("keeper", True, "adopts orphans (child subreaper)", listed),
        ("cgroup", True, _cgroup(), ""),
    ]


def _of_portable() -> list[Fact]:
    """What linux.py would have, and what is lost without it."""
    unique = system.me().inode != 0
    same = "processes have unique numbers; signals are compared by the kernel"
    else_ = "missing: a pid that changes hands within microseconds of a look could be hit"
    keeper = "adopts no orphans: it knows whom it has seen, the run's stamp, sessions and groups"
    return [
        ("pidfd", unique, same if unique else else_, ""),
        ("keeper", False, keeper, ESCAPES),
        ("cgroup", False, "not used: adopted agents are not enclosed", ""),
    ]


def _environment() -> Fact:
    """A run's stamp is in the environment of what it starts; some may not be looked into."""
    mine = [pid for pid in system.pids() if system.owner_of(pid) == os.getuid()]
    hidden = [pid for pid in mine if system.argv_of(pid) and not system.environment_of(pid)]
    others = "not those of other users" if os.getuid() else "also those of other users"
    count = f"{len(mine) - len(hidden)} of your {len(mine)} processes"
    text = f"the environments of {count} can be read, {others}"
    seen = bool(system.environment_of(os.getpid()))
    return ("stamps", seen, text, "" if seen else "a run's stamp is not seen here")


def _cgroup() -> str:
    """The keeper's own test: may this user make a cgroup beside its own?"""
    parent = cgroup.home_of("self")
    if not parent:
        return "no cgroup v2 here; the keeper works without"
    if cgroup.leaf_for("self", ""):
        return f"each run gets its own, below {parent}"
    return f"{parent} is not writable; the keeper works without"
