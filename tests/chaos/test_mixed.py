"""Many hands at once: every verb, from many processes, some cut short; then the books are read."""

import contextlib
import json
import os
import random
import signal
import sqlite3
import subprocess
from collections import Counter
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest

from chaos.conftest import is_long
from chaos.mixing import Said, Worker, mixed, strangers
from chaos.report import Tally
from house import House, alive, descendants, eventually, told
from knell.core.run import TRANSITIONS, Happening, State, next_state
from knell.processes.os.linux import stamp_of
from knell.stores.records import unpacked

AT_ONCE, SECONDS = (100, 60.0) if is_long() else (12, 8.0)
EXIT_CODES = {0, 1, 2, 3}
CUT_CODES = {*EXIT_CODES, 130, -2, -9, -15, 143}
BOOKED = ("ended", "let_go", "already_ended")  # what the receipt of an ended run may say
HAPPENINGS = {
    "life.started": (Happening.BORN,),
    "life.stopping": (Happening.END_ASKED,),
    "life.spared": (Happening.SPARED,),
    "life.stopped": (Happening.GONE, Happening.LET_GO),
}


@pytest.fixture
def after(house: House, chance: random.Random) -> Iterator[list[Worker]]:
    """Everybody who typed, once the time is up."""
    make_repository(house)
    workers = mixed(house, chance, AT_ONCE, SECONDS)
    try:
        yield workers
    finally:
        house.knell.world.reconnect()
        house.run("kill", "all", "--force", "--yes", timeout=300)
        for worker in workers:
            worker.tidy()


def make_repository(house: House) -> None:
    repository = house.root / "repo"
    for words in (("init", "-q", str(repository)),
                  ("-C", str(repository), "-c", "user.name=x", "-c", "user.email=x@x",
                   "commit", "-q", "--allow-empty", "-m", "begin")):  # fmt: skip
        subprocess.run(["git", *words], env=house.env, check=True, timeout=300)


@pytest.mark.stress
def test_a_hundred_hands_leave_the_books_true(
    house: House, after: list[Worker], tally: Tally
) -> None:
    """However many commands run at once and are cut short, every process has a run or a receipt"""
    said = [one for worker in after for one in worker.said]
    assert len(said) >= AT_ONCE
    for one in said:
        check_said(one)
    finish(house)
    check_books(house, after)
    check_database(house)
    ended = house.run("kill", "all", "--yes", "--grace", "0.3", timeout=300)
    assert ended.returncode == 0, ended
    assert house.json("list")["agents"] == []
    assert house.json("status")["orphans"] == []
    for worker in after:
        worker.tidy()
    nobody_else(house, set())
    check_database(house)
    check_files(house)
    tally.broke("command among many at once", len(said))
    tally.broke("command cut by INT, TERM or KILL", sum(1 for one in said if one.cut))


# -- what was said ---------------------------------------------------------------------------------


def check_said(one: Said) -> None:
    assert one.code is not None, f"hung: {one}"
    assert one.code in (CUT_CODES if one.cut else EXIT_CODES), one
    if "Traceback" in one.err:  # by Python itself, interrupted before knell's first line
        assert one.cut == signal.SIGINT, one
        assert one.err.rstrip().endswith("KeyboardInterrupt"), one
    if one.cut:
        return
    if "--json" in one.argv or one.argv[0] == "invoke":
        json.loads(one.out) if one.code != 2 or one.out else None


# -- who is there ----------------------------------------------------------------------------------


def finish(house: House) -> None:
    """One more round of the watch finishes what was cut; nobody is left on the way."""

    def settled() -> bool:
        house.knell.watch_once()
        return all(run.state is State.RUNNING for run in house.knell.world.store.runs.live())

    eventually(settled)


