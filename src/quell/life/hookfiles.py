"""A settings file of another program, looked at and replaced whole; and our backup of it."""

import contextlib
import fcntl
import json
import os
import stat
from collections.abc import Callable, Generator
from typing import NamedTuple

from quell.core.errors import WorldError
from quell.core.hookedit import Backup, digest


class SettingsFailed(WorldError):
    """A settings file could not be read or replaced; it is as it was."""


class Looked(NamedTuple):
    path: str  # where it really is, behind every link
    content: bytes | None  # None: there is no file


def look(path: str) -> Looked:
    real = os.path.realpath(path)
    with _told(path):
        try:
            fd = os.open(real, os.O_RDONLY | os.O_CLOEXEC | os.O_NONBLOCK)
        except FileNotFoundError:
            return Looked(real, None)
        try:
            if not stat.S_ISREG(os.fstat(fd).st_mode):
                raise SettingsFailed("not a regular file")
            with open(fd, "rb", closefd=False) as file:
                return Looked(real, file.read())
        finally:
            os.close(fd)


def replace(looked: Looked, content: bytes, check: Callable[[bytes], None]) -> None:
    """Puts `content` in the file's place in one step, after `check` has passed the copy on disk.

    Mode, owner and attributes stay. Nothing is done if the file is no longer what was looked at.
    """
    copy = f"{looked.path}.quell-{os.urandom(6).hex()}"
    with _told(looked.path):
        _refuse_read_only(looked)
        try:
            _write(copy, content)
            if looked.content is not None:
                _dress(copy, looked.path)
            with open(copy, "rb") as file:
                check(file.read())
            _refuse_changed(looked)
            os.replace(copy, looked.path)
            _settle(os.path.dirname(looked.path))
        finally:
            with contextlib.suppress(FileNotFoundError):
                os.unlink(copy)


def remove(looked: Looked) -> None:
    with _told(looked.path):
        _refuse_read_only(looked)
        _refuse_changed(looked)
        os.unlink(looked.path)


def make_directory(path: str) -> bool:
    """Whether it had to be made."""
    with _told(path):
        if os.path.isdir(path):
            return False
        os.makedirs(path, mode=0o700)
        return True


def remove_if_empty(directory: str) -> None:
    with contextlib.suppress(OSError):  # something else lives there by now
        os.rmdir(directory)


def _refuse_read_only(looked: Looked) -> None:
    """A rename would get past it, but whoever took the write bits away did not want a change."""
    if looked.content is not None and not os.stat(looked.path).st_mode & 0o222:
        raise SettingsFailed("the file is read-only", f"chmod u+w {looked.path}, then again")


def _refuse_changed(looked: Looked) -> None:
    if look(looked.path).content != looked.content:
        raise SettingsFailed("somebody changed the file meanwhile; it was left alone", "try again")


def _write(path: str, content: bytes) -> None:
    fd = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600)
    with os.fdopen(fd, "wb") as file:
        file.write(content)
        file.flush()
        os.fsync(fd)


def _dress(copy: str, like: str) -> None:
    """The mode, owner and extended attributes of the file that it takes the place of."""
    import shutil

    was = os.stat(like)
    if (was.st_uid, was.st_gid) != (os.geteuid(), os.stat(copy).st_gid):
        os.chown(copy, was.st_uid, was.st_gid)
    shutil.copystat(like, copy)
    os.utime(copy)  # it is new: a program that watches the time must see that


def _settle(directory: str) -> None:
    fd = os.open(directory, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        os.fsync(fd)
    finally:
        os.close(fd)


@contextlib.contextmanager
def _told(path: str) -> Generator[None]:
    try:
        yield
    except OSError as error:
        where = f" ({error.filename})" if error.filename not in {None, path} else ""
        raise SettingsFailed(f"{error.strerror}{where}") from error


# -- backups -------------------------------------------------------------------------------------


class Backups:
    """What settings files were before us: NAME.orig, byte for byte, and NAME.json about it."""

    def __init__(self, home: str) -> None:
        self.home = home
        self.directory = os.path.join(home, "hooks")

    @contextlib.contextmanager
    def locked(self) -> Generator[None]:
        """One installer at a time."""
        make_directory(self.home)
        make_directory(self.directory)
        with _told(self.directory):
            fd = os.open(self.directory, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
        try:
            fcntl.flock(fd, fcntl.LOCK_EX)
            yield
        finally:
            os.close(fd)

    def of(self, path: str) -> Backup | None:
        """The backup of the file that really is at `path`."""
        return self._read(self._name(path))

    def all(self) -> list[Backup]:
        try:
            names = sorted(os.listdir(self.directory))
        except FileNotFoundError:
            return []
        read = (self._read(name.removesuffix(".json")) for name in names if name.endswith(".json"))
        return [backup for backup in read if backup]

    def keep(self, backup: Backup) -> None:
        """On disk when this returns: the file itself is touched only after that."""
        name = self._name(backup.path)
        if backup.original is None:
            self._drop(f"{name}.orig")
        else:
            self._put(f"{name}.orig", backup.original)
        original = None if backup.original is None else digest(backup.original)
        note = {**backup._asdict(), "original": original}
        self._put(f"{name}.json", json.dumps(note, indent=2).encode())

    def forget(self, path: str) -> None:
        for suffix in (".json", ".orig"):
            self._drop(self._name(path) + suffix)

    def _name(self, path: str) -> str:
        return digest(os.fsencode(path))[:16]

    def _read(self, name: str) -> Backup | None:
        """None if it is not whole: then entries are told by their mark, as without a backup."""
        try:
            with open(os.path.join(self.directory, f"{name}.json"), "rb") as file:
                note = json.loads(file.read())
            wanted, original = note.pop("original"), None
            if wanted is not None:
                with open(os.path.join(self.directory, f"{name}.orig"), "rb") as file:
                    original = file.read()
            backup = Backup(**note, original=original)
        except (OSError, ValueError, TypeError, KeyError, AttributeError, RecursionError):
            return None
        return backup if original is None or digest(original) == wanted else None

    def _put(self, name: str, content: bytes) -> None:
        path = os.path.join(self.directory, name)
        replace(look(path), content, lambda _: None)

    def _drop(self, name: str) -> None:
        with contextlib.suppress(FileNotFoundError):
            os.unlink(os.path.join(self.directory, name))
