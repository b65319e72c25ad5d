"""Reading and replacing a small file of somebody else's: bounded, atomic, loud when refused."""

import errno
import os
import stat
from collections.abc import Generator
from contextlib import contextmanager, suppress

from quell.core.errors import RegistryFailed

LARGEST = 10_000_000  # bytes; a thousand sessions take half of one million
UNTOUCHED = "quell left it as it is"

_WRITABLE = f"{UNTOUCHED}; make it and its directory writable for you, then run the command again"
_HINTS = {
    errno.ENOSPC: f"{UNTOUCHED}; free some space and run the command again",
    errno.EDQUOT: f"{UNTOUCHED}; free some space and run the command again",
    errno.EACCES: _WRITABLE,
    errno.EPERM: _WRITABLE,
    errno.EROFS: _WRITABLE,
}


@contextmanager
def translated(path: str) -> Generator[None]:
    """Whatever the system refuses inside is raised as RegistryFailed."""
    try:
        yield
    except OSError as error:
        hint = _HINTS.get(error.errno or 0, UNTOUCHED)
        why = error.strerror or str(error)
        raise RegistryFailed(f"{path} cannot be used ({why})", hint) from error


def content(path: str, *, follow: bool = True) -> bytes | None:
    """What is in the file, None if there is none."""
    # Without O_NONBLOCK, opening a fifo would wait for a writer for ever.
    flags = os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC | (0 if follow else os.O_NOFOLLOW)
    with translated(path):
        try:
            fd = os.open(path, flags)
        except FileNotFoundError:
            return None
        with open(fd, "rb") as file:
            mode = os.fstat(fd).st_mode
            if not stat.S_ISREG(mode):
                what = "a directory" if stat.S_ISDIR(mode) else "no regular file"
                raise RegistryFailed(f"{path} is {what}", "name the file itself")
            data = file.read(LARGEST + 1)
    if len(data) > LARGEST:
        raise RegistryFailed(
            f"{path} is larger than {LARGEST // 1_000_000} MB, which no registry is", UNTOUCHED
        )
    return data


def replace(path: str, was: bytes | None, new: bytes) -> bool:
    """Put `new` in the place of `was` at once; False if it is no longer `was`.

    The caller holds the lock; somebody with an editor does not. A crash leaves one or the other.
    """
    with translated(path):
        waiting = path + ".tmp"
        _write(waiting, new, writable(path))
        if content(path) != was:
            os.unlink(waiting)
            return False
        os.replace(waiting, path)
        _sync_directory(path)
        return True


def back_up(path: str, data: bytes) -> None:
    """`data` in `<path>.bak`, as private as the file itself."""
    with translated(path):
        waiting = path + ".bak.tmp"
        _write(waiting, data, writable(path))
        os.replace(waiting, path + ".bak")


def append_line(path: str, line: str) -> None:
    """One whole line at the end of a log, also where the last writer died within its line."""
    flags = os.O_RDWR | os.O_APPEND | os.O_CREAT | os.O_CLOEXEC | os.O_NOFOLLOW
    with translated(path):
        fd = os.open(path, flags, 0o600)
        with open(fd, "r+b", buffering=0) as file:
            size = file.seek(0, os.SEEK_END)
            torn = size > 0 and os.pread(fd, 1, size - 1) != b"\n"
            file.write((b"\n" if torn else b"") + line.encode() + b"\n")
            os.fsync(fd)


def writable(path: str) -> os.stat_result | None:
    """A file or directory without any write bit is meant to stay, also where root is asked."""
    try:
        found = os.stat(path)
    except FileNotFoundError:
        found = None
    for one in (found, os.stat(os.path.dirname(path))):
        if one and not one.st_mode & 0o222:
            raise PermissionError(errno.EACCES, "it is read-only")
    if found and not os.access(path, os.W_OK):
        raise PermissionError(errno.EACCES, "it is not yours to write")
    return found


def _write(path: str, data: bytes, like: os.stat_result | None) -> None:
    """A file of its own, on the disk when this returns; what a crash left there goes first."""
    with suppress(FileNotFoundError):
        os.unlink(path)
    fd = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600)
    try:
        with open(fd, "wb") as file:
            _make_like(fd, like)
            file.write(data)
            file.flush()
            os.fsync(fd)
    except OSError:
        with suppress(FileNotFoundError):
            os.unlink(path)
        raise


def _make_like(fd: int, like: os.stat_result | None) -> None:
    """The same owner, as far as we may, and the same mode; private if there is none to follow."""
    if like is None:
        return
    if (like.st_uid, like.st_gid) != (os.geteuid(), os.getegid()):
        with suppress(PermissionError):  # root may; a member of the group need not
            os.fchown(fd, like.st_uid, like.st_gid)
    os.fchmod(fd, stat.S_IMODE(like.st_mode))


def _sync_directory(path: str) -> None:
    fd = os.open(os.path.dirname(path), os.O_RDONLY | os.O_CLOEXEC)
    try:
        os.fsync(fd)
    finally:
        os.close(fd)
