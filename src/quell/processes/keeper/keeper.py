"""The keeper: the small parent that stays with each run. `python -I -S keeper.py RUNDIR [--detach]`

Stdlib only and no import of quell, because one of these lives as long as each agent does. It reads
RUNDIR/launch, appends what it sees to RUNDIR/journal (tab-separated, one fact a line, read by
processes/journal.py), and finds the grace in RUNDIR/end when SIGTERM asks it to end the run.
It exits with the agent's code, and only when no child is left: its exit is the proof.
"""

import os
import signal
import sys
import time

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))  # -I keeps it off the path

import leaf  # noqa: E402
import look  # noqa: E402
import tend  # noqa: E402
import terminal  # noqa: E402


def main():
    rundir = sys.argv[1]
    detached = "--detach" in sys.argv[2:]
    if detached:
        if os.fork():
            os._exit(0)
        os.setsid()
    for number in tend.IGNORED:
        signal.signal(number, signal.SIG_IGN)
    look.become_subreaper()
    keeper = tend.Keeper(rundir, {} if detached else terminal.pane_environment())
    proof = keeper.live()
    leaf.remove(keeper.leaf)
    keeper.write("ended", proof, f"{time.time():.3f}")
    if keeper.status is None:
        os._exit(127)
    kind, number = tend.how(keeper.status)
    os._exit(128 + number if kind == "signal" else number)  # skips 4 ms of interpreter shutdown


if __name__ == "__main__":
    main()
