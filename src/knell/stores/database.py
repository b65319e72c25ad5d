"""Opens the SQLite file where it is not as usual: private to its user, with the newest schema, and
never another program's; where nothing can be written, for reading.

Also turns each error of SQLite and the file system into a StoreFailed that says what to do.
"""

import errno
import os
import sqlite3
import stat
import time
from collections.abc import Iterator
from contextlib import closing, suppress

from knell.core.codes import Code
from knell.core.errors import StoreFailed

SCHEMA = 7  # the highest number in sql/
SMALLEST = 512  # bytes; no SQLite database is smaller
APPLICATION = 0x6B6E656C  # "knel", in the file's header
PATIENCE = 10.0  # seconds to wait for another process's transaction
CAUGHT = (sqlite3.Error, UnicodeDecodeError, OSError)
ELSEWHERE = "set KNELL_HOME to another directory"

STATE = (
    "SELECT user_version, application_id, EXISTS (SELECT 1 FROM sqlite_master)"
    " FROM pragma_user_version, pragma_application_id"
)
UP_TO_DATE = (SCHEMA, APPLICATION, 1)  # what STATE finds in the file that this knell made

# SQLite's errors when it cannot make the two files that it needs beside a good database.
_UNWRITABLE = {
    *(sqlite3.SQLITE_CANTOPEN, sqlite3.SQLITE_READONLY, sqlite3.SQLITE_IOERR, sqlite3.SQLITE_FULL)
}


def open_database(path: str) -> tuple[sqlite3.Connection, sqlite3.Error | None]:
    """A connection in autocommit mode to an up-to-date database, which is made if missing.

    If an error comes with it, the database can only be read, because of that error: on a full or
    read-only disk an agent must still be found, to be ended.
    """
    _make_private(path)
    try:
        return _connect(path), None
    except sqlite3.OperationalError as error:
        if code_of(error) not in _UNWRITABLE or _has_unread_pages(path):
            raise
        return _connect_for_reading(path, error), error


def _connect(path: str, *, uri: bool = False) -> sqlite3.Connection:
    db = sqlite3.connect(path, timeout=PATIENCE, isolation_level=None, uri=uri)
    try:
        _bring_up_to_date(db, path)
        db.execute("PRAGMA foreign_keys = ON")
    except BaseException:
        db.close()
        raise
    return db


def _connect_for_reading(path: str, why: sqlite3.Error) -> sqlite3.Connection:
    from urllib.parse import quote

    file = f"file:{quote(path)}?immutable=1"
    for connect in (_connect, _copy_to_memory):
        try:
            return connect(file, uri=True)
        except sqlite3.Error:
            pass  # it has an older schema, or it cannot be read at all
    raise why


def _copy_to_memory(path: str, *, uri: bool) -> sqlite3.Connection:
    """A copy in memory, for an older file that cannot be brought up to date."""
    copy = sqlite3.connect(":memory:", isolation_level=None)
    try:
        with closing(sqlite3.connect(path, uri=uri)) as file:
            file.backup(copy)
        _bring_up_to_date(copy, path)
    except BaseException:
        copy.close()
        raise
    return copy


def _has_unread_pages(path: str) -> bool:
    """Whether a crashed writer left pages in the log, which SQLite can only read under a lock."""
    return os.path.exists(path + "-wal") and os.path.getsize(path + "-wal") > 0


def _make_private(path: str) -> None:
    """An existing file is not opened: closing a second handle would drop SQLite's locks."""
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
        # SQLite would treat a file of one byte as an empty database.
        raise _failed(*_SQLITE[sqlite3.SQLITE_NOTADB], path, "")
    if found.st_mode & 0o077 and found.st_uid == os.geteuid():
        for name in (path, path + "-wal", path + "-shm"):
            with suppress(FileNotFoundError):  # who closes the database last deletes two of them
                os.chmod(name, 0o600)


# -- the schema --------------------------------------------------------------------------------


