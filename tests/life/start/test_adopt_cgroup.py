"""An adopted agent: held by a cgroup where one can be made, looked for everywhere else."""

import os
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

import pytest

from cgroups import inside, mounted, own_cgroup
from forked import run_script
from house import House, alive, descendants, eventually
from knell.api.habits import HABITS
from knell.core.receipt import Receipt
from knell.core.run import Run
from knell.faces.cli.verbs.start import HELD, NOT_HELD
from knell.processes.os import linux, system
from needs import skip_without
from scenes import adopted, end, removed, started, stranger

needs_group_signal = pytest.mark.skipif(
    not system.me().inode,
    reason="no signal to a whole group by pidfd before Linux 6.9",
)
CUT = 77
CUT_SHORT = f"""
import os, sys
from knell import Knell
knell = Knell()
type(knell._world.store.runs).mark_born = lambda *_: os._exit({CUT})
knell.adopt(sys.argv[1], name="luna")
"""
GATE = "import os\nopen(os.environ['GATE']).close()\n"
# Whom only a cgroup holds: without stamp or parent, and in a session of their own; or with no pid
# for long enough to be seen.
SLIP_THROUGH = {"daemon", "scrubbed_daemon", "root_dead", "root_dead_scrubbed"}
SLIP_THROUGH |= {"hopper", "hopper_tight"}


@pytest.fixture
def no_leaf() -> Iterator[Path]:
    """A cgroup below which a leaf can be made that nobody can enter: one beside it is threaded."""
    skip_without("needs_cgroup")
    place = mounted()
    assert place
    path = place / f"test-{os.getpid()}-{os.urandom(3).hex()}"
    (path / "t").mkdir(parents=True)
    (path / "t" / "cgroup.type").write_text("threaded")
    yield path
    for one in (path / "t", path):
        eventually(lambda one=one: removed(one))


class Adopted(NamedTuple):
    run: Run
    pid: int


def adopted_first(house: House, habit: str, within: Path | None = None) -> Adopted:
    """An agent that is adopted before it shows its habit, in a session of its own."""
    return adopted_before(house, HABITS[habit], within)


def adopted_before(house: House, source: str, within: Path | None = None) -> Adopted:
    ready, gate = house.root / "ready", house.root / "gate"
    os.mkfifo(gate)
    env = house.env | {"KNELL_READY": str(ready), "GATE": str(gate)}
    argv = house.script(GATE + source)
    pid = os.posix_spawn(argv[0], argv, env, setsid=True)
    if within:
        (within / "cgroup.procs").write_text(str(pid))
    run = house.knell.adopt(str(pid), name="luna").run
    gate.open("w").close()
    eventually(ready.exists)
    return Adopted(run, pid)


def killed(house: House, **wish: float) -> Receipt:
    return house.kill("luna", **{"grace": 0.3, **wish})[0].receipts[0]


# -- held by a cgroup ------------------------------------------------------------------------------


@pytest.mark.needs_cgroup
@pytest.mark.parametrize("habit", HABITS)
def test_nothing_survives_that_was_started_after_the_adoption(house: House, habit: str) -> None:
    """Nothing that an adopted agent starts from then on survives its end, whatever its habit"""
    luna = adopted_first(house, habit)
    assert Path(luna.run.cgroup).name == f"knell-{luna.run.id}"
    receipt = killed(house)
    assert (receipt.result, receipt.proof) == ("ended", "none_found")
    assert not descendants()
    assert not Path(luna.run.cgroup).exists()


@pytest.mark.needs_cgroup
@pytest.mark.parametrize("habit", sorted(set(HABITS) - SLIP_THROUGH - {"root_dead_same_session"}))
def test_what_was_found_at_the_adoption_is_held_too(house: House, habit: str) -> None:
    """Every process that an adopted agent had not let go of before is held with it"""
    ready = house.root / "ready"
    argv = house.script(HABITS[habit])
    env = house.env | {"KNELL_READY": str(ready)}
    pid = os.posix_spawn(argv[0], argv, env, setsid=True)
    eventually(ready.exists)
    run = house.knell.adopt(str(pid), name="luna").run
    killed(house)
    assert not descendants()
    assert not Path(run.cgroup).exists()


