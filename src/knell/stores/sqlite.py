"""The default store: one SQLite file that any number of processes share."""

import os
import sqlite3
import stat
import time
from collections.abc import Callable, Generator, Mapping
from contextlib import contextmanager, suppress
from importlib import import_module
from json import dumps
from typing import TYPE_CHECKING, Any, TypeVar

from knell.core.errors import StoreFailed
from knell.core.ports.store import RunRecord, Store
from knell.stores import records
from knell.stores.database import (
    CAUGHT,
    PATIENCE,
    SMALLEST,
    STATE,
    UP_TO_DATE,
    code_of,
    damaged,
    open_database,
    store_failure,
)

if TYPE_CHECKING:
    from knell.core.run import Run

# What a power cut may destroy. NORMAL: the last commits, never the file. FULL: nothing committed.
NORMAL = "PRAGMA synchronous = NORMAL"
FULL = "PRAGMA synchronous = FULL"
HURRY = 30.0  # seconds after a failed wait for the lock in which the next wait is short
MOMENT = 0.05  # seconds that such a short wait takes

# What the conversion of a row can raise that knell did not write.
_SENSELESS = (ValueError, KeyError, TypeError, AttributeError, OverflowError, RecursionError)

T = TypeVar("T")
Make = Callable[[records.Row], T]
Value = str | bytes | int | Mapping[str, Any] | None


class Transactions:
    """The connection that all parts share: its transactions, clock and audit trail."""

    def __init__(self, path: str, now: Callable[[], str]) -> None:
        self._path, self.now = os.path.abspath(path), now
        self._safety = ""
        # In this transaction: run → the record to keep of it; None: make it from the tables.
        self.changed_runs: dict[str, RunRecord | None] = {}
        self._hurried_until, self._patience = 0.0, PATIENCE
        try:
            self.db, self._refusal = _open_database(self._path)
            self._file_then = self._file_now()
            self.newer_runs = _newer_runs(self.db, self._path)
        except CAUGHT as error:
            raise store_failure(self._path, error) from error

    def close(self) -> None:
        with self.reading():
            self.db.close()

    def all(self, query: str, make: Make[T], *values: Value, **named: Value) -> list[T]:
        """What the query finds, each row made into a record."""
        with self.reading():
            return [make(row) for row in self.execute(query, *values, **named)]

    def one(self, query: str, make: Make[T], *values: Value, **named: Value) -> T | None:
        """The first of them."""
        found = self.all(query, make, *values, **named)
        return found[0] if found else None

    def execute(self, statement: str, *values: Value, **named: Value) -> sqlite3.Cursor:
        """Runs one statement, inside `reading` or `writing`; its values are given in one way."""
        if named:
            return self.db.execute(statement, {key: _storable(named[key]) for key in named})
        return self.db.execute(statement, [_storable(one) for one in values])

    def insert(self, table: str, **columns: Value) -> int:
        """Adds a row and returns its rowid; inside `writing`."""
        marks = ", ".join("?" * len(columns))
        statement = f"INSERT INTO {table} ({', '.join(columns)}) VALUES ({marks})"
        return self.execute(statement, *columns.values()).lastrowid or 0

    def update(self, table: str, key: Mapping[str, Value], **columns: Value) -> int:
        """Changes the rows with that key and returns how many there were; inside `writing`."""
        changes, which = (" = ?, ".join(columns), " = ? AND ".join(key))
        statement = f"UPDATE {table} SET {changes} = ? WHERE {which} = ?"
        return self.execute(statement, *columns.values(), *key.values()).rowcount

    def put(self, table: str, key: Mapping[str, Value], **columns: Value) -> None:
        """Changes the row with that key, or adds it; inside `writing`."""
        if not self.update(table, key, **columns):
            self.insert(table, **key, **columns)

    @contextmanager
    def reading(self) -> Generator[sqlite3.Connection]:
        """A record that cannot be understood is a StoreFailed too."""
        try:
            yield self.db
        except _SENSELESS as error:
            raise StoreFailed(
                f"{self._path} holds a record that this knell cannot read ({error})",
                "upgrade knell if a newer one wrote it; else restore the file from a copy",
            ) from error
        except CAUGHT as error:
            raise store_failure(self._path, error) from error

    @contextmanager
    def writing(self, safety: str) -> Generator[sqlite3.Connection]:
        """All of it is written, or nothing; no other process writes meanwhile."""
        try:
            self._check_writable()
            if safety != self._safety:
                self.db.execute(safety)  # before the transaction: inside one it has no effect
                self._safety = safety
            try:
                self._begin()
                yield self.db
                self.db.execute("COMMIT")
            except BaseException:
                self.db.rollback()
                self.changed_runs.clear()
                raise
            self._write_records()
        except CAUGHT as error:
            raise store_failure(self._path, error) from error

    def _write_records(self) -> None:
        """Writes each changed run where a lost store is restored from: into its own directory, or
        beside the others that were put away.

        What cannot be written there is no error: the store was written, and has the same."""
        while self.changed_runs:
            from knell.stores.archive import RunArchive

            id, record = self.changed_runs.popitem()
            record = record or self._record_of(id)
            with suppress(OSError):
                archive = RunArchive(os.path.join(os.path.dirname(self._path), "runs"))
                archive.write(record)

    def _record_of(self, id: str) -> RunRecord:
        run = self.known_run(id)
        [agent] = self.all(records.AGENT, records.agent_from, run.agent)
        receipt = self.one(records.RECEIPT, records.receipt_from, id)
        token = self.one("SELECT token FROM instances WHERE run = ?", records.first, id)
        return RunRecord(agent, run, receipt, token or "")

    def _check_writable(self) -> None:
        if self._refusal is not None:
            raise self._refusal
        if self._file_now() != self._file_then:
            raise StoreFailed(
                f"{self._path} was moved or deleted while it was in use",
                "put it back, or run the command again and it is restored from the run directories",
            )

    def write_event(self, type: str, agent: str, run: str, data: Mapping[str, Any]) -> None:
        """One row of the audit trail. Only inside a transaction."""
        self.insert("events", at=self.now(), type=type, agent=agent, run=run, data=data)

    def known_run(self, id: str) -> "Run":
        """The run, or StoreFailed if it is not on record."""
        found = self.one(records.RUN, records.run_from, id)
        if found is None:
            raise StoreFailed(f"no run {id} is on record", "knell list --all shows every agent")
        return found

    def live_run_of(self, agent: str) -> str:
        """The id of the agent's live run; empty if it is not running."""
        return self.one("SELECT run FROM instances WHERE agent = ?", records.first, agent) or ""

    def agent_of(self, run: str) -> str:
        """The agent of a run, for messages; the run's own id if it is unknown."""
        return self.one("SELECT agent FROM runs WHERE id = ?", records.first, run) or run

    def _begin(self) -> None:
        """Waits for the write lock; soon after a failed wait, only for a moment: a kill of fifty
        agents while another process keeps the lock waits once, not fifty times."""
        patience = MOMENT if time.monotonic() < self._hurried_until else PATIENCE
        if patience != self._patience:
            self.db.execute(f"PRAGMA busy_timeout = {patience * 1000:.0f}")
            self._patience = patience
        try:
            self.db.execute("BEGIN IMMEDIATE")
        except sqlite3.OperationalError as error:
            if code_of(error) == sqlite3.SQLITE_BUSY:
                self._hurried_until = time.monotonic() + HURRY
            raise
        self._hurried_until = 0.0

    def check(self) -> None:
        """StoreFailed unless every page can be read, and one can be written and flushed."""
        with self.reading() as db:
            [[found], *_] = db.execute("PRAGMA quick_check(1)").fetchall()
            if found != "ok":
                raise damaged(self._path, found)
        with self.writing(FULL) as db:  # the first page, with the value that it had
            version = db.execute("PRAGMA user_version").fetchone()[0]
            db.execute(f"PRAGMA user_version = {version:d}")

    def back_up(self) -> None:
        """Copies the whole store into the newest backup; the one before becomes the second."""
        first, second, new = (f"{self._path}.backup-{which}" for which in ("1", "2", "new"))
        with self.reading() as db:
            with suppress(FileNotFoundError):
                os.unlink(new)  # what a crash left there
            os.close(os.open(new, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600))
            db.execute("VACUUM INTO ?", [new])
            with suppress(FileNotFoundError):
                os.replace(first, second)
            os.replace(new, first)

    def _file_now(self) -> tuple[int, int]:
        """SQLite would go on writing to a file that was deleted, and all of that would be lost."""
        with suppress(FileNotFoundError):
            found = os.stat(self._path)
            return (found.st_dev, found.st_ino)
        return (0, 0)


