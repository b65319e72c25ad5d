"""Cuts a command short with -9 at any moment, and looks whether the books are sound afterwards."""

import contextlib
import os
import random
import subprocess
import sys
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from chaos.conftest import is_long, is_small
from contracts.o_scenes import sql
from house import House, descendants, eventually, told
from knell.core.receipt import Proof
from knell.core.run import Run, State
from knell.life.base.members import never_came
from knell.processes.journal import read_journal

CUTTER = Path(__file__).parent / "cutter.py"
ENDS = (("kill",), ("stop",), ("watch", "--once"))  # finish what was interrupted
LOOKS = (("list",), ("status",), ("reap", "--yes"))  # signal no run, but keep the books true
Words = tuple[str, ...]
Play = Callable[[str], Words]  # sets the scene for an agent of that name: the command to be cut


class Cut(NamedTuple):
    """What came of a command that was to be cut short."""

    at: int
    moment: str  # at which it died; empty if it had finished before
    done: "subprocess.CompletedProcess[str]"

    def __str__(self) -> str:
        return f"cut {self.moment or 'never'} (number {self.at})"


def moments(house: House, *words: str) -> list[str]:
    """The names of all moments of a command, in order; it runs to its end."""
    at = _run(house, 0, words)
    assert at.done.returncode == 0, at.done.stderr
    return _log(house).read_text().splitlines()


def cut(house: House, at: int, *words: str) -> Cut:
    """Runs `knell WORDS`, which dies at that moment."""
    return _run(house, at, words)


def cuts(house: House, chance: random.Random, play: Play, many: int) -> Iterator[tuple[str, Cut]]:
    """Cuts the same command short again and again, each time for another agent at another moment.

    The first one runs to its end, and tells which moments there are.
    """
    names = moments(house, *play("agent0"))
    for at in chosen(names, chance, many):
        name = f"agent{at}"
        yield name, cut(house, at, *play(name))


def number_of(moment: str, house: House, *words: str) -> int:
    """Which number the first moment has whose name begins so; the command runs to its end."""
    names = moments(house, *words)
    return 1 + next(at for at, name in enumerate(names) if name.startswith(moment))


def _log(house: House) -> Path:
    return house.root / "cut.log"


def _run(house: House, at: int, words: Words) -> Cut:
    log = _log(house)
    log.unlink(missing_ok=True)
    done = subprocess.run(
        [sys.executable, str(CUTTER), str(at), str(log), *words],
        env=house.env, cwd=house.root, stdin=subprocess.DEVNULL,
        capture_output=True, text=True, check=False, timeout=300,
    )  # fmt: skip
    names = log.read_text().splitlines() if log.exists() else []
    died = done.returncode == -9
    assert died == (0 < at <= len(names)), (at, names, done)
    assert "Traceback" not in done.stderr, done.stderr
    return Cut(at, names[-1] if died else "", done)


def chosen(names: Sequence[str], chance: random.Random, many: int) -> list[int]:
    """Numbers of moments: the sharp ones, then others by chance, up to `many`."""
    numbers = list(range(1, len(names) + 1))
    if len(names) <= many:
        return numbers
    sharp = [n for n in numbers if is_sharp(names[n - 1])]
    if len(sharp) > many:
        sharp = chance.sample(sharp, many)
    rest = [n for n in numbers if n not in sharp]
    return sorted({*sharp, *chance.sample(rest, many - len(sharp))})


def is_sharp(name: str) -> bool:
    """Where something was just decided, or is about to be done that cannot be taken back."""
    return (
        name.startswith("after COMMIT")
        or "signal" in name
        or "keeper" in name
        or "fork" in name
        or "kill-pane" in name
    )


# -- afterwards ----------------------------------------------------------------------------------