@pytest.mark.needs_cgroup
def test_the_answer_says_that_a_cgroup_holds_it(house: House) -> None:
    pid, _ = stranger(house, "tell()\nsleep()")
    assert f"luna: {HELD}" in house.run("adopt", str(pid), "--name", "luna").stdout
    killed(house)


@pytest.mark.needs_cgroup
def test_a_leaf_lies_below_the_agents_own_cgroup(house: House) -> None:
    """An adopted agent stays below the cgroup that it was in, so that its limits hold"""
    with own_cgroup() as own:
        pid, _ = stranger(house, "child(SLEEP)\ntell()\nsleep()")
        for one in descendants():
            (own / "cgroup.procs").write_text(str(one))
        run = house.knell.adopt(str(pid), name="luna").run
        assert Path(run.cgroup).parent == own
        assert len(inside(run.cgroup)) == 2
        killed(house)


@pytest.mark.needs_cgroup
def test_a_member_in_another_cgroup_stays_there(house: House) -> None:
    """A process in a cgroup of its own keeps its limits, and is ended all the same"""
    with own_cgroup() as own:
        pid, _ = stranger(house, "child(SLEEP)\ntell()\nsleep()")
        (child,) = set(descendants()) - {pid}
        (own / "cgroup.procs").write_text(str(child))
        run = house.knell.adopt(str(pid), name="luna").run
        assert inside(run.cgroup) == {pid}
        killed(house)
        assert not alive(child)


@pytest.mark.needs_cgroup
def test_only_members_are_moved(house: House) -> None:
    """Neither knell, nor what it runs in, nor another agent goes into the cgroup of an adoption"""
    nova = started(house, "tell()\nsleep()", name="nova")
    other, _ = stranger(house, "tell()\nsleep()")
    luna = adopted(house, "tell()\nsleep()")
    assert inside(luna.run.cgroup) == {luna.pid}
    for pid in (os.getpid(), os.getppid(), other, nova.pid, nova.keeper):
        assert luna.run.id not in Path(f"/proc/{pid}/cgroup").read_text()
    killed(house)
    end(other)


@pytest.mark.needs_cgroup
def test_who_is_adopted_out_of_an_adopted_tree_is_held_apart(house: House) -> None:
    """Ending an adopted agent spares the one that was adopted out of its tree"""
    luna = adopted(house, "child(SLEEP)\ntell()\nsleep()")
    (child,) = inside(luna.run.cgroup) - {luna.pid}
    nova = house.knell.adopt(str(child), name="nova").run
    assert Path(nova.cgroup).parent == Path(luna.run.cgroup).parent
    assert inside(nova.cgroup) == {child}
    killed(house)
    assert alive(child)
    assert not Path(luna.run.cgroup).exists()
    house.kill("nova")
    assert not Path(nova.cgroup).exists()


@pytest.mark.needs_cgroup
def test_members_are_shown_by_their_cgroup(house: House) -> None:
    """A dry run names the daemon that only the cgroup of an adopted agent knows"""
    luna = adopted_first(house, "scrubbed_daemon")
    hidden = inside(luna.run.cgroup) - {luna.pid}
    would = house.kill("luna", dry_run=True)[0].receipts[0]
    assert {one.pid: one.via for one in would.processes if one.pid in hidden} == dict.fromkeys(
        hidden, "cgroup"
    )
    killed(house)


# -- its leaf goes when the run does ---------------------------------------------------------------


@pytest.mark.needs_cgroup
def test_an_agent_that_leaves_by_itself_leaves_no_leaf(house: House) -> None:
    """The cgroup of an adopted agent is removed when the agent leaves by itself"""
    luna = adopted(house, "tell()\nsleep()")
    end(luna.pid)
    assert house.run("list", "--names").stdout == ""
    assert not Path(luna.run.cgroup).exists()


