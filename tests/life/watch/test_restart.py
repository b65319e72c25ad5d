"""What comes back after an unplanned end, and what does not; each with its reason on record."""

import json
import os
import shutil
import signal
import stat
import subprocess
from datetime import datetime
from pathlib import Path
from typing import Any

import pytest

from complaints import FAILED, complaint
from contracts.m_scenes import Shop, notes, ready
from forked import run_script
from house import House, alive, eventually
from knell.core.run import Run
from knell.wiring import RealWorld
from scenes import SLEEPS, Played, end, started
from watchers import (
    BEATS_ONCE,
    EXITS_WHEN_TOLD,
    WoundWorld,
    ask,
    environment_file,
    gone,
    last_run,
    let_exit,
    once,
    plans,
    restarted,
    runs,
    settled_by_watch,
    stalled_agent,
    told,
    watching,
    wound,
)

IN_TMUX: dict[str, Any] = {"place": "tmux", "server": "test"}
# Notes each of its lives: its pid and the variable that only its spawner had.
LIVES = """
with open("lives", "a") as file:
    file.write(str(os.getpid()) + " " + os.environ.get("SECRET", "-") + "\\n")
"""
CRASHES = LIVES + "tell()\nos._exit(7)"
CRASHES_ONCE = LIVES + "tell()\nif open('lives').read().count('\\n') < 2: os._exit(7)\nsleep()"


def lives(house: House) -> list[list[str]]:
    file = house.root / "lives"
    return [line.split() for line in file.read_text().splitlines()] if file.exists() else []


def decisions(house: House, name: str = "luna") -> list[tuple[str, str]]:
    """(what, why) of every decision about its restart, oldest first."""
    events = told(house, *(f"restart.{word}" for word in WORDS), name=name)
    return [(event.type.removeprefix("restart."), event.data["why"]) for event in events]


WORDS = ("planned", "refused", "started", "failed")


def crashed(house: House, code: int = 7, **wish: Any) -> Run:
    """A run that ended by itself and that nobody has decided about."""
    wish.setdefault("restart", 3)
    luna = started(house, EXITS_WHEN_TOLD, **wish)
    let_exit(house, code)
    gone(luna.pid, luna.keeper)
    (house.root / "go").unlink()
    house.knell.list()  # takes the end in
    assert not last_run(house).live
    return last_run(house)


EARLY = 60.0  # seconds


def only_planned(house: House, world: WoundWorld) -> None:
    """A round a minute before its time, so that nothing is due yet, however slow the machine is.

    Keepers tell when a run ended, and their clock is not wound.
    """
    world.wall = -EARLY
    house.knell.watch_once()
    assert plans(house)[-1].decision == "planned"


def long_ago(world: WoundWorld) -> str:
    return world.moment(RealWorld.seconds(world) - 700)


def pids_of(run: Run) -> list[int]:
    return [process.pid for process in (run.process, run.keeper) if process]


def seconds(iso: str) -> float:
    return datetime.fromisoformat(iso).timestamp()


# -- a crash -----------------------------------------------------------------------------------


def test_a_crash_is_planned_waited_for_and_started_again(house: House) -> None:
    first = started(house, CRASHES_ONCE, restart=3).run
    with watching(house, "--interval", "600") as watch:  # woken by death and by what is due
        watch.line("restart.planned", "luna", "why=temporary_error: restart 1 of 3", "attempt=1")
        line = watch.line("restart.started", "luna")
        assert "why=temporary_error: restart 1 of 3" in line
        second = restarted(house, first)
    assert second.process
    [plan] = plans(house)
    ended = seconds(runs(house)[0].ended_at)
    assert (plan.run, plan.decision, plan.attempt) == (first.id, "started", 1)
    assert seconds(plan.due_at) == pytest.approx(ended + 2, abs=0.01)
    assert seconds(second.started_at) >= seconds(plan.due_at)
    assert (second.restarted_from, second.attempt) == (first.id, 1)
    assert alive(second.process.pid)
    assert house.json("list")["agents"][0]["state"] == "running"


