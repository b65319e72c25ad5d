"""Files cut short, emptied or with flipped bytes: said, never taken for another truth."""

import contextlib
import os
import random
import shutil
import sqlite3
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from chaos.report import Tally
from complaints import FAILED, complaint
from house import House, alive, eventually
from knell.core.errors import KnellError
from knell.core.receipt import Result
from scenes import SLEEPS, Played, started
from watchers import EXITS_WHEN_TOLD, gone, let_exit

FEW = 12  # of one kind of damage, in the short version
PAGE = 4096


@pytest.fixture
def luna(house: House) -> Played:
    """An agent that lives, and one that has ended, on record; no connection of ours is open."""
    played = started(house, SLEEPS)
    started(house, SLEEPS, name="old")
    house.kill("old")
    house.knell.close()
    return played


@contextlib.contextmanager
def put_back(house: House) -> Iterator[Path]:
    """The database, for damage; afterwards it is what it was."""
    db, kept = house.state / "knell.db", house.root / "kept"
    with contextlib.closing(sqlite3.connect(db)) as open_one:
        open_one.execute("PRAGMA wal_checkpoint(TRUNCATE)")
    shutil.copyfile(db, kept)
    try:
        yield db
    finally:
        house.knell.close()
        for path in house.state.glob("knell.db*"):
            path.unlink()
        shutil.copyfile(kept, db)
        db.chmod(0o600)


def asked_everything(house: House) -> list[str]:
    """Looks at all there is, in this process; what was refused. Anything but our own errors is a
    fault of ours, and fails the test."""
    refused: list[str] = []
    knell = house.knell

    def every_page() -> None:  # as doctor reads them; the others need not
        knell._world.store.check()

    asks = (
        lambda: knell.list(with_ended=True),
        lambda: knell.show("luna"),
        lambda: knell.receipt("old"),
        knell.events,
        lambda: knell.snapshot(look=False),  # a look notes what it saw, as the watch does
        every_page,
    )
    for ask in asks:
        try:
            ask()
        except KnellError as error:
            refused.append(str(error))
    knell.close()
    return refused


# -- the database ------------------------------------------------------------------------------


def lengths(chance: random.Random, size: int, number: int) -> list[int]:
    edges = [1, 100, 511, 512, PAGE - 1, PAGE, PAGE + 1, size - PAGE, size - 1]
    return edges + [chance.randrange(1, size) for _ in range(number)]


