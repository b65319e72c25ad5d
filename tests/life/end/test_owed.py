"""Ends that only a look has recorded: who takes the steps that the asker could not, and how often.

Luna and nova share a server. The command that ends luna dies as soon as her keeper has its order,
so that the keeper ends her alone, as it does with an agent that ends itself.
"""

import os
import signal
import subprocess
import sys
import threading
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any

import pytest

from fast.tracing import statements
from forked import run_script
from house import House, OpenKnell, alive, eventually
from knell import start_end_steps
from knell.core.ending_steps import Case, Moment
from knell.core.ports.world import World
from knell.core.receipt import Receipt
from knell.core.run import Run
from knell.life.end import owed
from knell.life.end.vendors import end_revived
from knell.start_end_steps import AFTERMATH, APPLIES
from life.end.test_aftermath import AGAIN, CLAIMS, Stage, await_end, cut_off, write_program
from preloaded import Forked
from robin import configure
from shared_server import Lab, pid_of

QUICK = "[resume]\nwait = 1\n"  # the stand-in never shows its conversation


class Scene:
    def __init__(self, house: House) -> None:
        self.house, self.lab = house, Lab(house)
        self.luna = self.lab.agent("luna")
        self.nova = self.lab.agent("nova")

    def cut_off(self, *words: str) -> None:
        assert cut_off(self.house, *(words or ("stop", "luna"))) == -signal.SIGKILL
        eventually(lambda: not alive(pid_of(self.luna)))

    def look(self) -> None:
        """Looks until the end is on record."""

        def over() -> bool:
            self.house.knell.list()
            return not self.lab.run(self.luna.run.id).live

        eventually(over)

    @property
    def aborts(self) -> int:
        return self.lab.asked.count(f"/session/{self.luna.agent.conversation}/abort")

    @property
    def owed(self) -> list[str]:
        return [one.run for one in self.house.knell.world.store.endings.owed()]

    @property
    def receipt(self) -> Receipt:
        receipt = self.house.knell.world.store.endings.receipt(self.luna.run.id)
        assert receipt
        return receipt

    def tell(self, *words: str) -> None:
        done = self.house.run(*words)
        assert done.returncode == 0, (words, done.stdout, done.stderr)


@contextmanager
def ended_at_last(process: "Forked | subprocess.Popen[Any]") -> Iterator[None]:
    try:
        yield
    finally:
        process.kill()
        process.wait(300)


@pytest.fixture
def scene(house: House) -> Scene:
    return Scene(house)


LOOKS = ("list", "show luna", "receipt luna", "status", "reap", "events", "watch --once --dry-run")


def test_a_look_leaves_the_steps_to_the_watch(scene: Scene) -> None:
    """The server is told once, by the watch's next round; no look tells it"""
    scene.cut_off()
    for look in LOOKS * 2:
        scene.house.run(*look.split())
    scene.look()
    assert (scene.aborts, scene.owed) == (0, [scene.luna.run.id])
    for _ in range(2):
        scene.tell("watch", "--once")
        assert (scene.aborts, scene.owed) == (1, [])
    assert (scene.receipt.by, scene.receipt.reason) == ("operator", "manual_stop")
    assert scene.receipt.warnings == ()
    assert scene.lab.users == ["nova"]


def test_a_watch_that_stays_takes_them_when_the_agent_ends(scene: Scene) -> None:
    """In a pulse: the next round is far away"""
    watch = scene.house.begin("watch", "--interval", "600", stdout=subprocess.DEVNULL)
    with ended_at_last(watch):
        store = scene.house.knell.world.store
        eventually(lambda: store.watch.watcher(scene.house.knell.world.host))
        scene.cut_off()
        eventually(lambda: not scene.lab.run(scene.luna.run.id).live and not scene.owed)
    assert scene.aborts == 1


def test_reap_takes_them_too_of_those_that_it_is_told(scene: Scene) -> None:
    scene.cut_off()
    scene.look()
    for words, aborts in (("nova", "--yes"), 0), (("luna",), 0), (("luna", "--yes"), 1):
        scene.tell("reap", *words)
        assert scene.aborts == aborts
    assert scene.owed == []


def test_what_they_warn_of_is_in_the_receipt(scene: Scene) -> None:
    (scene.lab.root / "forgetful").touch()
    scene.cut_off()
    scene.look()
    assert scene.receipt.warnings == ()
    scene.tell("watch", "--once")
    assert [one.code for one in scene.receipt.warnings] == ["backend_works_on"]
    assert alive(pid_of(scene.nova))