def test_a_pane_of_its_own_again(house: House) -> None:
    first = started(house, CRASHES_ONCE, restart=1, **IN_TMUX).run
    with watching(house):
        second = restarted(house, first)
    assert second.place.name == "tmux"
    assert second.place.session == first.place.session
    assert second.place.pane in house.panes()


def test_it_waits_until_it_is_due(house: House) -> None:
    world = wound(house)
    first = crashed(house)
    only_planned(house, world)
    house.knell.watch_once()
    assert len(runs(house)) == 1
    world.pass_by(EARLY)
    world.pass_by(2.5)
    house.knell.watch_once()
    assert [run.restarted_from for run in runs(house)] == ["", first.id]
    assert [plan.decision for plan in plans(house)] == ["started"]


def test_each_further_one_waits_twice_as_long_and_no_more_than_were_wanted(house: House) -> None:
    world = wound(house)
    started(house, CRASHES, restart=2)
    waits: list[float] = []
    for _ in range(2):
        gone(*pids_of(last_run(house)))
        only_planned(house, world)
        waits.append(seconds(plans(house)[-1].due_at) - seconds(last_run(house).ended_at))
        world.pass_by(2 * EARLY)
        house.knell.watch_once()
        world.set_clock(-EARLY)
    gone(*pids_of(last_run(house)))
    house.knell.watch_once()
    assert waits == [pytest.approx(2), pytest.approx(4)]
    assert [run.attempt for run in runs(house)] == [0, 1, 2]
    assert len(lives(house)) == 3
    assert decisions(house)[-1] == ("refused", "temporary_error: 2 restarts are enough")
    before = told(house)
    house.knell.watch_once()
    assert told(house) == before, "decided once"


def test_one_that_lived_long_begins_to_count_anew(house: House) -> None:
    world = wound(house)
    started(house, EXITS_WHEN_TOLD, restart=1)
    for _ in range(2):
        ask(house, "UPDATE runs SET started_at = ? WHERE outcome IS NULL", long_ago(world))
        let_exit(house, 7)
        gone(*pids_of(last_run(house)))
        (house.root / "go").unlink()
        world.wall = 0.0
        house.knell.watch_once()
        world.pass_by(10)
        house.knell.watch_once()
    assert [run.attempt for run in runs(house)] == [0, 1, 1]
    assert last_run(house).live


def test_what_ended_long_before_anybody_watched_stays_ended(house: House) -> None:
    world = wound(house)
    run = crashed(house)
    world.pass_by(2 * 86_400)
    house.knell.watch_once()
    assert decisions(house) == [("refused", "it ended more than a day before the watch looked")]
    assert not environment_file(house, run).exists()


def test_nobody_who_was_not_meant_to_come_back_does(house: House) -> None:
    crashed(house, restart=0)
    once(house)
    assert decisions(house) == []
    assert len(runs(house)) == 1


@pytest.mark.parametrize("words", [("--restart",), ("--max-restarts", "5")])
def test_as_it_is_asked_for_on_the_command_line(house: House, words: tuple[str, ...]) -> None:
    done = house.run("spawn", "--name", "luna", *words, "--", "sh", "-c", "sleep 0.5; exit 3")
    assert done.returncode == 0, done.stderr
    eventually(lambda: house.json("list")["agents"] == [])
    once(house)
    most = 3 if words == ("--restart",) else 5
    assert decisions(house)[0] == ("planned", f"temporary_error: restart 1 of {most}")


# -- its environment ---------------------------------------------------------------------------


def test_the_environment_of_whoever_started_it_and_gone_when_no_longer_needed(house: House) -> None:
    """The watcher has never heard of SECRET."""
    house.env["SECRET"] = "of-the-spawner"
    first = started(house, CRASHES_ONCE, restart=1).run
    kept = environment_file(house, first)
    assert stat.S_IMODE(kept.stat().st_mode) == 0o600
    assert stat.S_IMODE(kept.parent.stat().st_mode) == 0o700
    del house.env["SECRET"]
    with watching(house):
        eventually(lambda: len(lives(house)) == 2)
        eventually(lambda: not kept.exists())
    assert [secret for _, secret in lives(house)] == ["of-the-spawner"] * 2
    second = last_run(house)
    assert environment_file(house, second).exists()
    house.kill("luna")
    once(house)
    assert not environment_file(house, second).exists()


