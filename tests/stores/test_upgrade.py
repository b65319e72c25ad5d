"""A file that an older knell left is brought up to date, and keeps everything."""

import os
import sqlite3
from pathlib import Path

import pytest
from store_samples import (
    KILLED,
    KILLER,
    SPAWNER,
    STOPPED,
    Clock,
    Open,
    Race,
    a_process,
    a_receipt,
    a_run,
    an_agent,
    an_orphan,
    claimed,
    known,
    sql,
)

from knell.core.agent import Agent
from knell.core.errors import StoreFailed
from knell.core.ports.ending_store import ReceiptQuery, Won
from knell.core.run import Place, State
from knell.stores import database
from knell.stores.sqlite import SqliteStore

FIRST = Path(__file__).with_name("schema_1.sql")
PANE = Place("tmux", "%3", "/tmp/tmux.sock", 99, "work", "")
ADA = Agent(
    *("ada", "claude", "/srv/project"), args=("--model", "x"), env=(("A", "1"),), team="core",
    tag="dev", role="developer", task="TASK-31-1", keep=("node *",), conversation="c-1",
    created_at="2029-12-31T00:00:00Z",
)  # fmt: skip


@pytest.fixture
def where(where: str) -> str:
    """A database of schema 1 in the place of the store."""
    os.mkdir(os.path.dirname(where), 0o700)
    db = sqlite3.connect(where)
    db.executescript(FIRST.read_text("utf-8"))
    assert db.execute("PRAGMA journal_mode = WAL").fetchone() == ("wal",)
    assert db.execute("PRAGMA user_version").fetchone() == (1,)
    db.close()
    os.chmod(where, 0o600)
    return where


def schema(where: str) -> list[tuple[object, ...]]:
    return sql(where, "SELECT type, name, tbl_name, sql FROM sqlite_master ORDER BY type, name")


def test_everything_is_kept(connect: Open) -> None:
    store = connect()
    assert store.runs.agents()[0] == ADA
    assert [agent.name for agent in store.runs.agents()] == ["ada", "bo", "cy"]
    assert [run.id for run in store.runs.of("ada")] == ["run-3", "run-2", "run-1"]
    assert {run.id: run.state for run in store.runs.live()} == {
        "run-3": State.RUNNING,
        "run-4": State.STOPPING,
        "run-5": State.SPAWNING,
    }
    first, second = known(store, "run-1"), known(store, "run-2")
    assert first.ending == STOPPED
    assert second.ending == KILLED._replace(detail="it hung", exit_signal=9)
    assert (second.place, second.process, second.rung) == (PANE, a_process(), "term")
    receipt = store.endings.receipt("run-1")
    assert receipt == a_receipt(first)._replace(pid=4_000, place="tmux")
    assert store.endings.search(ReceiptQuery(("user_request", "core", "run-1")))
    assert store.runs.orphans() == [an_orphan()]
    assert len(store.events.read(0, "", 1_000)) == 17


def test_what_was_new_with_it_is_empty(connect: Open) -> None:
    store = connect()
    assert store.watch.memories() == {}
    assert store.restarts.plans() == store.orchestrator.worktrees() == store.endings.owed() == []
    assert store.watch.watcher("host-a") is store.orchestrator.task("TASK-31-1") is None
    run = known(store, "run-3")
    assert (run.restarted_from, run.attempt, run.heartbeat) == ("", 0, "")


def test_the_newest_run_has_the_agents_task(connect: Open) -> None:
    store = connect()
    tasks = {id: known(store, id).task for id in ("run-1", "run-2", "run-3", "run-4", "run-5")}
    assert tasks == {
        "run-1": "", "run-2": "", "run-3": "TASK-31-1", "run-4": "TASK-31-2", "run-5": "",
    }  # fmt: skip


