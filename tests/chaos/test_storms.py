"""Agents that fork as fast as they can, bounded in number, while they are being ended."""

import itertools
import os
import random
import signal
import sys
from collections.abc import Iterable, Sequence

import pytest

from chaos.conftest import is_long
from chaos.report import Tally
from chaos.small_range import cgroups
from house import House, alive, descendants, eventually
from knell.core.run import Run
from scenes import PROLOGUE, adopted, eventually_told, fresh_note, started
from shells import run_of

FORKING = ("forker", "generations", "hopper", "hopper_same_session", "hopper_tight", "daemon",
           "scrubbed_daemon", "deep", "zombie_parent")  # fmt: skip
FAULT = "a fork bomb, bounded"
MANY = 500 if is_long() else 300
LOUD = 40  # so many must be there before the bomb is killed: then it is in the middle of it
# Every process forks as long as there is a token to be had, so that no more than MANY ever begin.
BOMB = f"""
tokens, given = os.pipe()
os.write(given, bytes({MANY}))
os.close(given)
HABIT
tell()
while os.read(tokens, 1):
    if not os.fork():
        signal.alarm(1200)
        APART
while True: time.sleep(9)
"""
HABITS = {"obedient": "", "deaf": "[signal.signal(n, signal.SIG_IGN) for n in (1, 2, 15)]"}
ALONE = {"together": "pass", "apart": "os.setsid()"}


def bomb(habit: str, apart: str = "together") -> str:
    return BOMB.replace("HABIT", HABITS[habit]).replace("APART", ALONE[apart])


def some(ways: Iterable[Sequence[str]], chance: random.Random) -> list[Sequence[str]]:
    """All of them in the long version, one by chance in the short one."""
    every = list(ways)
    return every if is_long() else [chance.choice(every)]


def ended(house: House, before: set[int], proof: str) -> None:
    """Ends luna in the middle of it; nothing of it is left when the command returns."""
    eventually(lambda: len(set(descendants()) - before) >= LOUD)
    [receipt] = house.json("kill", "luna", "--grace", "0.2")["receipts"]
    assert (receipt["result"], receipt["proof"]) == ("ended", proof), receipt
    assert set(descendants()) <= before


@pytest.mark.stress
def test_storms_side_by_side(house: House, chance: random.Random, tally: Tally) -> None:
    """Runs that fork all the while, several at once, are all proven gone by one command"""
    habits = FORKING if is_long() else tuple(chance.sample(FORKING, 4))
    before = set(descendants())
    for habit in habits:
        house.spawn(habit, name=habit)
    slain = house.kill("all", grace=0.3)
    receipts = [receipt for one in slain for receipt in one.receipts]
    assert len(receipts) == len(habits)
    assert {(r.result, r.proof) for r in receipts} == {("ended", "proven")}
    assert set(descendants()) <= before
    tally.broke("a fork storm", len(habits))


def test_bomb_under_a_keeper(house: House, chance: random.Random, tally: Tally) -> None:
    """A bomb of hundreds of processes is proven gone, though it was killed in the middle of it"""
    for habit, apart in some(itertools.product(HABITS, ALONE), chance):
        before = set(descendants())
        started(house, bomb(habit, apart))
        ended(house, before, "proven")
        tally.broke(FAULT)


@pytest.mark.stress
def test_bomb_whose_keeper_was_killed(house: House, chance: random.Random, tally: Tally) -> None:
    """A bomb without its keeper is gone to the last process, found though not proven"""
    for habit, apart in some(itertools.product(HABITS, ALONE), chance):
        before = set(descendants())
        run = started(house, bomb(habit, apart)).run
        kill_keeper(run)
        ended(house, before, "none_found")
        tally.broke(FAULT)


@pytest.mark.needs_root
@pytest.mark.stress
def test_bomb_without_a_cgroup(house: House, chance: random.Random, tally: Tally) -> None:
    """Without cgroups the keeper alone proves a bomb's end; if it was killed too, none is found"""
    for habit, keeper in some(itertools.product(HABITS, ("kept", "killed")), chance):
        before = set(descendants())
        run = spawned_bare(house, bomb(habit))
        assert not run.cgroup
        if keeper == "killed":
            kill_keeper(run)
        ended(house, before, "proven" if keeper == "kept" else "none_found")
        tally.broke(FAULT)


@pytest.mark.stress
def test_adopted_bomb(house: House, chance: random.Random, tally: Tally) -> None:
    """An adopted bomb that stays in its group is found to the last, and never called proven"""
    for (habit,) in some(zip(HABITS, strict=True), chance):
        before = set(descendants())
        adopted(house, bomb(habit), setpgroup=0)
        ended(house, before, "none_found")
        tally.broke(FAULT)


def kill_keeper(run: Run) -> None:
    assert run.keeper
    pid = run.keeper.pid
    os.kill(pid, signal.SIGKILL)
    eventually(lambda: not alive(pid))


def spawned_bare(house: House, body: str) -> Run:
    """luna, from a mount namespace in which no cgroup v2 is to be seen."""
    note = fresh_note(house)
    hide = "; ".join(f"umount -l {path}" for path in cgroups()) or "true"
    words = ("spawn", "--name", "luna", "--in", "headless", "--env", f"KNELL_READY={note}", "--")
    argv = (sys.executable, "-m", "knell", *words, *house.script(PROLOGUE + body))
    private = ("unshare", "--mount", "--propagation", "private", "sh", "-c", f'{hide}; exec "$@"')
    assert house.process(*private, "sh", *argv).wait(300) == 0
    eventually_told(note)
    return run_of(house, "luna")
