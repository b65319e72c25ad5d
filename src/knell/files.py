"""The one safe way to read, replace, lock and append to a small file.

Every function raises OSError, with the reason in `strerror`; the caller turns that into an error of
its own. Nothing here waits for a FIFO, reads without an end, or leaves half a file behind.
"""

import errno
import os
import stat
from collections.abc import Callable, Generator
from contextlib import contextmanager, suppress

PATIENCE = 20.0  # seconds to wait for another holder of a lock

# Without O_NONBLOCK, opening a FIFO would wait for a writer for ever.
_READING = os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC
_NEW = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC


class FileChanged(OSError):
    """The file is no longer what the caller read; it was left alone."""


class ReadOnly(PermissionError):
    """All write bits of the file, or of its directory, were taken away: `path` is which."""

    def __init__(self, path: str, what: str) -> None:
        super().__init__(errno.EACCES, f"Permission denied: the {what} is read-only")
        self.path = path


class StillLocked(OSError):
    """Another process kept the lock for longer than PATIENCE."""


# -- reading -----------------------------------------------------------------------------------


def read(path: str, limit: int, *, follow: bool = True, devices: bool = False) -> bytes:
    """The whole file, which may have at most `limit` bytes. With `follow` off, a link is refused.

    With `devices`, `/dev/null` and its like may be read as well as regular files."""
    with open(_open_for_reading(path, follow=follow, devices=devices), "rb") as file:
        content = file.read(limit + 1)
    if len(content) > limit:
        raise OSError(errno.EFBIG, f"it is larger than {limit / 1e6:g} MB")
    return content


def read_part(path: str, limit: int, *, end: bool, follow: bool = True) -> bytes:
    """At most `limit` bytes, from the file's beginning or from its end."""
    with open(_open_for_reading(path, follow=follow), "rb") as file:
        offset = max(0, os.fstat(file.fileno()).st_size - limit) if end else 0
        return os.pread(file.fileno(), limit, offset)


def _open_for_reading(path: str, *, follow: bool, devices: bool = False) -> int:
    fd = os.open(path, _READING | (0 if follow else os.O_NOFOLLOW))
    mode = os.fstat(fd).st_mode
    if stat.S_ISREG(mode) or (devices and stat.S_ISCHR(mode)):
        return fd
    os.close(fd)
    directory = "a directory, " if stat.S_ISDIR(mode) else ""
    raise OSError(errno.EINVAL, f"it is {directory}not a regular file")


# -- replacing ---------------------------------------------------------------------------------


def overwrite(path: str, content: bytes, copy: str = "") -> None:
    """Puts `content` in the place of whatever is there, in one step, as a private file.

    A link is not followed. It is not forced onto the disk, which would cost milliseconds. `copy`
    is what a crash may leave: a name that the caller knows, if no other process writes the file."""
    copy = copy or f"{path}.{os.urandom(4).hex()}.tmp"  # the caller need not hold a lock
    with _write(copy, content, durable=False):
        os.replace(copy, path)