def test_an_ending_that_the_older_one_began_is_finished(connect: Open, where: str) -> None:
    store = connect()
    claim = claimed(store, "run-4", KILLED, SPAWNER, KILLER)
    assert isinstance(claim, Won)
    store.endings.end(claim.run, a_receipt(claim.run), ())
    assert not known(store, "run-4").live
    assert sql(where, "SELECT status FROM agent_lifecycle WHERE agent_id = 'bo'") == [("killed",)]


def test_ended_runs_are_still_final(connect: Open, where: str) -> None:
    connect()
    columns = [row[1] for row in sql(where, "PRAGMA table_info(runs)")]
    for column in columns:
        statement = f"UPDATE runs SET {column} = {column} WHERE id = 'run-1'"
        if column == "note":
            sql(where, statement)
        else:
            with pytest.raises(sqlite3.IntegrityError, match="final"):
                sql(where, statement)


def test_an_upgraded_file_is_what_a_new_one_is(connect: Open, where: str, tmp_path: Path) -> None:
    connect()
    new = str(tmp_path / "new.db")
    SqliteStore(new, now=Clock()).close()
    assert schema(where) == schema(new)
    assert sql(where, "PRAGMA integrity_check") == [("ok",)]
    assert sql(where, "PRAGMA foreign_key_check") == []


def test_many_may_upgrade_it_at_once(connect: Open, race: Race) -> None:
    assert race(8, "look") == ["3 live"] * 8
    store = connect()
    assert store.runs.agents()[0] == ADA
    store.runs.add(an_agent("dee"), a_run("run-6", "dee"))


def test_an_older_knell_that_has_it_open_goes_on(connect: Open, where: str) -> None:
    """It knows nothing of the new columns; its agents are ours all the same."""
    older = sqlite3.connect(where, isolation_level=None)
    assert older.execute("SELECT count(*) FROM runs").fetchone() == (5,)
    store = connect()
    older.execute(
        "INSERT INTO runs (id, agent, host, place, pane, server, server_pid, session, log,"
        " started_at, parent, keeper, process, cgroup) VALUES"
        " ('run-6', 'dee', 'host-a', 'headless', '', '', 0, '', '', 'now', '', '', '', '')"
    )
    older.execute(
        "INSERT INTO agents (name, kind, cwd, args, env, place, server, team, tag, role, task,"
        " keep, conversation, created_at) VALUES"
        " ('dee', 'claude', '/', '[]', '[]', 'headless', '', '', '', '', '', '[]', '', 'now')"
    )
    older.execute(
        "INSERT INTO instances (run, agent, state, owner) VALUES ('run-6', 'dee', 'running', '')"
    )
    older.close()
    assert known(store, "run-6").state is State.RUNNING
    assert store.runs.agents()[-1] == Agent("dee", "claude", "/", created_at="now")


def test_a_step_that_fails_leaves_it_as_the_older_one_left_it(
    connect: Open, where: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    before = schema(where)
    (number, statements) = next(database._steps_after(1))
    with monkeypatch.context() as patched:
        broken = [(number, [*statements, "CREATE NONSENSE"])]
        patched.setattr(database, "_steps_after", lambda _: iter(broken))
        with pytest.raises(StoreFailed, match="not as knell left it"):
            connect()
    assert schema(where) == before
    assert sql(where, "PRAGMA user_version") == [(1,)]
    assert connect().runs.agents()[0] == ADA


def test_one_that_cannot_be_written_is_read_all_the_same(humble: Path, where: str) -> None:
    """After an upgrade on a read-only disk, an agent must still be found, to be ended."""
    file = Path(where)
    before = file.read_bytes()
    file.chmod(0o400)
    file.parent.chmod(0o500)
    store = SqliteStore(where, now=Clock())
    try:
        assert [run.id for run in store.runs.live()] == ["run-3", "run-4", "run-5"]
        assert store.watch.memories() == {}
        with pytest.raises(StoreFailed, match="cannot be"):
            store.events.record("test.note", "", "", {})
    finally:
        store.close()
        file.parent.chmod(0o700)
    assert file.read_bytes() == before