def test_no_environment_is_kept_of_one_that_does_not_come_back(house: House) -> None:
    luna = started(house, SLEEPS)
    assert not environment_file(house, luna.run).exists()


def test_none_is_left_after_a_restart_by_hand(house: House) -> None:
    house.env["SECRET"] = "of-the-spawner"
    first = started(house, LIVES + SLEEPS, restart=1).run
    del house.env["SECRET"]
    assert house.run("restart", "luna").returncode == 0
    eventually(lambda: len(lives(house)) == 2)
    assert [secret for _, secret in lives(house)] == ["of-the-spawner"] * 2
    once(house)
    assert not environment_file(house, first).exists()


def test_none_is_left_when_somebody_started_it_meanwhile(house: House) -> None:
    world = wound(house)
    first = crashed(house)
    only_planned(house, world)
    argv = house.script("import time; time.sleep(99)")
    house.knell.spawn(command=argv, name="luna", cwd=str(house.root), place="headless")
    world.pass_by(2 * EARLY)
    house.knell.watch_once()
    assert decisions(house)[-1] == ("refused", "it was started meanwhile")
    assert len(runs(house)) == 2
    assert not environment_file(house, first).exists()


DIES_BEFORE = """
import os, signal, sys, time
from knell import Knell
from knell.life.start import spawn
setattr(spawn, sys.argv[1], lambda *_: os.kill(os.getpid(), signal.SIGKILL))
while True:
    Knell().watch_once()
    time.sleep(0.05)
"""


def test_none_is_left_when_watchers_died_as_they_started_it_again(house: House) -> None:
    """One died before its run began, so that this run has no environment and the one before it
    still has; the next died before it could forget either."""
    first = started(house, CRASHES_ONCE, restart=3).run
    for deed in ("prepare_keeper", "forget_unneeded"):
        assert run_script(house, DIES_BEFORE, deed) == -signal.SIGKILL
    assert environment_file(house, first).exists()
    once(house)
    assert not environment_file(house, first).exists()
    assert [run.process is None for run in runs(house)] == [False, True, False]


# -- never -------------------------------------------------------------------------------------


def kill_it(house: House, luna: Played) -> None:
    assert house.run("kill", "luna").returncode == 0


def stop_it(house: House, luna: Played) -> None:
    assert house.run("stop", "luna").returncode == 0


def close_its_pane(house: House, luna: Played) -> None:
    house.tmux("kill-pane", "-t", luna.run.place.pane)


def press_ctrl_c(house: House, luna: Played) -> None:
    house.tmux("send-keys", "-t", luna.run.place.pane, "C-c")


def signal_its_keeper(house: House, luna: Played) -> None:
    os.kill(luna.keeper, signal.SIGTERM)


def let_it_exit(code: int) -> Any:
    def exit_(house: House, luna: Played) -> None:
        let_exit(house, code)

    return exit_


NEVER = {
    "kill": (kill_it, "killed on purpose by operator (killed)"),
    "stop": (stop_it, "stopped on purpose by operator ("),
    "pane closed": (close_its_pane, "stopped on purpose by terminal (pane_closed)"),
    "Ctrl-C": (press_ctrl_c, "a person pressed Ctrl-C"),
    "exit 130": (let_it_exit(130), "a person pressed Ctrl-C"),
    "exit 0": (let_it_exit(0), "it finished: exit 0"),
    "exit 127": (let_it_exit(127), "it cannot be started: "),
    "keeper signalled": (signal_its_keeper, "its keeper got a signal"),
}
OBEYS = "signal.signal(2, signal.SIG_DFL)\n" + EXITS_WHEN_TOLD


