"""PIDs that are nobody's agent: refused in one line, and never signalled."""

import os
import sqlite3
import subprocess
import sys

import pytest

from complaints import FAILED, complaint
from house import House, alive
from knell.life.start.adopt import has_command_line
from knell.processes.os import cgroup, system
from knell.stores.records import process_text
from needs import skip_without
from scenes import SLEEPS, end, stranger
from unprivileged import handed_over, unprivileged

HUGE = str(2**22 + 1)  # above the kernel's own limit


def sleeper(house: House) -> int:
    """A process that knell knows nothing of."""
    return stranger(house, SLEEPS)[0]


@pytest.mark.parametrize("target", ["0", "1", "pid:0", "pid:1", "01"])
def test_pid_0_and_1_are_refused(house: House, target: str) -> None:
    what, _ = complaint(house.run("kill", target), FAILED)
    assert "is never a target" in what


@pytest.mark.parametrize("target", ["0", "1", "pid:1"])
def test_nor_are_they_adopted(house: House, target: str) -> None:
    what, _ = complaint(house.run("adopt", target), FAILED)
    assert "is never an agent" in what


@pytest.mark.parametrize("verb", ["kill", "adopt"])
def test_our_own_pid_is_refused(house: House, verb: str) -> None:
    """`exec` keeps the pid, so the shell's own number is knell's."""
    line = f'exec "{sys.executable}" -m knell {verb} $$'
    done = subprocess.run(
        ["sh", "-c", line], env=house.env, cwd=house.root, capture_output=True, text=True,
        check=False, timeout=300,
    )  # fmt: skip
    what, _ = complaint(done, FAILED)
    assert "runs this command" in what


@pytest.mark.parametrize("verb", ["kill", "adopt"])
@pytest.mark.parametrize("above", ["parent", "grandparent"])
def test_an_ancestors_pid_is_refused(house: House, verb: str, above: str) -> None:
    pid = os.getpid() if above == "parent" else os.getppid()
    if pid <= 1:
        pytest.skip("the test run has no grandparent but init")
    what, _ = complaint(house.run(verb, str(pid)), FAILED)
    assert "runs this command" in what


def test_a_pid_that_nobody_has_is_not_found(house: House) -> None:
    pid = sleeper(house)
    end(pid)
    os.waitpid(pid, 0)
    for verb in ("kill", "adopt"):
        what, _ = complaint(house.run(verb, str(pid)), FAILED)
        assert what == f"Agent '{pid}' not found"


@pytest.mark.parametrize("verb", ["kill", "adopt"])
@pytest.mark.parametrize("target", [HUGE, "999999999", "9" * 40])
def test_a_pid_that_nobody_can_have_is_not_found(house: House, verb: str, target: str) -> None:
    complaint(house.run(verb, target), FAILED)


def test_a_stranger_is_refused_by_name_and_not_signalled(house: House) -> None:
    pid = sleeper(house)
    what, hint = complaint(house.run("kill", str(pid)), FAILED)
    assert f"PID {pid} is not an agent's" in what
    assert f"knell adopt {pid}" in hint
    assert alive(pid)
    end(pid)


def test_a_zombie_is_not_adopted(house: House) -> None:
    pid = sleeper(house)
    end(pid)  # and not reaped by us
    complaint(house.run("adopt", str(pid)), FAILED)


def test_a_program_that_is_just_being_started_is_no_kernel_thread(house: House) -> None:
    """After `Popen` has returned, the new program has no command line for a moment."""
    for _ in range(20):
        with subprocess.Popen(["sleep", "100"]) as process:
            try:
                assert has_command_line(house.knell.world, process.pid)
                assert house.knell.world.processes.argv(process.pid) == ("sleep", "100")
            finally:
                process.kill()


def test_what_another_run_owns_is_not_adopted(house: House) -> None:
    run = house.spawn(name="luna").run
    assert run.process
    assert run.keeper
    for pid in (run.process.pid, run.keeper.pid):
        what, _ = complaint(house.run("adopt", str(pid)), FAILED)
        assert "already belongs to 'luna'" in what