def _bring_up_to_date(db: sqlite3.Connection, path: str) -> None:
    # One statement, so one moment: another process may be making the tables right now.
    version, application, used = db.execute(STATE).fetchone()
    if application != APPLICATION and (version or used):
        raise StoreFailed(
            f"{path} is a database of another program", f"knell left it as it is; {ELSEWHERE}"
        )
    _refuse_newer(path, version)
    if version < SCHEMA:
        _switch_to_wal(db)
        _migrate(db, path)


def _refuse_newer(path: str, version: int) -> None:
    if version > SCHEMA:
        raise StoreFailed(
            f"{path} was written by a newer knell (schema {version}, this one knows {SCHEMA})",
            f"upgrade knell, or {ELSEWHERE}",
        )


def _switch_to_wal(db: sqlite3.Connection) -> None:
    """Lets readers and a writer work side by side from now on; the file keeps this mode."""
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
    """All steps or none. A second process that migrates finds them done."""
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
    """One by one, because `executescript` would commit the open transaction first."""
    statement = ""
    for line in lines:
        statement += line
        if sqlite3.complete_statement(statement):
            yield statement
            statement = ""


# -- errors --------------------------------------------------------------------------------------

REPAIR = "knell left it as it is; knell doctor --repair moves it aside and restores what it held"
_WRITABLE = f"make it and its directory writable for you, or {ELSEWHERE}"
_ROOM = "free some space and run the command again"

_SQLITE = {
    sqlite3.SQLITE_NOTADB: ("{path} is not a database", REPAIR),
    sqlite3.SQLITE_CORRUPT: ("the database {path} is damaged ({error})", REPAIR),
    sqlite3.SQLITE_FULL: ("there is no room on the disk to write {path}", _ROOM),
    sqlite3.SQLITE_READONLY: ("{path} cannot be written ({error})", _WRITABLE),
    sqlite3.SQLITE_PERM: ("{path} cannot be written ({error})", _WRITABLE),
    sqlite3.SQLITE_CANTOPEN: ("{path} cannot be opened ({error})", _WRITABLE),
    sqlite3.SQLITE_BUSY: (
        f"another process kept {{path}} locked for {PATIENCE:.0f} seconds",
        "run the command again; fuser {shell} shows which processes use it",
    ),
    sqlite3.SQLITE_IOERR: (
        "reading or writing {path} failed ({error})",
        "check that the disk has room and is healthy, then run the command again",
    ),
    sqlite3.SQLITE_CONSTRAINT: (
        "{path} refused a record that contradicts what is stored ({error})",
        "nothing was changed; this is a fault in knell, please report it",
    ),
}
_OTHERWISE = ("the database {path} is not as knell left it ({error})", REPAIR)
_SYSTEM = dict.fromkeys((errno.ENOSPC, errno.EDQUOT), _ROOM) | dict.fromkeys(
    (errno.EACCES, errno.EPERM, errno.EROFS), _WRITABLE
)


def store_failure(path: str, error: Exception) -> StoreFailed:
    """What a CAUGHT error means for a person."""
    if isinstance(error, sqlite3.ProgrammingError):
        raise error  # a closed store or a wrong thread is a bug of knell
    if isinstance(error, sqlite3.Error):
        said, hint = _SQLITE.get(code_of(error), _OTHERWISE)
        return _failed(said, hint, path, str(error))
    if isinstance(error, OSError):
        hint = _SYSTEM.get(error.errno or 0, ELSEWHERE)
        return _failed("{path} cannot be used ({error})", hint, path, error.strerror or str(error))
    return damaged(path, "unreadable text")  # SQLite quotes it in its error message


def damaged(path: str, why: str) -> StoreFailed:
    return _failed(*_SQLITE[sqlite3.SQLITE_CORRUPT], path, why)


def code_of(error: BaseException) -> int:
    """SQLite's primary result code; 0 where Python's own module raised it."""
    return getattr(error, "sqlite_errorcode", 0) & 0xFF


def _failed(said: str, hint: str, path: str, error: str) -> StoreFailed:
    import shlex

    words = {"path": path, "shell": shlex.quote(path), "error": error}
    code = Code.STORE_DAMAGED if hint == REPAIR else Code.STORE_FAILED
    return StoreFailed(said.format(**words), hint.format(**words), code=code)
