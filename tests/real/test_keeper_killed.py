"""A keeper that was itself killed, stopped or frozen: its run is found and ended all the same."""

import os
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from house import House, alive, descendants, eventually
from knell.api.habits import HABITS
from knell.core.receipt import Receipt
from knell.core.run import Run
from needs import REASONS
from scenes import end, removed, started
from shells import Shell, agent, keeper_of, run_of

SCRUBBED = {"scrubbed_daemon", "root_dead_scrubbed"}  # no parent, no session, no stamp
HOPPERS = {"hopper", "hopper_same_session", "hopper_tight"}  # alive for less than a scan takes
LIVING = [habit for habit in HABITS if not habit.startswith("root_dead")]


def kill_keeper(run: Run) -> None:
    assert run.keeper
    os.kill(run.keeper.pid, signal.SIGKILL)
    eventually(lambda: run.keeper and not alive(run.keeper.pid))


def ended(house: House, name: str = "luna") -> Receipt:
    return house.kill(name, grace=0.3)[0].receipts[0]


# -- killed ----------------------------------------------------------------------------------------


@pytest.mark.parametrize("habit", LIVING)
def test_G2_no_process_survives_though_its_keeper_was_killed(house: House, habit: str) -> None:
    """What a scan cannot see, a cgroup can. Without a keeper the end is found, not proven."""
    before = set(descendants())
    run = house.spawn(habit, name="luna").run
    if habit in SCRUBBED and not run.cgroup:
        house.kill("luna", grace=0.3)  # its keeper finds all of them
        pytest.skip(REASONS["needs_cgroup"])
    kill_keeper(run)
    receipt = ended(house)
    assert set(descendants()) <= before
    # The kernel hangs up a stopped group whose parent has died: it may be over by itself.
    if habit == "stopped" and receipt.result == "already_ended":
        return
    assert receipt.result == "ended"
    assert receipt.proof == "none_found"
    assert any("keeper was killed" in warning.text for warning in receipt.warnings)


def test_without_a_cgroup_the_best_word_is_none_found(house: House) -> None:
    pids = spawn_without_cgroup(house, "child(SLEEP, session=True, orphan=True)")
    run = run_of(house, "luna")
    assert run.cgroup == ""
    kill_keeper(run)
    receipt = ended(house)
    assert (receipt.result, receipt.proof) == ("ended", "none_found")
    assert {process.via for process in receipt.processes} <= {"agent", "stamp", "tree", "session"}
    assert not any(map(alive, pids()))


def test_without_a_cgroup_what_left_no_trace_is_not_claimed_to_be_gone(house: House) -> None:
    """The limit, said plainly: no parent, session, group, stamp or cgroup leads to it."""
    body = "child(SLEEP, session=True, orphan=True, environment={})"
    pids = spawn_without_cgroup(house, body)
    luna = run_of(house, "luna")
    assert luna.process
    traceless = [pid for pid in pids() if pid != luna.process.pid]
    assert len(traceless) == 1
    kill_keeper(luna)
    receipt = ended(house)
    assert receipt.proof == "none_found"
    assert not alive(luna.process.pid)
    end(*traceless)


