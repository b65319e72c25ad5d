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
now, stamped, looked, read = {}, set(), [], []
def live_process(pid):
    looked.append(pid)
    return now.get(pid)
def environment_of(pid):
    read.append(pid)
    return {"KNELL_RUN": "run"} if pid in stamped else {}
ledger.proc.stat_of = lambda pid: Row(pid, 1, unique=1000)
ledger.proc.pids, ledger.proc.live_process = lambda: list(now), live_process
ledger.proc.environment_of, ledger.proc.argv_of = environment_of, lambda pid: ()
ledger.has_members = lambda number: False
os.getpgrp = lambda: 100
os.getpgid = lambda pid: now[pid].pgid if pid in now else 0
os.getsid = lambda pid: now[pid].sid if pid in now else 100
family = ledger.Ledger(100, "/runs/run", [], "")
family.agent = 101
told = []
for look in looks:
    stamped = set(look.get("stamped", ()))
    now = {row["pid"]: Row(**row) for row in look["rows"]}
    family.stamps, family.calm = not look.get("note"), look.get("calm", 0)
    looked, read = [], []
    ours = sorted(process.pid for process in family.walk())
    told.append({"ours": ours, "looked": sorted(looked), "read": sorted(read)})
print(json.dumps(told))
"""


def found(*looks: dict[str, Any]) -> list[list[int]]:
    """What each of these looks finds of the run."""
    return [told["ours"] for told in played(*looks)]


def played(*looks: dict[str, Any]) -> list[dict[str, list[int]]]:
    """What each look finds, whom it has looked at and whose environment it has read."""
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


# -- what a look costs, and what it must not take for granted --------------------------------------

STRANGERS = [row(pid, 1, sid=pid) for pid in range(300, 340)]


def test_only_the_runs_own_and_what_has_changed_is_looked_at_again() -> None:
    quiet = {"rows": [AGENTS_ROW, *STRANGERS]}
    moved = row(305, 1, sid=306, pgid=306)
    newcomer = row(400, 1, sid=400)
    others = [one for one in STRANGERS if one["pid"] != 305]
    looks = (quiet, quiet, {"rows": [AGENTS_ROW, *others, moved, newcomer]}, quiet | {"calm": 2})
    first, second, third, last = played(*looks)
    everybody = [AGENT, *range(300, 340)]
    assert first["looked"] == everybody
    assert second["looked"] == [AGENT]
    assert third["looked"] == [AGENT, 305, 400]
    assert last["looked"] == everybody  # the last look before an end takes nothing for granted


def test_an_environment_is_read_once_and_once_more_before_the_end() -> None:
    quiet = {"rows": [AGENTS_ROW, *STRANGERS]}
    noted, first, second, last = played(quiet | {"note": True}, quiet, quiet, quiet | {"calm": 2})
    strangers = [*range(300, 340)]
    read = [noted["read"], first["read"], second["read"], last["read"]]
    assert read == [[], strangers, [], strangers]


def test_a_stranger_is_no_child_because_its_dead_parents_number_is_a_members_now() -> None:
    """It was seen once below 300, which then died and whose number the agent's child has got."""
    stranger, orphan = row(301, 300, sid=290, pgid=290), row(301, 1, sid=290, pgid=290)
    parent, child = row(300, 1, sid=290, pgid=290), row(300, AGENT, sid=100, start=9)
    looks = ({"rows": [AGENTS_ROW, parent, stranger]}, {"rows": [AGENTS_ROW, child, orphan]})
    assert found(*looks) == [[101], [101, 300]]


def test_what_is_below_a_daemon_is_found_with_it_though_both_were_seen_before() -> None:
    """The stamp of the daemon is read at the end only, and its child has none."""
    daemon, child = row(301, 1, sid=301), row(302, 301, sid=302)
    rows = {"rows": [AGENTS_ROW, daemon, child]}
    assert found(rows | {"note": True}, rows | {"stamped": [301]})[1] == [101, 301, 302]


def test_whoever_took_a_strangers_number_and_place_is_found_by_the_last_look() -> None:
    """Same number, same group and session, but now it is a daemon of the run: with its stamp."""
    before, after = row(301, 1, sid=301), row(301, 1, sid=301, start=9)
    rows = {"rows": [AGENTS_ROW, after], "stamped": [301]}
    looks = ({"rows": [AGENTS_ROW, before]}, rows | {"calm": 2})
    assert found(*looks) == [[101], [101, 301]]