@pytest.mark.parametrize(("deed", "why"), NEVER.values(), ids=NEVER)
def test_a_planned_end_stays_an_end(house: House, deed: Any, why: str) -> None:
    luna = started(house, OBEYS, restart=3, **IN_TMUX)
    with watching(house) as watch:
        deed(house, luna)
        line = watch.line("restart.refused", "luna")
        watch.round(2)
    assert f"why={why}" in line
    [(decision, told_why)] = decisions(house)
    assert decision == "refused"
    assert told_why.startswith(why)
    assert len(runs(house)) == 1
    assert not environment_file(house, luna.run).exists()
    gone(luna.pid)


def test_a_command_that_is_not_there(house: House) -> None:
    done = house.run("spawn", "--name", "luna", "--restart", "--", "no-such-program")
    assert done.returncode == FAILED
    once(house)
    [(decision, why)] = decisions(house)
    assert decision == "refused"
    assert "it cannot be started" in why
    assert len(runs(house)) == 1
    assert not environment_file(house, last_run(house)).exists()


@pytest.mark.parametrize(
    ("words", "why"),
    [
        ("SyntaxError: invalid syntax", "syntax_error is permanent"),
        ("CONFLICT (content): Merge conflict in a.py", "git_conflict is permanent"),
    ],
)
def test_last_words_that_say_it_would_fail_again(house: House, words: str, why: str) -> None:
    luna = started(house, f"print({words!r}, flush=True)\ntell()\nos._exit(1)", restart=3)
    gone(luna.pid, luna.keeper)
    once(house)
    assert decisions(house) == [("refused", why)]


# -- stalled -----------------------------------------------------------------------------------


@pytest.mark.parametrize("policy", ["kill", "stop"])
def test_one_that_the_watch_ended_because_it_stalled_comes_back(house: House, policy: str) -> None:
    luna = stalled_agent(house, LIVES + BEATS_ONCE, restart=1)
    with watching(house, "--older-than", "1", "--stalled", policy) as watch:
        watch.line("restart.planned", "luna")
        watch.line("restart.started", "luna")
        eventually(lambda: len(lives(house)) == 2)
    assert not alive(luna.pid)
    assert runs(house)[1].restarted_from == luna.run.id


def test_by_hand_too(house: House) -> None:
    """`knell stalled --kill` ends what no longer works, not what should be gone."""
    stalled_agent(house, restart=1)
    assert house.run("stalled", "--kill", "--older-than", "1").returncode == 0
    once(house)
    assert decisions(house)[0][0] == "planned"


# -- once only ---------------------------------------------------------------------------------


def many_rounds(house: House, number: int) -> list[tuple[int, str]]:
    to = {"stdout": subprocess.DEVNULL, "stderr": subprocess.PIPE}
    rounds = [house.begin("watch", "--once", text=True, **to) for _ in range(number)]
    errors = [one.communicate(timeout=300)[1] for one in rounds]
    return [(one.wait(), error) for one, error in zip(rounds, errors, strict=True)]


def test_of_many_rounds_at_once_one_starts_it(house: House) -> None:
    """With the environment that it had, whoever came first."""
    house.env["SECRET"] = "of-the-spawner"
    luna = started(house, CRASHES_ONCE, restart=3)
    gone(luna.pid, luna.keeper)
    del house.env["SECRET"]
    once(house)
    due = seconds(plans(house)[0].due_at)
    eventually(lambda: house.knell.world.seconds() > due)
    ends = many_rounds(house, 6)
    assert [code for code, _ in ends] == [0] * 6, ends
    assert not any("Traceback" in error for _, error in ends), ends
    eventually(lambda: len(lives(house)) == 2)
    assert [secret for _, secret in lives(house)] == ["of-the-spawner"] * 2
    assert [run.restarted_from for run in runs(house)] == ["", luna.run.id]
    assert [decision for decision, _ in decisions(house)] == ["planned", "started"]
    assert alive(int(lives(house)[1][0]))


def test_a_watcher_killed_between_plan_and_start_leaves_it_to_the_next(house: House) -> None:
    luna = started(house, EXITS_WHEN_TOLD, restart=1)
    with watching(house, "--interval", "600") as watch:
        let_exit(house, 7)
        watch.line("restart.planned")
        watch.end(signal.SIGKILL)
    (house.root / "go").unlink()
    with watching(house):
        second = restarted(house, luna.run)
    assert second.process
    assert alive(second.process.pid)
    assert [run.restarted_from for run in runs(house)] == ["", luna.run.id]
    assert [decision for decision, _ in decisions(house)] == ["planned", "started"]


