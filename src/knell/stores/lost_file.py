"""A store whose file is lost or damaged: set aside, and made anew under its name in one step."""

import os
import shutil
from collections.abc import Callable
from contextlib import closing, suppress

from knell.core.errors import StoreFailed
from knell.core.ports.store import Restored
from knell.stores.sqlite import SqliteStore

BESIDE = ("", "-wal", "-shm")


def rebuild(path: str, now: Callable[[], str], fill: Callable[[SqliteStore], Restored]) -> Restored:
    """Makes the store at `path` from a backup, if a good one is there, and from what `fill` adds.

    It gets its name when it is whole: of commands that find it missing at once, one wins."""
    new = f"{path}.new-{os.urandom(4).hex()}"
    try:
        used = any(_is_good_copy(f"{path}.backup-{which}", new, now) for which in ("1", "2"))
        with closing(SqliteStore(new, now=now)) as store:
            restored = fill(store)
        if os.path.exists(path):  # an empty file, which holds nothing
            os.replace(new, path)
        else:
            with suppress(FileExistsError):
                os.link(new, path)
    finally:
        for end in BESIDE:
            with suppress(FileNotFoundError):
                os.unlink(new + end)
    return restored._replace(from_backup=used)


def _is_good_copy(backup: str, new: str, now: Callable[[], str]) -> bool:
    """Copies the backup; False if there is none, or if it cannot be used."""
    try:
        shutil.copyfile(backup, new)
        os.chmod(new, 0o600)
        with closing(SqliteStore(new, now=now)) as store:
            store.check()
            store.runs.newest()
    except (FileNotFoundError, StoreFailed):
        with suppress(FileNotFoundError):
            os.unlink(new)
        return False
    return True


def set_aside(path: str, name: str) -> str:
    """Renames the file and its logs; nothing of it is deleted. Returns where it is now."""
    aside = f"{path}.bad-{name}"
    for end in BESIDE:
        with suppress(FileNotFoundError):
            os.rename(path + end, aside + end)
    return aside
