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
    try:
        with open(path + "/cgroup.kill", "wb", buffering=0) as file:
            file.write(b"1")
    except OSError:
        return False
    return True


def remove(path: str) -> None:
    if path:
        try:
            os.rmdir(path)
        except OSError:
            pass  # somebody is in it; the next ending tries again
