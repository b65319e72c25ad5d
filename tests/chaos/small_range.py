"""A PID namespace with so few numbers that each is soon given again, and strangers who get them."""

import contextlib
import os
import platform
import re
import shutil
import signal
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import NamedTuple

from house import alive, eventually, pause, state_and_parent

NUMBERS = "/proc/sys/kernel/pid_max"
LAST = "/proc/sys/kernel/ns_last_pid"
RANGE = 360  # the kernel begins again at 300, so that 60 are in turn
RESERVED = 300
TRIES = 20
PATIENCE = 30.0  # seconds for a number to be free; longer has it only who stays
REPLAYS = 3
LOST = 75  # exit code: a number that the scene needs went to a program that keeps it
OWN_RANGE = (6, 14)  # since then each namespace has a pid_max of its own
HERE = Path(__file__).resolve().parent
# The first call with which a layer opens a process, or signals one that it has opened: Linux has
# pidfds; the portable layer looks once more, because its handle is a name and holds nothing.
MOMENTS = {
    "open": "pidfd_open,look,live_process,stat_of",
    "signal": "pidfd_send_signal,look,live_process",
}


# -- from outside ----------------------------------------------------------------------------------


def played(scene: str, *words: str, cgroup: bool = True) -> None:
    """Plays `reuse_scenes.SCENE(*words)` in there, if wished without cgroups; fails as it does.

    With so few numbers, one that the scene needs may go to a program of the scene that stays. Then
    nothing was shown, and it is played again."""
    done = _play(scene, *words, cgroup=cgroup)
    for _ in range(REPLAYS):
        if done.returncode == LOST:
            done = _play(scene, *words, cgroup=cgroup)
    assert done.returncode == 0, done.stderr


def _play(scene: str, *words: str, cgroup: bool) -> subprocess.CompletedProcess[str]:
    import pytest  # not for those who play inside

    version = tuple(int(part) for part in re.findall(r"\d+", platform.release())[:2])
    if version < OWN_RANGE:
        pytest.skip("pid_max is the whole machine's before Linux 6.14: it must not be made small")
    if not shutil.which("unshare"):
        pytest.skip("unshare is not installed")
    flags = ["--mount", "--propagation", "private", "--pid", "--fork", "--mount-proc"]
    if os.geteuid():
        flags += ["--user", "--map-root-user"]
    before = Path(NUMBERS).read_text()
    with tempfile.TemporaryDirectory(prefix="knell-") as root:
        done = subprocess.run(
            ["unshare", *flags, "--kill-child", sys.executable, str(HERE / "reuse_scenes.py"),
             root, "" if cgroup or os.geteuid() else "bare", scene, *words],
            env=os.environ | {"PYTHONPATH": f"{HERE.parent}:{HERE.parent / 'support'}"}, cwd=root,
            capture_output=True, text=True, check=False, timeout=300,
        )  # fmt: skip
    assert Path(NUMBERS).read_text() == before, "the namespace's pid_max has leaked"
    if done.stderr.startswith("unshare:"):
        pytest.skip(f"no PID namespace here: {done.stderr.strip()}")
    return done


# -- from inside -----------------------------------------------------------------------------------


def enter(play: Callable[[], None], *, bare: bool) -> None:
    """Called by the first process: makes the range small, plays in a child, reaps what is orphaned.

    `bare` hides the cgroups, so that nothing but a scan can find a run without its keeper."""
    Path(NUMBERS).write_text(str(RANGE))
    for path in cgroups() if bare else ():
        subprocess.run(["umount", "-l", path], check=True)
    with contextlib.suppress(OSError):  # a kernel that is built without it takes 300 forks
        Path(LAST).write_text(str(RESERVED - 1))
    while (child := os.fork()) and child < RESERVED:  # from here on every number comes again
        os.waitpid(child, 0)
    if not child:
        if os.getpid() < RESERVED:
            os._exit(0)
        code = 1
        try:
            play()
            code = 0
        except NumberLost:
            code = LOST
        finally:
            sys.stdout.flush()
            sys.stderr.flush()
            if code == 1:
                sys.excepthook(*sys.exc_info())  # type: ignore[arg-type]
            os._exit(code)
    while (ended := os.wait())[0] != child:
        pass
    sys.exit(os.waitstatus_to_exitcode(ended[1]))


