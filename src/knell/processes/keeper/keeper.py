"""The keeper: the small parent that stays with each run.

It is started by `python -I -S keeper.py RUNDIR [--detach] [--layer NAME DIRECTORY]`.

Standard library only and no import of knell, because each agent has a keeper as long as it lives;
besides this folder it uses proc.py, panes.py, tmux_client.py and cgroup.py of the folder os, and
where it cannot adopt orphans also psutil (machine.py).
It reads RUNDIR/launch, appends what it sees to RUNDIR/journal (journal.py), and finds the grace in
RUNDIR/end when SIGTERM asks it to end the run (loop.py). If the run ends unasked, it writes down
what may explain that (death_evidence.py) and RUNDIR/screen, what the pane showed last (screen.py).
A headless agent's output goes through it into RUNDIR/output.log (output.py).
It exits with the agent's code, and only when no child is left: its exit is the proof.
It loads everything at its start, because an upgrade may replace or move these files under it.
"""

import os
import resource
import sys
import time

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))  # -I keeps both off the path
sys.path.insert(1, os.path.join(os.path.dirname(sys.path[0]), "os"))

import cgroup
import loop
import machine
import screen
from journal import exit_of
from proc import read, signal

PR_SET_CHILD_SUBREAPER = 36
PR_SET_NAME = 15
PR_SET_DUMPABLE = 4


def main() -> None:
    rundir = sys.argv[1]
    detached = "--detach" in sys.argv[2:]
    if detached:
        if os.fork():
            os._exit(0)
        os.setsid()
    keeper = loop.Keeper(rundir, detached=detached)
    if machine.ADOPTS:
        become_subreaper()
        close_memory()
    proof = keeper.run()
    if keeper.output:
        keeper.output.finish()
    write_evidence(keeper)
    cgroup.release(keeper.cgroup)
    if proof:
        keeper.journal.write_last_word(proof, time.time(), keeper.launch.seal)
    exit_like_agent(keeper.status)


def write_evidence(keeper: loop.Keeper) -> None:
    """Writes down what the run has used and, if it ended unasked, what may explain it."""
    if keeper.evidence is None or keeper.status is None or keeper.ending == "failed":
        return
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    memory, seconds = used.ru_maxrss // machine.RSS_UNIT, used.ru_utime + used.ru_stime
    keeper.journal.write("usage", memory, f"{seconds:.3f}")
    if keeper.ending == "asked":
        return
    keeper.evidence.write(keeper.journal, keeper.cgroup, keeper.agent, keeper.status)
    if keeper.ending != "hangup":
        screen.save(keeper.rundir, keeper.wake)


def exit_like_agent(status: int | None) -> None:
    """With the agent's code; after Ctrl-C by that signal: only then a shell leaves its loop too."""
    kind, number = exit_of(status) if status is not None else ("exit", loop.NOT_FOUND)
    if kind == "signal" and number == signal.SIGINT:
        signal.signal(number, signal.SIG_DFL)
        os.kill(os.getpid(), number)
    os._exit(128 + number if kind == "signal" else number)  # skips 4 ms of interpreter shutdown


def become_subreaper() -> None:
    """From here on even a double-forked daemon stays our child. Only Linux can do that."""
    prctl(PR_SET_CHILD_SUBREAPER, 1)
    prctl(PR_SET_NAME, b"knell-keeper")


def close_memory() -> None:
    """Keeps our seal from the agent, which has our user id: without CAP_SYS_PTRACE it can neither
    read our memory and files nor trace us from here on. A /proc that hides what may not be traced
    would hide us from knell as well."""
    if b"hidepid=" not in read("/proc/self/mountinfo"):
        prctl(PR_SET_DUMPABLE, 0)


def prctl(option: int, argument: int | bytes) -> None:
    """Linux's prctl; nothing where there is none: then a daemon is found from outside, or not.

    Importing ctypes loads many types, a quarter of the keeper's start."""
    try:
        import _ctypes

        itself = _ctypes.dlopen(None, 0)  # pyright: ignore[reportArgumentType] - as ctypes calls it
        found = _ctypes.dlsym(itself, "prctl")
        _ctypes.call_function(found, (option, argument, 0, 0, 0))
    except (ImportError, OSError, AttributeError):
        try:
            import ctypes

            ctypes.CDLL(None).prctl(option, argument, 0, 0, 0)
        except (ImportError, OSError, AttributeError):
            pass


if __name__ == "__main__":
    main()