def spawn_without_cgroup(house: House, body: str) -> Callable[[], list[int]]:
    """luna, from a mount namespace in which no cgroup v2 is to be seen; and its processes."""
    before = set(descendants())
    ready = house.root / "ready"
    source = HABITS["plain"].replace("child(SLEEP)\nsleep()", f"{body}\nsleep()")
    spawn = (sys.executable, "-m", "knell", "spawn", "--in", "headless", "--name", "luna")
    argv = (*spawn, "--env", f"KNELL_READY={ready}", "--", sys.executable, "-S", "-c", source)
    hide = 'umount -a -t cgroup2 2>/dev/null; exec "$@"'
    done = subprocess.run(
        ["unshare", "--mount", "sh", "-c", hide, "sh", *argv] if os.getuid() == 0 else argv,
        env=house.env, cwd=house.root, check=False, timeout=300, capture_output=True, text=True,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    eventually(ready.exists)
    keeper = keeper_of(house, "luna")
    return lambda: sorted(set(descendants()) - before - {keeper})


def test_a_lost_keeper_is_said_in_the_list(house: House) -> None:
    run = house.spawn(name="luna").run
    kill_keeper(run)
    (shown,) = house.json("list")["agents"]
    assert (shown["state"], "keeper is gone" in shown["note"]) == ("running", True)
    (orphan,) = [o for o in house.json("status")["orphans"] if o["agent"] == "luna"]
    assert run.process
    assert orphan["pid"] == run.process.pid
    ended(house)


def test_an_agent_that_went_after_its_keeper_is_lost_not_completed(house: House) -> None:
    """Nobody saw how it ended, so nobody may say that it went well."""
    run = house.spawn(name="luna").run
    kill_keeper(run)
    assert run.process
    end(run.process.pid)
    assert house.json("list")["agents"] == []
    receipt = house.knell.receipt("luna")
    assert (receipt.outcome, receipt.exit_code, receipt.proof) == ("lost", None, "none_found")
    assert not run.cgroup or not Path(run.cgroup).exists()


def test_G12_a_pane_whose_keeper_was_killed_hides_no_deaf_agent(house: House) -> None:
    """tmux closes the pane with the keeper and only hangs up on the agent."""
    run = house.spawn("ignores_term", name="luna", place="tmux", server="test").run
    kill_keeper(run)
    eventually(lambda: run.place.pane not in house.panes())
    assert run.process
    assert alive(run.process.pid)
    receipt = ended(house)
    assert receipt.result == "ended"
    assert not alive(run.process.pid)
    assert {process.ended_by for process in receipt.processes} == {"kill"}


def test_a_shell_outlives_the_run_whose_keeper_was_killed_in_it(house: House) -> None:
    shell = Shell(house)
    words, log = agent(house, "wait()")
    shell.type("sleep 97 &")
    shell.type(f"knell run --name luna -- {words}")
    pid = log.await_pid()
    os.kill(keeper_of(house, "luna"), signal.SIGKILL)
    shell.shows("Killed")
    receipt = ended(house)
    assert {process.pid for process in receipt.processes} == {pid}
    assert "sleep 97" in shell.ask("jobs")


def test_a_neighbour_in_the_pipeline_is_no_member_of_the_run(house: House) -> None:
    """The keeper leads the pipeline's group, and yet the group is the shell's."""
    words, log = agent(house, "wait()")
    pager, keys = agent(house, "say('ready', os.getpid())\nsys.stdin.read()\nsay('end')\nwait()")
    line = f"set -m; {sys.executable} -m knell run --name luna -- {words} | {pager}"
    shell = house.process("bash", "-c", line, stdin=subprocess.DEVNULL)
    pid, neighbour = log.await_pid(), keys.await_pid()
    keeper = keeper_of(house, "luna")
    assert os.getpgid(neighbour) == keeper
    os.kill(keeper, signal.SIGKILL)
    receipt = ended(house)
    assert {process.pid for process in receipt.processes} == {pid}
    keys.await_line("end")
    assert alive(neighbour)
    end(neighbour)
    shell.wait(300)


def test_G52_a_run_inside_another_is_ended_whole_when_its_own_keeper_was_killed(
    house: House,
) -> None:
    """The outer keeper inherits the inner run's processes, and they are not the outer's."""
    inner = "child(SLEEP)\nchild(SLEEP, session=True, orphan=True)\n" + "sleep()"
    source = HABITS["plain"].replace("child(SLEEP)\nsleep()", inner)
    script, ready = house.root / "inner.py", house.root / "ready"
    script.write_text(source)
    spawn = f"{sys.executable} -m knell spawn --in headless --env KNELL_READY={ready} --name nova"
    started(
        house, f"os.system({f'{spawn} -- {sys.executable} -S {script}'!r})\n{'tell()'}\nsleep()"
    )
    eventually(ready.exists)
    nova = run_of(house, "nova")
    kill_keeper(nova)
    receipt = ended(house, "nova")
    assert receipt.result == "ended"
    assert len(receipt.processes) == 3
    assert not any(alive(process.pid) for process in receipt.processes)
    assert [agent["name"] for agent in house.json("list")["agents"]] == ["luna"]


# -- stopped or frozen -----------------------------------------------------------------------------


def test_a_keeper_that_was_stopped_is_continued_and_does_its_work(house: House) -> None:
    run = house.spawn("setsid", name="luna").run
    assert run.keeper
    os.kill(run.keeper.pid, signal.SIGSTOP)
    receipt = ended(house)
    assert (receipt.result, receipt.proof) == ("ended", "proven")
    assert not alive(run.keeper.pid)


@pytest.mark.parametrize("habit", ["plain", "setsid", "daemon", "scrubbed_daemon", "ignores_term"])
def test_a_keeper_that_does_not_act_is_overtaken(house: House, habit: str) -> None:
    before = set(descendants())
    run = house.spawn(habit, name="luna").run
    assert run.keeper
    with frozen(run.keeper.pid):
        receipt = ended(house)
    assert receipt.result == "ended"
    assert any("did not act in time" in warning.text for warning in receipt.warnings)
    assert set(descendants()) <= before


@contextmanager
def frozen(pid: int) -> Iterator[None]:
    """A process that no signal but KILL reaches: it hangs, say in a dead network file system."""
    mounts = Path("/proc/self/mountinfo").read_text().splitlines()
    mounted = [line.split()[4] for line in mounts if " - cgroup2 " in line]
    if not mounted or not os.access(mounted[0], os.W_OK):
        pytest.skip(REASONS["needs_cgroup"])
    leaf = Path(mounted[0]) / f"frozen-{pid}"
    leaf.mkdir()
    try:
        (leaf / "cgroup.procs").write_text(str(pid))
        (leaf / "cgroup.freeze").write_text("1")
        eventually(lambda: "frozen 1" in (leaf / "cgroup.events").read_text())
        yield
    finally:
        (leaf / "cgroup.freeze").write_text("0")
        eventually(lambda: removed(leaf))


@pytest.mark.parametrize("habit", sorted(HOPPERS))
def test_without_a_cgroup_and_a_keeper_a_hopping_process_is_caught(
    house: House, habit: str
) -> None:
    """It lives for less than a scan takes: found by the newest pids, stopped, and then ended."""
    start = HABITS["plain"].removesuffix("child(SLEEP)\nsleep()")
    body = HABITS[habit].removeprefix(start).removesuffix("\nsleep()")
    pids = spawn_without_cgroup(house, body)
    run = run_of(house, "luna")
    assert run.cgroup == ""
    kill_keeper(run)
    receipt = ended(house)
    assert (receipt.result, receipt.proof) == ("ended", "none_found")
    assert not any(map(alive, pids()))
