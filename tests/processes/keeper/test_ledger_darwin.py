"""A keeper's ledger on macOS, from the bytes of the kernel to who is the run's: recorded tables."""

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

from knell.processes import keepers as launching
from knell.processes.os import portable_proc

# As a keeper loads them: scripts beside each other, `--layer darwin`, with a recorded kernel.
PLAY = """
import json, os, sys
keeper, library, looks = sys.argv[1], sys.argv[2], json.loads(sys.argv[3])
sys.argv = ["keeper.py", "RUNDIR", "--layer", "darwin", library]
sys.path[:0] = [keeper, keeper.replace("keeper", "os")]
import ledger, darwin
class Kernel:
    nanoseconds = 1.0
    def pids(self):
        return list(now)
    def session(self, pid):
        return now[pid].get("sid", 100)
    def told(self, pid, flavour, size):
        row = now.get(pid)
        if row is None or flavour == darwin.TASKINFO:
            return b""
        numbers = (b"u" * 16, row["unique"], row["parent"], row.get("version", 1), 0, 0, 0)
        if flavour == darwin.UNIQUE:
            return darwin.NUMBERS.pack(*numbers)
        ids = (0, row.get("status", 2), 0, pid, row["ppid"], *(0,) * 7)
        group = (0, row.get("pgid", pid), 0, 0xFFFFFFFF, 0, 0)
        return darwin.RECORD.pack(*ids, b"node", b"", *group, 1_700_000_000, 0, *numbers)
now = {100: {"ppid": 1, "unique": 1000, "parent": 1}}
darwin.kernel, darwin.pids = Kernel(), lambda: list(now)
darwin.environment_of, darwin.argv_of = lambda pid: {}, lambda pid: ()
ledger.has_members = lambda number: False
os.getpgrp = lambda: 100
os.getpgid = lambda pid: now[pid].get("pgid", pid) if pid in now else 0
os.getsid = lambda pid: now[pid].get("sid", 100) if pid in now else 100
family = ledger.Ledger(100, "/runs/run", [], "")
family.agent = 101
told = []
for look in looks:
    now = {100: now[100], **{int(pid): row for pid, row in look.items()}}
    told.append(sorted(process.pid for process in family.walk()))
print(json.dumps(told))
"""
AGENT = {"ppid": 100, "unique": 1001, "parent": 1000}


def found(*looks: dict[int, dict[str, Any]]) -> list[list[int]]:
    """What each of these looks finds of the run."""
    folder = str(Path(launching.KEEPER).parent)
    words = (folder, portable_proc.LIBRARY, json.dumps(looks))
    done = subprocess.run(
        [sys.executable, "-I", "-S", "-c", PLAY, *words],
        capture_output=True, text=True, check=False, timeout=300,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


def test_a_reparented_daemon_is_found_by_the_parent_that_was_seen_once() -> None:
    between = {"ppid": 101, "unique": 1002, "parent": 1001}
    daemon = {"ppid": 1, "sid": 103, "unique": 1003, "parent": 1002}
    assert found({101: AGENT, 102: between}, {101: AGENT, 103: daemon}) == [[101, 102], [101, 103]]


def test_the_hole_is_an_intermediate_that_died_before_anybody_looked() -> None:
    daemon = {"ppid": 1, "sid": 103, "unique": 1003, "parent": 1002}
    assert found({101: AGENT}, {101: AGENT, 103: daemon}) == [[101], [101]]


def test_a_chain_of_daemons_is_found_as_long_as_each_was_seen() -> None:
    """Also when all of them but the last are dead by now."""
    first = {"ppid": 1, "sid": 103, "unique": 1003, "parent": 1001}
    second = {"ppid": 1, "sid": 104, "unique": 1004, "parent": 1003}
    third = {"ppid": 1, "sid": 105, "unique": 1005, "parent": 1004}
    looks = ({101: AGENT, 103: first}, {103: first, 104: second}, {105: third})
    assert found(*looks) == [[101, 103], [103, 104], [105]]


def test_a_reused_pid_is_a_strangers_though_it_began_within_the_same_tick() -> None:
    child = {"ppid": 101, "sid": 102, "unique": 1002, "parent": 1001}
    stranger = {"ppid": 1, "sid": 102, "unique": 1009, "parent": 1}
    assert found({101: AGENT, 102: child}, {102: stranger}) == [[101, 102], []]


def test_an_exec_changes_the_version_and_not_who_it_is() -> None:
    child = {"ppid": 101, "sid": 102, "unique": 1002, "parent": 1001}
    looks = ({101: AGENT, 102: child}, {102: child | {"ppid": 1, "version": 9}})
    assert found(*looks) == [[101, 102], [102]]


def test_who_began_before_the_keeper_is_left_out_by_its_number() -> None:
    """Its clock may have been put back: the start says nothing."""
    old = {"ppid": 101, "unique": 999, "parent": 1001}
    assert found({101: AGENT, 102: old}) == [[101]]


def test_a_zombie_is_nobody() -> None:
    assert found({101: AGENT, 102: {"ppid": 101, "unique": 1002, "parent": 1001, "status": 5}}) == [
        [101]
    ]
