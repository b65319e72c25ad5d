"""A store whose file is lost or damaged: set aside, and made anew under its name in one step.

Both are done under one lock: a new file that gets its name while the log of the old one still lies
there would be overwritten by that log."""

import os
import shutil
from collections.abc import Callable, Generator
from contextlib import closing, contextmanager, suppress

from knell import files
from knell.core.errors import StoreFailed
from knell.core.ports.store import Restored
from knell.stores.database import store_failure
from knell.stores.sqlite import SqliteStore

BESIDE = ("", "-wal", "-shm")
BACKUPS = ("backup-1", "backup-2")


def has_backup(path: str) -> bool:
    return any(os.path.exists(f"{path}.{which}") for which in BACKUPS)


def rebuild(
    path: str, now: Callable[[], str], fill: Callable[[SqliteStore], Restored]
) -> Restored | None:
    """Makes the store at `path` from a backup, if a good one is there, and from what `fill` adds.

    It gets its name when it is whole. None if another command has made it meanwhile."""
    with _locked(path):
        if os.path.exists(path) and os.path.getsize(path):
            return None
        word = os.urandom(4).hex()
        new = f"{path}.new-{word}"
        try:
            restored = _make(path, new, now, fill)
            _rename(path, f"{path}.bad-{word}")  # logs, which a watch may have open, and no store
            os.rename(new, path)
        finally:
            _delete(new)
        return restored


def _make(
    path: str, new: str, now: Callable[[], str], fill: Callable[[SqliteStore], Restored]
) -> Restored:
    used = any(_copy_backup(f"{path}.{which}", new, now) for which in BACKUPS)
    with closing(SqliteStore(new, now=now)) as store:
        return fill(store)._replace(from_backup=used)


def _copy_backup(backup: str, new: str, now: Callable[[], str]) -> bool:
    """Copies the backup; False if there is none, or if it cannot be used."""
    try:
        shutil.copyfile(backup, new)
        os.chmod(new, 0o600)
        if _is_good(new, now):
            return True
    except FileNotFoundError:
        return False
    os.unlink(new)
    return False


def _is_good(path: str, now: Callable[[], str]) -> bool:
    try:
        with closing(SqliteStore(path, now=now)) as store:
            store.check()
            store.runs.newest()  # every record can be read
    except StoreFailed:
        return False
    return True


def set_aside(path: str, now: Callable[[], str], name: str) -> None:
    """Renames the file and its logs; nothing of it is deleted. One that is good stays: another
    command has made it anew."""
    with _locked(path):
        if os.path.exists(path) and not _is_good(path, now):
            _rename(path, f"{path}.bad-{name}")


def _delete(path: str) -> None:
    for end in BESIDE:
        with suppress(FileNotFoundError):
            os.unlink(path + end)


def _rename(path: str, aside: str) -> None:
    for end in BESIDE:
        with suppress(FileNotFoundError):
            os.rename(path + end, aside + end)


@contextmanager
def _locked(path: str) -> Generator[None]:
    try:
        with files.locked(path + ".lock"):
            yield
    except OSError as error:
        raise store_failure(path, error) from error
