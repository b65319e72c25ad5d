"""knell prune: old ended runs go, with their directories; what a resume needs stays."""

import json

import pytest

from house import House, eventually
from knell.stores.archive import RunArchive


def lives(house: House, name: str, count: int) -> list[str]:
    """That many runs of one agent, each ended; their ids, the oldest first."""
    runs: list[str] = []
    for number in range(count):
        if number:
            runs.append(house.knell.resume(name).spawned.run.id)
        else:
            runs.append(house.spawn(name=name).run.id)
        house.kill(name)
    return runs


def kept(house: House) -> set[str]:
    """The runs that have a directory or were put away."""
    return set(RunArchive(str(house.state / "runs")).ids())


def test_old_runs_go_and_the_newest_of_each_agent_stays(house: House) -> None:
    first, second, last = lives(house, "luna", 3)
    assert house.json("prune")["runs"] == [], "none is thirty days old"
    would = house.json("prune", "--days", "0", "--dry-run")
    assert (would["runs"], kept(house)) == ([first, second], {first, second, last})
    done = house.run("prune", "--days", "0")
    assert done.stdout.startswith("Removed 2 runs that ended before ")
    assert kept(house) == {last}
    store = house.knell.world.store
    assert [run.id for run in store.runs.of("luna")] == [last]
    assert {event.run for event in store.events.read(0, "luna", 1000)} == {last}
    assert house.run("doctor").returncode == 0, "nothing is missing"
    assert house.run("resume", "luna").returncode == 0


def test_receipts_are_exported_first(house: House) -> None:
    first, second, _ = lives(house, "luna", 3)
    file = house.root / "old.jsonl"
    assert house.run("prune", "--days", "0", "--export", str(file)).returncode == 0
    rows = [json.loads(line) for line in file.read_text().splitlines()]
    assert [row["run"] for row in rows] == [first, second]


def test_without_its_export_nothing_is_removed(house: House) -> None:
    runs = lives(house, "luna", 2)
    file = house.root / "old.jsonl"
    file.write_text("precious")
    done = house.run("prune", "--days", "0", "--export", str(file))
    assert (done.returncode, file.read_text()) == (2, "precious")
    assert kept(house) == set(runs)


@pytest.mark.parametrize("days", ["-1", "nan", "inf", "1e9"])
def test_bad_ages_are_refused(house: House, days: str) -> None:
    assert house.run("prune", f"--days={days}").returncode == 2


def test_live_runs_and_those_with_orphans_stay(house: House) -> None:
    house.spawn(name="luna")
    house.run("stop", "--mode", "soft", "luna")
    orphaned = kept(house)
    house.spawn(name="luna")
    found = house.json("prune", "--days", "0")
    assert found["runs"] == []
    assert orphaned <= kept(house)
    house.run("reap", "--yes")


def test_the_watch_prunes_after_its_backup(house: House) -> None:
    (house.home / ".config/knell").mkdir(parents=True)
    (house.home / ".config/knell/config.toml").write_text("[retention]\ndays = 0\n")
    *_, last = lives(house, "luna", 2)
    house.run("watch", "--once")
    eventually(lambda: kept(house) == {last})
