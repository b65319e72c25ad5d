"""G25, G27, G28, G29, G33, G39: what watching has done wrong elsewhere, and does not here."""

import os
import subprocess
import sys
from typing import Any

import pytest

from house import House, alive, eventually, pause
from knell.life.watch.loop import WatchLoop, WatchWish
from scenes import SLEEPS, Played, end, started
from watchers import (
    BEATS_ON,
    BEATS_ONCE,
    EXITS_WHEN_TOLD,
    WoundWorld,
    ask,
    gone,
    last_run,
    let_exit,
    once,
    runs,
    stalled_agent,
    told,
    watching,
    wound,
)

NIGHT = 8 * 3600.0
KILL = WatchWish("kill")  # 120 s of patience, a round every 15 s


def rounds(watch: WatchLoop, number: int, seconds: float = 15.0) -> None:
    """So many rounds, each after that many seconds of the wound clock."""
    world = watch.world
    assert isinstance(world, WoundWorld)
    for _ in range(number):
        world.pass_by(seconds)
        list(watch.run_round())


def watched(house: House) -> tuple[WoundWorld, WatchLoop, Played]:
    """luna has beaten once, a moment ago, and a watcher that would kill has seen it."""
    luna = started(house, BEATS_ONCE)
    world = wound(house)
    watch = WatchLoop(world, KILL)
    list(watch.run_round())
    return world, watch, luna


# -- G25: an end that was decided is not decided again ---------------------------------------------


def stopped(house: House) -> None:
    house.run("stop", "luna")


def killed(house: House) -> None:
    house.run("kill", "luna")


def let_go(house: House) -> None:
    house.knell.stop("luna", mode="soft")


def finished(house: House) -> None:
    let_exit(house, 0)


def failed(house: House) -> None:
    let_exit(house, 9)


ENDS = {
    "stopped": stopped,
    "killed": killed,
    "archived": let_go,
    "completed": finished,
    "failed": failed,
}


@pytest.mark.parametrize(("outcome", "deed"), ENDS.items(), ids=ENDS)
def test_G25_rounds_never_change_what_an_end_is_called(
    house: House, outcome: str, deed: Any
) -> None:
    luna = started(house, EXITS_WHEN_TOLD)
    with watching(house, "--stalled", "kill", "--older-than", "1") as watch:
        deed(house)
        eventually(lambda: not last_run(house).live)
        ended, receipt = last_run(house), house.knell.receipt("luna")
        assert ended.ending
        assert ended.ending.outcome == outcome
        watch.round(3)
        assert last_run(house) == ended
        assert house.knell.receipt("luna") == receipt
    assert len(told(house, "life.stopped")) == 1
    if outcome == "archived":
        assert alive(luna.pid), "what was let go of is left alone"
        end(luna.pid)


def test_G25_a_crash_is_never_called_completed(house: House) -> None:
    luna = started(house, EXITS_WHEN_TOLD)
    let_exit(house, 1)
    gone(luna.pid, luna.keeper)
    once(house)
    run = last_run(house)
    assert run.ending
    assert (run.ending.outcome, run.ending.exit_code) == ("failed", 1)


# -- G27: no two workers on one task ---------------------------------------------------------------


def with_task(house: House, body: str, **wish: Any) -> Played:
    luna = started(house, body, task="t-1", **wish)
    ask(
        house,
        "INSERT INTO orchestrator_task (task_id, status, assigned_agent)"
        " VALUES ('t-1', 'running', 'luna')",
    )
    return luna


def task(house: House) -> tuple[str, str | None]:
    [found] = ask(house, "SELECT status, assigned_agent FROM orchestrator_task")
    return found


def test_G27_a_stalled_agent_that_lives_keeps_its_task(house: House) -> None:
    luna = with_task(house, BEATS_ONCE)
    with watching(house, "--older-than", "1") as watch:
        watch.line("watch.verdict", "activity=stalled")
        watch.round(2)
    assert alive(luna.pid)
    assert task(house) == ("running", "luna")


def test_G27_its_task_is_handed_on_only_when_it_is_proven_dead(house: House) -> None:
    """It holds out against TERM: all that while the task is its own."""
    deaf = "[signal.signal(n, signal.SIG_IGN) for n in (1, 2, 15)]\n" + BEATS_ONCE
    luna = with_task(house, deaf)
    argv = [sys.executable, "-m", "knell", "stalled", "--kill", "--older-than", "1"]
    eventually(lambda: house.knell.verdicts(older_than=1)[0].verdict.activity == "stalled")
    killer = subprocess.Popen(
        [*argv, "--grace", "2"], env=house.env, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
    )
    held = True
    while killer.poll() is None:
        lives, (_, agent) = alive(luna.pid), task(house)
        held = held and (agent == "luna" or not lives)
        pause(0.02)
    assert killer.returncode == 0
    assert held, "the task was free while the agent lived"
    assert not alive(luna.pid)
    assert task(house)[0] != "running"


