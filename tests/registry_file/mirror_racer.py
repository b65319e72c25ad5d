"""One of several processes that use a registry at the same moment.

    mirror_racer.py DEED PATH [MORE]

Says "ready", waits for a line, does its deed and says what came of it.
"""
# ruff: noqa: T201 - what it prints is its answer

import fcntl
import os
import signal
import sys
from pathlib import Path
from typing import Any

from mirror_samples import Registry

from knell import files
from knell.core.errors import RegistryFailed


def update(path: str, name: str) -> str:
    """Two turns with its own row; patient, as the machine may be busy."""
    files.PATIENCE = 90
    registry = Registry(Path(path))
    for turn in range(2):
        registry.update(name, {"turn": turn, "status": ("stopped", "running")[turn % 2]})
    return "done"


def publish(path: str, job: str) -> str:
    files.PATIENCE = 90
    for turn in range(5):
        Registry(Path(path)).publish(job, "progress", f"turn {turn}", {"pid": os.getpid()})
    return "done"


def hold(path: str) -> str:
    """Keeps the lock until it is told to end."""
    with files.locked(path + ".lock"):
        print("held", flush=True)
        sys.stdin.readline()
    return "released"


def hold_silently(path: str) -> str:
    """The same by a program that does not sign its locks."""
    with open(path + ".lock", "w") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        print("held", flush=True)
        sys.stdin.readline()
    return "released"


def die(path: str, name: str, step: str) -> str:
    """Is killed at the given step of an update; a step is any call that touches a file."""
    left = int(step)

    def watch(event: str, args: tuple[Any, ...]) -> None:
        nonlocal left
        if event in {"open", "os.rename", "os.remove", "os.truncate", "os.chmod", "fcntl.flock"}:
            left -= 1
            if left == 0:
                os.kill(os.getpid(), signal.SIGKILL)

    registry = Registry(Path(path))
    registry.rows()  # so that only the write's own steps are counted
    sys.addaudithook(watch)
    registry.update(name, {"status": "stopped", "note": "x" * 10_000})
    return "done"


DEEDS = {deed.__name__: deed for deed in (update, publish, hold, hold_silently, die)}


def main(deed: str, *args: str) -> None:
    print("ready", flush=True)
    sys.stdin.readline()
    try:
        print(DEEDS[deed](*args), flush=True)
    except RegistryFailed as error:
        print(error, flush=True)


if __name__ == "__main__":
    main(*sys.argv[1:])