def test_a_watcher_killed_in_the_middle_of_the_start_leaves_it_to_the_next(house: House) -> None:
    """The new run is on record, its keeper never began."""
    first = crashed(house, restart=1, **IN_TMUX)
    tmux, asked, folder = shutil.which("tmux"), house.root / "asked", house.root / "bin"
    folder.mkdir()
    (folder / "tmux").write_text(
        "#!/bin/sh\n"  # it stops the watch, which would give up on tmux after some seconds
        f'case "$*" in *keeper.py*) kill -STOP $PPID; : > "{asked}"; exec sleep 100;; esac\n'
        f'exec "{tmux}" "$@"\n'
    )
    (folder / "tmux").chmod(0o755)
    with watching(house, env=house.env | {"PATH": f"{folder}:{house.env['PATH']}"}) as watch:
        eventually(asked.exists)
        halted = children_of(watch.pid)
        watch.end(signal.SIGKILL)
        end(*halted)
    assert last_run(house).state == "spawning"
    with watching(house):
        eventually(lambda: last_run(house).process and last_run(house).live)
    assert last_run(house).attempt == 1, "an attempt that never began is not counted"
    assert [one.attempt for one in runs(house)] == [0, 1, 1]
    assert runs(house)[0].id == first.id


def children_of(pid: int) -> list[int]:
    return [int(p) for p in Path(f"/proc/{pid}/task/{pid}/children").read_text().split()]


def test_a_plan_of_another_host_is_left_to_that_host(house: House) -> None:
    theirs = house.env | {"KNELL_HOST": "elsewhere"}
    words = ("spawn", "--name", "nova", "--restart", "--", "sh", "-c", "sleep 0.5; exit 3")
    assert house.run(*words, env=theirs).returncode == 0
    eventually(lambda: json.loads(house.run("list", "--json", env=theirs).stdout)["agents"] == [])
    house.run("watch", "--once", env=theirs)
    if plans(house)[0].decision == "planned":  # else the machine was slow, and it has begun
        due = seconds(plans(house)[0].due_at)
        eventually(lambda: house.knell.world.seconds() > due)
    once(house)
    house.run("watch", "--once", env=theirs)
    assert [run.host for run in runs(house, "nova")] == ["elsewhere"] * 2


def test_a_directory_that_is_gone(house: House) -> None:
    folder = house.root / "workspace"
    folder.mkdir()
    words = ("spawn", "--name", "luna", "--restart", "--cwd", str(folder), "--in", "headless")
    done = house.run(*words, "--", "sh", "-c", f"rmdir '{folder}'; sleep 0.5; exit 3")
    assert done.returncode == 0, done.stderr
    with watching(house) as watch:
        line = watch.line("restart.failed", "luna")
        watch.round(2)
    assert f"its directory {folder} is gone" in line
    assert len(runs(house)) == 1
    assert [plan.decision for plan in plans(house)] == ["failed"]
    assert not environment_file(house, last_run(house)).exists()


# -- by hand -----------------------------------------------------------------------------------


def test_restart_of_a_running_one_stops_it_first(house: House) -> None:
    luna = started(house, LIVES + SLEEPS)
    document = house.json("restart", "luna")
    second = last_run(house)
    assert document["ok"]
    assert (document["name"], document["run"]) == ("luna", second.id)
    assert (document["restarted_from"], second.restarted_from) == (luna.run.id, luna.run.id)
    assert (document["receipt"]["outcome"], document["resumed"]) == ("stopped", False)
    assert not alive(luna.pid)
    assert alive(document["pid"])
    eventually(lambda: len(lives(house)) == 2)
    assert second.attempt == 0, "what a person asks for does not count against it"


