"""A file of the schema before teams is brought up to date, and its agents may join one."""

import os
import sqlite3
from pathlib import Path

import pytest
from store_samples import KILLED, KILLER, SPAWNER, Clock, Open, Race, a_receipt, claimed, known, sql

from knell.core.ports.ending_store import Won
from knell.core.teams import Team, TeamTask
from knell.stores import database
from knell.stores.sqlite import SqliteStore

FIRST = Path(__file__).with_name("schema_1.sql")


@pytest.fixture
def where(where: str) -> str:
    """A database of schema 2 in the place of the store."""
    os.mkdir(os.path.dirname(where), 0o700)
    db = sqlite3.connect(where, isolation_level=None)
    db.executescript(FIRST.read_text("utf-8"))
    second = next(statements for number, statements in database._steps_after(1) if number == 2)
    for statement in second:
        db.execute(statement)
    db.execute("PRAGMA user_version = 2")
    assert db.execute("PRAGMA journal_mode = WAL").fetchone() == ("wal",)
    db.close()
    os.chmod(where, 0o600)
    return where


def test_an_upgraded_file_is_what_a_new_one_is(connect: Open, where: str, tmp_path: Path) -> None:
    store = connect()
    assert [run.id for run in store.runs.live()] == ["run-3", "run-4", "run-5"]
    assert store.teams.teams() == store.team_tasks.tasks() == store.backends.all() == []
    new = str(tmp_path / "new.db")
    SqliteStore(new, now=Clock()).close()
    schema = "SELECT type, name, tbl_name, sql FROM sqlite_master ORDER BY type, name"
    assert sql(where, schema) == sql(new, schema)
    assert sql(where, "PRAGMA user_version") == [(database.SCHEMA,)]
    assert sql(where, "PRAGMA integrity_check") == [("ok",)]
    assert sql(where, "PRAGMA foreign_key_check") == []


def test_many_may_upgrade_it_at_once(race: Race) -> None:
    assert race(6, "look") == ["3 live"] * 6


def test_one_that_lived_before_may_join_and_end(connect: Open) -> None:
    store = connect()
    store.teams.add(Team("core", "ada"))
    assert [member.agent for member in store.teams.members("core")] == ["ada"]
    store.teams.join("core", "bo")
    store.team_tasks.add(TeamTask("", "core", "Write it"))
    store.team_tasks.claim("TASK-1", "bo")
    store.runs.set_token("run-4", "digest")
    claim = claimed(store, "run-4", KILLED, SPAWNER, KILLER)
    assert isinstance(claim, Won)
    receipt = store.endings.end(claim.run, a_receipt(claim.run), ())
    assert [task["id"] for task in receipt.tasks if task.get("kind") == "team"] == ["TASK-1"]
    assert not known(store, "run-4").live
    assert store.runs.run_of_token("digest") is None


def test_a_second_knell_of_the_older_schema_may_end_what_has_a_token(
    connect: Open, where: str
) -> None:
    """It has the file open since before the upgrade, and knows nothing of servers."""
    older = sqlite3.connect(where, isolation_level=None)
    older.execute("PRAGMA foreign_keys = ON")
    assert older.execute("SELECT count(*) FROM instances").fetchone() == (3,)
    store = connect()
    store.runs.set_token("run-4", "digest")
    older.execute("DELETE FROM instances WHERE run = 'run-4'")
    older.close()
    assert store.runs.run_of_token("digest") is None
