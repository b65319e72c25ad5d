"""knell list: who is there, for people and for pipes."""

import json
import re

import pytest

from house import House, eventually


@pytest.fixture
def peopled(house: House) -> House:
    """Luna and nova live, kira was killed."""
    for name in ("kira", "luna", "nova"):
        house.spawn(name=name, tag="dev")
    house.kill("kira")
    return house


@pytest.mark.parametrize("verb", ["list", "ls", "ps"])
@pytest.mark.parametrize("flag", ["--names", "-q"])
def test_names_only(peopled: House, verb: str, flag: str) -> None:
    done = peopled.run(verb, flag)
    assert (done.returncode, done.stdout, done.stderr) == (0, "luna\nnova\n", "")


def test_names_of_everybody(peopled: House) -> None:
    assert set(peopled.run("list", "--names", "--all").stdout.split()) == {"kira", "luna", "nova"}


def test_nobody_is_no_name_and_no_error(house: House) -> None:
    done = house.run("list", "--names")
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")


def test_names_are_made_for_kill(peopled: House) -> None:
    names = peopled.run("list", "--names").stdout
    done = peopled.run("kill", "-", input=names)
    assert done.returncode == 0
    assert peopled.run("list", "--names").stdout == ""


def test_H53_the_table_shows_who_lives(peopled: House) -> None:
    head, *rows = peopled.run("list").stdout.splitlines()
    assert head.split()[:5] == ["NAME", "KIND", "STATE", "PID", "PLACE"]
    assert [row.split()[:3] for row in rows] == [
        ["luna", "command", "running"],
        ["nova", "command", "running"],
    ]


def test_the_table_of_everybody_shows_how_they_ended(peopled: House) -> None:
    rows = peopled.run("list", "--all").stdout.splitlines()[1:]
    [kira] = [row for row in rows if row.startswith("kira")]
    assert "ended: killed" in kira
    assert "by operator: killed" in kira


def test_an_agent_that_exited_by_itself_is_listed_no_more(house: House) -> None:
    house.run("spawn", "--name", "luna", "--", "sh", "-c", "sleep 0.5; false")
    eventually(lambda: house.run("list", "--names").stdout == "")
    [luna] = house.json("list", "--all")["agents"]
    assert (luna["outcome"], luna["by"]) == ("failed", "agent")


def grow_older(house: House, seconds: float) -> None:
    """As if the last look at each agent had been that much earlier."""
    store = house.knell.world.store.watch
    memories = {run: json.loads(text) for run, text in store.memories().items()}
    for memory in memories.values():
        memory["at"][1] -= seconds
    store.remember({run: json.dumps(memory) for run, memory in memories.items()}, {})


def test_P4_what_an_agent_was_seen_doing_is_shown_with_its_age(house: House) -> None:
    """Without a watch no look follows: what was true then may be false now."""
    house.spawn(name="luna")
    assert "ACTIVITY" not in house.run("list").stdout
    assert house.json("list")["agents"][0]["activity_age_s"] is None
    found = house.json("explain", "luna")["activity"]
    assert found in house.run("list").stdout
    grow_older(house, 30)
    assert re.search(rf"{found} [3-9]\ds ago", house.run("list").stdout)
    [luna] = house.json("list")["agents"]
    assert (luna["activity"], luna["activity_age_s"] >= 30) == (found, True)
    grow_older(house, 120)
    assert "ACTIVITY" not in house.run("list").stdout


def test_P4_status_looks_now_and_shows_no_age(house: House) -> None:
    """What it shows was looked at: nobody need have run a watch."""
    house.spawn(name="luna")
    before = house.json("explain", "luna")["activity"]
    grow_older(house, 60)
    [luna] = house.json("status")["agents"]
    assert (luna["activity"], luna["activity_age_s"] < 60) == (before, True)
    assert luna["why"]
    assert luna["processes"] >= 1
    assert luna["memory_mb"] > 0
    assert luna["cpu_percent"] is not None
    head, row = house.run("status").stdout.splitlines()[1:3]
    assert [word for word in head.split() if word in ("CPU", "MEM", "PROC")] == [
        "CPU",
        "MEM",
        "PROC",
    ]
    assert f"{before} " in row