def test_restart_of_an_ended_one(house: House) -> None:
    luna = started(house, LIVES + SLEEPS)
    house.kill("luna")
    done = house.run("restart", "luna")
    assert done.returncode == 0, done.stderr
    assert "luna: runs afresh as PID" in done.stdout
    assert last_run(house).restarted_from == luna.run.id
    assert [decision for decision, _ in decisions(house)] == ["started"]


def test_restart_of_nobody(house: House) -> None:
    what, hint = complaint(house.run("restart", "nobody"), FAILED)
    assert "'nobody' not found" in what
    assert hint


def test_restart_where_the_directory_is_gone_is_refused(house: House) -> None:
    folder = house.root / "workspace"
    folder.mkdir()
    words = ("spawn", "--name", "luna", "--cwd", str(folder), "--", "sleep", "99")
    assert house.run(*words).returncode == 0
    house.kill("luna")
    folder.rmdir()
    what, _ = complaint(house.run("restart", "luna"), FAILED)
    assert str(folder) in what
    assert len(runs(house)) == 1


def test_restart_of_one_that_a_plan_waits_for(house: House) -> None:
    """The person was faster; the watch does not start it a second time."""
    world = wound(house)
    crashed(house)
    only_planned(house, world)
    assert house.run("restart", "luna").returncode == 0
    with watching(house) as watch:
        watch.round(3)
    assert len(runs(house)) == 2
    assert [decision for decision, _ in decisions(house)] == ["planned", "started"]


# -- its conversation --------------------------------------------------------------------------


def test_a_claude_that_crashed_goes_on_with_its_conversation(house: House) -> None:
    shop = Shop(house)
    run = shop_spawn(shop, restart=1)
    [first] = ready(house)
    shop.say("remember me", "luna")
    assert run.process
    os.kill(run.process.pid, signal.SIGKILL)
    with watching(house) as watch:
        watch.line("restart.started", "luna")
        eventually(lambda: len(ready(house)) == 2)
    second = ready(house)[1]
    assert second.conversation == first.conversation
    eventually(lambda: "earlier: remember me" in shop.screen("luna"))
    arguments = next(words for _, words in notes(house)[::-1] if words[0] == "ready")[2]
    assert arguments[arguments.index("--resume") + 1] == first.conversation
    assert last_run(house).restarted_from == run.id


def test_by_hand_it_begins_a_new_one_unless_it_should_go_on(house: House) -> None:
    shop = Shop(house)
    shop_spawn(shop, restart=0)
    document = house.json("restart", "luna", "--resume")
    assert document["resumed"]
    eventually(lambda: len(ready(house)) == 2)
    document = house.json("restart", "luna")
    assert not document["resumed"]
    eventually(lambda: len(ready(house)) == 3)
    first, again, fresh = (one.conversation for one in ready(house))
    assert first == again
    assert fresh != first
    agent = house.knell.world.store.runs.agent("luna")
    assert agent
    assert agent.conversation == fresh


def test_one_that_has_not_said_anything_yet_begins_anew(house: House) -> None:
    """A conversation that is not on disk cannot be resumed: the program would only fail."""
    shop = Shop(house)
    run = shop_spawn(shop, restart=1, habits="silent")
    assert run.process
    os.kill(run.process.pid, signal.SIGKILL)
    with watching(house) as watch:
        watch.line("restart.started", "luna")
        eventually(lambda: len(ready(house)) == 2)
    assert "lost" not in {words[0] for _, words in notes(house)}
    assert last_run(house).live


def shop_spawn(shop: Shop, *, restart: int, habits: str = "") -> Run:
    """A stand-in for claude in tmux, once it is ready."""
    where = {"session": "luna", "cwd": str(shop.folder), **IN_TMUX}
    env = {"STAND_IN": habits}
    run = shop.house.knell.spawn("claude", name="luna", restart=restart, env=env, **where).run
    eventually(lambda: ready(shop.house))
    return run


def test_settled_by_watch_waits_for_the_end(house: House) -> None:
    """The scene: an end that only the watch has taken in."""
    luna = started(house, EXITS_WHEN_TOLD)
    with watching(house):
        let_exit(house, 0)
        assert settled_by_watch(house).id == luna.run.id
