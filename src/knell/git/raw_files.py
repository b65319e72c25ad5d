"""Files as they lie on disk: named as git would name their bytes, compared, and deleted."""

import hashlib
import os
import shutil
import stat
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from typing import NamedTuple, NoReturn

from knell import files
from knell.core.ports.git import GitFailed

SHA1_DIGITS, SHA256_DIGITS = 40, 64
Held = Mapping[str, tuple[str, str]]  # path → mode and object id in a commit


class SeenFile(NamedTuple):
    """A file at one moment, such as that when its bytes were compared."""

    inode: int
    size: int
    touched_ns: int


def aside_of(top: str) -> str:
    """Where a worktree lies while it is being removed: beside its own place, under a short name."""
    name = hashlib.sha256(os.fsencode(top)).hexdigest()[:12]
    return os.path.join(os.path.dirname(top), f".knell-removing-{name}")


def linked_folder(top: str) -> str:
    """The git folder that the `.git` file of a linked worktree names; empty if there is none."""
    try:
        found = read_start(os.path.join(top, ".git"), 8192)
    except OSError:
        return ""  # missing; or a directory, as in a main checkout
    named = found.removeprefix(b"gitdir: ").removesuffix(b"\n")
    return os.path.realpath(os.path.join(top, os.fsdecode(named)))


def read_start(path: str, limit: int) -> bytes:
    """At most `limit` bytes. OSError if it is a pipe: an agent can put one anywhere, and whoever
    opens it waits for ever."""
    try:
        return files.read_part(path, limit, end=False)
    except OSError as error:
        error.filename = path
        raise


def fingerprint(path: str, digits: int) -> tuple[str, str] | None:
    """Mode and object id that git would give to exactly these bytes; None if it has no file.

    Computed without git, so that it can vouch for what git wrote."""
    try:
        found = os.lstat(path)
        if stat.S_ISLNK(found.st_mode):
            target = os.fsencode(os.readlink(path))
            return "120000", _object_id(digits, len(target), (target,))
        if not stat.S_ISREG(found.st_mode):
            return None  # a directory, a socket, a pipe: git keeps none of them
        mode = "100755" if found.st_mode & stat.S_IXUSR else "100644"
        with open(path, "rb", buffering=0) as file:
            size = os.fstat(file.fileno()).st_size
            return mode, _object_id(digits, size, iter(lambda: file.read(1 << 20), b""))
    except (FileNotFoundError, NotADirectoryError):
        return None
    except OSError as error:
        raise GitFailed("git_error", f"cannot read {path}: {error.strerror}") from error


def _object_id(digits: int, size: int, chunks: Iterable[bytes]) -> str:
    algorithm = hashlib.sha256() if digits == SHA256_DIGITS else hashlib.sha1(usedforsecurity=False)
    algorithm.update(b"blob %d\0" % size)
    for chunk in chunks:
        algorithm.update(chunk)
    return algorithm.hexdigest()


def is_in_lfs(common: str, path: str) -> bool:
    """Whether git-lfs keeps these bytes in the repository, under their digest."""
    store = os.path.join(common, "lfs", "objects")
    name = _digest(path) if os.path.isdir(store) else ""
    # A crash leaves zeros of the right size.
    return bool(name) and _digest(os.path.join(store, name[:2], name[2:4], name)) == name


def _digest(path: str) -> str:
    """Of a regular file's bytes; empty for anything else, also for a link to one."""
    try:
        if not stat.S_ISREG(os.lstat(path).st_mode):
            return ""
        with open(path, "rb") as file:
            return hashlib.file_digest(file, "sha256").hexdigest()
    except OSError:
        return ""


def check_held(top: str, held: Held, left_out: Sequence[str], common: str) -> dict[str, SeenFile]:
    """Every file below `top` but those left out, each of which `held` has with the same bytes.

    GitFailed names the first that it has not. `top` itself may have a `.git`."""
    digits = len(next(iter(held.values()), ("", ""))[1])
    found: dict[str, SeenFile] = {}
    for path in _walk(top, left_out):
        there = os.path.join(top, path)
        seen = seen_file(there)
        name = fingerprint(there, digits)
        if seen is None or seen != seen_file(there):
            raise GitFailed("still_in_use", f"{path} changed while it was looked at")
        if name not in (None, held.get(path)) and not is_in_lfs(common, there):
            raise GitFailed("uncommitted_changes", f"{path} is not saved as it is now")
        found[path] = seen
    roots = tuple(path for path in left_out if path.endswith("/"))
    for path in held if roots else ():  # a cache goes without a look, but for what is work in it
        there = os.path.join(top, path)
        if path.startswith(roots) and fingerprint(there, digits) not in (None, held[path]):
            raise GitFailed("uncommitted_changes", f"{path} is not saved as it is now")
    return found


def _walk(top: str, left_out: Sequence[str]) -> Iterator[str]:
    spared = frozenset(left_out)
    for here, folders, names in os.walk(top, onerror=raise_unreadable):
        below = os.path.relpath(here, top)
        if ".git" in (*folders, *names) and here != top:
            raise GitFailed("still_in_use", f"{below} is a repository of its own")
        paths = {name: os.path.normpath(os.path.join(below, name)) for name in (*folders, *names)}
        links = [name for name in folders if os.path.islink(os.path.join(here, name))]
        spare = (".git", *(name for name in folders if f"{paths[name]}/" in spared), *links)
        folders[:] = [name for name in folders if name not in spare]
        for name in (*names, *links):
            if name != ".git" and paths[name] not in spared:
                yield paths[name]


def seen_file(path: str) -> SeenFile | None:
    try:
        found = os.lstat(path)
    except OSError:
        return None
    return SeenFile(found.st_ino, found.st_size, found.st_mtime_ns)


def delete_seen(top: str, seen: Mapping[str, SeenFile], left_out: Sequence[str]) -> list[str]:
    """Deletes what is below `top`, but files that are not as they were seen; returns those."""
    files.open_up(top)
    for path, file in seen.items():
        there = os.path.join(top, path)
        if seen_file(there) == file:
            os.unlink(there)
    for there in (os.path.join(top, path) for path in left_out):
        shutil.rmtree(there, ignore_errors=True)
        with suppress(OSError):  # it was a directory
            os.unlink(there)
    left: list[str] = []
    for here, folders, names in os.walk(top, topdown=False):
        left += (os.path.relpath(os.path.join(here, name), top) for name in names)
        for name in folders:
            with suppress(OSError):  # a file in it changed
                os.rmdir(os.path.join(here, name))
    return [path for path in left if path != ".git"]


def raise_unreadable(error: OSError) -> NoReturn:
    raise GitFailed("git_error", f"cannot look into {error.filename}: {error.strerror}") from error
