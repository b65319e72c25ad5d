"""knell stalled, explain and beat as a person or a script meets them."""

import json
import os
import signal
import subprocess
import sys
from typing import Any

import pytest

from complaints import FAILED, USAGE, complaint
from house import House, alive, eventually
from scenes import SLEEPS, started
from watchers import (
    BEATS_ON,
    BEATS_ONCE,
    BEATS_WHEN_TOLD,
    activity,
    gone,
    heartbeat,
    stalled_agent,
    told,
    verdict,
)

PATIENT = ("--older-than", "1")
DEAF_AND_SILENT = "[signal.signal(n, signal.SIG_IGN) for n in (1, 2, 15)]\n" + BEATS_ONCE
RUNS_KNELL = """
import subprocess
done = subprocess.run([sys.executable, "-m", "knell", *{words!r}], capture_output=True, text=True)
open("said", "w").write(str(done.returncode) + "\\n" + done.stdout + done.stderr)
{rest}
"""


# -- who ---------------------------------------------------------------------------------------


def test_nobody(house: House) -> None:
    done = house.run("stalled")
    assert (done.returncode, done.stdout) == (0, "")
    assert done.stderr == "no agent has stalled (0 looked at)\n"
    assert house.json("stalled") == {"ok": True, "agents": [], "receipts": []}


def test_one_that_broke_its_promise_is_shown_and_lives_on(house: House) -> None:
    luna = stalled_agent(house)
    done = house.run("stalled", *PATIENT)
    assert done.returncode == 0
    [head, row] = done.stdout.splitlines()
    assert head.split() == ["NAME", "ACTIVITY", "WHY"]
    assert row.split()[:2] == ["luna", "stalled"]
    assert "no heartbeat for" in row
    assert alive(luna.pid)


def test_only_the_stalled_are_listed_and_with_all_everybody(house: House) -> None:
    stalled_agent(house)
    started(house, BEATS_ON, name="nova")
    names = [line.split()[0] for line in house.run("stalled", *PATIENT).stdout.splitlines()]
    assert names == ["NAME", "luna"]
    rows = [line.split()[:2] for line in house.run("stalled", *PATIENT, "--all").stdout.split("\n")]
    assert ["luna", "stalled"] in rows
    assert ["nova", "working"] in rows


def test_older_than_decides(house: House) -> None:
    stalled_agent(house)
    assert activity(house, "luna", *PATIENT) == "stalled"
    assert activity(house, "luna", "--older-than", "600") == "working"
    assert activity(house) == "working"  # 120 s


def test_the_shape_as_data(house: House) -> None:
    luna = stalled_agent(house)
    document = house.json("stalled", *PATIENT)
    assert set(document) == {"ok", "agents", "receipts"}
    assert (document["ok"], document["receipts"]) == (True, [])
    [one] = document["agents"]
    assert set(one) == {"name", "run", "activity", "why", "quiet_s", "evidence"}
    assert (one["name"], one["run"], one["activity"]) == ("luna", luna.run.id, "stalled")
    assert one["quiet_s"] >= 1
    assert all(set(sign) == {"speaks", "what"} for sign in one["evidence"])
    assert {sign["speaks"] for sign in one["evidence"]} <= {"for", "against", "neither", "unseen"}
    assert house.json("explain", "luna")["run"] == luna.run.id


@pytest.mark.parametrize("seconds", ["0", "-1", "0.5", "nan", "inf", "1e12"])
@pytest.mark.parametrize("verb", [("stalled",), ("stalled", "--kill"), ("watch", "--once")])
def test_a_time_that_nobody_can_mean_is_refused_by_name(
    house: House, seconds: str, verb: tuple[str, ...]
) -> None:
    luna = started(house, BEATS_ONCE) if seconds == "0" else None
    what, hint = complaint(house.run(*verb, "--older-than", seconds), USAGE)
    assert f"of {float(seconds)} seconds" in what
    assert "between 1 and" in what
    assert "120" in hint
    if luna:
        assert alive(luna.pid)


def test_a_time_that_is_no_number(house: House) -> None:
    what, _ = complaint(house.run("stalled", "--older-than", "soon"), USAGE)
    assert "--older-than" in what
    assert "soon" in what


# -- explain -----------------------------------------------------------------------------------


def test_explain_gives_the_verdict_and_every_sign(house: House) -> None:
    started(house, BEATS_ON)
    lines = house.run("explain", "luna").stdout.splitlines()
    assert lines[0].startswith("luna: working, it beat ")
    signs = [line.split(maxsplit=1) for line in lines[1:]]
    heart = next(
        what for speaks, what in signs if what.startswith("heartbeat") and speaks == "alive"
    )
    assert "changed 0 s ago" in heart
    assert {"conversation", "output"} <= {what.split(":")[0] for _, what in signs}


