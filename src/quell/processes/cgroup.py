"""A run's cgroup seen from outside: the last rung and a proof, where the keeper could make one."""

import os


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
        _write(os.path.dirname(path) + "/cgroup.procs", str(pid).encode())
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
