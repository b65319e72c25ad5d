"""What the SQLite plug promises besides: its file, its privacy, its speed, its refusals."""

import os
import shutil
import sqlite3
import stat
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from store_samples import KILLED, KILLER, Clock, a_process, a_receipt, a_run, an_agent, claimed

from knell.core.codes import Code
from knell.core.errors import StoreFailed
from knell.core.ports.store import Store
from knell.stores import database, records
from knell.stores.sqlite import SqliteStore

SQL = Path(database.__file__).parent / "sql"


@pytest.fixture
def home(tmp_path: Path) -> Path:
    return tmp_path / "state"


@pytest.fixture
def db(home: Path) -> Path:
    return home / "knell.db"


@pytest.fixture
def opened(db: Path) -> Iterator[Callable[[], SqliteStore]]:
    stores: list[SqliteStore] = []

    def opened() -> SqliteStore:
        stores.append(SqliteStore(str(db), now=Clock()))
        return stores[-1]

    yield opened
    for store in stores:
        store.close()


Opened = Callable[[], SqliteStore]


@pytest.fixture
def store(opened: Opened) -> SqliteStore:
    return opened()


def sql(db: Path, *statements: str) -> list[tuple[object, ...]]:
    """What another program would do to the file; the rows of the last statement."""
    connection = sqlite3.connect(db, isolation_level=None)
    try:
        return [connection.execute(statement).fetchall() for statement in statements][-1]
    finally:
        connection.close()


def mode(path: Path) -> int:
    return stat.S_IMODE(path.stat().st_mode)


def refusal(deed: Callable[[], object]) -> StoreFailed:
    """Why it was refused: one sentence, and what to do about it."""
    with pytest.raises(StoreFailed) as caught:
        deed()
    assert "\n" not in str(caught.value)
    assert caught.value.hint
    return caught.value


def test_it_fits_the_port(store: SqliteStore) -> None:
    port: Store = store
    assert port.runs.agents() == []


# -- the file ----------------------------------------------------------------------------------


def test_nobody_else_can_read_the_state(home: Path, db: Path, opened: Opened) -> None:
    umask = os.umask(0)
    try:
        opened().runs.add(an_agent(), a_run())
    finally:
        os.umask(umask)
    assert mode(home) == 0o700
    assert {file.name: mode(file) for file in home.iterdir()} == dict.fromkeys(
        ("knell.db", "knell.db-wal", "knell.db-shm"), 0o600
    )


def test_a_file_that_others_could_read_is_closed_to_them(db: Path, opened: Opened) -> None:
    first = opened()
    first.runs.add(an_agent(), a_run())
    files = [db.with_name(db.name + suffix) for suffix in ("", "-wal", "-shm")]
    for file in files:
        file.chmod(0o644)
    opened()
    assert [mode(file) for file in files] == [0o600] * 3


def test_an_existing_directory_keeps_its_mode(home: Path, opened: Opened) -> None:
    home.mkdir()
    home.chmod(0o755)
    opened()
    assert mode(home) == 0o755


def test_a_link_leads_to_the_file(tmp_path: Path, home: Path, db: Path, opened: Opened) -> None:
    home.mkdir()
    target = tmp_path / "elsewhere.db"
    db.symlink_to(target)
    opened().runs.add(an_agent(), a_run())
    assert mode(target) == 0o600
    assert db.is_symlink()


