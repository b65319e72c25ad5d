"""M36, M41, C8: the delegated job hears of it, before and after."""

import json
import subprocess
import sys

import pytest

from contracts.m_scenes import AGY, JOB, NAME, Shop, job, job_events, notes_of
from house import House, alive, eventually

ROW = f"  delegate_job_id: {JOB}\n"


def told(shop: Shop) -> list[tuple[str, str, object]]:
    return [(e["event"], e["detail"], e["data"].get("outcome")) for e in job_events(shop)]


@pytest.mark.parametrize(
    ("way", "outcome"), [(("--mode", "hard"), "terminated"), (("--graceful",), "stopped")]
)
def test_M36_M41_progress_before_and_completed_after(
    house: House, way: tuple[str, ...], outcome: str
) -> None:
    shop = Shop(house)
    shop.session()
    job(shop)
    shop.list(shop.row_text(more=ROW))
    assert shop.stop(*way).returncode == 0
    assert told(shop) == [
        ("progress", "terminating", None),
        ("completed", outcome, outcome),
    ]
    assert [event["seq"] for event in job_events(shop)] == [5, 6]


def test_M36_the_job_hears_before_the_agent_does(house: House) -> None:
    """The agent needs a second to leave: meanwhile nothing is completed."""
    shop = Shop(house)
    claude = shop.session(NAME, "slow")
    path = job(shop)
    shop.list(shop.row_text(more=ROW))
    delete = (sys.executable, "-m", "knell", "delete", "--session", NAME)
    asking = house.process(*delete, "--registry", str(shop.file), stdout=subprocess.DEVNULL)
    eventually(lambda: ["SIGTERM"] in notes_of(house, claude.pid))
    assert [event["event"] for event in job_events(shop)] == ["progress"]
    assert json.loads(path.read_text())["status"] == "running"
    assert asking.wait(timeout=300) == 0
    assert json.loads(path.read_text())["status"] == "cancelled"


def test_M41_C8_a_job_whose_agent_was_ended_is_cancelled(house: House) -> None:
    shop = Shop(house)
    shop.session()
    path = job(shop)
    shop.list(shop.row_text(more=ROW))
    shop.delete()
    record = json.loads(path.read_text())
    assert (record["status"], record["last_seq"], record["prompt"]) == ("cancelled", 6, "mend")
    assert path.stat().st_mode & 0o777 == 0o600


@pytest.mark.parametrize("status", ["completed", "error", "cancelled"])
def test_C8_a_job_that_was_over_stays_as_it_ended(house: House, status: str) -> None:
    shop = Shop(house)
    shop.session()
    path = job(shop, status)
    shop.list(shop.row_text(more=ROW))
    shop.delete()
    assert json.loads(path.read_text())["status"] == status
    assert [event for event, _, _ in told(shop)] == ["progress", "completed"]


def test_C8_soft_only_says_that_it_was_asked(house: House) -> None:
    shop = Shop(house)
    claude = shop.session()
    path = job(shop)
    shop.list(shop.row_text(more=ROW))
    shop.stop("--mode", "soft")
    assert (told(shop), alive(claude.pid)) == ([("progress", "terminating", None)], True)
    assert json.loads(path.read_text())["status"] == "running"


def test_M36_M41_a_session_that_was_dead_already_tells_too(house: House) -> None:
    shop = Shop(house)
    job(shop)
    shop.list(shop.row_text(more=ROW))
    shop.delete()
    assert [event for event, _, _ in told(shop)] == ["progress", "completed"]
    shop.delete("--yes")  # only its time is refreshed
    assert len(told(shop)) == 2


@pytest.mark.parametrize("row", ["", "  delegate_job_id:\n", "  delegate_job_id: null\n"])
def test_M36_without_a_job_nobody_is_told(house: House, row: str) -> None:
    shop = Shop(house)
    job(shop)
    shop.list(shop.row_text(more=row))
    done = shop.delete()
    assert (done.returncode, done.stderr, job_events(shop)) == (0, "", [])


@pytest.mark.parametrize("name", ["gone", "../../../etc/passwd", "''"])
def test_M41_a_job_that_is_not_there_stops_nobody(house: House, name: str) -> None:
    shop = Shop(house)
    claude = shop.session()
    job(shop)
    shop.list(shop.row_text(more=f"  delegate_job_id: {name}\n"), shop.row_text(AGY))
    done = shop.delete()
    assert (done.returncode, alive(claude.pid), shop.row()["status"]) == (0, False, "terminated")
    assert ("the delegated job was not updated" in done.stderr) == (name != "''")
    assert job_events(shop) == []
