"""An ended run leaves less than 4 kB, store and directory together, and is still all there."""

import os
import sqlite3
import sys
from contextlib import closing
from pathlib import Path

import pytest

from house import House, alive, eventually

BUDGET = 4096  # bytes a run
RUNS = 32
ASLEEP = ("sh", "-c", "sleep 600; true")


def on_disk(house: House) -> int:
    """Pages of the store that are in use, and the blocks of everything below runs/."""
    house.knell.close()
    with closing(sqlite3.connect(house.state / "knell.db")) as db:
        db.execute("PRAGMA wal_checkpoint(TRUNCATE)")
        [[pages, free, size]] = db.execute(
            "SELECT page_count, freelist_count, page_size"
            " FROM pragma_page_count, pragma_freelist_count, pragma_page_size"
        ).fetchall()
    below = [house.state / "runs", *(house.state / "runs").rglob("*")]
    return (pages - free) * size + sum(path.lstat().st_blocks * 512 for path in below)


def live_and_end(house: House, first: int, count: int) -> None:
    for number in range(first, first + count):
        house.knell.spawn(command=ASLEEP, name=f"agent-{number:04}", place="headless")
    assert all(receipt.proof == "proven" for receipt in house.knell.kill("all"))


def end_by_themselves(house: House, first: int, count: int) -> None:
    gate = house.root / f"gate-{first}"
    os.mkfifo(gate)
    lines = os.open(gate, os.O_RDWR)  # so that nobody waits for a writer
    waiting = ("sh", "-c", f"read line < {gate}")
    names = [f"agent-{number:04}" for number in range(first, first + count)]
    for name in names:
        house.knell.spawn(command=waiting, name=name, place="headless")
    os.write(lines, b"\n" * count)  # one line each, however late it reads
    eventually(lambda: not house.knell.list())
    os.close(lines)
    assert {house.knell.receipt(name).outcome for name in names} == {"completed"}


@pytest.mark.parametrize("end", [live_and_end, end_by_themselves])
def test_an_ended_run_leaves_less_than_four_kilobytes(house: House, end: object) -> None:
    """Each run has an agent of its own, which costs most."""
    assert callable(end)
    end(house, 0, 4)
    before = on_disk(house)
    end(house, 4, RUNS)
    assert (on_disk(house) - before) / RUNS < BUDGET
    assert [path.name for path in (house.state / "runs").iterdir() if path.is_dir()] == []


def test_every_verb_reads_what_was_put_away(house: House) -> None:
    house.knell.spawn(command=("sh", "-c", "echo forty-two; sleep 600"), name="luna")
    eventually(lambda: "forty-two" in house.run("logs", "luna").stdout)
    house.knell.spawn(command=ASLEEP, name="nova", tag="night")
    house.run("kill", "nova", "luna", "--reason", "enough")
    assert house.run("logs", "luna").stdout.strip() == "forty-two"
    assert house.run("logs", "nova").stdout == ""
    receipt = house.json("receipt", "nova")
    assert (receipt["proof"], receipt["outcome"]) == ("proven", "killed")
    assert "proven gone" in house.run("receipt", "nova").stdout
    assert house.json("show", "nova")["tag"] == "night"
    report = Path(house.run("bug-report", "nova").stdout.strip()).read_text()
    assert "ended?echild" in report, "its journal, each tab made visible"
    assert house.run("doctor").returncode == 0
    assert house.run("resume", "nova").returncode == 0
    assert [row["name"] for row in house.json("list")["agents"]] == ["nova"]
    house.knell.kill("nova")


def test_a_lost_store_is_whole_again(house: House) -> None:
    live_and_end(house, 0, 3)
    house.knell.spawn(command=ASLEEP, name="luna", place="headless")
    before = house.json("list", "--all")
    receipts = [house.json("receipt", f"agent-{number:04}") for number in range(3)]
    house.knell.close()
    for path in house.state.glob("knell.db*"):
        path.unlink()
    assert house.json("list", "--all")["agents"] == before["agents"]
    assert [house.json("receipt", f"agent-{number:04}") for number in range(3)] == receipts
    house.knell.kill("luna")


# Clears nothing: it is killed when the first line is written.
CUT = """
import os
from knell.api import Knell
from knell.stores.archive import RunArchive

RunArchive._clear = lambda self, run: os.kill(os.getpid(), 9)
with Knell() as knell:
    knell.kill("nova")
"""


def test_a_kill_that_is_killed_before_it_clears_loses_nothing(house: House) -> None:
    nova = house.knell.spawn(command=ASLEEP, name="nova", place="headless")
    house.knell.close()
    done = house.process(sys.executable, "-c", CUT)
    assert done.wait(60) == -9
    assert nova.run.process
    assert not alive(nova.run.process.pid)
    folder = house.state / "runs" / nova.run.id
    assert (folder / "record.json").exists()
    receipt = house.json("receipt", "nova")
    assert receipt["proof"] == "proven"
    house.run("prune")
    assert not folder.exists()
    for path in house.state.glob("knell.db*"):
        path.unlink()
    assert house.json("receipt", "nova") == receipt


def test_directories_of_an_earlier_knell_are_put_away_by_housekeeping(house: House) -> None:
    """It left everything where it was. What still runs, or left processes, is not touched."""
    nova = house.knell.spawn(command=ASLEEP, name="nova", place="headless").run.id
    luna = house.knell.spawn(command=ASLEEP, name="luna", place="headless").run.id
    mia = house.knell.spawn(command=ASLEEP, name="mia", place="headless").run.id
    folder = house.state / "runs" / nova
    files = {path.name: path.read_bytes() for path in folder.iterdir() if path.is_file()}
    house.run("stop", "--mode", "soft", "mia")
    house.knell.kill("nova")
    assert not folder.exists()
    assert house.knell.world.archive.put_back(nova)
    for name in files.keys() - {"record.json", "journal"}:
        (folder / name).write_bytes(files[name])
    house.run("prune")
    assert not folder.exists()
    assert (house.state / "runs" / luna / "journal").exists()
    assert (house.state / "runs" / mia / "journal").exists()
    house.knell.kill("luna")
    house.run("reap", "--yes")


def test_a_run_with_a_kept_child_keeps_its_directory(house: House) -> None:
    """What goes on may still write into its log."""
    up = house.root / "up"
    run = house.knell.spawn(
        command=("sh", "-c", f"sleep 600 & touch {up}; wait"), name="luna", keep=("sleep 600*",),
        place="headless",
    ).run.id  # fmt: skip
    eventually(up.exists)
    house.knell.kill("luna")
    assert (house.state / "runs" / run / "output.log").exists()
    assert (house.state / "runs" / run / "journal").exists()
    house.run("reap", "--yes")


def test_pruned_runs_do_not_come_back(house: House) -> None:
    house.knell.spawn(command=ASLEEP, name="nova", place="headless")
    house.knell.kill("nova")
    house.knell.resume("nova")
    house.knell.kill("nova")
    [old] = house.json("prune", "--days", "0")["runs"]
    house.knell.close()
    for path in house.state.glob("knell.db*"):
        path.unlink()
    house.run("list")
    kept = house.knell.world.store.runs.of("nova")
    assert old not in [run.id for run in kept]
    assert len(kept) == 1


def test_what_is_on_the_disk_is_private(house: House) -> None:
    live_and_end(house, 0, 1)
    modes = {path.name: os.stat(path).st_mode & 0o777 for path in (house.state / "runs").iterdir()}
    assert set(modes.values()) == {0o600}
    assert Path(house.state / "runs").stat().st_mode & 0o777 == 0o700
