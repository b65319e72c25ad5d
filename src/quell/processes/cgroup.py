"""A run's cgroup seen from outside: the last rung and a proof, where one could be made."""

import os

PREFIX = "quell-"  # the keeper names its leaves the same way
TRIES = 5  # to empty a leaf in which somebody forks


def leaf_for(pid: int, run: str) -> str:
    """Where a leaf for what this process starts may be made; empty where that is not allowed.

    Below its own cgroup, so that its limits hold; but beside the leaf of another run, which is
    killed apart."""
    parent = home_of(pid)
    if not parent or not os.access(parent, os.W_OK):
        return ""
    if not os.access(parent + "/cgroup.procs", os.W_OK):
        return ""  # whoever moves a process must be allowed to take it out of there
    return f"{parent}/{PREFIX}{run}"


def home_of(pid: int) -> str:
    """The directory of a process's cgroup v2, leaves of runs left out; empty if none is seen."""
    own = _named(pid)
    if own is None or own.startswith("/.."):  # outside of what our namespace shows
        return ""
    while os.path.basename(own).startswith(PREFIX):
        own = os.path.dirname(own).rstrip("/")
    for line in _lines("/proc/self/mountinfo"):
        left, _, right = line.partition(" - ")
        if right.startswith("cgroup2 "):
            root, mounted = left.split()[3:5]
            root = root.rstrip("/")
            inside = own == root or own.startswith(root + "/")
            return mounted + own.removeprefix(root) if inside else ""
    return ""


def _named(pid: int) -> str | None:
    """As the kernel names it, "" for the root."""
    for line in _lines(f"/proc/{pid}/cgroup"):
        if line.startswith("0::"):
            return line[3:].rstrip("/")
    return None


def _lines(path: str) -> list[str]:
    try:
        with open(path, "rb") as file:
            return os.fsdecode(file.read()).splitlines()
    except OSError:
        return []


def make(path: str) -> bool:
    """A new leaf that processes can enter and that can be killed; False and nothing left else."""
    try:
        os.mkdir(path)
    except OSError:
        return False
    if _lines(path + "/cgroup.type") == ["domain"] and os.path.exists(path + "/cgroup.kill"):
        return True
    dissolve(path, set())
    return False


def enter(path: str, pid: int) -> bool:
    return _write(path + "/cgroup.procs", str(pid).encode())


def release(path: str) -> None:
    """Removes a leaf; whoever is in it moves up and lives on."""
    for _ in range(TRIES):
        dissolve(path, pids(path))
        if not os.path.exists(path):
            return


def is_empty(path: str) -> bool:
    """True only if the kernel says so: `populated 0`, or the leaf was removed, which needs that."""
    if not path:
        return False
    try:
        with open(path + "/cgroup.events", "rb") as file:
            return b"populated 0" in file.read()
    except FileNotFoundError:  # but only if it is the leaf that is missing, not the whole mount
        return os.path.exists(os.path.dirname(path) + "/cgroup.procs")
    except OSError:
        return False


def pids(path: str) -> set[int]:
    """Who is in it; nobody where there is none."""
    if not path:
        return set()
    try:
        with open(path + "/cgroup.procs", "rb") as file:
            return {int(pid) for pid in file.read().split()}
    except OSError:
        return set()


def kill(path: str) -> bool:
    """Ends everything in it at once, also what is being forked right now."""
    return _write(path + "/cgroup.kill", b"1")


def dissolve(path: str, spared: set[int]) -> None:
    """Removes a leaf that is done with; whoever was spared in it moves up and lives on."""
    if not path:
        return
    for pid in pids(path) & spared:
        enter(os.path.dirname(path), pid)
    try:
        os.rmdir(path)
    except OSError:
        pass  # somebody is in it, or it has gone already


def _write(path: str, text: bytes) -> bool:
    """To a file that must be there already: nothing is created."""
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