def test_explain_one_that_never_beat_abstains(house: House) -> None:
    """It says so, and that nothing is known against it."""
    started(house, SLEEPS)
    one = house.json("explain", "luna")
    assert one["activity"] in {"working", "unknown"}
    assert {"speaks": "neither", "what": "heartbeat: never seen"} in one["evidence"]


def test_explain_nobody_an_ended_one_and_several(house: House) -> None:
    what, _ = complaint(house.run("explain", "nobody"), FAILED)
    assert "'nobody' not found" in what
    started(house, SLEEPS)
    started(house, SLEEPS, name="lune")
    house.kill("luna")
    what, hint = complaint(house.run("explain", "luna"), FAILED)
    assert "'luna' is not running" in what
    assert hint == "knell show luna has its end"


# -- ending them -------------------------------------------------------------------------------


def test_a_dry_run_shows_the_receipt_and_ends_nobody(house: House) -> None:
    luna = stalled_agent(house)
    before = told(house)
    done = house.run("stalled", "--kill", "--dry-run", *PATIENT)
    assert done.returncode == 0, done.stderr
    assert "luna" in done.stdout
    [receipt] = house.json("stalled", "--dry-run", *PATIENT)["receipts"]
    assert (receipt["agent"], receipt["reason"]) == ("luna", "stalled")
    assert alive(luna.pid)
    assert told(house) == before
    assert house.json("list")["agents"][0]["state"] == "running"


def test_kill_ends_the_stalled_and_nobody_else(house: House) -> None:
    luna = stalled_agent(house)
    nova, mute = started(house, BEATS_ON, name="nova"), started(house, SLEEPS, name="mute")
    done = house.run("stalled", "--kill", *PATIENT)
    assert done.returncode == 0, done.stderr
    assert not alive(luna.pid)
    assert alive(nova.pid)
    assert alive(mute.pid)
    receipt = house.json("receipt", "luna")
    assert (receipt["outcome"], receipt["by"], receipt["reason"]) == (
        "killed",
        "operator",
        "stalled",
    )
    assert receipt["detail"].startswith("no heartbeat for ")
    assert receipt["proof"] == "proven"