def test_every_later_step_is_asked_for(scene: Scene, monkeypatch: pytest.MonkeyPatch) -> None:
    """Those of the living are over; the words are those of the asker, and nothing is added"""
    seen: dict[str, Case] = {}

    def noting(name: str) -> object:
        return lambda world, case: seen.setdefault(name, case) and APPLIES[name](world, case)

    scene.cut_off()
    scene.look()
    monkeypatch.setattr(start_end_steps, "APPLIES", {name: noting(name) for name in APPLIES})
    owed.take_owed(scene.house.knell.world)
    assert set(seen) == {step.name for step in AFTERMATH if step.moment is not Moment.ALIVE}
    [case, *_] = seen.values()
    assert (case.asked.by, case.asked.cleanup, case.way.dissolve) == ("operator", "", False)


def test_a_cleanup_that_was_asked_for_is_still_done(scene: Scene) -> None:
    """The watch finishes such an ending as it did before: with every step, and each once"""
    scene.cut_off("kill", "luna", "--cleanup")
    scene.house.knell.list()
    assert (scene.lab.run(scene.luna.run.id).live, scene.owed) == (True, [])

    def over() -> bool:
        scene.tell("watch", "--once")
        return not scene.lab.run(scene.luna.run.id).live

    eventually(over)
    assert scene.receipt.cleaning.state
    assert (scene.aborts, scene.owed) == (1, [])


# -- nobody's wish ---------------------------------------------------------------------------------


@pytest.mark.parametrize("claimed", [False, True])
def test_a_crash_is_owed_nothing(scene: Scene, *, claimed: bool) -> None:
    """Nor if somebody had just said that he will end it"""
    if claimed:
        argv = [sys.executable, "-c", CLAIMS, scene.luna.run.id]
        subprocess.run(argv, env=scene.house.env, check=True, timeout=300)
    os.kill(pid_of(scene.luna), signal.SIGKILL)
    scene.look()
    assert scene.owed == []
    scene.tell("watch", "--once")
    scene.tell("reap", "--yes")
    assert (scene.aborts, scene.owed) == (0, [])


# -- once ------------------------------------------------------------------------------------------

# A round of the watch that stops for us where it takes the steps of that moment.
STOPS = """
import os, signal, sys, time
from knell.start_end_steps import RoomSteps
real, at = RoomSteps.take, sys.argv[1]
def take(self, moment, cases, **how):
    if cases and moment.name == at:
        {then}
    return real(self, moment, cases, **how)
RoomSteps.take = take
sys.argv[1:] = ["watch", "--once"]
from knell.faces.cli import main
main()
"""
WAITS = """
        open("at-it", "w").close()
        while not os.path.exists("go-on"):
            time.sleep(0.01)
"""
DIES = "os.kill(os.getpid(), signal.SIGKILL)"


def test_two_watches_take_them_once(scene: Scene) -> None:
    """While one is at it, another round and a reap leave it alone"""
    scene.cut_off()
    scene.look()
    root = scene.house.root
    script = [sys.executable, "-c", STOPS.format(then=WAITS.strip()), "DEAD"]
    first = subprocess.Popen(script, env=scene.house.env, cwd=root)
    with ended_at_last(first):
        eventually((root / "at-it").exists)
        scene.tell("watch", "--once")
        scene.tell("reap", "--yes")
        assert (scene.aborts, len(scene.owed)) == (0, 1)
        (root / "go-on").touch()
        assert first.wait(300) == 0
    assert (scene.aborts, scene.owed) == (1, [])


def test_two_threads_take_them_once(scene: Scene, monkeypatch: pytest.MonkeyPatch) -> None:
    """The store's claim names the process, so it cannot tell its threads apart"""
    scene.cut_off()
    scene.look()
    at_it, go_on = threading.Event(), threading.Event()
    real = owed._take_steps

    def hold(world: World, runs: Sequence[Run]) -> None:
        at_it.set()
        assert go_on.wait(60)
        real(world, runs)

    def take() -> None:
        with OpenKnell(env=scene.house.env) as knell:
            owed.take_owed(knell.world)

    monkeypatch.setattr(owed, "_take_steps", hold)
    first = threading.Thread(target=take)
    first.start()
    assert at_it.wait(300)
    monkeypatch.setattr(owed, "_take_steps", real)
    take()
    assert (scene.aborts, len(scene.owed)) == (0, 1)
    go_on.set()
    first.join(300)
    assert (scene.aborts, scene.owed) == (1, [])


@pytest.mark.parametrize(("at", "aborts"), [("DEAD", 1), ("RECORDED", 2)])
def test_a_taker_that_is_killed_loses_nothing(scene: Scene, at: str, aborts: int) -> None:
    """The next one takes all steps: what the dead one had done of them is not known"""
    scene.cut_off()
    scene.look()
    assert run_script(scene.house, STOPS.format(then=DIES), at) == -signal.SIGKILL
    [left] = scene.house.knell.world.store.endings.owed()
    assert left.taker
    scene.tell("watch", "--once")
    assert (scene.aborts, scene.owed) == (aborts, [])


