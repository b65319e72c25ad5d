"""The ledger of a keeper that adopts nobody, over recorded tables: who is the run's, who is not."""

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from knell.processes import keepers as launching

KEEPER, AGENT = 100, 101
# A keeper's files are scripts beside each other: they are loaded by a bare interpreter, as it does.
PLAY = """
import json, os, sys
keeper, looks = sys.argv[1], json.loads(sys.argv[2])
sys.argv = ["keeper.py"]
sys.path[:0] = [keeper, keeper.replace("keeper", "os")]
import ledger
class Row(ledger.Process):
    __slots__ = ("unique", "parent_unique")
    def __init__(self, pid, ppid, sid=100, pgid=0, unique=0, parent=0, start=5):
        self.pid, self.ppid, self.sid, self.pgid = pid, ppid, sid, pgid or pid
        self.unique, self.parent_unique, self.start = unique, parent, start
        self.name, self.state, self.tty = "node", "S", 0
    def command(self):
        return "node"
now = {}
ledger.proc.everybody = lambda since=0: list(now.values())
ledger.proc.stat_of = lambda pid: Row(pid, 1, unique=1000)
ledger.proc.environment_of = lambda pid: {"KNELL_RUN": "run"} if pid in stamped else {}
ledger.proc.argv_of = lambda pid: ()
ledger.proc.tmux_servers = lambda: []
ledger.has_members = lambda number: False
os.getpgrp = os.getsid = lambda *_: 100
stamped = set()
family = ledger.Ledger(100, "/runs/run", [], "")
family.agent = 101
told = []
for look in looks:
    stamped = set(look.get("stamped", ()))
    now = {row["pid"]: Row(**row) for row in look["rows"]}
    told.append(sorted(process.pid for process in family.walk()))
print(json.dumps(told))
"""


def found(*looks: dict[str, Any]) -> list[list[int]]:
    """What each of these looks finds of the run."""
    folder = str(Path(launching.KEEPER).parent)
    argv = [sys.executable, "-I", "-S", "-c", PLAY, folder, json.dumps(looks)]
    done = subprocess.run(argv, capture_output=True, text=True, check=False, timeout=300)
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


def row(pid: int, ppid: int, **facts: int) -> dict[str, int]:
    return {"pid": pid, "ppid": ppid, **facts}


AGENTS_ROW = row(AGENT, KEEPER, unique=1001, parent=1000)


@pytest.mark.parametrize(
    ("what", "daemon", "ours"),
    [
        ("its parent was seen", row(103, 1, sid=103, unique=1003, parent=1002), [101, 103]),
        ("its parent was seen by nobody", row(103, 1, sid=103, unique=1003, parent=999), [101]),
    ],
)
def test_a_reparented_daemon_is_found_by_its_first_parent(
    what: str, daemon: dict[str, int], ours: list[int]
) -> None:
    """macOS: a child keeps its parent's unique number, also when that one is dead."""
    between = row(102, AGENT, unique=1002, parent=1001)
    first, last = found({"rows": [AGENTS_ROW, between]}, {"rows": [AGENTS_ROW, daemon]})
    assert first == [101, 102]
    assert last == ours, what


def test_one_that_was_seen_below_the_agent_stays_known() -> None:
    child = row(102, AGENT, sid=102)
    orphan = row(102, 1, sid=102)
    assert found({"rows": [AGENTS_ROW, child]}, {"rows": [orphan]}) == [[101, 102], [102]]


def test_whoever_got_its_number_is_a_stranger() -> None:
    child = row(102, AGENT, sid=102)
    stranger = row(102, 1, sid=102, start=9)
    assert found({"rows": [AGENTS_ROW, child]}, {"rows": [stranger]}) == [[101, 102], []]


def test_a_session_that_the_run_made_is_the_runs() -> None:
    leader, member = row(102, AGENT, sid=102), row(104, 1, sid=102, pgid=102)
    looks = ({"rows": [AGENTS_ROW, leader, member]}, {"rows": [member]})
    assert found(*looks) == [[101, 102, 104], [104]]


def test_but_not_once_its_number_was_free() -> None:
    leader, later = row(102, AGENT, sid=102), row(104, 1, sid=102, pgid=102)
    assert found({"rows": [AGENTS_ROW, leader]}, {"rows": []}, {"rows": [later]})[2] == []


def test_the_shells_own_group_and_session_are_not() -> None:
    neighbour = row(105, 1, sid=100, pgid=100)
    assert found({"rows": [AGENTS_ROW, neighbour]}) == [[101]]


def test_the_stamp_is_enough() -> None:
    daemon = row(106, 1, sid=106)
    assert found({"rows": [AGENTS_ROW, daemon], "stamped": [106]}) == [[101, 106]]
