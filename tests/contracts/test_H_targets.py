"""H1 to H10: whom `kill` may be told to end, and that it does. C33: every way to name them."""

import json

import pytest

from contracts.h_scenes import desk, hears, words_of
from house import House, alive
from scenes import SLEEPS, end, started, stranger


def test_H1_the_group_gets_term_and_the_pane_is_closed(house: House) -> None:
    desk(house)
    luna = started(house, hears(house), place="tmux", server="test")
    receipt = house.json("kill", "luna")["receipts"][0]
    assert words_of(house, luna.pid) == ["SIGTERM", "finished"]
    assert not alive(luna.pid)
    assert receipt["pane"]["closed"] is True
    assert luna.run.place.pane not in house.panes()


def test_H2_kill_is_more_forceful_than_stop(house: House) -> None:
    """What needs three seconds to leave is cut short by kill, and waited for by stop."""
    luna = started(house, hears(house, linger=3), name="luna")
    nova = started(house, hears(house, linger=3), name="nova")
    stopping = house.begin("stop", "nova")
    assert house.run("kill", "luna").returncode == 0
    assert stopping.wait(300) == 0
    assert words_of(house, luna.pid) == ["SIGTERM"]
    assert words_of(house, nova.pid) == ["SIGTERM", "finished"]


@pytest.mark.parametrize("form", ["name", "pid", "tag", "all"])
def test_H3_a_target_is_a_name_a_pid_a_tag_or_all(house: House, form: str) -> None:
    luna = started(house, SLEEPS, tag="dev")
    target = {"name": "luna", "pid": str(luna.pid), "tag": "tag:dev", "all": "all"}[form]
    assert house.run("kill", target).returncode == 0
    assert not alive(luna.pid)


def test_H4_at_least_one_target_is_required(house: House) -> None:
    luna = started(house, SLEEPS)
    done = house.run("kill")
    assert (done.returncode, done.stdout) == (1, "")
    assert "no targets specified" in done.stderr
    assert "knell kill NAME" in done.stderr
    assert alive(luna.pid)


def test_H5_all_means_the_active_and_the_orphaned(house: House) -> None:
    luna = started(house, SLEEPS, name="luna")
    nova = started(house, SLEEPS, name="nova", place="tmux", server="test")
    kira = started(house, SLEEPS, name="kira")
    assert house.run("stop", "--disconnect", "kira").returncode == 0
    done = house.run("kill", "all")
    assert (done.returncode, done.stdout.splitlines()[-1]) == (0, "Killed 3")
    assert not any(map(alive, (luna.pid, nova.pid, kira.pid)))


def test_H6_a_tag_means_its_instances_and_its_orphans(house: House) -> None:
    luna = started(house, SLEEPS, name="luna", tag="dev")
    kira = started(house, SLEEPS, name="kira", tag="dev")
    nova = started(house, SLEEPS, name="nova", tag="ops")
    house.run("stop", "--disconnect", "kira")
    done = house.run("kill", "tag:dev")
    assert (done.returncode, done.stdout.splitlines()[-1]) == (0, "Killed 2 (tag:dev)")
    assert not alive(luna.pid)
    assert not alive(kira.pid)
    assert alive(nova.pid)


def test_H7_several_targets_are_all_ended_and_told_in_their_order(house: House) -> None:
    names = ("luna", "nova", "kira")
    pids = [started(house, SLEEPS, name=name).pid for name in names]
    done = house.run("kill", "kira", "luna", "nova")
    assert done.returncode == 0
    assert not any(map(alive, pids))
    told = [line.split("'")[1] for line in done.stdout.splitlines() if line.startswith("Ended")]
    assert told == ["kira", "luna", "nova"]


def test_H8_a_pid_is_a_target_and_only_an_agents_is(house: House) -> None:
    luna = started(house, SLEEPS)
    other, _ = stranger(house, SLEEPS)
    refused = house.run("kill", str(other))
    assert (refused.returncode, alive(other)) == (1, True)
    assert f"PID {other} is not an agent's" in refused.stderr
    done = house.run("kill", str(luna.pid))
    assert (done.returncode, alive(luna.pid), alive(other)) == (0, False, True)
    assert f"Ended process group {luna.pid} for 'luna'" in done.stdout
    end(other)


def test_H9_a_headless_agent_is_a_target(house: House) -> None:
    spawned = house.run("spawn", "--json", "--in", "headless", "--name", "luna", "--", "sleep", "9")
    pid = json.loads(spawned.stdout)["agents"][0]["pid"]
    assert house.run("kill", "luna").returncode == 0
    assert not alive(pid)


def test_H10_a_stopped_instance_whose_process_runs_is_a_target(house: House) -> None:
    luna = started(house, SLEEPS)
    assert house.run("stop", "--disconnect", "luna").returncode == 0
    assert alive(luna.pid)
    done = house.run("kill", "luna")
    assert done.returncode == 0
    assert f"Ended process group {luna.pid} for stopped instance 'luna'" in done.stdout
    assert not alive(luna.pid)


# -- C33: selectors -------------------------------------------------------------------------------


def test_C33_every_selector_means_its_agent_and_no_other(house: House) -> None:
    wish = {"place": "tmux", "server": "test"}
    for team in ("red", "blue"):
        house.knell.team(team).create()
    nova = started(house, SLEEPS, name="nova", session="play", tag="ops", team="blue", **wish)
    for word in ("name", "pid", "id", "session", "team", "tag", "pane", "glob"):
        luna = started(house, SLEEPS, name="luna", session="work", tag="dev", team="red", **wish)
        target = {
            "name": "name:luna",
            "pid": f"pid:{luna.pid}",
            "id": f"id:{luna.run.id}",
            "session": "session:work",
            "team": "team:red",
            "tag": "tag:dev",
            "pane": luna.run.place.pane,
            "glob": "lu*",
        }[word]
        assert house.run("kill", target).returncode == 0, word
        assert (alive(luna.pid), alive(nova.pid)) == (False, True), word


def test_C33_an_ambiguous_target_is_an_error_that_lists_who_is_meant(house: House) -> None:
    wish = {"place": "tmux", "server": "test", "session": "work"}
    pids = [started(house, SLEEPS, name=name, **wish).pid for name in ("luna", "nova")]
    done = house.run("kill", "session:work")
    assert done.returncode == 1
    assert "'session:work' is ambiguous: luna, nova" in done.stderr
    assert all(map(alive, pids))


def test_C33_nonsense_is_refused_and_ends_nobody(house: House) -> None:
    luna = started(house, SLEEPS)
    for target in ("planet:luna", "tag:", "pid:x", "1", "0", "pid:1"):
        done = house.run("kill", target)
        assert done.returncode in (1, 2), (target, done)
        assert done.stderr.startswith("error: "), (target, done)
        assert alive(luna.pid), target


# -- targets from standard input ------------------------------------------------------------------


def test_H3_a_dash_reads_targets_from_standard_input(house: House) -> None:
    pids = [started(house, SLEEPS, name=name).pid for name in ("luna", "nova", "kira")]
    done = house.run("kill", "-", input="luna\n\n  nova \n")
    assert done.returncode == 0
    assert [alive(pid) for pid in pids] == [False, False, True]


def test_H4_a_dash_without_lines_is_no_target(house: House) -> None:
    luna = started(house, SLEEPS)
    done = house.run("kill", "-", input="\n")
    assert (done.returncode, alive(luna.pid)) == (1, True)
    assert "no targets specified" in done.stderr
