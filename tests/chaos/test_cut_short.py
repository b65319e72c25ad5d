"""knell killed with -9 at every moment of a verb; then one more command, as a person would type."""

import os
import random
import signal
from pathlib import Path
from typing import Any

import pytest

from chaos.conftest import is_long, is_small
from chaos.cutting import (
    ENDS,
    LOOKS,
    Words,
    check,
    cuts,
    go_on,
    of,
    quiet,
    reusable,
    saying,
    some,
)
from chaos.report import Tally
from contracts.o_scenes import make_task, sql, task_of, words, worker
from house import House, alive, eventually
from knell.core.run import Run
from knell.stores.records import process_text
from repo import Repo, on_disk

# -- endings -------------------------------------------------------------------------------------

AGENTS = {
    "kill": {},
    "stop": {"place": "tmux", "server": "test"},
    "kill --force": {"habit": "ignores_term"},
    "kill --grace 0.4": {"habit": "setsid", "place": "tmux", "server": "test"},
}


@pytest.mark.parametrize("verb", AGENTS if is_long() else list(AGENTS)[: 1 if is_small() else 2])
def test_an_ending(house: House, chance: random.Random, tally: Tally, verb: str) -> None:
    """An ending cut short at any moment is finished by the next command, with one receipt."""
    fates: dict[str, Any] = {"": ("running", 0), "killed": ("failed", 0), "stopped": ("running", 0)}

    def play(name: str) -> Words:
        worker(house, AGENTS[verb].get("habit", "obedient"), name=name, **wish,
               task=make_task(house, f"T-{name}"))  # fmt: skip
        return (*verb.split(), name)

    wish = {key: value for key, value in AGENTS[verb].items() if key != "habit"}
    for name, one in cuts(house, chance, play, some(5)):
        then = go_on(house, chance, one, *(of(next_, name) for next_ in ENDS + LOOKS))
        with saying(f"{one}, then {' '.join(then)}"):
            run = check(house, name, finished=then[:2] not in LOOKS)[0]
            if run.live and run.ending:
                house.run(*of(chance.choice(ENDS), name))
                run = check(house, name, finished=True)[0]
                assert not run.live
            task = task_of(house, f"T-{name}")
            outcome = run.ending.outcome if run.ending else ""
            assert (task["status"], task["retry_count"]) == fates[outcome], task
            assert task["assigned_agent"] == name
            reusable(house, name)
        tally.broke(f"knell killed with -9 during {verb.split(maxsplit=1)[0]}")


@pytest.mark.stress
def test_the_work_in_a_worktree(house: House, chance: random.Random, tally: Tally) -> None:
    """What an agent had not committed is still there, wherever its cleanup was cut short."""
    repo = Repo(house)

    def play(name: str) -> Words:
        work = repo.worktree(name)
        (work / "new.txt").write_text(f"of {name}\n")
        argv = tuple(words())
        house.knell.spawn(command=argv, name=name, place="headless", cwd=str(work))
        return ("kill", name, "--cleanup=force")

    for name, one in cuts(house, chance, play, some(4)):
        work = house.root / name
        go_on(house, chance, one, *(of(next_, name) for next_ in ENDS + LOOKS))
        with saying(one):
            if house.knell.world.store.runs.of(name)[0].live:
                house.run(*of(("kill",), name), "--cleanup=force")
            run = check(house, name, finished=True)[0]
            saved = f"refs/knell/rescue/{name}/{run.id}"
            found = repo.saved(saved) if saved in repo.refs() else on_disk(work)
            assert found[b"new.txt"][1] == f"of {name}\n".encode()
            again = repo.worktree(f"{name}-again")  # no lock of git's is left
            assert repo.git("status", "--porcelain", cwd=again) == ""
        tally.broke("knell killed with -9 during a cleanup")


@pytest.mark.stress
def test_reap(house: House, chance: random.Random, tally: Tally) -> None:
    """A reap cut short at any moment leaves no orphan that the next one does not end."""

    def play(name: str) -> Words:
        house.spawn("setsid", name=name, keep=("*time.sleep*",))
        [slain] = house.kill(name)
        assert len(slain.receipts[0].kept) == 1
        return ("reap", "--yes", name)

    def orphans(name: str) -> list[int]:
        return [row[0] for row in sql(house, "SELECT pid FROM orphans WHERE agent = ?", name)]

    for name, one in cuts(house, chance, play, some(4)):
        [kept] = house.knell.receipt(name).kept
        reap = ("reap", "--yes", name)
        then = go_on(house, chance, one, reap, ("kill", name), ("list",), ("watch", "--once"))
        with saying(f"{one}, then {' '.join(then)}"):
            if alive(kept.pid):
                assert then != reap
                assert orphans(name) == [kept.pid]
                assert house.run(*reap).returncode == 0
            assert not alive(kept.pid)
            house.run("reap")
            assert orphans(name) == []
            reusable(house, name)
        tally.broke("knell killed with -9 during reap")


# Whoever gets a signal that can be caught says so; any other ends or stops it.
LISTENER = """
import os, signal, sys, time
signal.alarm(1200)
def say(number, _):
    open(sys.argv[1], "a").write(f"{number}\\n")
for number in {*signal.valid_signals()} - {9, 14, 17, 19, 32, 33}:
    signal.signal(number, say)
open(sys.argv[1], "w").close()
while True:
    time.sleep(0.2)
"""


@pytest.mark.stress
def test_a_stranger(house: House, chance: random.Random, tally: Tally) -> None:
    """Whoever has the number of a process that died in a cut ending is not signalled for it."""
    heard = house.root / "heard"
    other = house.process(*house.script(LISTENER, str(heard)), start_new_session=True)
    eventually(heard.exists)

    def play(name: str) -> Words:
        house.spawn(name=name)
        return ("kill", name)

    for name, one in cuts(house, chance, play, some(4)):
        run = house.knell.world.store.runs.of(name)[0]
        if not run.live:
            continue
        assert run.keeper
        assert run.process
        for process in (run.keeper, run.process):
            if alive(process.pid):
                os.kill(process.pid, signal.SIGKILL)
        quiet(house)
        take_numbers(house, run, other.pid)
        then = go_on(house, chance, one, *(of(next_, name) for next_ in ENDS))
        with saying(f"{one}, then {' '.join(then)}"):
            assert other.poll() is None
            assert heard.read_text() == ""
            check(house, name, finished=True, kept=False)
            reusable(house, name)
        tally.broke("a dead agent's number given to a stranger")
    other.kill()
    other.wait(300)


def take_numbers(house: House, run: Run, stranger: int) -> None:
    """As if the kernel had given the stranger the numbers of the run's keeper and agent."""
    assert run.keeper
    assert run.process
    stale = [process_text(one._replace(pid=stranger, inode=0)) for one in (run.keeper, run.process)]
    sql(house, "UPDATE runs SET keeper = ?, process = ? WHERE id = ?", *stale, run.id)
    journal = Path(house.knell.world.rundir(run.id), "journal")
    lines = [line.split("\t") for line in journal.read_text().splitlines()]
    for line in lines:
        if line[0] in ("keeper", "born", "found"):
            line[1] = str(stranger)
    journal.write_text("".join("\t".join(line) + "\n" for line in lines))
