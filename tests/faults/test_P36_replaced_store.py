"""P36: a store that is deleted under its users, put back from an older copy or repaired by several
at once hides no agent, loses no record and is not ruined."""

import shutil
import signal
import sqlite3
import sys

from house import House, alive, eventually
from knell.stores.sqlite import SqliteStore

DATABASE = ("knell.db", "knell.db-wal", "knell.db-shm")


def names(house: House, *words: str) -> set[str]:
    return {row["name"] for row in house.json("list", *words)["agents"]}


def is_sound(house: House) -> bool:
    db = sqlite3.connect(house.state / "knell.db")
    try:
        return db.execute("PRAGMA integrity_check").fetchall() == [("ok",)]
    finally:
        db.close()


def crashed_writer(house: House) -> None:
    """Leaves a log beside the store, as a power cut does, with pages of several commits."""
    house.knell.close()
    source = f"""
import os, sqlite3
db = sqlite3.connect({str(house.state / "knell.db")!r})
db.execute("PRAGMA wal_autocheckpoint = 0")
for number in range(400):
    db.execute("INSERT INTO events (at, type, agent, run, data) VALUES ('', ?, '', '', '{{}}')",
               [f"filler-{{number}}" * 50])
    db.commit()
os.kill(os.getpid(), 9)
"""
    assert house.process(sys.executable, "-c", source).wait(60) == -signal.SIGKILL
    assert (house.state / "knell.db-wal").stat().st_size > 0


def test_P36_a_store_deleted_without_its_log_is_rebuilt_whole(house: House) -> None:
    house.spawn(name="luna")
    crashed_writer(house)
    log = (house.state / "knell.db-wal").read_bytes()
    (house.state / "knell.db").unlink()
    assert names(house) == {"luna"}
    assert is_sound(house)
    [kept] = house.state.glob("knell.db.bad-*-wal")  # nothing is deleted
    assert kept.read_bytes() == log
    assert "filler" not in house.run("events").stdout


def test_P36_a_store_deleted_under_a_watch_is_rebuilt_whole(house: House) -> None:
    """The watch holds the log of the deleted file open."""
    house.spawn(name="luna")
    watch = house.process(sys.executable, "-m", "knell", "watch", "--interval", "1")
    eventually((house.state / "knell.db.backup-1").exists)
    for name in ("mia", "zoe", "ada"):
        house.spawn(name=name)
    house.knell.close()
    (house.state / "knell.db").unlink()
    assert names(house) == {"luna", "mia", "zoe", "ada"}
    assert house.run("team", "create", "red", "--leader", "luna").returncode == 0
    assert is_sound(house)
    watch.terminate()
    watch.wait(60)
    assert names(house) == {"luna", "mia", "zoe", "ada"}
    assert "red" in house.run("team", "list").stdout
    assert is_sound(house)


def test_P36_a_backup_is_used_where_no_run_has_a_directory(house: House) -> None:
    house.run("team", "create", "red")
    house.run("task", "add", "--team", "red", "paint it")
    house.run("watch", "--once")
    house.knell.close()
    (house.state / "knell.db").unlink()
    told = house.run("task", "list")
    assert "paint it" in told.stdout
    assert "restored a backup" in told.stderr


def test_P36_an_older_copy_hides_nobody_from_any_verb(house: House) -> None:
    house.spawn(name="luna")
    house.knell.close()
    shutil.copy(house.state / "knell.db", house.root / "old.db")
    house.run("kill", "luna", "--yes", "--grace", "0")
    luna, nova = house.spawn(name="luna"), house.spawn(name="nova")
    pids = [one.run.process.pid for one in (luna, nova) if one.run.process]
    house.knell.close()
    for name in DATABASE:
        (house.state / name).unlink(missing_ok=True)
    shutil.copy(house.root / "old.db", house.state / "knell.db")
    killed = house.run("kill", "all", "--yes", "--grace", "0")
    assert "is an older copy; restored" in killed.stderr
    assert "proven gone" in killed.stdout
    assert [pid for pid in pids if alive(pid)] == []
    assert names(house) == set()
    assert "older copy" not in house.run("list").stderr


def test_P36_several_repairs_at_once_are_one(house: House) -> None:
    house.spawn(name="luna")
    house.run("team", "create", "red")
    house.run("watch", "--once")
    house.knell.close()
    with open(house.state / "knell.db", "r+b") as file:
        file.write(b"not a database at all" * 4000)
    argv = (sys.executable, "-m", "knell", "doctor", "--repair")
    several = [house.process(*argv, stdout=-1, stderr=-1, text=True) for _ in range(5)]
    for one in several:
        one.communicate(timeout=300)
    house.knell.world.set_aside_store()  # as one that is late does: a good store stays
    # A late one may have opened the file in the moment in which there was none, and made it empty.
    aside = [one.read_bytes() for one in house.state.glob("knell.db.bad-*")]
    assert len([one for one in aside if one.startswith(b"not a database")]) == 1
    assert names(house) == {"luna"}
    assert "red" in house.run("team", "list").stdout
    assert is_sound(house)


def test_P36_a_run_of_the_same_second_is_missed_by_no_older_copy(house: House) -> None:
    """Names of runs begin with the second; what follows is chance."""
    house.spawn(name="luna")
    house.knell.close()
    [known] = (house.state / "runs").iterdir()
    second = known.name.partition("-")[0]
    late = [f"{second}-00000000", f"{second}-ffffffff"]
    for other in late:
        (house.state / "runs" / other).mkdir()
    store = SqliteStore(str(house.state / "knell.db"), now=lambda: "")
    store.close()
    assert sorted(store.newer_runs) == late
    for other in late:
        (house.state / "runs" / other).rmdir()
    house.kill("luna")