def check_books(house: House, workers: list[Worker]) -> None:
    shown = {view.name: view for view in house.knell.list()}
    runs = house.knell.world.store.runs.live()
    assert len({run.agent for run in runs}) == len(runs), "two live runs of one name"
    assert {run.agent for run in runs} == set(shown)
    for run in runs:
        assert run.process, run
        assert alive(run.process.pid), run
    owned = {process.pid for run in runs for process in (run.keeper, run.process) if process}
    for orphan in house.knell.world.store.runs.orphans():  # let go of; its keeper stays above it
        run = house.knell.world.store.runs.run(orphan.run)
        owned |= {orphan.process.pid, run.keeper.pid if run and run.keeper else 0} - {0}
    nobody_else(house, owned | set(strangers(workers)))


def nobody_else(house: House, owned: set[int]) -> None:
    """What has just ended may take a moment to go; what stays is named."""
    with contextlib.suppress(AssertionError):
        eventually(lambda: not outsiders(house, owned))
    assert outsiders(house, owned) == []


def outsiders(house: House, owned: set[int]) -> list[str]:
    """Processes of this test that belong to no run, no orphan and no tmux server."""
    mine = set(owned)
    for pid in owned:
        mine |= set(descendants(pid))
    servers = set(house.tmux("display-message", "-p", "#{pid}").split())
    left = [pid for pid in descendants() if pid not in mine and str(pid) not in servers]
    return [f"{pid} {told(pid)[:300]} {trail_of(house, pid)}" for pid in left]


def trail_of(house: House, pid: int) -> list[str]:
    """What is on record of the run that it bears the stamp of."""
    run = stamp_of(pid) or told(pid).partition("/runs/")[2][:23]
    events = house.knell.events(limit=10_000)
    return [f"{one.type} {one.data.get('outcome', '')}" for one in events if run and one.run == run]


# -- what is on record -----------------------------------------------------------------------------


def check_database(house: House) -> None:
    with closing(sqlite3.connect(house.state / "knell.db", timeout=300)) as db:
        assert db.execute("PRAGMA integrity_check").fetchall() == [("ok",)]
        assert db.execute("PRAGMA foreign_key_check").fetchall() == []
        receipts = Counter(
            run
            for run, data in db.execute("SELECT run, data FROM receipts")
            if json.loads(unpacked(data))["result"] in BOOKED
        )
        for run, outcome in db.execute("SELECT id, outcome FROM runs"):
            expected = 0 if outcome is None else 1
            assert receipts[run] == expected, (run, outcome, receipts[run])
            events = [
                type
                for (type,) in db.execute(
                    "SELECT type FROM events WHERE run = ? AND type LIKE 'life.%' ORDER BY id",
                    [run],
                )
            ]
            check_trail(run, events, ended=outcome is not None)
        live = "SELECT count(*) FROM runs WHERE outcome IS NULL"
        [(alive_runs,)] = db.execute(live)
        [(instances,)] = db.execute("SELECT count(*) FROM instances")
        assert alive_runs == instances


def check_trail(run: str, events: list[str], *, ended: bool) -> None:
    """The trail is a path of the lifecycle's table, and ends where the run is."""
    assert events[0] in {"life.spawning", "life.started"}, (run, events)
    states = {State.SPAWNING if events[0] == "life.spawning" else State.RUNNING}
    for event in events[1:]:
        if event in HAPPENINGS:
            pairs = [(state, one) for state in states for one in HAPPENINGS[event]]
            states = {next_state(*pair) for pair in pairs if pair in TRANSITIONS}
        assert states, f"no legal path: {run} {events}"
    assert (State.ENDED in states) is ended, (run, events)


def check_files(house: House) -> None:
    """No order with somebody's environment, no half-written file, no lock of git's.

    What an agent with --restart was started with is kept as long as it may be started again."""
    left = list((house.state / "runs").glob("*/launch"))
    left += [path for path in house.state.iterdir() if path.suffix in {".tmp", ".new"}]
    left += list((house.root / "repo" / ".git").rglob("*.lock"))
    assert not left, [str(path) for path in left]
    assert os.listdir(Path(house.root / "repo"))