def test_a_database_cut_at_any_length(
    house: House, luna: Played, chance: random.Random, often: int, tally: Tally
) -> None:
    """A database that was cut short is said, left as it is, and costs no agent its life"""
    with put_back(house) as db:
        whole = db.read_bytes()
        full = len(whole.rstrip(b"\0"))  # SQLite reads zeros where a page is cut: nothing is lost
        for length in lengths(chance, full, FEW * often):
            db.write_bytes(whole[:length])
            assert asked_everything(house), f"cut to {length} bytes, and nobody noticed"
            assert db.read_bytes() == whole[:length], "knell left it as it was"
        db.write_bytes(whole[: len(whole) // 2])
        [_, hint] = complaint(house.run("kill", "luna"), FAILED)
        assert hint
        assert alive(luna.pid)
        assert "BAD store" in house.run("doctor").stdout
    tally.broke("database cut short", 9 + FEW * often)
    ends_as_ever(house, luna)


def test_an_emptied_database_is_not_a_new_one(house: House, luna: Played, tally: Tally) -> None:
    """A database of no bytes beside the directories of runs is a lost one, and is restored"""
    house.knell.close()
    os.truncate(house.state / "knell.db", 0)
    done = house.run("list", "--names")
    assert done.stdout == "luna\n"
    assert "was lost; restored 2 runs" in done.stderr
    assert alive(luna.pid)
    ends_as_ever(house, luna)
    tally.broke("database emptied")


def test_an_empty_file_without_runs_is_a_new_store(house: House) -> None:
    """Where nothing ever ran, an empty database file is a new one"""
    house.knell.close()
    for path in house.state.iterdir():
        path.unlink()
    (house.state / "knell.db").touch(0o600)
    (house.state / "runs").mkdir()
    assert house.run("list").returncode == 0


def test_flipped_bytes(
    house: House, luna: Played, chance: random.Random, often: int, tally: Tally
) -> None:
    """Flipped bytes in the database make no command fall over, and end nobody"""
    with put_back(house) as db:
        whole = db.read_bytes()
        noticed = 0
        for _ in range(3 * FEW * often):
            db.write_bytes(flipped(chance, whole))
            noticed += bool(asked_everything(house))
            for beside in ("-wal", "-shm"):
                db.with_name(db.name + beside).unlink(missing_ok=True)
        assert noticed, "some of it must be seen"
        assert alive(luna.pid)
        tally.broke("database with flipped bytes", 3 * FEW * often)
    ends_as_ever(house, luna)


def test_a_table_whose_description_is_no_text(house: House, luna: Played) -> None:
    """A database whose own description is garbled is said to be damaged"""
    with put_back(house) as db:
        db.write_bytes(db.read_bytes().replace(b"CREATE TABLE", b"CREATE \xa0ABLE"))
        what, _ = complaint(house.run("list"), FAILED)
        assert "damaged" in what
        assert alive(luna.pid)
    ends_as_ever(house, luna)


def flipped(chance: random.Random, whole: bytes) -> bytes:
    damaged = bytearray(whole)
    for _ in range(chance.choice([1, 3, 30])):
        damaged[chance.randrange(len(whole))] ^= 1 << chance.randrange(8)
    return bytes(damaged)


def test_a_log_of_the_database_that_is_torn(
    house: House, chance: random.Random, often: int, tally: Tally
) -> None:
    """A log that a power cut tore costs what it held, never the store"""
    db = house.state / "knell.db"
    wal = db.with_name("knell.db-wal")
    house.knell.list()
    with contextlib.closing(sqlite3.connect(db)) as reader:  # who reads keeps the log from ending
        reader.execute("SELECT count(*) FROM runs").fetchall()
        luna = started(house, SLEEPS)
        house.knell.close()
        files = db.read_bytes(), wal.read_bytes()
    assert len(files[1]) > PAGE
    for number in range(2 * FEW * often):
        torn = (
            flipped(chance, files[1]) if number % 2 else files[1][: chance.randrange(len(files[1]))]
        )
        for path, content in zip((db, wal), (files[0], torn), strict=True):
            path.write_bytes(content)
        db.with_name("knell.db-shm").unlink(missing_ok=True)
        asked_everything(house)
        assert alive(luna.pid)
        house.knell.world.store.check()
        house.knell.close()
    tally.broke("log of the database torn", 2 * FEW * often)
    for path, content in zip((db, wal), files, strict=True):
        path.write_bytes(content)
    ends_as_ever(house, luna)


def ends_as_ever(house: House, played: Played) -> None:
    """Once the fault is gone, one kill settles it."""
    [[receipt]] = [slain.receipts for slain in house.kill(played.run.agent)]
    assert receipt.result is Result.ENDED
    assert not alive(played.pid)


# -- somebody keeps it locked ------------------------------------------------------------------

LOCKS = """
import sqlite3, sys, os, time
db = sqlite3.connect(sys.argv[1], isolation_level=None)
db.execute("BEGIN EXCLUSIVE")
open(sys.argv[2], "w").close()
while not os.path.exists(sys.argv[3]): time.sleep(0.01)
db.execute("ROLLBACK")
"""


@contextlib.contextmanager
def locked(house: House) -> Iterator[Path]:
    """Another process holds the store until the file that is given comes to be."""
    held, go = house.root / "held", house.root / "let-go"
    argv = [sys.executable, "-c", LOCKS, str(house.state / "knell.db"), str(held), str(go)]
    other = subprocess.Popen(argv)
    try:
        eventually(held.exists)
        yield go
    finally:
        go.touch()
        other.wait(300)


def test_a_store_that_stays_locked_saves_nobody(house: House, tally: Tally) -> None:
    """Whoever keeps the store locked saves no agent, and ending many waits for it only once"""
    agents = [started(house, SLEEPS, name=f"agent-{number}") for number in range(4)]
    house.knell.close()
    with locked(house):
        # Four claims, rungs and endings: waiting for each would take two minutes.
        done = house.run("kill", "all", timeout=300)
        assert done.returncode == 0, done.stderr
        assert "locked" in done.stderr
        assert not any(alive(one.pid) for one in agents)
    listed = {view.name: view for view in house.knell.list(with_ended=True)}
    assert {listed[one.run.agent].outcome for one in agents} == {"killed"}
    tally.broke("store locked for longer than anybody waits")


def test_a_lock_that_is_let_go_in_time_is_waited_for(house: House, tally: Tally) -> None:
    """A store that is locked for a moment is waited for: nothing is missing afterwards"""
    luna = started(house, SLEEPS)
    house.knell.close()
    with locked(house) as go:
        argv = [sys.executable, "-m", "knell", "kill", "luna"]
        kill = subprocess.Popen(argv, env=house.env, stderr=subprocess.PIPE)
        eventually(lambda: "knell.db" in open_files(kill.pid))
        go.touch()
        assert b"could not be written" not in kill.communicate(timeout=300)[1]
    assert kill.returncode == 0
    assert not alive(luna.pid)
    assert house.knell.receipt("luna").outcome == "killed"
    tally.broke("store locked for a moment")


def open_files(pid: int) -> str:
    with contextlib.suppress(OSError):
        return " ".join(os.readlink(fd) for fd in Path(f"/proc/{pid}/fd").iterdir())
    return ""


# -- the runs' directories ---------------------------------------------------------------------


def cut(path: Path, chance: random.Random) -> None:
    os.truncate(path, chance.randrange(path.stat().st_size))


def test_a_journal_cut_under_a_living_agent(
    house: House, chance: random.Random, often: int, tally: Tally
) -> None:
    """A keeper's journal cut in half neither ends an agent nor saves it"""
    for number in range(4 * often):
        played = started(house, SLEEPS, name=f"luna-{number}")
        rundir = Path(house.knell.world.rundir(played.run.id))
        cut(rundir / "journal", chance)
        assert played.run.agent in [view.name for view in house.knell.list()]
        ends_as_ever(house, played)
        assert house.knell.receipt(played.run.agent).outcome == "killed"
    tally.broke("journal cut under a living agent", 4 * often)


def test_what_a_keeper_left_is_cut(
    house: House, chance: random.Random, often: int, tally: Tally
) -> None:
    """An end whose journal is cut in half is still an end, with what can be known of it"""
    for number in range(4 * often):
        played = started(house, EXITS_WHEN_TOLD, name=f"luna-{number}")
        rundir = Path(house.knell.world.rundir(played.run.id))
        let_exit(house, 3)
        gone(played.pid, played.keeper)
        (house.root / "go").unlink()
        cut(rundir / "journal", chance)
        receipt = house.knell.receipt(played.run.agent)
        assert receipt.outcome in ("failed", "lost"), receipt
        assert receipt.reason, receipt
        assert receipt.proof, receipt
    tally.broke("journal cut after the end", 4 * often)


def test_a_receipt_that_could_not_be_written_whole(
    house: House, chance: random.Random, often: int, tally: Tally
) -> None:
    """A receipt that was left in the run's directory and torn is not believed"""
    for number in range(4 * often):
        played = started(house, EXITS_WHEN_TOLD, name=f"luna-{number}")
        world = house.knell.world
        left = Path(world.rundir(played.run.id)) / "receipt.json"
        preview = house.kill(played.run.agent, dry_run=True)[0].receipts[0]
        assert world.leave_receipt(played.run.id, preview._replace(outcome="killed"))
        cut(left, chance)
        let_exit(house, 3)
        gone(played.pid, played.keeper)
        (house.root / "go").unlink()
        receipt = house.knell.receipt(played.run.agent)
        assert (receipt.outcome, receipt.exit_code) == ("failed", 3)
    tally.broke("receipt torn", 4 * often)


# -- the registry file -------------------------------------------------------------------------

REGISTRY = """\
# who works here (by hand)
version: 2

tmux_sessions:
- name: before   # since monday
  status: stopped
  priority: 3
- name: luna
  status: running
  start_command: 'sleep 100'   # as it was typed
- name: after
  status: stopped
  notes: |
    two lines
    of them
owner: "zoë"
"""


def test_a_registry_cut_in_half(
    house: House, chance: random.Random, often: int, tally: Tally
) -> None:
    """A registry file cut anywhere loses nothing more by a kill, and saves no agent"""
    file = house.root / ".hermes" / "agent-sessions.yaml"
    file.parent.mkdir()
    whole = REGISTRY.encode()
    for _ in range(6 * often):
        played = started(house, SLEEPS)
        half = whole[: chance.randrange(1, len(whole))]
        file.write_bytes(half)
        ends_as_ever(house, played)
        house.knell.close()
        lost = set(half.split(b"\n")[:-1]) - set(file.read_bytes().split(b"\n"))
        # A text that was cut has no last line end: "|-" says that where "|" did not.
        assert lost <= {b"  status: running", b"  notes: |"}, (half.decode(errors="replace"), lost)
    tally.broke("registry file cut in half", 6 * often)