def test_a_store_does_not_follow_a_change_of_directory(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    store = SqliteStore("here.db", now=Clock())
    monkeypatch.chdir("/")
    store.runs.add(an_agent(), a_run())
    store.close()
    assert (tmp_path / "here.db").exists()


def test_readers_do_not_wait_for_a_writer(db: Path, store: SqliteStore) -> None:
    writer = sqlite3.connect(db, isolation_level=None)
    writer.execute("BEGIN IMMEDIATE")
    assert store.runs.live() == []
    writer.close()


def test_only_what_must_outlast_a_power_cut_waits_for_the_disk(store: SqliteStore) -> None:
    def safety() -> int:
        return store.db.execute("PRAGMA synchronous").fetchone()[0]

    normal, full = 1, 2
    run = a_run(process=a_process(), ending=KILLED)
    deeds: list[tuple[Callable[[], object], int]] = [
        (lambda: store.events.record("test.note", "", "", {}), normal),
        (lambda: store.runs.add(an_agent(), run), full),
        (lambda: store.runs.mark_born(run), normal),
        (lambda: claimed(store, run.id, KILLED, KILLER, None), full),
        (lambda: store.endings.record_rungs([(run, "term")]), normal),
        (lambda: store.endings.end(run, a_receipt(run), ()), full),
    ]
    for deed, expected in deeds:
        deed()
        assert safety() == expected


def test_ended_runs_cannot_be_changed_by_hand_either(db: Path, store: SqliteStore) -> None:
    store.runs.add(an_agent(), a_run())
    store.endings.end(a_run(ending=KILLED), a_receipt(a_run()), ())
    with pytest.raises(sqlite3.IntegrityError, match="final"):
        sql(db, "UPDATE runs SET outcome = 'completed'")


def test_a_run_cannot_be_restarted_twice_by_hand_either(db: Path, store: SqliteStore) -> None:
    store.runs.add(an_agent(), a_run())
    store.runs.add(an_agent("bo"), a_run("run-2", "bo"))
    sql(db, "UPDATE runs SET restarted_from = 'run-0' WHERE id = 'run-1'")
    with pytest.raises(sqlite3.IntegrityError, match="restarted_from"):
        sql(db, "UPDATE runs SET restarted_from = 'run-0' WHERE id = 'run-2'")


# -- the schema --------------------------------------------------------------------------------


def test_the_steps_are_numbered_without_a_gap() -> None:
    numbers = [int(file.name.partition("_")[0]) for file in sorted(SQL.glob("*.sql"))]
    assert numbers == list(range(1, database.SCHEMA + 1))


def test_an_empty_file_becomes_a_store(home: Path, db: Path, opened: Opened) -> None:
    home.mkdir()
    db.touch(mode=0o600)
    opened().runs.add(an_agent(), a_run())
    assert sql(db, "PRAGMA user_version") == [(database.SCHEMA,)]
    assert sql(db, "PRAGMA application_id") == [(database.APPLICATION,)]
    assert sql(db, "PRAGMA journal_mode") == [("wal",)]


def test_a_second_opening_finds_what_the_first_wrote(opened: Opened) -> None:
    first = opened()
    first.runs.add(an_agent(), a_run())
    first.close()
    assert opened().runs.live() == [a_run()]


def test_a_step_that_fails_leaves_the_file_as_it_was(
    db: Path, opened: Opened, monkeypatch: pytest.MonkeyPatch
) -> None:
    broken = [(1, ["CREATE TABLE half (done)", "CREATE NONSENSE"])]
    with monkeypatch.context() as patched:
        patched.setattr(database, "_steps_after", lambda _: iter(broken))
        assert "not as knell left it" in str(refusal(opened))
    assert sql(db, "SELECT name FROM sqlite_master") == []
    assert sql(db, "PRAGMA user_version") == [(0,)]
    assert opened().runs.agents() == []


def test_a_newer_knells_file_is_left_alone(db: Path, opened: Opened) -> None:
    opened().close()
    sql(db, f"PRAGMA user_version = {database.SCHEMA + 1}", "PRAGMA wal_checkpoint(TRUNCATE)")
    before = db.read_bytes()
    why = refusal(opened)
    assert "newer knell" in str(why)
    assert "upgrade knell" in why.hint
    assert db.read_bytes() == before


@pytest.mark.parametrize("version", [0, database.SCHEMA, 99])
def test_another_programs_database_is_left_alone(
    home: Path, db: Path, opened: Opened, version: int
) -> None:
    home.mkdir()
    sql(db, "CREATE TABLE theirs (a)", f"PRAGMA user_version = {version}")
    before = db.read_bytes()
    assert "another program" in str(refusal(opened))
    assert db.read_bytes() == before


# -- refusals ----------------------------------------------------------------------------------


@pytest.mark.parametrize("size", [1, 2, 100, 511, 512, 5_000])
def test_no_database(home: Path, db: Path, opened: Opened, size: int) -> None:
    content = b"not a database".ljust(size, b".")[:size]
    home.mkdir()
    db.write_bytes(content)
    why = refusal(opened)
    assert str(why) == f"{db} is not a database"
    assert "knell doctor --repair" in why.hint
    assert why.code is Code.STORE_DAMAGED
    assert db.read_bytes() == content


def filled(store: SqliteStore) -> None:
    for number in range(200):
        store.events.record("test.note", "ada", "run-1", {"text": "x" * 500, "number": number})


@pytest.mark.parametrize("keep", [100, 4096])
def test_a_damaged_database(db: Path, opened: Opened, keep: int) -> None:
    store = opened()
    filled(store)
    store.close()
    damaged = db.read_bytes()[:keep] + b"\xa5" * (db.stat().st_size - keep)
    db.write_bytes(damaged)
    why = refusal(lambda: opened().events.read(0, "", 1_000))
    assert "damaged" in str(why)
    assert "knell doctor --repair" in why.hint
    assert db.read_bytes() == damaged


def test_a_database_that_was_cut_short(db: Path, opened: Opened) -> None:
    store = opened()
    filled(store)
    store.close()
    os.truncate(db, 8192)
    assert "damaged" in str(refusal(lambda: opened().events.read(0, "", 1_000)))


def test_a_record_that_makes_no_sense(db: Path, store: SqliteStore) -> None:
    store.runs.add(an_agent(), a_run())
    sql(db, "UPDATE runs SET keeper = 'nonsense'")
    for deed in (
        store.runs.live,
        store.runs.newest,
        lambda: claimed(store, "run-1", KILLED, KILLER, None),
        lambda: store.endings.end(a_run(ending=KILLED), a_receipt(a_run()), ()),
    ):
        assert "cannot read" in str(refusal(deed))


def test_an_agent_that_makes_no_sense_ends_nothing(db: Path, store: SqliteStore) -> None:
    store.runs.add(an_agent(), a_run())
    sql(db, "UPDATE agents SET env = 'nonsense'")
    end = a_run(ending=KILLED)
    assert "cannot read" in str(refusal(lambda: store.endings.end(end, a_receipt(end), ())))
    found = store.runs.run("run-1")
    assert found
    assert found.live


def test_a_missing_table(db: Path, store: SqliteStore) -> None:
    sql(db, "DROP TABLE orphans")
    assert "no such table" in str(refusal(store.runs.orphans))


def test_a_record_that_contradicts_another(store: SqliteStore) -> None:
    store.runs.add(an_agent(), a_run())
    assert "contradicts" in str(refusal(lambda: store.runs.add(an_agent("bo"), a_run(agent="bo"))))
    assert store.runs.agent("bo") is None


def test_a_directory_in_its_place(db: Path, opened: Opened) -> None:
    db.mkdir(parents=True)
    assert f"{db} is a directory" in str(refusal(opened))


def test_a_pipe_in_its_place_does_not_hang(home: Path, db: Path, opened: Opened) -> None:
    home.mkdir()
    os.mkfifo(db)
    assert "no regular file" in str(refusal(opened))


def test_a_file_where_the_directory_should_be(home: Path, opened: Opened) -> None:
    home.write_text("in the way")
    why = refusal(opened)
    assert "cannot be used" in str(why)
    assert "KNELL_HOME" in why.hint


def test_a_lock_that_is_never_released(
    db: Path, opened: Opened, monkeypatch: pytest.MonkeyPatch
) -> None:
    opened().close()
    monkeypatch.setattr(database, "PATIENCE", 0.05)
    store = opened()
    holder = sqlite3.connect(db, isolation_level=None)
    holder.execute("BEGIN IMMEDIATE")
    assert "locked" in str(refusal(lambda: store.events.record("test.note", "", "", {})))
    holder.execute("ROLLBACK")
    holder.close()
    store.events.record("test.note", "", "", {})
    assert len(store.events.read(0, "", 10)) == 1


def test_a_new_file_that_another_keeps_locked(
    home: Path, db: Path, opened: Opened, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(database, "PATIENCE", 0.05)
    home.mkdir()
    holder = sqlite3.connect(db, isolation_level=None)
    holder.execute("BEGIN IMMEDIATE")
    assert "locked" in str(refusal(opened))
    holder.close()
    assert opened().runs.agents() == []


@pytest.mark.parametrize("replaced", ["gone", "another"])
def test_a_file_that_was_taken_away_meanwhile(
    home: Path, store: SqliteStore, opened: Opened, replaced: str
) -> None:
    shutil.rmtree(home)
    if replaced == "another":
        opened()
    why = refusal(lambda: store.runs.add(an_agent(), a_run()))
    assert "moved or deleted" in str(why)
    assert opened().runs.agents() == []


def test_a_closed_store_is_our_own_mistake(store: SqliteStore) -> None:
    store.close()
    with pytest.raises(sqlite3.ProgrammingError):
        store.runs.live()


def test_a_file_that_may_not_be_written(humble: Path) -> None:
    db = humble / "knell.db"
    SqliteStore(str(db), now=Clock()).close()
    db.chmod(0o400)
    store = SqliteStore(str(db), now=Clock())
    why = refusal(lambda: store.events.record("test.note", "", "", {}))
    store.close()
    assert "cannot be written" in str(why)
    assert "writable" in why.hint


def test_a_file_that_may_not_be_read(humble: Path) -> None:
    db = humble / "knell.db"
    SqliteStore(str(db), now=Clock()).close()
    db.chmod(0)
    why = refusal(lambda: SqliteStore(str(db), now=Clock()))
    assert "cannot be opened" in str(why)


@pytest.mark.parametrize("name", ["knell.db", "state/knell.db"])
def test_a_directory_that_may_not_be_written(humble: Path, name: str) -> None:
    humble.chmod(0o500)
    why = refusal(lambda: SqliteStore(str(humble / name), now=Clock()))
    assert "Permission denied" in str(why)
    assert "writable" in why.hint
    assert list(humble.iterdir()) == []


def test_a_directory_that_may_no_longer_be_written(humble: Path) -> None:
    db = humble / "knell.db"
    SqliteStore(str(db), now=Clock()).close()
    before = db.read_bytes()
    humble.chmod(0o500)

    def use() -> None:
        SqliteStore(str(db), now=Clock()).events.record("test.note", "", "", {})

    assert "writable" in refusal(use).hint
    assert db.read_bytes() == before


FILL = """
import sys
from knell.core.errors import StoreFailed
from knell.stores.sqlite import SqliteStore
path = sys.argv[1] + "/knell.db"
store = SqliteStore(path, now=lambda: "now")
kept = 0
try:
    while True:
        store.events.record("test.note", "", "", {"text": "x" * 2000})
        kept += 1
except StoreFailed as error:
    print(error)
    print(error.hint)
    assert len(store.events.read(0, "", 10**6)) == kept, "what was told is kept, what failed is not"
"""


def test_a_full_disk(tmp_path: Path) -> None:
    small = 'mount -t tmpfs -o size=1m none $2 && exec $0 -c "$1" $2'
    argv = ["unshare", "--map-root-user", "--mount", "sh", "-c", small]
    if not shutil.which("unshare") or subprocess.run([*argv[:3], "true"], check=False).returncode:
        pytest.skip("this machine lets us mount no small disk of our own")
    said = subprocess.run(
        [*argv, sys.executable, FILL, str(tmp_path)], capture_output=True, text=True, check=True
    )
    assert "no room on the disk" in said.stdout
    assert "free some space" in said.stdout


def test_a_file_that_may_not_grow(tmp_path: Path) -> None:
    limited = "import resource; resource.setrlimit(resource.RLIMIT_FSIZE, (500_000, 500_000))\n"
    said = subprocess.run(
        [sys.executable, "-c", limited + FILL, str(tmp_path)],
        capture_output=True,
        text=True,
        check=True,
    )
    assert "reading or writing" in said.stdout
    assert "has room" in said.stdout


# -- speed -------------------------------------------------------------------------------------


def test_the_last_runs_are_found_without_reading_all_of_history(
    db: Path, store: SqliteStore
) -> None:
    agents, lives = 50, 2_000
    for number in range(agents):
        run = a_run(f"first-{number}", f"agent-{number}")
        store.runs.add(an_agent(run.agent), run)
        store.endings.end(run._replace(ending=KILLED), a_receipt(run), ())
    connection = sqlite3.connect(db)
    with connection:
        connection.execute(
            "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < ?)"
            " INSERT INTO runs (id, agent, host, place, pane, server, server_pid, session, log,"
            " started_at, parent, keeper, process, cgroup, outcome)"
            " SELECT a.name || '/' || i, a.name, '', 'headless', '', '', 0, '', '', i, '', '', '',"
            " '', 'killed' FROM n, agents a",
            [lives],
        )
    steps = 0

    def count() -> int:
        nonlocal steps
        steps += 1
        return 0

    connection.set_progress_handler(count, 1)
    assert len(connection.execute(records.NEWEST_RUNS).fetchall()) == agents
    connection.close()
    assert steps < agents * 100  # a scan of all 100,000 lives takes several steps for each
    assert {run.id for run in store.runs.newest().values()} == {
        f"agent-{number}/{lives}" for number in range(agents)
    }


def test_opening_loads_nothing_slow() -> None:
    source = str(SQL.parents[2])
    look = (
        "import sys; sys.path.insert(0, sys.argv[1]); old = set(sys.modules);"
        "import knell.stores.sqlite; print(*set(sys.modules) - old)"
    )
    loaded = subprocess.run(
        [sys.executable, "-I", "-S", "-c", look, source],  # without what a site adds
        capture_output=True,
        text=True,
        check=True,
    ).stdout.split()
    slow = {"asyncio", "dataclasses", "importlib.resources", "inspect", "logging", "pathlib"}
    assert "sqlite3" in loaded
    assert slow.isdisjoint(loaded)
