"""The keeper: the small parent that stays with each run. `python -I -S keeper.py RUNDIR [--detach]`

Stdlib only and no import of quell, because one of these lives as long as each agent does. It reads
RUNDIR/launch, appends what it sees to RUNDIR/journal (diary.py), and finds the grace in RUNDIR/end
when SIGTERM asks it to end the run (tend.py). Of an end that nobody asked for it writes down what
may explain it (autopsy.py) and RUNDIR/screen, what the pane showed last (screen.py).
It exits with the agent's code, and only when no child is left: its exit is the proof.
"""

import os
import sys
import time

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))  # -I keeps it off the path

import leaf
import look
import tend
from quick import signal


def main() -> None:
    rundir = sys.argv[1]
    detached = "--detach" in sys.argv[2:]
    if detached:
        if os.fork():
            os._exit(0)
        os.setsid()
    keeper = tend.Keeper(rundir, detached=detached)
    look.become_subreaper()
    proof = keeper.live()
    look_back(keeper)
    leaf.dissolve(keeper.leaf)
    keeper.diary.write("ended", proof, f"{time.time():.3f}")
    leave(keeper.status)


def look_back(keeper: tend.Keeper) -> None:
    """Writes down what the run has used and, if nobody asked for its end, what may explain it."""
    if keeper.autopsy is None or keeper.status is None or keeper.ending == "failed":
        return
    import resource

    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    keeper.diary.write("usage", used.ru_maxrss, f"{used.ru_utime + used.ru_stime:.3f}")
    if keeper.ending == "asked":
        return
    keeper.autopsy.report(keeper.diary, keeper.leaf, keeper.agent, keeper.status)
    if keeper.ending != "hangup":
        import screen

        screen.keep(keeper.rundir, keeper.wake)


def leave(status: int | None) -> None:
    """With the agent's code; on Ctrl-C of its signal: only then does a shell leave its loop too."""
    kind, number = tend.how(status) if status is not None else ("exit", tend.NOT_FOUND)
    if kind == "signal" and number == signal.SIGINT:
        signal.signal(number, signal.SIG_DFL)
        os.kill(os.getpid(), number)
    os._exit(128 + number if kind == "signal" else number)  # skips 4 ms of interpreter shutdown


if __name__ == "__main__":
    main()
