"""A keeper killed with -9 at every moment of its life: its run is found and ended without it."""

import random
from collections.abc import Callable
from typing import Any

import pytest

from chaos.conftest import is_long
from chaos.cutting import CUTTER, check, chosen, keepers, quiet, reusable, saying, some
from chaos.report import Tally
from house import House, alive, eventually
from knell.api.habits import HABITS, OBEDIENT
from knell.core.errors import LaunchFailed, PlaceFailed
from knell.core.run import Run
from knell.processes import keepers as launching

SCENES = [("setsid", "headless"), ("ignores_term", "tmux")]
RUNNER = """
import sys
sys.path.insert(0, {folder!r})
import cutter
at, log = open({order!r}).read().split()
cutter.cut_keeper({keeper!r}, int(at), log)
"""


class Doomed:
    """From now on each keeper dies at the moment that is asked for, 0 for never."""

    def __init__(self, house: House) -> None:
        folder = house.root / "cut"
        folder.mkdir()
        self.order, self.log = folder / "order", folder / "log"
        self.script = folder / "keeper.py"
        words = {"folder": str(CUTTER.parent), "order": str(self.order), "keeper": launching.KEEPER}
        self.script.write_text(RUNNER.format(**words))
        self.at(0)

    def at(self, number: int) -> None:
        self.log.unlink(missing_ok=True)
        self.order.write_text(f"{number} {self.log}")

    def moments(self) -> list[str]:
        return self.log.read_text().splitlines()


@pytest.fixture
def doomed(house: House, monkeypatch: pytest.MonkeyPatch) -> Doomed:
    one = Doomed(house)
    monkeypatch.setattr(launching, "KEEPER", str(one.script))
    return one


def born(house: House, habit: str, name: str, **wish: Any) -> Run | None:
    """None if its keeper did not live to start it, and whoever asked was told so.

    It has shown its habit, unless it went with its keeper: a pane that closes hangs up."""
    ready = house.root / f"{name}.shown"
    wish = {"place": "headless", "startup": 0.7} | wish
    env = (("KNELL_READY", str(ready)),)
    argv = house.script(OBEDIENT if habit == "obedient" else HABITS[habit])
    try:
        run = house.knell.spawn(
            command=argv, name=name, cwd=str(house.root), env=dict(env), **wish
        ).run
    except (LaunchFailed, PlaceFailed):
        return None
    eventually(lambda: ready.exists() or not (run.process and alive(run.process.pid)))
    return run


def is_over(house: House, run: Run) -> Callable[[], bool]:
    return lambda: not keepers(house, run)


@pytest.mark.parametrize(("habit", "place"), SCENES if is_long() else SCENES[:1])
def test_an_ending(
    house: House, doomed: Doomed, chance: random.Random, tally: Tally, habit: str, place: str
) -> None:
    """A keeper killed at any moment, from its start to its end, hides no process of its run."""
    wish = {"place": place, "server": "test" if place == "tmux" else ""}
    born(house, habit, "agent0", **wish)
    assert house.run("kill", "agent0", "--grace", "0.2").returncode == 0
    names = doomed.moments()
    assert {"after write born", "after write ended"} <= {*names}
    for at in chosen(names, chance, some(8)):
        name = f"agent{at}"
        doomed.at(at)
        run = born(house, habit, name, **wish)
        with saying(f"cut {names[at - 1]} (number {at})"):
            if run is None:
                quiet(house)
                runs = house.knell.world.store.runs.of(name)
                assert runs
                assert not any(one.live for one in runs)
            else:
                then = chance.choice(["kill", "stop"])
                done = house.run(then, name, "--grace", "0.2")
                assert done.returncode == 0, done
            check(house, name, finished=True, kept=False)
            doomed.at(0)
            reusable(house, name)
        tally.broke("a keeper killed with -9")


def test_an_agent_that_ended_by_itself(
    house: House, doomed: Doomed, chance: random.Random, tally: Tally
) -> None:
    """What an agent left behind is ended, though its keeper was killed while it was at it."""
    run = born(house, "root_dead", "agent0")
    assert run
    eventually(is_over(house, run))
    names = doomed.moments()
    first = next(at for at, name in enumerate(names) if name == "before write exit")
    for at in chosen(names[first:], chance, some(4)):
        name = f"agent{at}"
        doomed.at(first + at)
        run = born(house, "root_dead", name)
        assert run
        with saying(f"cut {names[first + at - 1]} (number {first + at})"):
            eventually(is_over(house, run))
            shown = [one["name"] for one in house.json("list")["agents"]]
            left = house.knell.world.processes.stamped().get(run.id)
            assert (name in shown) == bool(left)
            then = chance.choice([("kill", name, "--grace", "0.2"), ("stop", name)])
            assert house.run(*then).returncode == 0
            check(house, name, finished=True, kept=False)
            doomed.at(0)
            reusable(house, name)
        tally.broke("a keeper killed with -9")


def test_the_moments_of_a_keeper_are_seen(house: House, doomed: Doomed) -> None:
    """The keeper under test is the real one, and each of its deeds is a moment to cut it at."""
    run = born(house, "obedient", "luna")
    assert run
    house.kill("luna")
    journal = (house.knell.world.archive.journal(run.id) or b"").decode().splitlines()
    written = [line.split("\t")[0] for line in journal]
    names = [name for name in doomed.moments() if name.startswith("after write")]
    words = [name.split()[-1] for name in names]  # others tell a pid to the cgroup, or ! to a pipe
    assert [word for word in words if word.isalpha()] == written
