"""Files of other programs: found, read in part, and, only when asked, deleted within one root."""

import os
import stat
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from quell.core.signs import FileSeen

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

    def seen(self, path: str) -> "FileSeen | None":
        """What stands there, links not followed; None: could not look."""
        from quell.core.signs import FileSeen

        try:
            found = os.lstat(path)
        except (FileNotFoundError, NotADirectoryError):
            return FileSeen("nothing")
        except OSError:
            return None
        kinds = {stat.S_IFREG: "file", stat.S_IFDIR: "directory", stat.S_IFLNK: "link"}
        what = kinds.get(stat.S_IFMT(found.st_mode), "other")
        return FileSeen(what, found.st_size, found.st_mtime_ns)

    def touch(self, path: str) -> str:
        """Sets the file's time to now; makes it, but no directory. Returns why it cannot."""
        flags = os.O_WRONLY | os.O_CREAT | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC
        try:
            fd = os.open(path, flags, 0o600)
        except OSError as error:
            return error.strerror or "refused"
        try:
            os.utime(fd)
        finally:
            os.close(fd)
        return ""

    def write_new(self, path: str, text: str) -> None:
        """Makes a small file unless there is one; that it cannot is no reason to stop."""
        try:
            with open(path, "x") as file:
                file.write(text)
        except OSError:
            return

    def head(self, path: str) -> bytes | None:
        """Its first 64 KB; None if it cannot be read, which is not the same as empty."""
        return _read(path, 0)

    def tail(self, path: str, limit: int = TAIL) -> bytes | None:
        """Its last megabyte, or less; None if it cannot be read."""
        try:
            size = os.stat(path).st_size
        except OSError:
            return None
        return _read(path, max(0, size - limit), limit)

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

    def make_marked(self, path: str, marker: str, text: str) -> str:
        """A new directory of ours alone, with a file in it that says so; returns why it cannot."""
        flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC
        try:
            os.makedirs(os.path.dirname(path), mode=0o700, exist_ok=True)
            os.mkdir(path, 0o700)
            fd = os.open(os.path.join(path, marker), flags, 0o600)
            with os.fdopen(fd, "w") as file:
                file.write(text)
        except OSError as error:
            return f"cannot make {path}: {error.strerror}"
        return ""

    def marked(self, path: str, marker: str, text: str) -> str:
        """Why this is no directory that `make_marked` made; empty if it is one."""
        try:
            found = os.lstat(path)
            mark = os.lstat(os.path.join(path, marker))
        except OSError as error:
            return f"it bears no mark of ours: {error.strerror}"
        if not stat.S_ISDIR(found.st_mode) or not stat.S_ISREG(mark.st_mode):
            return "it is a link, or its mark is no plain file"
        if found.st_uid != os.geteuid():
            return "it belongs to another user"
        if _read(os.path.join(path, marker), 0) != text.encode():
            return "its mark names another run"
        return ""

    def remove_below(self, root: str, path: str) -> str:
        """Deletes a directory that lies right in `root`; links in it go, what they name stays.

        Returns why it could not. Folders without write permission are no obstacle."""
        if os.path.dirname(path) != root or os.path.islink(root):
            return f"it does not lie in {root}"
        why = _outside(root, path)
        if why:
            return why
        try:
            _remove(path)
        except PermissionError:
            _open_up(path)
        except OSError as error:
            return error.strerror or "refused"
        else:
            return ""
        try:
            _remove(path)
        except OSError as error:
            return error.strerror or "refused"
        return ""


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


def _open_up(path: str) -> None:
    """Some programs write-protect what they cache, the Go tools for one."""
    for here, folders, _ in os.walk(path):
        for folder in folders:
            below = os.path.join(here, folder)
            if not os.path.islink(below):
                os.chmod(below, 0o700)
