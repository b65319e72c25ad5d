"""knell killed with -9 at every moment at which it starts agents, or watches over them."""

import json
import os
import random
import signal

import pytest

from chaos.cutting import (
    ENDS,
    LOOKS,
    Words,
    check,
    cut,
    cuts,
    go_on,
    number_of,
    of,
    reusable,
    saying,
    some,
)
from chaos.report import Tally
from contracts.o_scenes import IDLE, SPAWN, make_task, sql, task_of, words, worker
from house import House, alive, eventually

# -- beginnings ----------------------------------------------------------------------------------


@pytest.mark.parametrize("place", ["headless", "tmux"])
def test_spawn(house: House, chance: random.Random, tally: Tally, place: str) -> None:
    """A spawn cut short at any moment is there or not there, never in between."""
    server = ("--tmux-server", "test") if place == "tmux" else ()
    house.spawn()

    def play(name: str) -> Words:
        return ("spawn", "--in", place, *server, "--name", name, "--", *words())

    for name, one in cuts(house, chance, play, some(4)):
        commands = (of(next_, name) for next_ in ENDS + LOOKS)
        then = go_on(house, chance, one, play(name), *commands)
        with saying(f"{one}, then {' '.join(then[:3])}"):
            check(house, name, finished=True)
            reusable(house, name)
        tally.broke("knell killed with -9 during spawn")


@pytest.mark.stress
def test_a_spawn_for_a_task(house: House, chance: random.Random, tally: Tally) -> None:
    """A task is worked on or waits for an agent, wherever the spawn for it was cut short."""

    def play(name: str) -> Words:
        task = make_task(house, f"T-{name}")
        told = {"AGENT_TYPE": name, "TASK_ID": task, "COMMAND": words(), **IDLE}
        return ("invoke", SPAWN, json.dumps(told))

    for kind, one in cuts(house, chance, play, some(6)):
        go_on(house, chance, one, ("watch", "--once"))
        with saying(one):
            live = [r for r in house.knell.world.store.runs.live() if r.task == f"T-{kind}"]
            task = task_of(house, f"T-{kind}")
            told = ("running", live[0].agent) if live else ("spawned", None)
            assert (task["status"], task["assigned_agent"], task["retry_count"]) == (*told, 0)
            for run in live:
                check(house, run.agent, finished=True)
                house.kill(run.agent, force=True)
        tally.broke("knell killed with -9 during spawn")


@pytest.mark.stress
def test_resume(house: House, chance: random.Random, tally: Tally) -> None:
    """A resume cut short at any moment can be made again, and no second run comes of it."""

    def play(name: str) -> Words:
        house.spawn(name=name)
        house.kill(name)
        return ("resume", name)

    for name, one in cuts(house, chance, play, some(5)):
        commands = (of(next_, name) for next_ in ENDS + LOOKS)
        then = go_on(house, chance, one, ("resume", name), *commands)
        with saying(f"{one}, then {' '.join(then)}"):
            runs = check(house, name, finished=True)
            assert runs[0].live or then[0] != "resume"
            reusable(house, name)
        tally.broke("knell killed with -9 during resume")


@pytest.mark.stress
def test_watch(house: House, chance: random.Random, tally: Tally) -> None:
    """A watch cut short at any moment loses neither an ending nor a restart that it had begun."""
    house.spawn(name="claimed")
    claimed = number_of("after COMMIT of UPDATE instances", house, "kill", "claimed")

    def play(name: str) -> Words:
        back, task = f"{name}-back", make_task(house, f"T-{name}")
        run = worker(house, name=back, task=task, restart=2).run
        assert run.process
        assert run.keeper
        os.kill(run.process.pid, signal.SIGKILL)
        keeper = run.keeper.pid
        eventually(lambda: not alive(keeper))
        assert house.run("watch", "--once").returncode == 0
        sql(house, "UPDATE restarts SET due_at = '2000-01-01T00:00:00.000+00:00'")
        worker(house, name=name)
        assert cut(house, claimed, "kill", name).moment
        return ("watch", "--once")

    for name, one in cuts(house, chance, play, some(4)):
        then = go_on(house, chance, one, ("watch", "--once"), ("list",))
        with saying(f"{one}, then {' '.join(then)}"):
            house.run("watch", "--once")
            assert not check(house, name, finished=True)[0].live
            runs = check(house, f"{name}-back", finished=True)
            plans = {plan.run: plan.decision for plan in house.knell.world.store.restarts.plans()}
            assert runs[0].live or plans[runs[0].id] == "planned", plans
            task = task_of(house, f"T-{name}")
            assert task["status"] == ("running" if runs[0].live else "spawned"), task
            house.kill(f"{name}-back", force=True)
            reusable(house, name)
        tally.broke("knell killed with -9 during watch")


# -- the very first command ----------------------------------------------------------------------


def test_the_first_command(house: House, chance: random.Random, tally: Tally) -> None:
    """The first command of all, cut short while it makes the store, leaves one that works."""

    def play(name: str) -> Words:
        house.env["KNELL_HOME"] = str(house.root / name)
        return ("list",)

    try:
        for _, one in cuts(house, chance, play, some(5)):
            with saying(one):
                done = house.run("spawn", "--name", "luna", "--in", "headless", "--", *words())
                assert done.returncode == 0, done
                assert house.run("kill", "luna").returncode == 0
            tally.broke("knell killed with -9 while it made its store")
    finally:
        house.env["KNELL_HOME"] = str(house.state)
