"""The watch over real agents: heartbeats, deaths, policies, the lease, interrupted endings."""

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from complaints import FAILED, USAGE, complaint
from forked import run_script
from house import House, alive, eventually
from knell.life.watch.loop import WatchLoop, WatchWish
from scenes import DEAF, SLEEPS, TIDY, Played, adopted, started
from watchers import (
    BEATS_ON,
    BEATS_ONCE,
    EXITS_WHEN_TOLD,
    Watching,
    ask,
    configure,
    documents,
    gone,
    heartbeat,
    last_run,
    let_exit,
    once,
    settled_by_watch,
    stalled_agent,
    told,
    watching,
)

SELDOM = ("--interval", "600")  # what happens all the same was not found by a round
PATIENT = ("--older-than", "1")


# -- heartbeats --------------------------------------------------------------------------------


def beats_by(house: House, line: str) -> str:
    """What the store knows of the heartbeat after an agent did this and a round went by."""
    luna = started(house, f"import subprocess\nsubprocess.run({line!r}, shell=True)\n{SLEEPS}")
    assert heartbeat(house, luna.run).is_file()
    assert last_run(house).heartbeat == ""
    once(house)
    return last_run(house).heartbeat


def knell(*words: str) -> str:
    return " ".join((sys.executable, "-m", "knell", *words))


def test_a_touch_is_a_heartbeat(house: House) -> None:
    beat = beats_by(house, 'touch "$KNELL_HEARTBEAT"')
    assert beat.startswith(last_run(house).started_at[:10])


def test_knell_beat_inside_an_agent(house: House) -> None:
    assert beats_by(house, knell("beat"))


def test_knell_beat_with_a_scrubbed_environment_knows_its_agent_by_ancestry(house: House) -> None:
    assert beats_by(house, f'env -i KNELL_HOME="$KNELL_HOME" {knell("beat")}')


def test_knell_beat_does_not_believe_a_variable_that_points_elsewhere(house: House) -> None:
    """Or a stray variable would let it make files anywhere."""
    outside = house.root / "elsewhere"
    assert beats_by(house, f'KNELL_HEARTBEAT="{outside}" {knell("beat")}')
    assert not outside.exists()


def test_a_round_writes_the_beats_of_all_at_once(house: House) -> None:
    for name in ("luna", "nova"):
        started(house, BEATS_ON, name=name)
    started(house, SLEEPS, name="mute")
    with watching(house) as watch:
        watch.round()
        beats = dict(ask(house, "SELECT agent, last_heartbeat FROM runs"))
        watch.round(2)
        later = dict(ask(house, "SELECT agent, last_heartbeat FROM runs"))
    assert "" not in (beats["luna"], beats["nova"])
    assert later["luna"] > beats["luna"]
    assert later["mute"] == "", "nothing is made up for one who never beat"
    assert told(house, "watch.verdict") == []


# -- one round ---------------------------------------------------------------------------------


def test_once_with_nothing_to_do(house: House) -> None:
    done = house.run("watch", "--once")
    assert (done.returncode, done.stdout, done.stderr) == (
        0,
        "",
        "no drift: registry file, store and machine agree\n",
    )
    assert house.json("watch", "--once") == {"drift": [], "agents": [], "troubles": []}


def test_once_reports_the_stalled_and_ends_nobody(house: House) -> None:
    luna = stalled_agent(house)
    before = told(house)
    shown = once(house, *PATIENT)
    assert "luna" in shown
    assert "no heartbeat for" in shown
    assert alive(luna.pid)
    assert told(house)[: len(before)] == before
    assert told(house, "life.stopping") == []


def test_once_as_data(house: House) -> None:
    luna = stalled_agent(house)
    document = house.json("watch", "--once", *PATIENT)
    assert document["drift"] == []
    [one] = document["agents"]
    assert (one["name"], one["run"], one["activity"]) == ("luna", luna.run.id, "stalled")


def test_a_dry_round_only_looks(house: House) -> None:
    luna = stalled_agent(house)
    before = told(house)
    for words in (("--once", "--dry-run"), ("--dry-run",)):
        done = house.run("watch", *words, "--stalled", "kill", *PATIENT)
        assert done.returncode == 0, done.stderr
        assert "luna" in done.stdout
    assert alive(luna.pid)
    assert told(house) == before
    assert house.knell.world.store.watch.watcher(os.uname().nodename) is None


def test_once_while_another_watches(house: House) -> None:
    """A single round does not need the lease."""
    with watching(house):
        once(house)


