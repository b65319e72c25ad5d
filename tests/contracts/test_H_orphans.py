"""H24 to H27: processes that were let go of, or left behind, are known, shown and ended."""

import os
import signal

from contracts.h_scenes import desk, rows
from house import House, alive, eventually
from scenes import SLEEPS, Played, started


def let_go(house: House, name: str = "luna", **wish: str) -> Played:
    played = started(house, SLEEPS, name=name, **wish)
    assert house.run("stop", "--disconnect", name).returncode == 0
    return played


def left_behind(house: House, name: str = "luna") -> int:
    """A child that nobody tracks: its agent was let go of, then lost its keeper and its life."""
    luna = started(house, "child(SLEEP, session=True)\ntell()\nsleep()", name=name)
    found = house.json("show", name)["processes"]
    child = next(one["pid"] for one in found if one["parent"] == luna.pid)
    house.run("stop", "--disconnect", name)
    assert luna.run.keeper
    for pid in (luna.run.keeper.pid, luna.pid):
        os.kill(pid, signal.SIGKILL)
    eventually(lambda: not alive(luna.pid))
    assert alive(child)
    return child


def test_H24_kill_ends_what_was_stopped_but_still_runs(house: House) -> None:
    luna = let_go(house)
    assert house.json("list")["agents"] == []
    assert alive(luna.pid)
    assert house.run("kill", "luna").returncode == 0
    assert not alive(luna.pid)


def test_H24_and_closes_the_pane_that_it_still_has(house: House) -> None:
    own = desk(house)
    luna = let_go(house, place="tmux", server="test")
    assert luna.run.place.pane in house.panes()
    done = house.run("kill", "luna")
    assert (done.returncode, alive(luna.pid)) == (0, False)
    assert f"(closed tmux pane {luna.run.place.pane})" in done.stdout
    assert house.panes() == [own]


def test_H25_the_tracker_does_not_depend_on_the_instance_rows(house: House) -> None:
    luna = let_go(house)
    assert rows(house, "SELECT * FROM instances") == []
    assert rows(house, "SELECT pid, agent, why FROM orphans") == [(luna.pid, "luna", "archived")]
    assert house.run("kill", str(luna.pid)).returncode == 0
    assert not alive(luna.pid)
    assert rows(house, "SELECT * FROM orphans") == []


def test_H25_a_tracked_process_that_is_gone_is_forgotten(house: House) -> None:
    luna = let_go(house)
    os.kill(luna.pid, signal.SIGKILL)
    eventually(lambda: not alive(luna.pid))
    done = house.run("kill", "luna")
    assert done.returncode == 0
    assert "(already terminated)" in done.stdout
    assert rows(house, "SELECT * FROM orphans") == []


def test_H26_all_and_tag_include_orphans_and_stop_does_not(house: House) -> None:
    luna = let_go(house, "luna", tag="dev")
    nova = let_go(house, "nova")
    for target in ("tag:dev", "all"):
        assert house.run("stop", target).returncode == 0
    assert alive(luna.pid)
    assert alive(nova.pid)
    done = house.run("kill", "tag:dev")
    assert (done.returncode, done.stdout.splitlines()[-1]) == (0, "Killed 1 (tag:dev)")
    assert (alive(luna.pid), alive(nova.pid)) == (False, True)
    done = house.run("kill", "all")
    assert (done.returncode, done.stdout.splitlines()[-1]) == (0, "Killed 1")
    assert not alive(nova.pid)


def test_H26_even_one_that_nobody_wrote_down_but_status_can_see(house: House) -> None:
    child = left_behind(house)
    assert [one["pid"] for one in house.json("status")["orphans"]] == [child]
    done = house.run("kill", "all")
    assert (done.returncode, alive(child)) == (0, False)
    assert f"Ended orphan process group {child} (luna)" in done.stdout


def test_H24_no_agent_is_called_gone_while_something_of_it_lives(house: House) -> None:
    child = left_behind(house)
    done = house.run("kill", "luna")
    assert (done.returncode, alive(child)) == (0, False)
    assert "already terminated" not in done.stdout


def test_H26_a_dry_run_shows_the_orphans_and_spares_them(house: House) -> None:
    luna = let_go(house)
    done = house.run("kill", "all", "--dry-run")
    assert done.returncode == 0
    assert "Would end 'luna' (orphan)" in done.stdout
    assert str(luna.pid) in done.stdout
    assert alive(luna.pid)


def test_H27_status_shows_orphans(house: House) -> None:
    assert "orphans: none" in house.run("status").stdout
    luna = let_go(house, tag="dev")
    told = house.run("status").stdout
    assert "orphans: 1" in told
    assert f"{luna.pid}" in told
    orphan = house.json("status")["orphans"][0]
    assert (orphan["pid"], orphan["agent"], orphan["tag"]) == (luna.pid, "luna", "dev")
    house.run("kill", "all")
    assert "orphans: none" in house.run("status").stdout