class Part:
    """One subject of the store, on the connection that all parts share."""

    def __init__(self, file: Transactions) -> None:
        self._file = file


def _open_database(path: str) -> tuple[sqlite3.Connection, sqlite3.Error | None]:
    """As nearly always, the file is there, private and up to date; else as database.py says."""
    try:
        found = os.stat(path)
    except OSError:
        return open_database(path)
    if not stat.S_ISREG(found.st_mode) or found.st_size < SMALLEST or found.st_mode & 0o077:
        return open_database(path)
    db = sqlite3.connect(path, timeout=PATIENCE, isolation_level=None)
    try:
        if db.execute(STATE).fetchone() == UP_TO_DATE:
            db.execute("PRAGMA foreign_keys = ON")
            return db, None
    except sqlite3.Error as error:
        if code_of(error) in (0, sqlite3.SQLITE_BUSY):
            db.close()
            raise  # no error of the file's, or a lock that was waited for
    db.close()
    return open_database(path)


def _newer_runs(db: sqlite3.Connection, path: str) -> list[str]:
    """Runs with directories that began after those on record: the file may be an older copy."""
    names: list[str] = []
    with suppress(OSError):
        names = os.listdir(os.path.join(os.path.dirname(path), "runs"))
    # Second, because a run is on record before it has a directory.
    [[newest]] = db.execute("SELECT CAST(coalesce(max(id), '') AS TEXT) FROM runs").fetchall()
    second = newest[:14]  # the names begin with the time; within a second they are in no order
    late = [name for name in names if name >= second and name[0].isdigit() and name != newest]
    if not late:
        return []
    known = {id for (id,) in db.execute("SELECT id FROM runs WHERE id >= ?", [second])}
    return [name for name in late if name not in known]


def _storable(value: Value) -> str | bytes | int | None:
    """A mapping as readable JSON, in which a value that JSON has no type for is text."""
    if isinstance(value, int | bytes | None):
        return value
    text = value if isinstance(value, str) else dumps(value, ensure_ascii=False, default=str)
    return str(text) if text.isascii() else records.plain(text)


class SqliteStore(Transactions, Store):
    """One part for each subject, all on this connection. Each is imported and made when it is
    first asked for, from the module of its name; `Store` has their types.

    Each method of a part is one transaction: all of it happens, or StoreFailed is raised."""

    def __getattr__(self, name: str) -> Any:
        if name not in Store.__annotations__:
            raise AttributeError(name)
        module = import_module(f"knell.stores.{name}")
        part = getattr(module, "Sqlite" + name.title().replace("_", ""))(self)
        setattr(self, name, part)
        return part