# -- deaths ------------------------------------------------------------------------------------


def test_a_death_is_recorded_at_once_and_not_by_the_next_round(house: House) -> None:
    luna = started(house, EXITS_WHEN_TOLD)
    with watching(house, *SELDOM) as watch:
        let_exit(house, 3)
        run = settled_by_watch(house)
        assert run.ending
        assert (run.ending.outcome, run.ending.exit_code) == ("failed", 3)
        assert "outcome=failed" in watch.line("life.stopped", "luna")
    gone(luna.pid, luna.keeper)


def test_one_that_was_started_after_the_round_is_watched_too(house: House) -> None:
    with watching(house, *SELDOM) as watch:
        for name in ("luna", "nova"):
            (house.root / "go").unlink(missing_ok=True)
            started(house, EXITS_WHEN_TOLD, name=name)
            let_exit(house, 0)
            run = settled_by_watch(house, name)
            assert run.ending
            assert run.ending.outcome == "completed"
            watch.line("life.stopped", name)


@pytest.mark.timeout(60)
def test_one_that_died_while_the_watch_was_busy_wakes_it_too(house: House) -> None:
    """Its end came after the round had looked, and before anybody listened for it."""
    luna = started(house, EXITS_WHEN_TOLD)
    watch = WatchLoop(house.knell.world, WatchWish())
    list(watch.run_round())
    let_exit(house, 3)
    gone(luna.pid, luna.keeper)
    watch.sleep(3000)
    list(watch.run_pulse())
    assert not last_run(house).live


def test_an_adopted_one_that_dies_is_lost_at_once(house: House) -> None:
    luna = adopted(house, SLEEPS)
    with watching(house, *SELDOM):
        os.kill(luna.pid, signal.SIGKILL)
        os.waitpid(luna.pid, 0)
        run = settled_by_watch(house)
        assert run.ending
        assert run.ending.outcome == "lost"


def test_a_keeper_that_is_killed_leaves_no_agent_behind_unseen(house: House) -> None:
    """Not seeing is not dying: without its keeper the agent lives on, and is still watched."""
    luna = started(house, BEATS_ON)
    with watching(house) as watch:
        os.kill(luna.keeper, signal.SIGKILL)
        gone(luna.keeper)
        watch.round(2)
        assert last_run(house).live
        assert alive(luna.pid)
        os.kill(luna.pid, signal.SIGKILL)
        assert settled_by_watch(house).ending
    gone(luna.pid)


# -- policies ----------------------------------------------------------------------------------


def test_report_is_the_default_and_says_it_once(house: House) -> None:
    luna = stalled_agent(house)
    with watching(house, *PATIENT) as watch:
        line = watch.line("watch.verdict", "luna")
        assert "activity=stalled" in line
        assert "why=no heartbeat for" in line
        assert "policy=report" in line
        watch.round(3)
        assert len(told(house, "watch.verdict")) == 1
        house.run("beat", "luna")
        back = watch.line("watch.verdict", "was=stalled")
        assert "activity=working" in back
    assert alive(luna.pid)
    assert told(house, "life.stopping") == []


@pytest.mark.parametrize("by", ["flag", "config", "tag", "team", "tag in config"])
def test_kill_by(house: House, by: str) -> None:
    for team in ("web", "app"):
        house.knell.team(team).create()
    luna = stalled_agent(house, tag="night", team="web")
    other = stalled_agent(house, name="other", tag="day", team="app")
    words: dict[str, tuple[str, ...]] = {
        "flag": ("--stalled", "kill", "--policy", "tag:day=report"),
        "tag": ("--policy", "tag:night=kill"),
        "team": ("--policy", "team:web=kill"),
    }
    configs = {
        "config": '[watch]\nstalled = "kill"\npolicies = ["team:app=report"]\n',
        "tag in config": '[watch]\npolicies = ["tag:night=kill"]\n',
    }
    if by in configs:
        configure(house, configs[by])
    once(house, *PATIENT, *words.get(by, ()))
    assert not alive(luna.pid)
    assert alive(other.pid)
    receipt = house.json("receipt", "luna")
    who = (receipt["outcome"], receipt["by"], receipt["reason"])
    assert who == ("killed", "watch", "stalled")
    assert receipt["detail"].startswith("no heartbeat for ")
    assert receipt["proof"] == "proven"


