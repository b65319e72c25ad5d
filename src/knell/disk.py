"""Files of other programs: found, read, replaced whole and, when asked, deleted within one root."""

import errno
import os
import stat
from collections.abc import Callable, Generator
from contextlib import contextmanager, suppress
from typing import TYPE_CHECKING

from knell.core.errors import FileFailed

if TYPE_CHECKING:
    from types import ModuleType

    from knell.core.ports.disk import Purged, WholeFile
    from knell.core.stall.signs import FileSeen

HEAD = 65_536
TAIL = 1 << 20
LARGEST = 64_000_000  # bytes of a settings file


class RealDisk:
    def glob(self, pattern: str) -> list[str]:
        import glob

        return sorted(glob.glob(pattern))

    def hides(self, pattern: str) -> bool:
        """Whether a file that fits may lie in a directory that we may not read."""
        above = os.path.dirname(pattern)
        if above == pattern:
            return False
        unreadable = (
            os.path.isdir(one) and not os.access(one, os.R_OK | os.X_OK) for one in self.glob(above)
        )
        return any(unreadable) or self.hides(above)

    def is_directory(self, path: str) -> bool:
        return os.path.isdir(path)

    def real(self, path: str) -> str:
        return os.path.realpath(path)

    def open_to_others(self, path: str) -> str:
        """Why another user could change what is in a directory; empty if none could."""
        try:
            found = os.stat(path)
        except OSError:
            return ""
        if found.st_uid != os.geteuid():
            return f"it belongs to another user (uid {found.st_uid})"
        writable = found.st_mode & 0o022
        return f"others can write there (mode {found.st_mode & 0o7777:o})" if writable else ""

    def allocated_bytes(self, path: str) -> int:
        """The blocks that a directory and all below it take on the disk; links not followed."""
        blocks = 0
        for folder, _, files in os.walk(path):
            for name in (*files, ""):
                try:
                    blocks += os.lstat(os.path.join(folder, name)).st_blocks
                except OSError:
                    continue  # gone meanwhile
        return blocks * 512

    def touched_at(self, path: str) -> float | None:
        try:
            return os.stat(path).st_mtime
        except OSError:
            return None

    def seen(self, path: str) -> "FileSeen | None":
        """What stands there, links not followed; None: could not look."""
        from knell.core.stall.signs import FileSeen

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
        return _change(path, os.utime)

    def write_at(self, path: str, offset: int, content: bytes) -> str:
        """Writes into a small file of ours, which it makes if missing; returns why it cannot."""

        def write(fd: int) -> None:
            if not stat.S_ISREG(os.fstat(fd).st_mode):
                raise OSError(errno.EINVAL, "it is no regular file")
            os.pwrite(fd, content, offset)

        return _change(path, write)

    def write_new(self, path: str, text: str) -> None:
        """Makes a small file unless there is one; that it cannot is no reason to stop."""
        with suppress(OSError), open(path, "x") as file:
            file.write(text)

    def head(self, path: str) -> bytes | None:
        """Its first 64 KB; None if it cannot be read, which is not the same as empty."""
        return _read(path, HEAD)

    def tail(self, path: str, limit: int = TAIL) -> bytes | None:
        """Its last megabyte, or less; None if it cannot be read."""
        return _read(path, limit, end=True)

    def query(self, path: str, sql: str, values: dict[str, str]) -> list[str] | None:
        """The first column of what another program's SQLite file answers; None: could not ask."""
        import sqlite3
        from urllib.parse import quote

        if not os.path.isfile(path):  # SQLite would wait for a writer of a FIFO, for ever
            return None
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

    def purge(self, root: str, paths: list[str]) -> "Purged":
        """Deletes exactly these, never through a link and never outside `root`."""
        from knell.core.ports.disk import Purged

        refused = {path: why for path in paths if (why := _delete(root, path))}
        removed = tuple(path for path in paths if path not in refused)
        return Purged(removed, tuple(f"{path}: {why}" for path, why in refused.items()))

    def make_marked(self, path: str, marker: str, text: str) -> str:
        """Makes a directory and a file in it that marks it as knell's; returns why it could not."""
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
            return f"it does not have knell's mark: {error.strerror}"
        if not stat.S_ISDIR(found.st_mode) or not stat.S_ISREG(mark.st_mode):
            return "it is a link, or its mark is no plain file"
        if found.st_uid != os.geteuid():
            return "it belongs to another user"
        if _read(os.path.join(path, marker), HEAD) != text.encode():
            return "its mark names another run"
        return ""

    def remove_below(self, root: str, path: str) -> str:
        """Deletes a directory that lies right in `root`; links in it go, what they name stays.

        Returns why it could not. Folders without write permission are no obstacle."""
        if os.path.dirname(path) != root or os.path.islink(root):
            return f"it does not lie in {root}"
        return _delete(root, path, protected=True)

    # -- a whole file: settings of another program, and our backups of them ---------------------

    def read_whole(self, path: str) -> "WholeFile":
        from knell.core.ports.disk import WholeFile

        real = os.path.realpath(path)
        with _files(path) as files:
            try:
                return WholeFile(real, files.read(real, LARGEST))
            except FileNotFoundError:
                return WholeFile(real, None)

    def replace(
        self, file: "WholeFile", content: bytes, check: Callable[[bytes], None] | None = None
    ) -> None:
        """In one step, after `check` has passed the copy on disk; the caller holds a lock."""
        with _files(file.path) as files:
            files.replace(file.path, file.content, content, check)

    def remove(self, file: "WholeFile") -> None:
        with _files(file.path) as files:
            files.refuse_read_only(file.path)
            files.refuse_changed(file.path, file.content)
            os.unlink(file.path)

    def make_directory(self, path: str) -> bool:
        """Whether it had to be made, and this call made it: another process may be faster."""
        with _files(path):
            try:
                os.makedirs(path, mode=0o700)
            except FileExistsError:
                if not os.path.isdir(path):
                    raise
                return False
            return True

    def remove_if_empty(self, directory: str) -> None:
        with suppress(OSError):  # another program has put something there
            os.rmdir(directory)

    @contextmanager
    def lock(self, path: str) -> Generator[None]:
        """Holds the lock file `path`; its directory is made if missing."""
        self.make_directory(os.path.dirname(path))
        with _files(path) as files, files.locked(path):
            yield


