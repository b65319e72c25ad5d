"""The cgroup of a run: made, entered, killed at once, and believed only as far as it knows."""

import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from cgroups import inside, mounted, own_cgroup
from house import House, alive, eventually
from knell.core.run import Run
from knell.processes.os import cgroup
from scenes import end, started
from shells import run_of

pytestmark = pytest.mark.needs_cgroup


@pytest.fixture
def group() -> Iterator[Path]:
    """A cgroup of the test's own."""
    with own_cgroup() as path:
        yield path


def spawned(house: House, habit: str, **wish: Any) -> Run:
    run = house.spawn(habit, name="luna", **wish).run
    assert run.process
    assert run.keeper
    return run


# -- the leaf of a run -----------------------------------------------------------------------------


@pytest.mark.parametrize("place", ["headless", "tmux"])
def test_each_run_has_a_leaf_that_goes_with_it(house: House, place: str) -> None:
    run = spawned(house, "obedient", place=place, server="test" if place == "tmux" else "")
    assert Path(run.cgroup).name == f"knell-{run.id}"
    assert run.process
    assert inside(run.cgroup) == {run.process.pid}  # and not its keeper
    house.kill("luna")
    assert not Path(run.cgroup).exists()


def test_the_leaf_of_a_run_that_exits_by_itself_goes_too(house: House) -> None:
    house.run("run", "--name", "luna", "--", "true")
    run = run_of(house, "luna")
    assert Path(run.cgroup).name == f"knell-{run.id}"
    assert not Path(run.cgroup).exists()


def test_what_cannot_be_started_leaves_no_leaf(house: House) -> None:
    house.run("run", "--name", "luna", "--", "no-such-program")
    place = mounted()
    assert place
    (run,) = house.knell.world.store.runs.of("luna")
    assert not (place / f"knell-{run.id}").exists()


def test_what_hides_from_every_scan_is_in_the_leaf(house: House) -> None:
    run = spawned(house, "scrubbed_daemon")
    assert run.process
    assert len(inside(run.cgroup)) == 2
    (hidden,) = inside(run.cgroup) - {run.process.pid}
    house.kill("luna")
    assert not alive(hidden)


def test_G52_a_run_within_a_run_has_a_leaf_beside_it(house: House) -> None:
    """And its keeper has left the outer leaf, so that the outer's end can be proven by it."""
    spawn = f"{sys.executable} -m knell spawn --in headless --name nova -- sleep 99"
    luna = started(house, f"os.system({spawn!r})\ntell()\nsleep()").run
    nova = run_of(house, "nova")
    assert Path(nova.cgroup).parent == Path(luna.cgroup).parent
    assert luna.process
    assert inside(luna.cgroup) == {luna.process.pid}
    assert nova.process
    assert inside(nova.cgroup) == {nova.process.pid}
    house.kill("luna", children=False)
    assert not Path(luna.cgroup).exists()
    assert alive(nova.process.pid)


def test_a_child_that_may_live_on_is_let_go_of(house: House) -> None:
    """Nobody would remove a leaf that it kept alive."""
    body = "child(SLEEP, session=True)\ntell()\nsleep()"
    luna = started(house, body, keep=("*-c import*",))
    (kept,) = house.kill("luna")[0].receipts[0].kept
    assert alive(kept.pid)
    assert not Path(luna.run.cgroup).exists()
    end(kept.pid)


# -- the proof -------------------------------------------------------------------------------------


def test_a_leaf_that_the_agent_could_not_enter_proves_nothing(house: House, group: Path) -> None:
    """It can be made and not be entered: beside a threaded group every other one is invalid."""
    (group / "t").mkdir()
    (group / "t" / "cgroup.type").write_text("threaded")
    spawn = (sys.executable, "-m", "knell", "spawn", "--in", "headless", "--name", "luna")
    script = f'echo 0 > {group}/cgroup.procs && exec "$@"'
    done = subprocess.run(
        ["sh", "-c", script, "sh", *spawn, "--", "sleep", "99"],
        env=house.env, cwd=house.root, check=False, capture_output=True, text=True, timeout=300,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    run = run_of(house, "luna")
    assert run.process
    assert Path(f"/proc/{run.process.pid}/cgroup").read_text().rstrip().endswith(f"/{group.name}")
    assert run.cgroup == ""
    assert run.keeper
    end(run.keeper.pid)
    receipt = house.kill("luna")[0].receipts[0]
    assert (receipt.result, receipt.proof) == ("ended", "none_found")
    for leaf in group.glob("knell-*"):
        leaf.rmdir()


def test_a_leaf_says_what_is_in_it_and_is_killed_at_once(house: House, group: Path) -> None:
    assert cgroup.pids(str(group)) == set()
    sleeper = in_group(house, group)
    assert cgroup.pids(str(group)) == {sleeper.pid}
    assert cgroup.kill(str(group))
    sleeper.wait(300)
    assert cgroup.pids(str(group)) == set()


@pytest.mark.parametrize("path", ["", "/no/such/mount/knell-x", "/etc/passwd/knell-x"])
def test_where_no_leaf_can_be_nothing_is_in_it(path: str) -> None:
    assert cgroup.pids(path) == set()
    assert not cgroup.kill(path)


def in_group(house: House, group: Path) -> subprocess.Popen[bytes]:
    script = f"echo 0 > {group}/cgroup.procs && exec sleep 99"
    process = house.process("sh", "-c", script)
    eventually(lambda: process.pid in inside(str(group)))
    eventually(lambda: b"sleep" in Path(f"/proc/{process.pid}/cmdline").read_bytes())
    return process


# -- the keeper's own hand -------------------------------------------------------------------------


def test_a_leaf_that_holds_exactly_the_doomed_is_killed_at_once(house: House, group: Path) -> None:
    sleepers = [in_group(house, group) for _ in range(3)]
    assert cgroup.kill_exactly(str(group), {sleeper.pid for sleeper in sleepers})
    assert [sleeper.wait(300) for sleeper in sleepers] == [-9, -9, -9]


def test_a_leaf_that_also_holds_a_spared_one_is_not(house: House, group: Path) -> None:
    doomed, spared = in_group(house, group), in_group(house, group)
    assert not cgroup.kill_exactly(str(group), {doomed.pid})
    assert not cgroup.kill_exactly(str(group), set())
    assert not cgroup.kill_exactly("", {doomed.pid})
    assert alive(doomed.pid)
    assert alive(spared.pid)
    for process in (doomed, spared):
        process.kill()
        process.wait()