def test_a_flag_is_stronger_than_the_config_and_the_last_rule_counts(house: House) -> None:
    configure(house, '[watch]\nstalled = "kill"\npolicies = ["tag:night=kill"]\n')
    luna = stalled_agent(house, tag="night")
    nova = stalled_agent(house, name="nova")
    once(house, *PATIENT, "--stalled", "report", "--policy", "tag:night=report")
    assert alive(luna.pid)
    assert alive(nova.pid)


def test_stop_ends_politely_and_can_be_resumed_as_stopped(house: House) -> None:
    luna = stalled_agent(house)
    with watching(house, *PATIENT, "--stalled", "stop") as watch:
        line = watch.line("life.stopped", "luna")
    assert "outcome=stopped" in line
    assert "by=watch" in line
    assert "reason=stalled" in line
    run = last_run(house)
    assert run.ending
    assert (run.ending.outcome, run.ending.by, run.ending.reason) == ("stopped", "watch", "stalled")
    gone(luna.pid, luna.keeper)


def test_the_log_has_a_line_for_each_action_of_a_kill(house: House) -> None:
    stalled_agent(house)
    with watching(house, *PATIENT, "--stalled", "kill") as watch:
        watch.line("life.stopped", "luna")
        types = [line.split()[1] for line in watch.out.splitlines()]
    assert types == ["watch.verdict", "life.stopping", "life.rung", "life.stopped"]


def test_the_log_as_data(house: House) -> None:
    stalled_agent(house)
    with watching(house, *PATIENT, "--stalled", "kill", "--json") as watch:
        watch.line("life.stopped")
        happened = documents(watch.out)
    types = [one["type"] for one in happened]
    assert types == ["watch.verdict", "life.stopping", "life.rung", "life.stopped"]
    assert happened[-1]["agent"] == "luna"


def test_all_of_a_crowd_are_ended_side_by_side_and_the_healthy_live(house: House) -> None:
    doomed = [stalled_agent(house, name=f"doomed-{n}", tag="night") for n in range(3)]
    healthy = [started(house, BEATS_ON, name=f"healthy-{n}", tag="night") for n in range(2)]
    once(house, *PATIENT, "--policy", "tag:night=kill")
    assert not any(alive(one.pid) for one in doomed)
    assert all(alive(one.pid) for one in healthy)


@pytest.mark.parametrize(
    "rule", ["night=kill", "tag:=kill", "tag:night", "tag:night=", "role:x=kill", "tag:x=maim", ""]
)
def test_a_bad_rule_is_refused_before_anybody_is_watched(house: House, rule: str) -> None:
    stalled_agent(house)
    what, hint = complaint(house.run("watch", "--policy", rule, *PATIENT), USAGE)
    assert repr(rule) in what or f"'{rule.partition('=')[2]}'" in what
    assert hint
    configure(house, f"[watch]\npolicies = [{json.dumps(rule)}]\n")
    complaint(house.run("watch", *PATIENT), USAGE)
    assert told(house, "watch.verdict", "life.stopping") == []
    assert house.knell.world.store.watch.watcher(os.uname().nodename) is None


@pytest.mark.parametrize("seconds", ["0", "-1", "nan", "inf", "1e9", "0.01"])
def test_an_interval_that_nobody_can_mean(house: House, seconds: str) -> None:
    what, hint = complaint(house.run("watch", "--interval", seconds), USAGE)
    assert f"an interval of {float(seconds)} seconds" in what
    assert "15" in hint


# -- the lease ---------------------------------------------------------------------------------


def test_a_second_watcher_is_refused_with_the_pid_of_the_first(house: House) -> None:
    with watching(house) as first:
        what, hint = complaint(house.run("watch"), FAILED)
        assert what == f"the watch runs already, as PID {first.pid}"
        assert "--once" in hint
        first.round()
        assert first.process.poll() is None


def test_the_next_takes_over_at_once_from_one_killed_with_9(house: House) -> None:
    with watching(house, *SELDOM) as first:
        first.end(signal.SIGKILL)
        with watching(house, *SELDOM) as second:
            what, _ = complaint(house.run("watch"), FAILED)
            assert what == f"the watch runs already, as PID {second.pid}"