def _change(path: str, change: Callable[[int], None]) -> str:
    flags = os.O_WRONLY | os.O_CREAT | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC
    try:
        with open(os.open(path, flags, 0o600), "wb", buffering=0) as file:
            change(file.fileno())
    except OSError as error:
        return error.strerror or "refused"
    return ""


def _read(path: str, limit: int, *, end: bool = False) -> bytes | None:
    from knell import files

    try:
        return files.read_part(path, limit, end=end)
    except OSError:
        return None


@contextmanager
def _files(path: str) -> "Generator[ModuleType]":
    """The functions for whole files; their errors become FileFailed. `knell list` needs none."""
    from knell import files

    try:
        yield files
    except files.FileChanged as error:
        raise FileFailed(f"{error.strerror}; it was left alone", "try again") from error
    except OSError as error:
        where = f" ({error.filename})" if error.filename not in {None, path} else ""
        closed = error.path if isinstance(error, files.ReadOnly) else ""
        hint = f"chmod u+w {closed}, then try again" if closed else ""
        raise FileFailed(f"{error.strerror}{where}", hint) from error


def _delete(root: str, path: str, *, protected: bool = False) -> str:
    """Deletes a file or directory in `root`, also `protected` ones; returns why it could not."""
    root = os.path.realpath(root)
    parent = os.path.realpath(os.path.dirname(path))
    if not root or root == "/" or os.path.commonpath([root, parent]) != root:
        return f"not inside {root}"
    if os.path.islink(path):
        return "a link; links are not followed"
    if os.path.realpath(path) == root:
        return "the root itself"
    try:
        if not os.path.isdir(path):
            os.unlink(path)
            return ""
        import shutil

        from knell import files

        try:
            shutil.rmtree(path)  # follows no links
        except PermissionError:
            if not protected:
                raise
            files.open_up(path)
            shutil.rmtree(path)
    except OSError as error:
        return error.strerror or "refused"
    return ""
