"""Opening the SQLite file: kept private, brought up to date, never another program's."""

import os
import sqlite3
import stat
import time
from collections.abc import Iterator

from quell.core.errors import StoreFailed
from quell.stores.failures import ELSEWHERE, PATIENCE, code_of, not_a_database, translated

SCHEMA = 3  # the highest number in sql/
SMALLEST = 512  # bytes; no SQLite database has fewer
APPLICATION = 0x7175656C  # "quel", in the file's header


# What SQLite says when it cannot make the two files that it needs beside a good database.
_UNWRITABLE = {
    *(sqlite3.SQLITE_CANTOPEN, sqlite3.SQLITE_READONLY, sqlite3.SQLITE_IOERR, sqlite3.SQLITE_FULL)
}


def opened(path: str) -> tuple[sqlite3.Connection, sqlite3.Error | None]:
    """A connection in autocommit mode to an up-to-date database, which is made if missing.

    With an error, it can only be read, and that error is why: on a full or read-only disk an
    agent must still be found, to be ended.
    """
    with translated(path):
        _make_private(path)
        try:
            return _connected(path), None
        except sqlite3.OperationalError as error:
            if code_of(error) not in _UNWRITABLE or _has_unread_pages(path):
                raise
            return _connected_for_reading(path, error), error


def _connected(path: str, *, uri: bool = False) -> sqlite3.Connection:
    db = sqlite3.connect(path, timeout=PATIENCE, isolation_level=None, uri=uri)
    try:
        _bring_up_to_date(db, path)
        db.execute("PRAGMA foreign_keys = ON")
    except BaseException:
        db.close()
        raise
    return db


def _connected_for_reading(path: str, why: sqlite3.Error) -> sqlite3.Connection:
    from urllib.parse import quote

    file = f"file:{quote(path)}?immutable=1"
    for connect in (_connected, _copied):
        try:
            return connect(file, uri=True)
        except sqlite3.Error:
            pass  # of an older schema, or past reading
    raise why


def _copied(path: str, *, uri: bool) -> sqlite3.Connection:
    """A copy in memory: an older file that cannot be brought up to date is read all the same."""
    copy = sqlite3.connect(":memory:", isolation_level=None)
    try:
        file = sqlite3.connect(path, uri=uri)
        try:
            file.backup(copy)
        finally:
            file.close()
        _bring_up_to_date(copy, path)
    except BaseException:
        copy.close()
        raise
    return copy


def _has_unread_pages(path: str) -> bool:
    """What a crashed writer left in the log, which can only be read where it can be locked."""
    return os.path.exists(path + "-wal") and os.path.getsize(path + "-wal") > 0


def _make_private(path: str) -> None:
    """An existing file is only looked at: closing a second handle would drop SQLite's locks."""
    try:
        found = os.stat(path)
    except FileNotFoundError:
        os.makedirs(os.path.dirname(path), mode=0o700, exist_ok=True)
        os.close(os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600))
        return
    if not stat.S_ISREG(found.st_mode):
        what = "a directory" if stat.S_ISDIR(found.st_mode) else "no regular file"
        raise StoreFailed(f"{path} is {what}, not a database", f"move it aside, or {ELSEWHERE}")
    if 0 < found.st_size < SMALLEST:
        raise not_a_database(path)  # SQLite takes a file of one byte for an empty one
    if found.st_mode & 0o077 and found.st_uid == os.geteuid():
        for name in (path, path + "-wal", path + "-shm"):
            try:
                os.chmod(name, 0o600)
            except FileNotFoundError:
                pass  # the last one to close the database takes these two away


# -- the schema --------------------------------------------------------------------------------


def _bring_up_to_date(db: sqlite3.Connection, path: str) -> None:
    # One statement, so one moment: another process may be making the tables right now.
    version, application, used = db.execute(
        "SELECT user_version, application_id, EXISTS (SELECT 1 FROM sqlite_master)"
        " FROM pragma_user_version, pragma_application_id"
    ).fetchone()
    if application != APPLICATION and (version or used):
        raise StoreFailed(
            f"{path} is a database of another program",
            f"quell left it as it is; {ELSEWHERE}",
        )
    _refuse_newer(path, version)
    if version < SCHEMA:
        _switch_to_wal(db)
        _migrate(db, path)


def _refuse_newer(path: str, version: int) -> None:
    if version > SCHEMA:
        raise StoreFailed(
            f"{path} was written by a newer quell (schema {version}, this one knows {SCHEMA})",
            f"upgrade quell, or {ELSEWHERE}",
        )


def _switch_to_wal(db: sqlite3.Connection) -> None:
    """Readers and a writer side by side from now on; the file remembers it."""
    deadline = time.monotonic() + PATIENCE
    while True:
        try:
            db.execute("PRAGMA journal_mode = WAL").fetchone()
            return
        except sqlite3.OperationalError as error:
            if code_of(error) != sqlite3.SQLITE_BUSY or time.monotonic() > deadline:
                raise
        # SQLite does not always wait for this switch. It does wait for a lock.
        db.execute("BEGIN IMMEDIATE")
        db.execute("ROLLBACK")


def _migrate(db: sqlite3.Connection, path: str) -> None:
    """All steps or none. Whoever comes second finds them done."""
    try:
        db.execute("BEGIN IMMEDIATE")
        version = db.execute("PRAGMA user_version").fetchone()[0]
        _refuse_newer(path, version)
        for number, statements in _steps_after(version):
            for statement in statements:
                db.execute(statement)
            db.execute(f"PRAGMA user_version = {number:d}")
        db.execute(f"PRAGMA application_id = {APPLICATION:d}")
        db.execute("COMMIT")
    except BaseException:
        db.rollback()
        raise


def _steps_after(version: int) -> Iterator[tuple[int, list[str]]]:
    folder = os.path.join(os.path.dirname(os.path.abspath(__file__)), "sql")
    for name in sorted(os.listdir(folder)):
        number = name.partition("_")[0]
        if name.endswith(".sql") and number.isdigit() and int(number) > version:
            with open(os.path.join(folder, name), encoding="utf-8") as file:
                yield int(number), list(_statements(file))


def _statements(lines: Iterator[str]) -> Iterator[str]:
    """One by one, as `executescript` would commit the open transaction first."""
    statement = ""
    for line in lines:
        statement += line
        if sqlite3.complete_statement(statement):
            yield statement
            statement = ""