def test_a_member_that_was_not_written_down_means_its_agent(house: House) -> None:
    """The stamp says whose it is: no refusal, and no signal to that process alone."""
    run = house.spawn("plain", name="luna").run
    child = next(m.process.pid for m in house.knell.show("luna").members if m.via == "stamp")
    done = house.run("kill", str(child))
    assert done.returncode == 0, done.stderr
    assert run.process
    assert not alive(run.process.pid)


# -- another user's ------------------------------------------------------------------------------


@pytest.fixture
def shared(house: House) -> House:
    """The house of somebody without rights over the processes of this test."""
    skip_without("needs_root")
    return handed_over(house)


def test_another_users_pid_is_refused(shared: House) -> None:
    pid = sleeper(shared)
    what, _ = complaint(unprivileged(shared, "kill", str(pid)), FAILED)
    assert f"PID {pid} is not an agent's" in what
    assert alive(pid)
    end(pid)


def test_H30_H37_another_users_agent_is_denied_and_stays_on_record(shared: House) -> None:
    """The kernel refuses; knell says so, exits 1, and goes on counting it as alive."""
    pid = sleeper(shared)
    adopted = unprivileged(shared, "adopt", "--name", "luna", str(pid))
    assert adopted.returncode == 0, adopted.stderr
    done = unprivileged(shared, "kill", "--grace", "0.1", "luna")
    assert done.returncode == FAILED
    assert f"Permission denied to kill process group {pid} for 'luna'" in done.stderr
    assert "Traceback" not in done.stderr
    assert alive(pid)
    assert unprivileged(shared, "list", "--names").stdout == "luna\n"
    end(pid)


# -- reused --------------------------------------------------------------------------------------


def reused(house: House, pid: int, *, told_by: str = "start") -> None:
    """As if the agent had ended and this process had got its number since.

    Within one tick of the clock the start is the same; then only the pidfd's inode tells.
    """
    now = system.identify(pid)
    assert now
    if told_by == "inode" and not now.inode:
        pytest.skip("this kernel's pidfds have no inode of their own")
    before = now._replace(start=now.start - 1, inode=0)
    if told_by == "inode":
        before = now._replace(inode=now.inode - 1)
    with sqlite3.connect(house.state / "knell.db") as db:
        changed = db.execute("UPDATE runs SET process = ?", [process_text(before)])
        assert changed.rowcount == 1
        [(leaf,)] = db.execute("SELECT cgroup FROM runs").fetchall()
    db.close()
    cgroup.dissolve(leaf, {pid})  # a stranger never was in it


@pytest.mark.parametrize("target", ["luna", "PID", "all"])
def test_a_reused_pid_is_never_signalled(house: House, target: str) -> None:
    pid = sleeper(house)
    assert house.run("adopt", "--name", "luna", str(pid)).returncode == 0
    reused(house, pid)
    done = house.run("kill", "--force", str(pid) if target == "PID" else target)
    assert done.returncode == (FAILED if target == "PID" else 0), done.stderr
    assert alive(pid)
    assert house.json("list")["agents"] == []
    end(pid)


@pytest.mark.parametrize("told_by", ["start", "inode"])
def test_whoever_got_the_number_is_not_taken_for_the_agent(house: House, told_by: str) -> None:
    pid = sleeper(house)
    assert house.run("adopt", "--name", "luna", str(pid)).returncode == 0
    reused(house, pid, told_by=told_by)
    assert house.json("list")["agents"] == []
    [luna] = house.json("list", "--all")["agents"]
    assert (luna["state"], luna["outcome"]) == ("ended", "lost")
    assert house.run("tree", "luna").stdout == ""
    end(pid)


def test_an_orphan_whose_pid_was_reused_is_forgotten_not_signalled(house: House) -> None:
    pid = sleeper(house)
    assert house.run("adopt", "--name", "luna", str(pid)).returncode == 0
    assert house.run("stop", "--mode", "soft", "luna").returncode == 0
    with sqlite3.connect(house.state / "knell.db") as db:
        changed = db.execute("UPDATE orphans SET start = start - 1, inode = 0")
        assert changed.rowcount == 1
    db.close()
    for args in (("kill", "all"), ("reap", "--yes")):
        assert house.run(*args).returncode == 0
    assert alive(pid)
    end(pid)
