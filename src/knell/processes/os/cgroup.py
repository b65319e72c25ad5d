"""A cgroup for each run, where one can be made: it gives an atomic kill and a second proof.

The keeper imports it too: standard library only, no import of knell.
"""

import os

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable

PREFIX = "knell-"
TRIES = 5  # to empty a leaf in which a process forks
used = True  # the portable layer does without


def make_own(run: str) -> str:
    """A new leaf for what the keeper starts; empty where that is not allowed."""
    path = leaf_for("self", run)
    if path and os.path.basename(of("self") or "").startswith(PREFIX):
        enter(os.path.dirname(path), 0)  # a run within a run is a sibling of the outer one
    return path if path and make(path) else ""


def leaf_for(pid: int | str, run: str) -> str:
    """Where a leaf for what this process starts may be made; empty where that is not allowed.

    Below its own cgroup, so that its limits hold; but beside the leaf of another run, which is
    killed apart."""
    parent = home_of(pid)
    if not parent or not os.access(parent, os.W_OK):
        return ""
    if not os.access(parent + "/cgroup.procs", os.W_OK):
        return ""  # to move a process, one must be allowed to take it out of there
    return f"{parent}/{PREFIX}{run}"


def home_of(pid: int | str) -> str:
    """The directory of a process's cgroup, leaves of runs left out; empty if none is seen."""
    own = of(pid) if used else None
    if own is None or own.startswith("/.."):  # outside of what our namespace shows
        return ""
    while os.path.basename(own).startswith(PREFIX):
        own = os.path.dirname(own).rstrip("/")
    for line in os.fsdecode(read("/proc/self/mountinfo")).splitlines():
        left, _, right = line.partition(" - ")
        if right.startswith("cgroup2 "):  # hybrid machines mount it elsewhere
            root, mounted = left.split()[3:5]
            root = root.rstrip("/")
            inside = own == root or own.startswith(root + "/")
            return mounted + own.removeprefix(root) if inside else ""
    return ""


def of(pid: int | str) -> str | None:
    """The cgroup v2 of a process, also of a dead one that is not reaped yet; "" for the root."""
    lines = os.fsdecode(read(f"/proc/{pid}/cgroup")).splitlines()
    return next((line[3:].rstrip("/") for line in lines if line.startswith("0::")), None)


def holds(path: str, pid: int) -> bool:
    """Whether the process really went in: an empty cgroup must not prove what it never held."""
    return bool(path) and os.path.basename(of(pid) or "") == os.path.basename(path)


def make(path: str) -> bool:
    """A new leaf that processes can enter and that can be killed; False and nothing left else."""
    try:
        os.mkdir(path)
    except OSError:
        return False
    if read(path + "/cgroup.type") == b"domain\n" and os.path.exists(path + "/cgroup.kill"):
        return True
    dissolve(path, set())
    return False


def enter(path: str, pid: int) -> bool:
    """Moves a process there, ourselves as 0; it stays where it is if we may not."""
    return write(path + "/cgroup.procs", str(pid).encode())


def pids(path: str) -> set[int]:
    """The processes in it; none where there is no such leaf."""
    return {int(pid) for pid in read(path + "/cgroup.procs").split()} if path else set()


def kill(path: str) -> bool:
    """Ends everything in it at once, also what is being forked right now."""
    return write(path + "/cgroup.kill", b"1")


def kill_exactly(path: str, doomed: set[int]) -> bool:
    """The same, but only if the processes in the cgroup are these and no others."""
    return bool(doomed) and pids(path) == doomed and kill(path)


def release(path: str, spared: "Callable[[], set[int]] | None" = None) -> None:
    """Removes a leaf, if there still is one; the processes in it that are spared, or else all of
    them, move up and live on, also those that they start meanwhile."""
    for _ in range(TRIES):
        if not path or not os.path.exists(path):
            return
        dissolve(path, spared() if spared else pids(path))


def dissolve(path: str, spared: set[int]) -> None:
    """Removes a leaf that is done with; what was spared in it moves up and lives on."""
    if not path:
        return
    for pid in pids(path) & spared:
        enter(os.path.dirname(path), pid)
    try:
        os.rmdir(path)
    except OSError:
        pass  # a process is in it, or it has gone already


def read(path: str) -> bytes:
    """What the file holds; nothing if it is gone or may not be read."""
    try:
        with open(path, "rb") as file:
            return file.read()
    except OSError:
        return b""


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
