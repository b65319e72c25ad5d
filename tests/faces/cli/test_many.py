"""Bringing back many at once: by group, by what ended last, by a conversation's id."""

import json
import re

import pytest

from house import House
from knell.core.conversation import KnownConversation


def alive(house: House) -> set[str]:
    return {view.name for view in house.knell.list()}


@pytest.fixture
def peopled(house: House) -> House:
    for name, tag in (("luna", "night"), ("nova", "night"), ("vega", "day")):
        house.spawn(name=name, tag=tag)
    return house


def test_resume_of_a_group_brings_back_those_that_ended(peopled: House) -> None:
    peopled.kill("luna")
    peopled.kill("vega")
    done = peopled.run("resume", "tag:night")
    assert (done.returncode, len(done.stdout.splitlines())) == (0, 1), done.stderr
    assert alive(peopled) == {"luna", "nova"}


def test_resume_last_brings_back_what_the_last_ending_ended(peopled: House) -> None:
    peopled.run("kill", "vega")
    peopled.run("kill", "tag:night")
    found = json.loads(peopled.run("resume", "--last", "--json").stdout)
    assert (found["ok"], {one["name"] for one in found["agents"]}) == (True, {"luna", "nova"})
    assert alive(peopled) == {"luna", "nova"}


def test_the_watch_is_not_a_last_ending(peopled: House) -> None:
    peopled.run("kill", "vega")
    told = {"by": "watch", "reason": "stalled", "outcome": "killed", "owner": "x"}
    peopled.knell.world.store.events.record("life.stopping", "nova", "", told)
    assert peopled.knell.last_ended() == ["vega"]


def test_a_start_that_came_to_nothing_is_not_a_last_ending(peopled: House) -> None:
    peopled.run("kill", "vega")
    assert peopled.run("spawn", "--in", "headless", "--", "no-such-program").returncode == 1
    assert peopled.knell.last_ended() == ["vega"]


def test_last_says_when_all_of_it_runs_again(peopled: House) -> None:
    peopled.run("kill", "vega")
    peopled.run("resume", "--last")
    done = peopled.run("resume", "--last")
    assert (done.returncode, done.stdout) == (0, "")
    assert done.stderr == "nothing to resume: all that the last kill or stop ended runs again\n"


def test_last_without_an_ending_and_with_a_name_is_refused(peopled: House) -> None:
    assert peopled.run("resume", "--last").returncode == 1
    assert peopled.run("resume").returncode == 2
    assert peopled.run("resume", "luna", "--last").returncode == 2


def test_one_failure_stops_no_other(house: House) -> None:
    """Its program is gone; the agent after it comes back all the same."""
    program = house.root / "program"
    program.write_text("#!/bin/sh\nexec sleep 100\n")
    program.chmod(0o755)
    house.knell.spawn(command=(str(program),), name="gone", place="headless")
    house.spawn(name="luna")
    house.run("kill", "all")
    program.unlink()
    done = house.run("resume", "all")
    assert done.returncode == 1
    assert "error: " in done.stderr
    assert alive(house) == {"luna"}


def test_restart_of_a_group_restarts_those_that_run(peopled: House) -> None:
    before = {view.name: view.run for view in peopled.knell.list()}
    peopled.kill("vega")
    done = peopled.run("restart", "tag:night", "--json")
    assert done.returncode == 0, done.stderr
    after = {view.name: view.run for view in peopled.knell.list()}
    assert set(after) == {"luna", "nova"}
    assert all(after[name] != before[name] for name in after)


def test_a_conversation_is_resumed_by_its_id(house: House) -> None:
    luna = house.spawn(name="luna")
    known = KnownConversation("11111111-2222-3333-4444-555555555555", "given")
    house.knell.world.store.runs.set_conversation("luna", known)
    house.kill("luna")
    done = house.run("r", "11111111-2222-3333-4444-555555555555")
    assert done.returncode == 0, done.stderr
    [view] = house.knell.list()
    assert (view.name, view.run != luna.run.id) == ("luna", True)


def test_killing_an_ended_agent_says_when_by_whom_and_where(house: House) -> None:
    house.knell.spawn(command=("sleep", "100"), name="luna", cwd=str(house.home), place="headless")
    house.kill("luna")
    done = house.run("kill", "luna")
    assert (done.returncode, "already terminated" in done.stdout) == (0, True)
    assert re.fullmatch(
        r"'luna' ended \d+[smh] ago \(killed by operator\), command, ~\n", done.stderr
    )