def replace(
    path: str, was: bytes | None, content: bytes, check: Callable[[bytes], None] | None = None
) -> None:
    """Puts `content` in the place of `was` (None: no file) in one step, on disk when it returns.

    The caller holds a lock. A crash leaves the old file or the new one. Mode, owner and extended
    attributes stay; a new file is private. `check` sees what the copy on disk holds and stops
    everything by raising. FileChanged if the file is no longer `was`, as when a person saves it in
    an editor meanwhile.
    """
    refuse_read_only(path)
    copy = path + ".tmp"
    with _write(copy, content, like="" if was is None else path):
        if check:
            check(read(copy, len(content)))
        refuse_changed(path, was)
        os.replace(copy, path)
    directory = os.open(os.path.dirname(path) or ".", os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        os.fsync(directory)
    finally:
        os.close(directory)


def back_up(path: str, content: bytes) -> None:
    """Leaves `content` in `<path>.bak`, as private as the file itself; the caller holds a lock."""
    with _write(path + ".bak.tmp", content, like=path):
        os.replace(path + ".bak.tmp", path + ".bak")


def refuse_changed(path: str, was: bytes | None) -> None:
    """Raises FileChanged unless the file still holds `was` (None: there is no file)."""
    try:
        now = read(path, len(was or b""))
    except FileNotFoundError:
        now = None
    except OSError as error:
        if error.errno != errno.EFBIG:
            raise
        now = b"" if was is None else None
    if now != was:
        raise FileChanged(errno.ESTALE, "another program changed it meanwhile")


def refuse_read_only(path: str) -> None:
    """A rename gets past the file's mode, and root past every mode; but a person who took away all
    write bits of a file or of its directory does not want it changed."""
    for one, what in ((path, "file"), (os.path.dirname(path) or ".", "directory")):
        try:
            mode = os.stat(one).st_mode
        except FileNotFoundError:
            continue
        if not mode & 0o222:
            raise ReadOnly(one, what)
        if not os.access(one, os.W_OK):
            raise PermissionError(errno.EACCES, f"Permission denied: the {what} is another user's")


@contextmanager
def _write(copy: str, content: bytes, like: str = "", *, durable: bool = True) -> Generator[None]:
    """Writes the file `copy`, for the caller to rename; removes it if anything fails."""
    with suppress(OSError):
        os.unlink(copy)  # what a crash left there
    try:
        with open(os.open(copy, _NEW, 0o600), "wb") as file:
            if like:
                _make_like(copy, like)
            file.write(content)
            file.flush()
            if durable:
                os.fsync(file.fileno())
        if like:
            os.utime(copy)  # a program that watches the time must see a new one
        yield
    except BaseException:
        with suppress(OSError):
            os.unlink(copy)
        raise


def _make_like(copy: str, like: str) -> None:
    """The mode, the extended attributes and, as far as we may give it, the owner."""
    import shutil

    was, now = os.stat(like), os.stat(copy)
    if (was.st_uid, was.st_gid) != (now.st_uid, now.st_gid):
        with suppress(PermissionError):  # root may give a file away; a member of its group may not
            os.chown(copy, was.st_uid, was.st_gid)
    shutil.copystat(like, copy)


def open_up(path: str) -> None:
    """Lets its owner delete what is in it and below; some programs write-protect what they cache,
    the Go tools for one."""
    _open_folder(path)
    for here, folders, _ in os.walk(path):
        for below in (os.path.join(here, folder) for folder in folders):
            _open_folder(below)


def _open_folder(path: str) -> None:
    if not os.path.islink(path) and not os.access(path, os.W_OK | os.X_OK):
        os.chmod(path, 0o700)


# -- appending ---------------------------------------------------------------------------------


def append_line(path: str, line: str) -> None:
    """One whole line at the end of a log, on disk when it returns."""
    append(path, line.encode() + b"\n", durable=True)


def append(path: str, lines: bytes, *, durable: bool = False) -> None:
    """All of them or nothing; after a line that another writer could not finish, on a new one."""
    flags = os.O_RDWR | os.O_APPEND | os.O_CREAT | os.O_CLOEXEC | os.O_NOFOLLOW | os.O_NONBLOCK
    with open(os.open(path, flags, 0o600), "r+b", buffering=0) as file:
        size = file.seek(0, os.SEEK_END)
        torn = size > 0 and os.pread(file.fileno(), 1, size - 1) != b"\n"
        rest = memoryview((b"\n" if torn else b"") + lines)
        try:
            while rest:
                rest = rest[file.write(rest) or 0 :]
        except OSError:
            os.ftruncate(file.fileno(), size)
            raise
        if durable:
            os.fsync(file.fileno())


# -- locking -----------------------------------------------------------------------------------


@contextmanager
def locked(path: str) -> Generator[None]:
    """Holds the lock file `path`. It waits up to PATIENCE for one holder; then StillLocked.

    The kernel releases the lock of a process that dies."""
    flags = os.O_RDWR | os.O_CREAT | os.O_CLOEXEC | os.O_NOFOLLOW | os.O_NONBLOCK
    fd = os.open(path, flags, 0o600)
    try:
        _take_lock(fd)
        os.ftruncate(fd, 0)  # a holder that was killed has left its PID
        os.pwrite(fd, str(os.getpid()).encode(), 0)  # for the message of a process that waits
        try:
            yield
        finally:
            os.ftruncate(fd, 0)
    finally:
        os.close(fd)


def _take_lock(fd: int) -> None:
    import fcntl
    import select
    import time

    deadline, pause, before = time.monotonic() + PATIENCE, 0.005, b""
    while True:
        with suppress(BlockingIOError):
            fcntl.flock(fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
            return
        found = os.pread(fd, 20, 0)
        if found and found != before:  # another holder: the line moves on
            before, deadline = found, time.monotonic() + PATIENCE
        if time.monotonic() > deadline:
            holder = before.decode("ascii", "replace").strip()
            who = f"process {holder}" if holder.isdigit() else "another process"
            raise StillLocked(errno.EBUSY, f"{who} kept it locked for {PATIENCE:.0f} seconds")
        # flock can wait, but not with an end; a lock is held for milliseconds.
        select.select([], [], [], pause)
        pause = min(pause * 1.5, 0.05)
