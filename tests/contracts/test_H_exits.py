"""H34 to H39: exit codes. C9 and C11: what was over before, and what cannot be found."""

import os
import subprocess
import sys

import pytest

from contracts.h_scenes import as_nobody, ghost, nobodys_home, rows
from house import House, alive, eventually
from knell.core.agent import Agent
from knell.core.run import Place, Run, State
from scenes import DEAF, SLEEPS, end, frozen, started, stranger

# Root that may not signal other users, on a machine without cgroups: there is no way round a no.
POWERLESS = """
import ctypes, os, sys
CAP_KILL, DROP, NEWNS, PRIVATE, DETACH = 5, 24, 0x20000, (1 << 14) | (1 << 18), 2
libc = ctypes.CDLL(None)
libc.prctl(DROP, CAP_KILL, 0, 0, 0)
done = libc.unshare(NEWNS) or libc.mount(b"none", b"/", None, PRIVATE, None)
for line in open("/proc/self/mountinfo"):
    if " - cgroup2 " in line:
        done = done or libc.umount2(line.split()[4].encode(), DETACH)
if done:
    sys.exit("no mount namespace")
os.execv(sys.executable, [sys.executable, "-m", "knell", *sys.argv[1:]])
"""
BECOMES_NOBODY = "import os, time; os.setgroups([]); os.setgid(65534); os.setuid(65534); "


def test_H34_zero_when_all_were_killed_or_already_dead(house: House) -> None:
    luna = started(house, SLEEPS, name="luna")
    started(house, SLEEPS, name="nova")
    house.run("kill", "nova")
    assert house.run("kill", "luna", "nova").returncode == 0
    assert not alive(luna.pid)
    assert house.run("kill", "luna", "nova", "all").returncode == 0


@pytest.mark.parametrize("target", ["nobody", "tag:nope", "team:nope", "4194303", "session:x"])
def test_H35_one_when_a_target_is_not_found(house: House, target: str) -> None:
    assert house.run("kill", target).returncode == 1


def test_H36_one_when_no_targets_are_specified(house: House) -> None:
    assert house.run("kill").returncode == 1
    assert house.run("kill", "--json").returncode == 1
    assert house.run("kill", "--grace", "1").returncode == 1


@pytest.mark.needs_root
def test_H37_one_when_permission_is_denied(house: House) -> None:
    pid, _ = stranger(house, SLEEPS)
    home = nobodys_home(house)
    as_nobody(house, "adopt", str(pid), "--name", "luna", home=home)
    assert as_nobody(house, "kill", "luna", home=home).returncode == 1
    listed = as_nobody(house, "list", "--json", home=home).stdout
    assert '"state": "running"' in listed
    assert alive(pid)
    end(pid)


@pytest.mark.needs_root
def test_H37_also_when_the_agent_became_another_user(house: House) -> None:
    """As after `sudo`: its keeper asks, the kernel refuses, and nobody claims that it is gone."""

    def powerless(*args: str) -> "subprocess.CompletedProcess[str]":
        return subprocess.run(
            [sys.executable, "-c", POWERLESS, *args],
            env=house.env, cwd=house.root, stdin=subprocess.DEVNULL,
            capture_output=True, text=True, check=False, timeout=300,
        )  # fmt: skip

    agent = house.script(BECOMES_NOBODY + "time.sleep(120)")
    spawned = powerless("spawn", "--in", "headless", "--name", "luna", "--", *agent)
    if spawned.stderr.strip() == "no mount namespace":
        pytest.skip("no mount namespace can be had here")
    pid = house.json("list")["agents"][0]["pid"]
    eventually(lambda: os.stat(f"/proc/{pid}").st_uid == 65534)
    done = powerless("kill", "luna", "--grace", "0.2")
    assert (done.returncode, alive(pid)) == (1, True)
    assert f"Permission denied to kill process group {pid} for 'luna'" in done.stderr
    receipt = house.json("receipt", "luna")
    assert (receipt["result"], receipt["processes"]) == ("permission_denied", [])
    assert [(one["pid"], one["why"]) for one in receipt["survivors"]] == [
        (pid, "permission denied")
    ]
    end(pid)


def test_H38_one_when_there_is_no_tracked_pid(house: House) -> None:
    ghost(house)
    done = house.run("kill", "ghost")
    assert done.returncode == 1
    assert "knell stop ghost" in done.stderr


def test_H39_one_failure_does_not_stop_the_others(house: House) -> None:
    pids = [started(house, SLEEPS, name=name).pid for name in ("luna", "nova")]
    done = house.run("kill", "nobody", "luna", "tag:nope", "nova")
    assert done.returncode == 1
    assert not any(map(alive, pids))


def test_H39_the_worst_exit_code_wins(house: House) -> None:
    """Something survived (3) is worse than not found (1), in whatever order."""
    luna = started(house, SLEEPS, name="luna")
    nova = started(house, DEAF, name="nova")
    with frozen(nova.pid):
        done = house.run("kill", "nova", "nobody", "luna", "--grace", "0.1")
        assert (done.returncode, alive(luna.pid), alive(nova.pid)) == (3, False, True)
        assert f"{nova.pid} is still there" in done.stderr
    eventually(lambda: not alive(nova.pid))


# -- C9, C11 --------------------------------------------------------------------------------------


def test_C9_what_is_over_is_success_and_is_not_ended_again(house: House) -> None:
    started(house, SLEEPS)
    first = house.json("kill", "luna", "--reason", "once")["receipts"][0]
    again = house.json("kill", "luna", "--reason", "twice")
    receipt = again["receipts"][0]
    assert (again["ok"], receipt["result"]) == (True, "already_ended")
    assert (receipt["finished_at"], receipt["detail"]) == (first["finished_at"], "once")
    stopped = [e for e in house.json("events", "luna")["events"] if e["type"] == "life.stopped"]
    assert len(stopped) == 1


def test_C11_a_single_target_without_a_pid_is_refused_and_stays(house: House) -> None:
    ghost(house)
    receipt = house.json("kill", "ghost")["receipts"][0]
    assert (receipt["result"], receipt["pid"]) == ("no_pid", None)
    assert rows(house, "SELECT agent FROM instances") == [("ghost",)]


@pytest.mark.parametrize("target", ["all", "tag:dev"])
def test_C11_a_group_deregisters_those_without_a_pid_and_says_so(house: House, target: str) -> None:
    ghost(house, tag="dev")
    luna = started(house, SLEEPS, tag="dev")
    done = house.run("kill", target)
    assert (done.returncode, alive(luna.pid)) == (0, False)
    assert "Deregistered 'ghost', which had no tracked PID" in done.stdout
    assert "None" not in done.stdout
    assert rows(house, "SELECT agent FROM instances") == []


def test_C11_an_agent_of_which_only_the_pane_is_known_is_ended_through_it(house: House) -> None:
    house.tmux("new-session", "-d", "-s", "work", "sleep", "1000")
    told = "#{pane_id} #{pid} #{pane_pid} #{socket_path}"
    pane, server, pid, socket = house.tmux("display-message", "-p", "-t", "=work:", told).split()
    world = house.knell.world
    place = Place("tmux", pane, socket, int(server), "work")
    run = Run("run-1", "luna", world.host, State.RUNNING, place, world.now())
    world.store.runs.add(Agent("luna", "command", "/", ("sleep", "1000"), place="tmux"), run)
    house.tmux("set-option", "-p", "-t", pane, "@knell_run", run.id)
    assert alive(int(pid))
    assert house.run("kill", "luna").returncode == 0
    assert not alive(int(pid))
    assert pane not in house.panes()