@pytest.mark.needs_cgroup
def test_an_agent_that_is_let_go_moves_up(house: House) -> None:
    """An adopted agent that is let go of leaves its cgroup and lives on"""
    luna = adopted(house, "child(SLEEP)\ntell()\nsleep()")
    both = inside(luna.run.cgroup)
    house.knell.stop("luna", mode="soft")
    assert not Path(luna.run.cgroup).exists()
    assert all(alive(pid) for pid in both)
    end(*both)


@pytest.mark.needs_cgroup
def test_an_adoption_cut_short_leaves_nothing(house: House) -> None:
    """An adoption that died half-way is on record: the next kill ends the agent and its cgroup"""
    pid, _ = stranger(house, "child(SLEEP)\ntell()\nsleep()")
    assert run_script(house, CUT_SHORT, str(pid)) == CUT
    (run,) = house.knell.world.store.runs.live()
    assert pid in inside(run.cgroup)
    killed(house)
    assert not descendants()
    assert not Path(run.cgroup).exists()


# -- without a cgroup ------------------------------------------------------------------------------


def test_where_the_kernel_refuses_the_answer_says_so(house: House, no_leaf: Path) -> None:
    """Where no cgroup can be made for an adopted agent, the answer says what may escape"""
    pid, _ = stranger(house, "tell()\nsleep()")
    (no_leaf / "cgroup.procs").write_text(str(pid))
    assert f"luna: {NOT_HELD}" in house.run("adopt", str(pid), "--name", "luna").stdout
    assert house.knell.world.store.runs.live()[0].cgroup == ""
    assert not list(no_leaf.glob("knell-*"))
    killed(house)


@needs_group_signal
@pytest.mark.parametrize("habit", sorted(set(HABITS) - SLIP_THROUGH))
def test_what_can_be_found_is_ended_without_a_cgroup(
    house: House, habit: str, no_leaf: Path
) -> None:
    """Without a cgroup an adopted agent's end still finds all but daemons and pid-hoppers"""
    luna = adopted_first(house, habit, no_leaf)
    assert luna.run.cgroup == ""
    receipt = killed(house)
    assert (receipt.result, receipt.proof) == ("ended", "none_found")
    assert not descendants()


@needs_group_signal
def test_who_hops_within_the_group_is_caught(house: House, no_leaf: Path) -> None:
    """A process that hops from pid to pid within an adopted agent's group does not escape"""
    source = HABITS["hopper_tight"].replace("if True and not hop", "if False and not hop")
    assert source != HABITS["hopper_tight"]
    adopted_before(house, source, no_leaf)
    assert len(killed(house).processes) >= 2
    assert not descendants()


@needs_group_signal
def test_what_an_agent_left_in_its_session_is_found_after_it(house: House, no_leaf: Path) -> None:
    """A child in the session of an adopted agent that has left is not called terminated"""
    luna = adopted_first(house, "root_dead_same_session", no_leaf)
    os.waitpid(luna.pid, 0)
    (child,) = descendants()
    assert house.json("list")["agents"][0]["note"] == "it has left; knell kill ends what is left"
    assert {one.pid for one in killed(house).processes} == {child}
    assert not alive(child)


@needs_group_signal
def test_a_group_with_somebody_who_is_spared_is_never_stopped(house: House, no_leaf: Path) -> None:
    """A group that also holds another agent is not signalled as a whole"""
    pid, told = stranger(
        house, "if not os.fork():\n    tell(os.getpid())\n    sleep()\nsleep()", setpgroup=0
    )
    for one in (pid, int(told[0])):
        (no_leaf / "cgroup.procs").write_text(str(one))
    house.knell.adopt(told[0], name="nova")
    house.knell.adopt(str(pid), name="luna")
    killed(house)
    row = linux.stat_of(int(told[0]))
    assert row
    assert row.pgid == pid
    assert row.state == "S"
    house.kill("nova")