def test_an_agent_that_the_watch_started_does_not_hold_its_lease(house: House) -> None:
    """Whatever a watcher starts must not inherit the lock: it would outlive the watcher."""
    luna = started(house, EXITS_WHEN_TOLD, restart=1)
    with watching(house) as first:
        let_exit(house, 1)
        eventually(lambda: last_run(house).id != luna.run.id and last_run(house).process)
        (house.root / "go").unlink(missing_ok=True)
        first.end(signal.SIGKILL)
        with watching(house):
            pass


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP])
def test_a_signal_ends_the_watch_and_no_agent(house: House, number: int) -> None:
    here, pane = (
        started(house, SLEEPS),
        started(house, SLEEPS, name="pane", place="tmux", server="test"),
    )
    with watching(house, *SELDOM) as watch:
        code = watch.end(number)
    assert code in {130, -number, 128 + number, 0}
    assert alive(here.pid)
    assert alive(pane.pid)
    assert {agent["state"] for agent in house.json("list")["agents"]} == {"running"}
    assert "Traceback" not in watch.err


# -- what others left undone -------------------------------------------------------------------

CLAIMS_AND_DIES = """
import os, signal
from knell import Knell
from knell.core.run import Outcome
from knell.core.ports.ending_store import ClaimRequest
from knell.core.run import Ending
world = Knell()._world
run = world.store.runs.live()[0]
ending = Ending(Outcome.STOPPED, "agent:leader", "tired", "of waiting")
world.store.endings.claim([ClaimRequest(run.id, ending)], world.processes.me())
os.kill(os.getpid(), signal.SIGKILL)
"""


@pytest.mark.parametrize("begin", [started, adopted])
def test_a_claim_whose_owner_died_is_finished_in_his_words(house: House, begin) -> None:
    luna = begin(house, TIDY)
    assert run_script(house, CLAIMS_AND_DIES) == -signal.SIGKILL
    assert last_run(house).state == "stopping"
    with watching(house, *SELDOM) as watch:
        line = watch.line("life.stopped", "luna")
    assert "by=agent:leader" in line
    run = last_run(house)
    assert run.ending
    told_as = (run.ending.outcome, run.ending.by, run.ending.reason, run.ending.detail)
    assert told_as == ("stopped", "agent:leader", "tired", "of waiting")
    assert not alive(luna.pid)