def test_a_taker_that_fails_takes_them_later(scene: Scene, monkeypatch: pytest.MonkeyPatch) -> None:
    """Its claim is its own, so a watch that lives on is not kept out by it"""
    scene.cut_off()
    scene.look()

    def fail(*_: object) -> None:
        raise OSError("no")

    world = scene.house.knell.world
    with monkeypatch.context() as patched:
        patched.setattr(owed, "_take_steps", fail)
        with pytest.raises(OSError, match="no"):
            owed.take_owed(world)
    assert (scene.aborts, len(scene.owed)) == (0, 1)
    owed.take_owed(world)
    assert (scene.aborts, scene.owed) == (1, [])


# -- whom they must not harm -----------------------------------------------------------------------


def test_an_agent_that_runs_again_is_left_alone(scene: Scene) -> None:
    """Its conversation lives on in the new run, at the same server"""
    scene.lab.remember(scene.luna)
    configure(scene.house, QUICK)
    scene.cut_off()
    scene.look()
    scene.tell("resume", "luna")
    scene.tell("watch", "--once")
    assert (scene.aborts, scene.owed) == (0, [])
    assert scene.lab.users == ["nova", "luna"]


@pytest.mark.parametrize(("late", "aborts"), [(True, 0), (False, 1)])
def test_long_after_it_a_person_in_the_conversation_is_left_alone(
    scene: Scene, *, late: bool, aborts: int
) -> None:
    scene.cut_off()
    scene.look()
    looks_for_revivals(scene.house, seconds=-1.0 if late else 1e6)
    person = begun_by_hand(scene.house, "opencode", scene.luna.agent.conversation)
    with ended_at_last(person):
        owed.take_owed(scene.house.knell.world)
        assert (scene.aborts, scene.owed, person.poll()) == (aborts, [], None)


def test_long_after_it_the_server_is_still_told_where_nobody_is(scene: Scene) -> None:
    scene.cut_off()
    scene.look()
    looks_for_revivals(scene.house, seconds=-1.0)
    owed.take_owed(scene.house.knell.world)
    assert (scene.aborts, scene.owed) == (1, [])


def looks_for_revivals(house: House, seconds: float) -> None:
    """How long after an ending a program in its conversation counts as a supervisor's."""
    world = house.knell.world
    vars(world)["settings"] = world.settings._replace(stop_watch_after=seconds)


def begun_by_hand(house: House, program: str, conversation: str) -> "subprocess.Popen[bytes]":
    """A program in that conversation which knell did not start."""
    folder = house.root / "by-hand"
    folder.mkdir()
    write_program(folder / program, AGAIN.format(python=sys.executable))
    return house.process(str(folder / program), "--session", conversation)


@pytest.fixture
def stage(house: House, monkeypatch: pytest.MonkeyPatch) -> Stage:
    return Stage(house, monkeypatch, "kill")


def test_what_a_supervisor_starts_again_is_ended_after_an_agent_ended_itself(
    stage: Stage,
) -> None:
    """It says `knell stop`; the watch's next round finds what came back, and says so"""
    assert stage.luna.process
    os.kill(stage.luna.process.pid, signal.SIGUSR1)
    await_end(stage, "luna")
    again = begun_by_hand(stage.house, "wren", stage.conversation("luna"))
    with ended_at_last(supervisor(stage)), ended_at_last(again):
        stage.tell("watch", "--once")
        assert again.poll() is not None
    receipt = stage.house.knell.world.store.endings.receipt(stage.luna.id)
    assert receipt
    assert (receipt.by, [one.code for one in receipt.warnings]) == ("agent:luna", ["revived"])


def supervisor(stage: Stage) -> "subprocess.Popen[bytes]":
    """One that waits for the end of this process."""
    return stage.house.process(str(stage.daemon), str(os.getpid()), "x", stdout=subprocess.DEVNULL)


def test_an_agent_that_knell_started_again_meanwhile_is_no_revival(stage: Stage) -> None:
    """A watch may still look for one while a person types `knell resume`"""
    world = stage.house.knell.world
    stage.house.kill("luna")
    case = owed._case_of(world, stage.run_of("luna"))
    assert case
    configure(stage.house, QUICK)
    stage.tell("resume", "luna")
    looks_for_revivals(stage.house, seconds=1.0)
    with ended_at_last(supervisor(stage)):
        assert end_revived(world, [case]) == [case]
    again = stage.run_of("luna")
    assert again.process
    assert alive(again.process.pid)


def test_a_kill_does_not_ask_what_is_owed(scene: Scene) -> None:
    """Only the watch and reap do: a kill stays as quick as it was"""
    scene.cut_off()
    scene.look()
    with statements(scene.house) as told:
        scene.house.kill("nova")
    assert scene.owed == [scene.luna.run.id]
    assert not [one for one in told if "owed" in one]