def test_G27_the_watch_that_restarts_an_agent_gives_it_its_own_task_again(house: House) -> None:
    luna = with_task(house, "tell()\nos._exit(3)", restart=1)
    gone(luna.pid, luna.keeper)
    with watching(house) as watch:
        watch.line("restart.started")
        eventually(lambda: len(runs(house)) == 2)
        eventually(lambda: not last_run(house).live)
    assert [run.task for run in runs(house)] == ["t-1", "t-1"]
    assert task(house)[0] != "running"


# -- G28: seconds count, not sweeps; and nobody is stuck -------------------------------------------


def test_G28_a_hundred_quick_rounds_are_not_two_minutes(house: House) -> None:
    _, watch, luna = watched(house)
    rounds(watch, 100, seconds=0.5)
    assert alive(luna.pid)
    assert told(house, "watch.verdict") == []
    rounds(watch, 16, seconds=5)
    assert not alive(luna.pid)
    assert told(house, "watch.verdict")[0].data["why"].startswith("no heartbeat for 12")


def test_G28_one_that_beats_between_rounds_is_never_swept(house: House) -> None:
    luna = started(house, BEATS_ON)
    watch = WatchLoop(wound(house), KILL)
    list(watch.run_round())
    for _ in range(10):
        beat = os.stat(house.state / "runs" / luna.run.id / "heartbeat").st_mtime_ns
        path = house.state / "runs" / luna.run.id / "heartbeat"
        eventually(lambda path=path, beat=beat: path.stat().st_mtime_ns != beat)
        rounds(watch, 1, seconds=119)
    assert alive(luna.pid)
    assert told(house, "watch.verdict") == []


@pytest.mark.parametrize("state", ["spawning", "stopping"])
def test_G28_who_is_stuck_half_way_is_swept(house: House, state: str) -> None:
    """Its owner died; it is neither running nor ended, and would be so for ever."""
    if state == "spawning":
        ask_for_nothing(house)
    else:
        started(house, SLEEPS)
        ask(house, "UPDATE instances SET state = 'stopping', owner = ?", dead_owner(house))
        claimed = '{"outcome": "killed", "by": "operator", "reason": "killed"}'
        ask(house, "UPDATE instances SET ending = ?", claimed)
    assert last_run(house).state == state
    once(house)
    assert not last_run(house).live
    assert ask(house, "SELECT * FROM instances") == []


def dead_owner(house: House) -> str:
    from knell.stores.records import process_text

    done = subprocess.Popen(["true"])
    owner = house.knell.world.processes.me()._replace(pid=done.pid, start=1, inode=0)
    done.wait()
    return process_text(owner)


def ask_for_nothing(house: House) -> None:
    """A run that was written down by a spawner that died on the spot."""
    source = (
        "import os, signal\nfrom knell import Knell\nfrom knell.core.agent import Agent\n"
        "from knell.core.run import Place\nfrom knell.life.start.spawn import new_run\n"
        "world = Knell()._world\nagent = Agent('luna', 'command', '/', ('true',))\n"
        "world.store.runs.add(agent, new_run(world, agent, Place('headless')))\n"
        "os.kill(os.getpid(), signal.SIGKILL)"
    )
    subprocess.run([sys.executable, "-c", source], env=house.env, check=False, timeout=300)


# -- G29: a sleeping machine, a set clock, a paused watcher ----------------------------------------


@pytest.mark.parametrize("seconds", [NIGHT, -24 * 3600.0, 90.0, 30 * 86_400.0])
def test_G29_a_set_clock_ages_nobody(house: House, seconds: float) -> None:
    world, watch, luna = watched(house)
    world.set_clock(seconds)
    list(watch.run_round())
    rounds(watch, 3)
    assert alive(luna.pid)
    assert told(house, "watch.verdict") == []
    rounds(watch, 8)
    assert not alive(luna.pid), "and makes nobody immortal"


def test_G29_a_suspended_machine_ages_nobody(house: House) -> None:
    world, watch, luna = watched(house)
    for _ in range(3):
        world.suspend(NIGHT)
        rounds(watch, 1)
    assert alive(luna.pid)
    assert told(house, "watch.verdict") == []


def test_G29_a_watcher_that_was_paused_for_an_hour_ages_nobody(house: House) -> None:
    """Whatever stopped it may have stopped everybody."""
    world, watch, luna = watched(house)
    world.pass_by(3600)
    list(watch.run_round())
    assert alive(luna.pid)
    assert told(house, "watch.verdict") == []


