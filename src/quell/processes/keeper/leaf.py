"""A cgroup of its own for each run, where one can be made: an atomic kill and a second proof.

Belongs to the keeper and runs as lonely as it does: stdlib only, no import of quell.
"""

import os

from look import Process, read

PREFIX = "quell-"


def make(run: str) -> str:
    """A new leaf beside the keeper's own cgroup, or nothing where that is not allowed."""
    mine, parent = own()
    if not parent or not os.access(parent, os.W_OK):
        return ""
    if os.path.basename(mine).startswith(PREFIX):
        enter(parent)  # a run within a run is a sibling of the outer one: killed apart
    path = parent + "/" + PREFIX + run
    try:
        os.mkdir(path)
    except OSError:
        return ""
    if os.path.exists(path + "/cgroup.kill"):
        return path
    remove(path)
    return ""


def own() -> tuple[str, str]:
    """Our cgroup v2, and the directory for leaves; hybrid machines mount it elsewhere."""
    mine = of("self")
    outer = mine
    while os.path.basename(outer).startswith(PREFIX):
        outer = os.path.dirname(outer).rstrip("/")
    for line in os.fsdecode(read("/proc/self/mountinfo")).splitlines():
        left, _, right = line.partition(" - ")
        if right.startswith("cgroup2 "):
            root, mounted = left.split()[3:5]
            return mine, mounted + outer.removeprefix(root.rstrip("/"))
    return mine, ""


def of(pid: int | str) -> str:
    """The cgroup v2 of a process, also of a dead one that is not reaped yet; "" for the root."""
    for line in os.fsdecode(read(f"/proc/{pid}/cgroup")).splitlines():
        if line.startswith("0::"):
            return line[3:].rstrip("/")
    return ""


def enter(path: str, pid: int = 0) -> None:
    """Moves a process there, ourselves by default; if that is not delegated to us, it stays."""
    write(path + "/cgroup.procs", str(pid).encode())


def write(path: str, text: bytes) -> bool:
    """To a file that must be there already: False if it is not, or if the kernel refuses."""
    try:
        fd = os.open(path, os.O_WRONLY)
    except OSError:
        return False
    try:
        return os.write(fd, text) == len(text)
    except OSError:
        return False
    finally:
        os.close(fd)


def holds(path: str, pid: int) -> bool:
    """Whether the process really went in: an empty leaf must not prove what it never held."""
    return bool(path) and os.path.basename(of(pid)) == os.path.basename(path)


def kill(path: str, found: list[Process]) -> bool:
    """One atomic kill, if the processes in the cgroup are exactly `found`; else False."""
    if not path or not found:
        return False
    inside = {int(pid) for pid in read(path + "/cgroup.procs").split()}
    if inside != {process.pid for process in found}:
        return False
    return write(path + "/cgroup.kill", b"1")


def dissolve(path: str) -> None:
    """Lets go of the spared ones inside, for only they are left, and removes the leaf."""
    for pid in read(path + "/cgroup.procs").split() if path else ():
        enter(os.path.dirname(path), int(pid))
    remove(path)


def remove(path: str) -> None:
    if path:
        try:
            os.rmdir(path)
        except OSError:
            pass  # somebody is in it