# -- targets, filters, order and format ------------------------------------------------------------


def test_only_those_that_are_meant(peopled: House) -> None:
    peopled.spawn(name="vega", tag="night")
    assert peopled.run("list", "tag:night", "-q").stdout == "vega\n"
    assert peopled.run("list", "n*", "luna", "-q").stdout == "luna\nnova\n"
    assert peopled.run("list", "kira", "-q").stdout == "kira\n", "an ended one that is named"
    assert set(peopled.run("list", "tag:dev", "-aq").stdout.split()) == {"kira", "luna", "nova"}
    assert peopled.run("list", "nobody").returncode == 1


def test_the_last_that_ended(peopled: House) -> None:
    peopled.kill("nova")
    assert peopled.run("list", "--ended", "1", "-q").stdout == "nova\n"
    assert peopled.run("list", "--ended", "-q").stdout == "kira\nnova\n"
    assert peopled.run("list", "--ended", "tag:dev", "-q").stdout == "kira\nnova\n"


def test_sorted_and_formatted(peopled: House) -> None:
    done = peopled.run("list", "--sort", "name", "-a", "--format", "{name}\\t{outcome}")
    assert done.stdout == "kira\tkilled\nluna\t\nnova\t\n"
    for order in ("cpu", "memory", "quiet", "started"):
        assert set(peopled.run("list", "--sort", order, "-q").stdout.split()) == {"luna", "nova"}
    wrong = peopled.run("list", "--format", "{nmae}")
    assert (wrong.returncode, wrong.stderr.splitlines()[0]) == (
        2,
        "error: no field is called 'nmae'",
    )


def test_only_the_stalled(house: House) -> None:
    """An agent that promised to beat and does not any more; the other was never asked to."""
    house.spawn(name="nova")
    luna = house.spawn(name="luna").run
    beat = house.state / "runs" / luna.id / "heartbeat"
    beat.touch()
    house.json("explain", "luna")

    def found() -> bool:  # not at once, if it was still settling down between the two looks
        grow_older(house, 130)
        return house.run("list", "--stalled", "-q").stdout == "luna\n"

    eventually(found)


# -- one picture ---------------------------------------------------------------------------------


def test_a_snapshot_has_what_every_face_shows(house: House) -> None:
    house.spawn(name="luna", tag="dev", place="tmux", server="test")
    shot = house.knell.snapshot()
    [luna] = shot.agents
    assert (luna.server, luna.tag, luna.activity_age_s) == ("test", "dev", 0.0)
    assert (shot.watch, shot.orphans) == (None, ())
    assert shot.runs_bytes > 0
    assert luna.processes
    assert "tmux test:%" in house.run("list").stdout


def test_changes_bring_events_and_the_rows_that_changed(house: House) -> None:
    house.spawn(name="luna")
    shot = house.knell.changes(house.knell.snapshot()).snapshot
    house.spawn(name="nova")
    found = house.knell.changes(shot, look=False)
    assert [view.name for view in found.rows if view.name == "nova"] == ["nova"]
    assert {"life.started"} <= {event.type for event in found.events}
    assert all(event.agent == "nova" for event in found.events)
    assert [view.cpu_percent is None for view in found.snapshot.agents] == [False, True]
    house.kill("luna")
    later = house.knell.changes(found.snapshot, look=False)
    assert later.gone == ("luna",)
    assert "life.stopped" in {event.type for event in later.events}
    quiet = house.knell.changes(later.snapshot, look=False)
    assert (quiet.events, quiet.rows, quiet.gone) == ((), (), ())


def test_a_look_carries_its_age_until_the_next(house: House) -> None:
    house.spawn(name="luna")
    shot = house.knell.snapshot()
    eventually(lambda: house.knell.changes(shot, look=False).snapshot.agents[0].activity_age_s)
    assert house.knell.changes(shot).snapshot.agents[0].activity_age_s == 0.0