def cgroups() -> list[str]:
    lines = Path("/proc/self/mountinfo").read_text().splitlines()
    return [line.split()[4] for line in lines if " - cgroup2 " in line]


class Stranger(NamedTuple):
    """Has a number that was an agent's before, and writes down every signal it gets."""

    pid: int
    log: Path

    def check(self) -> None:
        """It was never signalled, not even stopped."""
        assert alive(self.pid), f"the stranger {self.pid} was killed"
        assert state_and_parent(self.pid)[0] != "T", f"the stranger {self.pid} was stopped"
        assert not self.log.read_text(), f"it got signal {self.log.read_text()}"


class NumberLost(Exception):
    """A program of the scene has got the number, and stays."""


def vacate(pid: int) -> None:
    """Ends a process of the scene, whoever its parent is, until its number is free."""
    with contextlib.suppress(ProcessLookupError):
        os.kill(pid, signal.SIGKILL)
    await_free(pid)


def await_free(pid: int) -> None:
    try:
        eventually(lambda: is_free(pid) or remind_parent(pid), PATIENCE)
    except AssertionError:
        raise NumberLost(pid) from None


def remind_parent(pid: int) -> None:
    """tmux 3.3 now and then leaves a pane's dead program as it is, until its next SIGCHLD."""
    state, parent = state_and_parent(pid)
    if state == "Z":
        with contextlib.suppress(ProcessLookupError):
            os.kill(parent, signal.SIGCHLD)


def is_free(pid: int) -> bool:
    with contextlib.suppress(ChildProcessError):
        os.waitpid(pid, os.WNOHANG)
    return not os.path.exists(f"/proc/{pid}")


def take(pid: int, room: Path, deed: str = "") -> Stranger:
    """A stranger who gets that number, as soon as the kernel gives it again (see taker.py).

    Any other process of the scene may get it for a while, a thread of knell among them."""
    log = room / f"{pid}.{os.urandom(4).hex()}"
    words = (str(HERE / "taker.py"), str(pid), str(log), deed)
    code = 1
    for _ in range(TRIES):
        await_free(pid)
        code = subprocess.call([sys.executable, "-I", "-S", *words], timeout=300)
        if code == 0:
            break
    assert code == 0, f"{pid} did not come again"
    eventually(log.exists)
    return Stranger(int(Path(f"{log}.left").read_text()), log)


# -- a program that stands still -------------------------------------------------------------------


class Room(NamedTuple):
    """Where a held program and the scene meet."""

    path: Path

    def whom(self, pid: int) -> None:
        (self.path / "whom").write_text(str(pid))

    def await_held(self) -> None:
        eventually((self.path / "held").exists)

    def go(self) -> None:
        (self.path / "go").touch()

    def argv(self, moment: str, inside: str, *program: str) -> list[str]:
        return [str(HERE / "holder.py"), str(self.path), MOMENTS[moment], inside, *program]


@contextlib.contextmanager
def keepers_held(room: Room, moment: str, inside: str) -> Iterator[None]:
    """A keeper that is started in here stands still at that moment, once it is told whom."""
    holding = " ".join(room.argv(moment, inside))
    wrapper = room.path / "python"
    wrapper.write_text(
        f"""#!/bin/sh
case "$*" in *keeper/keeper.py*) shift 2; exec {sys.executable} -I -S {holding} "$@";; esac
exec {sys.executable} "$@"
"""
    )
    wrapper.chmod(0o755)
    real, sys.executable = sys.executable, str(wrapper)
    try:
        yield
    finally:
        sys.executable = real


def settle_down() -> None:
    """Lets one clock tick pass: two processes that began within one are told apart otherwise."""
    pause(0.02)
