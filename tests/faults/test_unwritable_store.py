"""A store that cannot be written saves no agent: kill ends it, says so, and leaves a record."""

import contextlib
import json
import os
import signal
import sqlite3
import stat
from collections.abc import Iterator
from pathlib import Path

import pytest

from complaints import FAILED, complaint
from house import House, alive, eventually
from scenes import SLEEPS, end, stranger
from unprivileged import handed_over, unprivileged


@pytest.fixture
def humble(house: House) -> House:
    return handed_over(house)


def spawned(house: House, name: str, *command: str) -> int:
    done = unprivileged(
        house, "spawn", "--json", "--name", name, "--", *(command or ("sleep", "100"))
    )
    assert done.returncode == 0, done.stderr
    return int(json.loads(done.stdout)["agents"][0]["pid"])


@contextlib.contextmanager
def read_only(*paths: Path) -> Iterator[None]:
    # Forked commands leave their log beside the store; of one that was started none is left.
    for path in paths:
        if path.name == "knell.db":
            with contextlib.closing(sqlite3.connect(path)) as db:
                db.execute("SELECT count(*) FROM sqlite_master").fetchall()
    modes = {path: stat.S_IMODE(path.stat().st_mode) for path in paths}
    for path, mode in modes.items():
        path.chmod(mode & ~0o222)
    try:
        yield
    finally:
        for path, mode in modes.items():
            path.chmod(mode)


def the_store(house: House) -> tuple[Path, ...]:
    return (house.state, house.state / "knell.db")


def everything(house: House) -> tuple[Path, ...]:
    return (*the_store(house), *house.state.rglob("runs/**"))


def agents(house: House) -> dict[str, dict[str, str]]:
    done = unprivileged(house, "list", "--all", "--json")
    assert done.returncode == 0, done.stderr
    return {agent["name"]: agent for agent in json.loads(done.stdout)["agents"]}


def test_kill_ends_it_says_so_and_leaves_a_record(humble: House) -> None:
    pid = spawned(humble, "luna")
    with read_only(*the_store(humble)):
        done = unprivileged(humble, "kill", "--reason", "enough", "luna")
        assert done.returncode == 0, done.stderr
        assert "proven gone" in done.stdout
        assert "warning: the store could not be written" in done.stderr
        assert not alive(pid)
        [left] = humble.state.glob("runs/*/receipt.json")
        assert stat.S_IMODE(left.stat().st_mode) == 0o600
    luna = agents(humble)["luna"]
    assert (luna["state"], luna["outcome"], luna["by"]) == ("ended", "killed", "operator")
    receipt = json.loads(unprivileged(humble, "receipt", "--json", "luna").stdout)
    assert (receipt["proof"], receipt["detail"]) == ("proven", "enough")
    assert "store_not_written" in [warning["code"] for warning in receipt["warnings"]]


def test_the_record_is_taken_in_once(humble: House) -> None:
    spawned(humble, "luna")
    with read_only(*the_store(humble)):
        unprivileged(humble, "kill", "luna")
    for _ in range(3):
        agents(humble)
    events = json.loads(unprivileged(humble, "events", "--json", "luna").stdout)["events"]
    assert [event["type"] for event in events].count("life.stopped") == 1


def test_the_name_is_free_again_and_resumes(humble: House) -> None:
    spawned(humble, "luna")
    with read_only(*the_store(humble)):
        unprivileged(humble, "kill", "luna")
    assert unprivileged(humble, "resume", "luna").returncode == 0
    assert agents(humble)["luna"]["state"] == "running"


def test_kill_all_ends_everybody(humble: House) -> None:
    pids = [spawned(humble, f"agent-{n}") for n in range(3)]
    with read_only(*the_store(humble)):
        done = unprivileged(humble, "kill", "all")
        assert done.returncode == 0, done.stderr
        assert not any(map(alive, pids))
    assert {agent["outcome"] for agent in agents(humble).values()} == {"killed"}


