"""P27: in a time namespace every process seems to have begun at another time, and is the same."""

import json
import shutil
import subprocess
import sys
from collections.abc import Sequence

import pytest

import several
from contracts.t_scenes import Puppet, leader, member
from house import House, alive
from scenes import DEAF, started
from watchers import runs

SHIFTED = ("unshare", "--user", "--map-root-user", "--time", "--boottime", "864000")
SCRUBBED = ("KNELL_RUN", "KNELL_TOKEN", "KNELL_AGENT", "KNELL_HEARTBEAT")


@pytest.fixture(autouse=True)
def shifted() -> None:
    if not shutil.which("unshare"):
        pytest.skip("unshare is not installed")
    tried = subprocess.run([*SHIFTED, "true"], capture_output=True, text=True, check=False)
    if tried.returncode:
        pytest.skip(f"no time namespace here: {tried.stderr.strip()}")


def inside(house: House, *words: str) -> subprocess.CompletedProcess[str]:
    """`knell WORDS` where the machine seems to have booted ten days earlier."""
    return subprocess.run(
        [*SHIFTED, sys.executable, "-m", "knell", *words],
        env=house.env, cwd=house.root, capture_output=True, text=True, check=False, timeout=300,
    )  # fmt: skip


def without_cgroup(house: House) -> None:
    """As where the kernel lets knell make none: then nothing else tells whose a process is."""
    for run in runs(house):
        if run.cgroup:
            house.knell.world.enclosures.release(run.cgroup)


LOOKS: Sequence[tuple[str, ...]] = (
    ("list",),
    ("status",),
    ("tree", "luna"),
    ("reap", "--yes"),
    ("watch", "--once"),
)


@pytest.mark.parametrize("layer", ["", "portable"])
def test_P27_no_verb_takes_a_living_agent_for_gone(house: House, layer: str) -> None:
    house.env["KNELL_PROCESSES"] = layer
    luna = started(house, DEAF, restart=3)
    without_cgroup(house)
    out = house.root / "ends"
    argv = [*SHIFTED, *several.argv(out, LOOKS)]
    subprocess.run(argv, env=house.env, cwd=house.root, check=True, timeout=300)
    for done in several.ends(out):
        assert "keeper is gone" not in done.stdout, done
    assert alive(luna.pid)
    (view,) = json.loads(inside(house, "list", "--json").stdout)["agents"]
    assert (view["state"], view["run"], view["note"]) == ("running", luna.run.id, "")
    assert [run.id for run in runs(house)] == [luna.run.id]


def test_P27_an_end_there_is_proven_by_the_keeper(house: House) -> None:
    luna = started(house, DEAF)
    without_cgroup(house)
    done = inside(house, "kill", "luna", "--grace", "0", "--json")
    (receipt,) = json.loads(done.stdout)["receipts"]
    assert (receipt["proof"], receipt["warnings"]) == ("proven", [])
    assert not alive(luna.pid)


def test_P27_what_began_there_is_seen_from_outside(house: House) -> None:
    done = inside(house, "spawn", "--in", "headless", "--name", "luna", "--", "sleep", "99")
    assert done.returncode == 0, done.stderr
    (view,) = house.json("list")["agents"]
    assert (view["state"], view["note"]) == ("running", "")
    (receipt,) = house.json("kill", "luna")["receipts"]
    assert receipt["proof"] == "proven"


def test_P27_an_agent_stays_that_agent_there(house: House) -> None:
    boss, luna = leader(house), member(house, "luna")
    without_cgroup(house)
    knell = (sys.executable, "-m", "knell", "kill", "boss", "--yes")
    said = luna.says("exec", *SHIFTED, *knell, without=SCRUBBED)
    assert (said.code, "no agent ends a leader" in said.err) == (1, True), said
    assert alive(boss.pid)


def test_P27_a_shift_by_part_of_a_tick_is_said(house: House) -> None:
    """No start can be compared there, so that nothing is concluded from one."""
    luna = Puppet(house, "luna")
    source = f"""
import ctypes, os, sys
libc = ctypes.CDLL(None, use_errno=True)
if libc.unshare(0x10000080):  # a user and a time namespace
    sys.exit(99)
open("/proc/self/timens_offsets", "w").write("boottime 1000 5000000")
if os.fork():
    sys.exit(os.waitstatus_to_exitcode(os.wait()[1]))
os.execv({sys.executable!r}, [{sys.executable!r}, "-m", "knell", "list", "--json"])
"""
    argv = (sys.executable, "-c", source)
    done = subprocess.run(
        argv, env=house.env, cwd=house.root, capture_output=True, text=True, check=False
    )
    if done.returncode == 99:
        pytest.skip("no time namespace can be made without a program for it")
    (view,) = json.loads(done.stdout)["agents"]
    assert "part of a tick" in view["note"], done
    assert alive(luna.pid)
