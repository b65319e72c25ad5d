"""P16: whoever is killed with -9 as it starts an agent again or ends it leaves no key behind."""

import os
import random
import signal
from collections.abc import Callable
from pathlib import Path

import pytest

from chaos.conftest import is_long, is_small
from chaos.cutting import Cut, Words, cut, moments, quiet, saying
from chaos.report import Tally
from contracts.o_scenes import sql, words
from house import House, alive, eventually
from knell.core.run import Run
from unpacked import plain_content

KEY = "sk-ant-api03-" + os.urandom(20).hex()
SWEEPS: tuple[Words, ...] = (
    ("watch", "--once"), ("kill", "other"), ("stop", "other"), ("doctor", "--repair"), ("prune",),
)  # fmt: skip
Scene = Callable[[House, str], Words]


def crash(house: House, name: str) -> None:
    """An agent that was meant to come back has ended unasked, and is due to be started again."""
    again = ("--name", name, "--in", "headless", "--restart", "--", *words())
    assert house.run("spawn", *again).returncode == 0
    crash_again(house, name)


def crash_again(house: House, name: str) -> None:
    run = newest(house, name)
    if run.keeper and run.process:
        keeper = run.keeper.pid
        os.kill(run.process.pid, signal.SIGKILL)
        eventually(lambda: not alive(keeper))
    house.run("watch", "--once")
    sql(house, "UPDATE restarts SET due_at = '2000-01-01T00:00:00.000+00:00'")


def newest(house: House, name: str) -> Run:
    return house.knell.world.store.runs.of(name)[0]


def watched(house: House, name: str) -> Words:
    crash(house, name)
    return ("watch", "--once")


def called_off(house: House, name: str) -> Words:
    crash(house, name)
    return ("kill", name)


def restarted(house: House, name: str) -> Words:
    crash(house, name)
    return ("restart", name)


def started_anew(house: House, name: str) -> Words:
    """The new run has nothing to do with the one before, and does not come back."""
    crash(house, name)
    return ("spawn", "--name", name, "--in", "headless", "--", *words())


def ended(house: House, name: str) -> Words:
    again = ("--name", name, "--in", "headless", "--restart", "--", *words())
    assert house.run("spawn", *again).returncode == 0
    return ("kill", name)


def never_started(house: House, name: str) -> Words:
    crash(house, name)
    sql(house, "UPDATE agents SET cwd = '/no/such/place' WHERE name = ?", name)
    return ("watch", "--once")


SCENES: dict[str, Scene] = {
    "a restart by the watch": watched,
    "a restart that is called off": called_off,
    "a restart by hand": restarted,
    "another start": started_anew,
    "a kill": ended,
    "a restart that fails": never_started,
}


@pytest.mark.parametrize("scene", SCENES.values(), ids=SCENES)
def test_P16_no_cut_leaves_a_key_that_nobody_needs(
    house: House, chance: random.Random, tally: Tally, scene: Scene
) -> None:
    """Wherever a start or an end was cut short, the next sweep deletes the keys of ended runs."""
    house.env["ANTHROPIC_API_KEY"] = KEY
    house.run("spawn", "--name", "other", "--in", "headless", "--", *words())
    names = moments(house, *scene(house, "first"))
    house.run("kill", "first")
    assert holders(house) == []
    for at in about_keys(names, chance):
        name = f"agent{at}"
        one = cut(house, at, *scene(house, name))
        with saying(one):
            quiet(house)
            swept(house, name, one, chance)
        tally.broke("knell killed with -9 while it held keys")


def about_keys(names: list[str], chance: random.Random) -> list[int]:
    """The moments around the files that hold keys and the records that say who needs them. What
    `make test` leaves out, `make chaos` does."""
    sharp = [
        at
        for at, name in enumerate(names, 1)
        if any(word in name for word in ("launch", ".tmp", "unlink", "COMMIT", "keeper"))
    ]
    many = 2 if is_small() else len(sharp) if is_long() else 8
    return sorted(chance.sample(sharp, min(many, len(sharp))))


def swept(house: House, name: str, one: Cut, chance: random.Random) -> None:
    """Each way to sweep is enough for what is not needed; an end on purpose needs nothing."""
    sweep = chance.choice(SWEEPS)
    done = house.run(*sweep)
    assert "Traceback" not in done.stderr, done.stderr
    with saying(f"then {' '.join(sweep)}"):
        quiet(house)
        house.run("list")
        run = newest(house, name)
        found = holders(house)
        if run.process is not None:  # else its start was cut short, and goes on with an earlier key
            assert [path for path in found if run.id not in path.parts] == [], one
        else:
            # its order, half a copy, and the key of the run before it
            assert len(found) <= 3, found
        house.run("watch", "--once")
        house.run("kill", name)
        house.run("watch", "--once")
        assert holders(house) == []
        house.run("kill", "other")
        house.run("spawn", "--name", "other", "--in", "headless", "--", *words())


def holders(house: House) -> list[Path]:
    found: list[Path] = []
    for path in house.state.rglob("*"):
        try:
            if path.is_file() and KEY.encode() in plain_content(path):
                found.append(path)
        except FileNotFoundError:
            continue  # just deleted
    return found
