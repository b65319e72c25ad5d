"""What SQLite and the file system can refuse, each as one StoreFailed that says what to do."""

import errno
import sqlite3
from collections.abc import Generator
from contextlib import contextmanager

from quell.core.errors import StoreFailed

PATIENCE = 10.0  # seconds to wait for another process's transaction
ELSEWHERE = "set QUELL_HOME to another directory"

_WRITABLE = f"make it and its directory writable for you, or {ELSEWHERE}"
_ROOM = "free some space and run the command again"

_SQLITE = {
    sqlite3.SQLITE_NOTADB: (
        "{path} is not a database",
        "quell left it as it is; move it aside and a new one is made: mv {shell} {shell}.bad",
    ),
    sqlite3.SQLITE_CORRUPT: (
        "the database {path} is damaged ({error})",
        (
            "quell left it as it is; save what can be read, then move it aside:"
            " sqlite3 {shell} .recover | sqlite3 {shell}.saved"
        ),
    ),
    sqlite3.SQLITE_FULL: ("there is no room on the disk to write {path}", _ROOM),
    sqlite3.SQLITE_READONLY: ("{path} cannot be written ({error})", _WRITABLE),
    sqlite3.SQLITE_PERM: ("{path} cannot be written ({error})", _WRITABLE),
    sqlite3.SQLITE_CANTOPEN: ("{path} cannot be opened ({error})", _WRITABLE),
    sqlite3.SQLITE_BUSY: (
        f"another process kept {{path}} locked for {PATIENCE:.0f} seconds",
        "run the command again; fuser {shell} shows who uses it",
    ),
    sqlite3.SQLITE_IOERR: (
        "reading or writing {path} failed ({error})",
        "see that the disk has room and is healthy, then run the command again",
    ),
    sqlite3.SQLITE_CONSTRAINT: (
        "{path} refused a record that contradicts it ({error})",
        "nothing was changed; this is a fault in quell, please report it",
    ),
}
_OTHERWISE = (
    "the database {path} is not as quell left it ({error})",
    "move it aside and a new one is made: mv {shell} {shell}.bad",
)
_SYSTEM = {
    errno.ENOSPC: _ROOM,
    errno.EDQUOT: _ROOM,
    errno.EACCES: _WRITABLE,
    errno.EPERM: _WRITABLE,
    errno.EROFS: _WRITABLE,
}


@contextmanager
def translated(path: str) -> Generator[None]:
    """Whatever SQLite or the system refuses inside is raised as StoreFailed."""
    try:
        yield
    except sqlite3.ProgrammingError:
        raise  # a closed store, a wrong thread: our bug, not the machine's
    except sqlite3.Error as error:
        said, hint = _SQLITE.get(code_of(error), _OTHERWISE)
        raise _failed(said, hint, path, str(error)) from error
    except UnicodeDecodeError as error:  # SQLite repeats what it cannot read, as it stands there
        raise damaged(path, "unreadable text") from error
    except OSError as error:
        hint = _SYSTEM.get(error.errno or 0, ELSEWHERE)
        why = error.strerror or str(error)
        raise _failed("{path} cannot be used ({error})", hint, path, why) from error


def not_a_database(path: str) -> StoreFailed:
    return _failed(*_SQLITE[sqlite3.SQLITE_NOTADB], path, "")


def damaged(path: str, why: str) -> StoreFailed:
    return _failed(*_SQLITE[sqlite3.SQLITE_CORRUPT], path, why)


def code_of(error: sqlite3.Error) -> int:
    """SQLite's primary result code; 0 where Python's own module raised it."""
    return getattr(error, "sqlite_errorcode", 0) & 0xFF


def _failed(said: str, hint: str, path: str, error: str) -> StoreFailed:
    import shlex

    words = {"path": path, "shell": shlex.quote(path), "error": error}
    return StoreFailed(said.format(**words), hint.format(**words))