@pytest.mark.parametrize("what", ["suspend", "set_clock"])
def test_G29_nor_does_it_age_who_is_looked_at_for_the_first_time(house: House, what: str) -> None:
    luna = started(house, BEATS_ONCE)
    world = wound(house)
    getattr(world, what)(NIGHT)
    list(WatchLoop(world, KILL).run_round())
    [one] = house.knell.verdicts("luna")
    assert one.verdict.activity == "working"
    assert alive(luna.pid)


def test_G29_a_suspended_machine_does_not_hold_up_a_restart(house: House) -> None:
    luna = started(house, EXITS_WHEN_TOLD, restart=1)
    let_exit(house, 3)
    gone(luna.pid, luna.keeper)
    (house.root / "go").unlink()
    world = wound(house)
    world.set_clock(-60)
    watch = WatchLoop(world, KILL)
    list(watch.run_round())
    assert len(runs(house)) == 1
    world.suspend(NIGHT)
    list(watch.run_round())
    assert [run.restarted_from for run in runs(house)] == ["", luna.run.id]


# -- G33: never beaten is not stalled --------------------------------------------------------------


def test_G33_who_has_never_beaten_is_not_stalled_however_long_it_is_silent(house: House) -> None:
    luna = started(house, SLEEPS)
    watch = WatchLoop(wound(house), KILL)
    rounds(watch, 80)  # 20 minutes: ten times the patience
    rounds(watch, 8, seconds=3600)
    assert alive(luna.pid)
    assert told(house, "watch.verdict", "life.stopping") == []
    [one] = house.knell.verdicts("luna")
    assert one.verdict.activity == "unknown"
    assert last_run(house).heartbeat == ""


def test_G33_who_has_beaten_once_is_found_even_if_the_store_never_heard_of_it(house: House) -> None:
    _, watch, luna = watched(house)
    ask(house, "UPDATE runs SET last_heartbeat = ''")
    rounds(watch, 10)
    assert not alive(luna.pid)


# -- G39: a deliberate end is not undone -----------------------------------------------------------


@pytest.mark.parametrize("verb", ["kill", "stop"])
def test_G39_a_deliberate_end_is_not_undone_by_the_watch(house: House, verb: str) -> None:
    luna = started(house, SLEEPS, restart=3)
    with watching(house) as watch:
        assert house.run(verb, "luna").returncode == 0
        watch.line("restart.refused", "luna", "on purpose by operator")
        watch.round(3)
    assert len(runs(house)) == 1
    assert not alive(luna.pid)


def test_G39_nor_is_a_kill_of_what_the_watch_had_started_again(house: House) -> None:
    luna = started(house, EXITS_WHEN_TOLD, restart=3)
    with watching(house) as watch:
        let_exit(house, 3)
        eventually(lambda: len(runs(house)) == 2)
        (house.root / "go").unlink()
        if last_run(house).live:
            assert house.run("kill", "luna").returncode == 0
            watch.line("restart.refused", "luna", "on purpose by operator")
        watch.round(2)
    assert luna.run.id == runs(house)[0].id
    assert not any(run.live for run in runs(house))


@pytest.mark.parametrize("planned", [True, False], ids=["planned", "before anybody planned"])
@pytest.mark.parametrize("words", ["kill luna", "stop luna", "kill all", "kill tag:night"])
def test_G39_who_kills_one_that_has_just_crashed_has_the_last_word(
    house: House, words: str, *, planned: bool
) -> None:
    """Nothing runs that could be killed, but it is clear what is meant."""
    luna = started(house, EXITS_WHEN_TOLD, restart=3, tag="night")
    let_exit(house, 3)
    gone(luna.pid, luna.keeper)
    (house.root / "go").unlink()
    world = wound(house)
    world.set_clock(-60)
    watch = WatchLoop(world, KILL)
    if planned:
        list(watch.run_round())
    assert house.run(*words.split()).returncode == 0
    world.pass_by(120)
    list(watch.run_round())
    list(watch.run_round())
    assert len(runs(house)) == 1
    assert told(house, "restart.refused")[0].data["why"] == "called off by operator"
    assert not (house.state / "environments" / luna.run.id).exists()


def test_G39_a_dry_run_calls_nothing_off(house: House) -> None:
    luna = started(house, EXITS_WHEN_TOLD, restart=3)
    let_exit(house, 3)
    gone(luna.pid, luna.keeper)
    for verb in ("kill", "stop"):
        house.run(verb, "--dry-run", "luna")
    assert told(house, "restart.refused") == []


def test_G39_a_stalled_one_that_is_killed_by_hand_by_name_stays_ended(house: House) -> None:
    luna = stalled_agent(house, restart=3)
    assert house.run("kill", "luna").returncode == 0
    once(house)
    assert told(house, "restart.refused")[0].data["why"] == "killed on purpose by operator (killed)"
    assert not alive(luna.pid)
