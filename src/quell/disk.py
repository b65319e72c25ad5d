"""Files of other programs: found, read in part, and, only when asked, deleted within one root."""

import os
import stat
from typing import NamedTuple

HEAD = 65_536
TAIL = 1 << 20


class Purged(NamedTuple):
    removed: tuple[str, ...]
    refused: tuple[str, ...]  # "path: why"


class Disk:
    def glob(self, pattern: str) -> list[str]:
        import glob

        return sorted(glob.glob(pattern))

    def is_directory(self, path: str) -> bool:
        return os.path.isdir(path)

    def real(self, path: str) -> str:
        return os.path.realpath(path)

    def touched_at(self, path: str) -> float | None:
        try:
            return os.stat(path).st_mtime
        except OSError:
            return None

    def head(self, path: str) -> bytes | None:
        """Its first 64 KB; None if it cannot be read, which is not the same as empty."""
        return _read(path, 0)

    def tail(self, path: str) -> bytes | None:
        """Its last megabyte; None if it cannot be read."""
        try:
            size = os.stat(path).st_size
        except OSError:
            return None
        return _read(path, max(0, size - TAIL), TAIL)

    def query(self, path: str, sql: str, values: dict[str, str]) -> list[str] | None:
        """The first column of what another program's SQLite file answers; None: could not ask."""
        import sqlite3
        from urllib.parse import quote

        try:
            db = sqlite3.connect(f"file:{quote(path)}?mode=ro", uri=True, timeout=2)
        except sqlite3.Error:
            return None
        try:
            return [str(row[0]) for row in db.execute(sql, values).fetchmany(100)]
        except sqlite3.Error:
            return None
        finally:
            db.close()

    def purge(self, root: str, paths: list[str]) -> Purged:
        """Deletes exactly these, never through a link and never outside `root`."""
        removed: list[str] = []
        refused: list[str] = []
        for path in paths:
            why = _outside(root, path)
            if why:
                refused.append(f"{path}: {why}")
                continue
            try:
                _remove(path)
                removed.append(path)
            except OSError as error:
                refused.append(f"{path}: {error.strerror}")
        return Purged(tuple(removed), tuple(refused))


def _read(path: str, offset: int, limit: int = HEAD) -> bytes | None:
    try:
        fd = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
    except OSError:
        return None
    try:
        if not stat.S_ISREG(os.fstat(fd).st_mode):
            return None
        return os.pread(fd, limit, offset)
    except OSError:
        return None
    finally:
        os.close(fd)


def _outside(root: str, path: str) -> str:
    """Why this must not be deleted, or nothing: every step from the root down is a real folder."""
    root = os.path.realpath(root)
    parent = os.path.realpath(os.path.dirname(path))
    if not root or root == "/" or os.path.commonpath([root, parent]) != root:
        return f"not inside {root}"
    if os.path.islink(path):
        return "a link; links are not followed"
    if os.path.realpath(path) == root:
        return "the root itself"
    return ""


def _remove(path: str) -> None:
    if os.path.isdir(path):
        import shutil

        shutil.rmtree(path)  # follows no links
    else:
        os.unlink(path)