def test_the_ladder_is_patient_for_ten_seconds(house: House) -> None:
    """Written down as it is climbed; the wait itself is not sat out here."""
    luna = stalled_agent(house, DEAF_AND_SILENT)
    argv = [sys.executable, "-m", "knell", "stalled", "--kill", *PATIENT]
    killer = subprocess.Popen(argv, env=house.env, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    world = house.knell.world
    rungs = eventually(lambda: world.keepers.journal(world.rundir(luna.run.id)).rungs)
    assert [rung.rung for rung in rungs if rung.reached] == ["term"]
    assert (house.state / "runs" / luna.run.id / "end").read_text() == "10.0"
    killer.send_signal(signal.SIGKILL)
    killer.communicate(timeout=300)
    house.kill("luna", force=True)
    gone(luna.pid)


def test_the_grace_can_be_shorter_and_then_comes_the_kill(house: House) -> None:
    luna = stalled_agent(house, DEAF_AND_SILENT)
    [receipt] = house.json("stalled", "--kill", "--grace", "0.2", *PATIENT)["receipts"]
    reached = [rung["rung"] for rung in receipt["rungs"] if rung["reached"]]
    assert reached == ["term", "kill"]
    assert not alive(luna.pid)


@pytest.mark.parametrize("grace", ["-1", "nan", "1e12"])
def test_a_grace_that_nobody_can_mean_ends_nobody(house: House, grace: str) -> None:
    luna = stalled_agent(house)
    complaint(house.run("stalled", "--kill", "--grace", grace, *PATIENT), USAGE)
    assert alive(luna.pid)
    assert told(house, "life.stopping") == []


def test_only_those_who_are_meant(house: House) -> None:
    luna, nova = stalled_agent(house), stalled_agent(house, name="nova")
    assert house.run("stalled", "--kill", "nova", *PATIENT).returncode == 0
    assert alive(luna.pid)
    assert not alive(nova.pid)


def test_whoever_is_named_but_works_is_spared(house: House) -> None:
    luna = started(house, BEATS_ON)
    document = house.json("stalled", "--kill", "luna", *PATIENT)
    assert (document["ok"], document["receipts"]) == (True, [])
    assert document["agents"][0]["activity"] == "working"
    assert alive(luna.pid)


def test_an_unknown_target_is_an_error(house: House) -> None:
    what, _ = complaint(house.run("stalled", "--kill", "nobody"), FAILED)
    assert "'nobody' not found" in what


def test_one_that_beats_again_between_verdict_and_kill_is_spared(
    house: House, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The caller's right to end it is checked in between: there, the agent comes back."""
    from knell.life.watch import stalled

    luna = stalled_agent(house, BEATS_WHEN_TOLD)
    check = stalled.check_authority

    def meanwhile(*args: Any, **options: Any) -> None:
        assert [run.id for run in args[1]] == [luna.run.id], "it was judged to be stalled"
        (house.root / "again").touch()
        eventually((house.root / "beaten").exists)
        check(*args, **options)

    monkeypatch.setattr(stalled, "check_authority", meanwhile)
    [(one, receipt)] = house.knell.end_stalled(older_than=1)
    assert (one.run.id, receipt) == (luna.run.id, None)
    assert alive(luna.pid)
    assert told(house, "life.stopping") == []


def test_the_healthy_child_run_of_a_stalled_agent_lives_on(house: House) -> None:
    words = ("spawn", "--name", "child", "--in", "headless", "--", "sleep", "100")
    luna = stalled_agent(house, RUNS_KNELL.format(words=words, rest=BEATS_ONCE))
    child = house.json("show", "child")
    assert house.knell.world.store.runs.of("child")[0].parent == luna.run.id
    house.run("stalled", "--kill", *PATIENT)
    assert not alive(luna.pid)
    assert alive(child["pid"])
    assert house.json("show", "child")["state"] == "running"


@pytest.mark.parametrize("yes", [(), ("--yes",)], ids=["unasked", "with --yes"])
def test_an_agent_may_not_end_several_unasked(house: House, yes: tuple[str, ...]) -> None:
    luna, nova = stalled_agent(house), stalled_agent(house, name="nova")
    words = ("stalled", "--kill", *PATIENT, *yes)
    started(house, RUNS_KNELL.format(words=words, rest=SLEEPS), name="leader")
    code, *said = (house.root / "said").read_text().splitlines()
    if yes:
        assert code == "0", said
        assert not alive(luna.pid)
        assert not alive(nova.pid)
        assert told(house, "life.stopped")[0].data["by"] == "agent:leader"
        return
    assert code == "1"
    assert said[0] == "error: an agent may not end 2 runs unasked: luna, nova"
    assert said[1] == "hint: add --yes"
    assert alive(luna.pid)
    assert alive(nova.pid)


def test_who_waits_is_never_ended(house: House) -> None:
    """Its last beat is as old as that of a stalled one, but somebody has stopped it."""
    luna = stalled_agent(house)
    os.kill(luna.pid, signal.SIGSTOP)
    one = eventually(lambda: (v := verdict(house, "luna", *PATIENT))["activity"] == "waiting" and v)
    assert one["why"] == "its process is stopped (SIGSTOP or Ctrl-Z)"
    assert house.json("stalled", "--kill", *PATIENT)["receipts"] == []
    assert alive(luna.pid)
    os.kill(luna.pid, signal.SIGCONT)
    assert eventually(lambda: activity(house, "luna", *PATIENT) == "stalled")


def test_who_cannot_be_judged_is_never_ended(house: House) -> None:
    """Silent for long, but it never promised anything."""
    mute = started(house, SLEEPS)
    eventually(lambda: activity(house, "luna", *PATIENT) == "unknown")
    assert house.json("stalled", "--kill", *PATIENT)["receipts"] == []
    assert alive(mute.pid)


# -- beat --------------------------------------------------------------------------------------


def test_beat_says_nothing_and_touches_the_file(house: House) -> None:
    luna = started(house, SLEEPS)
    done = house.run("beat", "luna")
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")
    assert heartbeat(house, luna.run).is_file()
    assert house.json("beat", "luna") == {"ok": True, "heartbeat": str(heartbeat(house, luna.run))}


def test_a_beat_brings_a_stalled_one_back(house: House) -> None:
    stalled_agent(house)
    house.run("beat", "luna")
    assert activity(house, "luna", "--older-than", "60") == "working"


def test_beat_outside_of_any_agent(house: House) -> None:
    what, hint = complaint(house.run("beat"), FAILED)
    assert what == "this is not inside an agent"
    assert hint == "name the agent that lives: knell beat NAME"


def test_beat_of_nobody_and_of_an_ended_one(house: House) -> None:
    complaint(house.run("beat", "nobody"), FAILED)
    luna = started(house, SLEEPS)
    house.kill("luna")
    what, hint = complaint(house.run("beat", "luna"), FAILED)
    assert what == "'luna' is not running"
    assert hint == "knell resume luna"
    assert not heartbeat(house, luna.run).exists()


def test_beat_as_json_when_refused(house: House) -> None:
    done = house.run("beat", "nobody", "--json")
    assert done.returncode == FAILED
    assert json.loads(done.stdout)["error"] == "NoSuchAgent"
