"""Runs knell or a keeper and holds it still right before one call; stdlib only, for it runs alone.

`python holder.py ROOM CALLS INSIDE PROGRAM…` stops before a function of INSIDE calls one of CALLS,
both with commas between them, about the pid that is written in ROOM/whom; says so by ROOM/held, and
goes on once there is ROOM/go. PROGRAM is `knell` with its words, or the path of a script with its
own. Each layer of processes has calls of its own: of the kernel, or of psutil.
"""

import os
import runpy
import select
import sys
from types import FrameType
from typing import Any


def pid_meant(frame: FrameType) -> int:
    """Whom the call is about, by the names that its function has for that."""
    told = frame.f_locals
    if "process" in told:
        return told["process"].pid
    if "pidfd" in told:
        with open(f"/proc/self/fdinfo/{told['pidfd']}") as file:
            return int(file.read().partition("\nPid:")[2].split()[0])
    return told.get("pid", 0)


def hold(room: str, calls: str, inside: str) -> None:
    names = calls.split(",")

    def watch(frame: FrameType, event: str, called: Any) -> None:
        name = called.__name__ if event == "c_call" else frame.f_code.co_name
        if event not in ("call", "c_call") or name not in names:
            return
        # knell reaches the system through a module of its own: the caller of that one counts.
        frames = [each for each in (frame, frame.f_back) if each]
        if not set(inside.split(",")) & {each.f_code.co_name for each in frames}:
            return
        whom = os.path.join(room, "whom")
        if os.path.exists(whom) and not os.path.exists(os.path.join(room, "held")):
            with open(whom) as file:
                whose = int(file.read())
                if whose in [pid_meant(each) for each in frames]:
                    wait(room)

    sys.setprofile(watch)


def wait(room: str) -> None:
    open(os.path.join(room, "held"), "w").close()
    while not os.path.exists(os.path.join(room, "go")):
        select.select([], [], [], 0.002)


def main() -> None:
    room, calls, inside, program, *words = sys.argv[1:]
    sys.argv = [program, *words]
    if program == "knell":
        from knell.faces.cli import main as knell

        hold(room, calls, inside)
        knell()
    else:
        hold(room, calls, inside)
        runpy.run_path(program, run_name="__main__")


if __name__ == "__main__":
    main()