def some(short: int) -> int:
    """How many moments of a verb: in the long version all of them, of most verbs."""
    return 40 if is_long() else max(2, short // 4) if is_small() else short


def of(verb: Words, name: str) -> Words:
    return (*verb, name, "--grace", "0.2") if verb[0] in ("kill", "stop") else verb


def go_on(house: House, chance: random.Random, one: Cut, *commands: Words) -> Words:
    """One more command, at once or after whatever went on by itself came to rest."""
    hurried = chance.random() < 0.5
    if not hurried:
        quiet(house)
    then = chance.choice(commands)
    with saying(f"{one}, then {'at once ' if hurried else ''}{' '.join(then)}"):
        done = house.run(*then)
        assert "Traceback" not in done.stderr, done.stderr
        quiet(house)
        if hurried:  # what came to rest only now is for the next one who looks
            house.run("list")
    return then


def quiet(house: House) -> None:
    """Until nothing that was begun goes on by itself: keepers that start or end, git."""
    eventually(lambda: not any(_busy(house, pid) for pid in descendants()))


def _busy(house: House, pid: int) -> bool:
    argv = told(pid).split()
    if argv and os.path.basename(argv[0]) == "git":
        return True
    rundir = next((word for word in argv if word.startswith(f"{house.state}/runs/")), "")
    if not rundir:
        return False
    journal = read_journal(rundir)
    # A keeper of the ended may stay to write down what children say that were kept.
    return not journal.ended and (journal.process is None or bool(journal.cause))


def keepers(house: House, run: Run) -> list[int]:
    rundir = house.knell.world.rundir(run.id)
    return [pid for pid in descendants() if rundir in told(pid).split()]


def await_births(house: House, name: str) -> None:
    """A keeper that outlived its spawner needs a moment to report; any command then notes it."""
    coming = [
        run
        for run in house.knell.world.store.runs.of(name)
        if run.live and run.state is State.SPAWNING and keepers(house, run)
    ]
    for run in coming:
        rundir = house.knell.world.rundir(run.id)
        eventually(lambda run=run, rundir=rundir: reported(rundir) or not keepers(house, run))
    if coming:
        house.run("list")


def reported(rundir: str) -> bool:
    journal = read_journal(rundir)
    return bool(journal.process or journal.failure or journal.ended)


def check(house: House, name: str, *, finished: bool, kept: bool = True) -> list[Run]:
    """Every run of the agent is alive and well, or over for good with one receipt.

    Without `finished`, an ending may be shown as interrupted, for it waits for one who may signal.
    Without `kept`, a keeper was killed, and without it nobody can always prove an end.
    """
    await_births(house, name)
    stamps = house.knell.world.processes.stamped()
    runs = house.knell.world.store.runs.of(name)
    for run in runs:
        members = {one.pid for one in stamps.get(run.id, ())}
        if run.live:
            _check_live(house, run, members | {*keepers(house, run)}, finished=finished)
        else:
            _check_over(house, run, members | {*keepers(house, run)}, kept=kept)
    assert sum(run.live for run in runs) <= 1
    rows = sql(house, "SELECT count(*) FROM instances WHERE agent = ?", name)
    assert rows == [(sum(run.live for run in runs),)]
    return runs


def _check_live(house: House, run: Run, members: set[int], *, finished: bool) -> None:
    if never_came(house.knell.world, run):  # a look, and a kill that finds no PID, only say so
        [shown] = [one for one in house.json("list")["agents"] if one["name"] == run.agent]
        assert "start was interrupted" in shown["note"], shown
        assert not members
        return
    if finished or run.state is not State.STOPPING:
        assert (run.state, run.owner) == (State.RUNNING, None), run
    else:
        [shown] = [one for one in house.json("list")["agents"] if one["name"] == run.agent]
        assert "interrupted" in shown["note"], shown
    assert run.process
    assert run.process.pid in members
    assert run.keeper
    assert run.keeper.pid in members
    assert receipts(house, run) == 0


def _check_over(house: House, run: Run, members: set[int], *, kept: bool) -> None:
    assert not members, [told(pid) for pid in members]
    assert receipts(house, run) == 1
    told_of = sql(
        house, "SELECT count(*) FROM events WHERE run = ? AND type = 'life.stopped'", run.id
    )
    assert told_of == [(1,)]
    receipt = house.knell.world.store.endings.receipt(run.id)
    assert receipt
    assert not receipt.survivors
    proven = receipt.proof is Proof.PROVEN or run.process is None or receipt.kept
    assert proven or not kept, receipt
    rundir = Path(house.knell.world.rundir(run.id))
    assert not (rundir / "launch").exists(), "the caller's environment was left there"
    assert not run.cgroup or not Path(run.cgroup).exists()


def receipts(house: House, run: Run) -> int:
    return sql(house, "SELECT count(*) FROM receipts WHERE run = ?", run.id)[0][0]


def reusable(house: House, name: str) -> None:
    """A kill ends it if it lives, and its name is free again."""
    live = [run for run in house.knell.world.store.runs.live() if run.agent == name]
    if live and not never_came(house.knell.world, live[0]):
        [slain] = house.kill(name, force=True)
        assert [one.result for one in slain.receipts] == ["ended"], slain
        assert slain.receipts[0].proof is Proof.PROVEN
    again = house.spawn(name=name).run
    [slain] = house.kill(name, force=True)
    assert (slain.receipts[0].run, slain.receipts[0].proof) == (again.id, Proof.PROVEN), slain


@contextlib.contextmanager
def saying(what: object) -> Any:
    """Whatever fails in here says where the cut was."""
    try:
        yield
    except BaseException as error:
        error.add_note(str(what))
        raise