@pytest.mark.parametrize("begin", [started, adopted])
def test_a_kill_that_was_killed_half_way_is_finished(house: House, begin) -> None:
    luna: Played = begin(house, DEAF)
    words = ("kill", "luna", "--grace", "600", "--reason", "first")
    killer = house.begin(*words, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    eventually(lambda: told(house, "life.rung"))
    killer.kill()
    killer.wait(timeout=300)
    assert alive(luna.pid)
    once(house)
    receipt = house.json("receipt", "luna")
    assert (receipt["outcome"], receipt["by"], receipt["detail"]) == ("killed", "operator", "first")
    assert not alive(luna.pid)
    assert len(told(house, "life.stopped")) == 1


def test_an_ending_whose_owner_lives_is_left_to_him(house: House) -> None:
    luna = started(house, DEAF)
    words = ("kill", "luna", "--grace", "3")
    killer = house.begin(*words, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    eventually(lambda: told(house, "life.rung"))
    once(house)
    assert alive(luna.pid) or killer.poll() is not None
    assert killer.wait(timeout=300) == 0
    assert len(told(house, "life.stopping")) == 1
    assert not alive(luna.pid)


def halting_tmux(house: House) -> Path:
    """A tmux that never opens a pane; the file says that it was asked to."""
    asked, folder = house.root / "asked", house.root / "bin"
    folder.mkdir()
    (folder / "tmux").write_text(
        f'#!/bin/sh\ncase "$*" in *keeper.py*) : > "{asked}"; exec sleep 100;; esac\nexit 1\n'
    )
    (folder / "tmux").chmod(0o755)
    house.env["PATH"] = f"{folder}:{house.env['PATH']}"
    return asked


def test_a_spawn_whose_spawner_died_before_the_keeper_began_is_cleaned_away(house: House) -> None:
    asked = halting_tmux(house)
    spawner = subprocess.Popen(
        [sys.executable, "-m", "knell", "spawn", "--name", "luna", "-L", "test", "--", "sleep", "9"],  # noqa: E501
        env=house.env, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, process_group=0,
    )  # fmt: skip
    eventually(asked.exists)
    once(house)
    assert last_run(house).state == "spawning", "its spawner is at it"
    os.killpg(spawner.pid, signal.SIGKILL)
    spawner.wait(timeout=300)
    once(house)
    run = last_run(house)
    assert run.ending
    ending = (run.ending.outcome, run.ending.by, run.ending.reason)
    assert ending == ("failed", "watch", "not_started")
    assert ask(house, "SELECT * FROM instances") == []
    left = {path.name for path in (house.state / "runs").rglob("*")}
    assert "launch" not in left, "the order holds the environment of whoever asked"
    house.env["PATH"] = house.env["PATH"].partition(":")[2]
    assert house.run("spawn", "--name", "luna", "--", "true").returncode == 0


# -- other hosts -------------------------------------------------------------------------------


def test_watchers_of_two_hosts_do_not_touch_each_others_runs(house: House) -> None:
    """One store, as if shared; each acts on its own and leaves the other's as they are."""
    mine = stalled_agent(house)
    theirs = house.env | {"KNELL_HOST": "elsewhere"}
    argv = house.script("import time, os; open(os.environ['KNELL_HEARTBEAT'], 'w'); time.sleep(99)")
    done = house.run(
        "spawn", "--name", "nova", "--in", "headless", "--json", "--", *argv, env=theirs
    )
    nova = json.loads(done.stdout)["agents"][0]["pid"]
    words = (*PATIENT, "--interval", "0.1", "--stalled")
    with watching(house, *words, "report") as here, watching(house, *words, "kill", env=theirs):
        gone(nova)
        eventually(lambda: not last_run(house, "nova").live)
        here.round(2)
        assert alive(mine.pid)
    assert told(house, "life.stopping") == []
    assert told(house, "life.stopped", name="nova")[0].data["by"] == "watch"
    assert last_run(house).live


def test_a_dead_run_of_another_host_is_not_judged_from_here(house: House) -> None:
    theirs = house.env | {"KNELL_HOST": "elsewhere"}
    done = house.run("spawn", "--name", "nova", "--json", "--", "sleep", "99", env=theirs)
    pid = json.loads(done.stdout)["agents"][0]["pid"]
    os.kill(pid, signal.SIGKILL)
    gone(pid)
    once(house)
    assert last_run(house, "nova").live, "only its own host can know"
    house.run("watch", "--once", env=theirs)
    assert not last_run(house, "nova").live


# -- nobody is aged by what happens to the watch ------------------------------------------------


def test_a_watcher_that_was_stopped_ages_nobody(house: House) -> None:
    """It comes back after many intervals; an agent that was quiet all along has not stalled."""
    luna = started(house, BEATS_ONCE)
    words = ("--older-than", "8", "--stalled", "kill")  # longer than three rounds on a busy machine
    with watching(house, "--interval", "0.1", *words) as watch:
        watch.round()
        os.kill(watch.pid, signal.SIGSTOP)
        beat = heartbeat(house, luna.run).stat().st_mtime
        eventually(lambda: time.time() - beat > 9)
        os.kill(watch.pid, signal.SIGCONT)
        watch.round(2)
        assert alive(luna.pid)
        assert told(house, "watch.verdict", "life.stopping") == []
        ended = settled_by_watch(house).ending  # but time that it watches does count
    assert ended
    assert (ended.by, ended.reason) == ("watch", "stalled")


def test_started_without_a_state_directory(house: House) -> None:
    with watching(house) as watch:
        assert (house.state / "knell.db").exists()
        assert watch.err.startswith("watching every 0.1 s; stalled agents: report")


def test_it_tells_what_others_do(house: House) -> None:
    """At the latest with the next round."""
    with watching(house) as watch:
        started(house, SLEEPS)
        house.kill("luna")
        assert "by=operator" in watch.line("life.stopped", "luna")
        types = [line.split()[1] for line in watch.out.splitlines()]
    assert types[:2] == ["life.spawning", "life.started"]
    assert types == [event.type for event in told(house)]


def test_a_broken_pipe_ends_the_watch_quietly(house: House) -> None:
    argv = [sys.executable, "-m", "knell", "watch", "--interval", "0.1"]
    watch = subprocess.Popen(argv, env=house.env, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    assert watch.stdout
    assert watch.stderr
    watch.stdout.close()
    eventually(lambda: house.knell.world.store.watch.watcher(os.uname().nodename))
    started(house, SLEEPS)
    assert watch.wait(timeout=300) == 0
    assert b"Traceback" not in watch.stderr.read()
    watch.stderr.close()


def test_Watching_notices_a_watch_that_is_over(house: House) -> None:
    """The scene itself must be able to fail."""
    watch = Watching(house, "--interval", "0")
    with pytest.raises(AssertionError, match="the watch is over"):
        watch.line("never")
    watch.end()