def test_a_disk_that_takes_nothing_at_all_saves_nobody(humble: House) -> None:
    """Not even the run's directory can be written: what the keeper saw is the record."""
    pid = spawned(humble, "luna")
    with read_only(*everything(humble)):
        done = unprivileged(humble, "kill", "luna")
        assert done.returncode == 0, done.stderr
        assert "could not be written" in done.stderr
        assert not alive(pid)
    luna = agents(humble)["luna"]
    assert luna["state"] == "ended"
    assert luna["outcome"] != "lost"
    assert json.loads(unprivileged(humble, "receipt", "--json", "luna").stdout)["proof"] == "proven"


def test_one_that_ignores_term_gets_kill_there_too(humble: House) -> None:
    pid = spawned(humble, "luna", "sh", "-c", "trap '' TERM HUP INT; while :; do sleep 1; done")
    with read_only(*everything(humble)):
        done = unprivileged(humble, "kill", "--grace", "0.2", "luna")
        assert done.returncode == 0, done.stderr
        assert not alive(pid)


def test_an_end_that_nobody_could_write_down_stops_no_other_kill(humble: House) -> None:
    """Taking in nova's own exit fails; that must not keep luna alive."""
    luna, nova = spawned(humble, "luna"), spawned(humble, "nova")
    with read_only(*the_store(humble)):
        os.kill(nova, signal.SIGKILL)
        eventually(lambda: not alive(nova))
        assert unprivileged(humble, "list", "--names").stdout == "luna\n"
        done = unprivileged(humble, "kill", "luna")
        assert done.returncode == 0, done.stderr
        assert not alive(luna)
    after = agents(humble)
    assert (after["luna"]["outcome"], after["nova"]["outcome"]) == ("killed", "failed")


def test_an_orphan_is_ended_as_well(humble: House) -> None:
    pid = spawned(humble, "luna")
    assert unprivileged(humble, "stop", "--mode", "soft", "luna").returncode == 0
    assert alive(pid)
    with read_only(*the_store(humble)):
        done = unprivileged(humble, "kill", "luna")
        assert done.returncode == 0, done.stderr
        assert "could not be written" in done.stderr
        assert not alive(pid)
    reaped = json.loads(unprivileged(humble, "reap", "--json").stdout)
    assert reaped["orphans"] == []


@pytest.mark.parametrize(
    "verb",
    [("spawn", "--name", "nova", "--", "sleep", "100"), ("stop", "--mode", "soft", "luna")],
    ids=["spawn", "let go"],
)
def test_what_only_writes_is_refused(humble: House, verb: tuple[str, ...]) -> None:
    pid = spawned(humble, "luna")
    with read_only(*the_store(humble)):
        complaint(unprivileged(humble, *verb), FAILED)
    assert alive(pid)
    assert {name: agent["state"] for name, agent in agents(humble).items()} == {"luna": "running"}


def test_looking_goes_on(humble: House) -> None:
    pid = spawned(humble, "luna")
    with read_only(*everything(humble)):
        for verb in (("list",), ("status",), ("show", "luna"), ("tree", "luna"), ("events",)):
            done = unprivileged(humble, *verb)
            assert done.returncode == 0, done.stderr
            assert "luna" in done.stdout or str(pid) in done.stdout


@pytest.mark.needs_root
def test_an_attempt_that_something_survived_is_not_taken_for_an_end(humble: House) -> None:
    pid = stranger(humble, SLEEPS)[0]
    assert unprivileged(humble, "adopt", "--name", "luna", str(pid)).returncode == 0
    (run,) = [json.loads(unprivileged(humble, "show", "--json", "luna").stdout)["run"]]
    rundir = humble.state / "runs" / run
    rundir.mkdir(parents=True, exist_ok=True)
    os.chown(rundir, humble.state.stat().st_uid, -1)
    with read_only(*the_store(humble)):
        done = unprivileged(humble, "kill", "--grace", "0.1", "luna")
        assert done.returncode == FAILED
        assert "Permission denied" in done.stderr
    assert alive(pid)
    assert agents(humble)["luna"]["state"] == "running"
    end(pid)
    assert agents(humble)["luna"]["state"] == "ended"
