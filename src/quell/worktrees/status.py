"""What a checkout holds that no commit does: every path, also those that git was told to hide."""

import hashlib
import os
import stat
from collections.abc import Iterable
from typing import NamedTuple

from quell.core.worktree import GitFailed
from quell.worktrees.files import Inner
from quell.worktrees.running import Runner

SHA256_DIGITS = 64
_GITLINK = "160000"
_SKIPPED = "S"
_FIELDS = {"1": 8, "u": 10}  # words of a line before the path


class Entry(NamedTuple):
    """One line of the index."""

    tag: str  # H as usual, S skip-worktree, lower case: assumed unchanged
    mode: str
    object: str
    stage: str
    path: str


class Status(NamedTuple):
    commit: str = ""
    branch: str = ""
    changed: tuple[str, ...] = ()  # tracked, in the index or on disk
    untracked: tuple[str, ...] = ()
    conflicts: tuple[str, ...] = ()
    intended: frozenset[str] = frozenset()  # `git add -N`: in the index without content
    entries: tuple[Entry, ...] = ()
    ignored: int = 0
    nested: tuple[str, ...] = ()

    @property
    def paths(self) -> tuple[str, ...]:
        return tuple(dict.fromkeys((*self.changed, *self.conflicts, *self.untracked)))


def read_status(git: Runner, top: str) -> Status:
    """A complete look, or GitFailed. Sees through assume-unchanged, skip-worktree and settings."""
    said = git.must(
        top,
        "status",
        "--porcelain=v2",
        "-z",
        "--branch",
        "--untracked-files=all",
        "--ignored=traditional",
        "--no-renames",
        "--ignore-submodules=none",
    )
    if "could not open directory" in said.err:
        raise GitFailed("git_error", f"git could not look everywhere: {said.complaint}")
    entries = read_index(git, top)
    status = _parsed(said.out, top)._replace(entries=entries)
    links = {entry.path for entry in entries if entry.mode == _GITLINK}
    filled = tuple(sorted(path for path in links if _filled(os.path.join(top, path))))
    hidden = _hidden(top, entries, set(status.changed))
    return status._replace(
        changed=tuple(path for path in (*status.changed, *hidden) if path not in filled),
        nested=(*filled, *(path for path in status.nested if path not in filled)),
    )


def read_index(git: Runner, where: str, *options: str) -> tuple[Entry, ...]:
    lines = git.must(where, *options, "ls-files", "-v", "-s", "-z").out.split(b"\0")
    found: list[Entry] = []
    for line in filter(None, lines):
        facts, path = line.split(b"\t", 1)
        tag, mode, name, stage = facts.decode("ascii").split(" ")
        found.append(Entry(tag, mode, name, stage, os.fsdecode(path)))
    return tuple(found)


def _parsed(out: bytes, top: str) -> Status:
    facts: dict[str, list[str]] = {"1": [], "u": [], "?": [], "!": []}
    head: dict[str, str] = {}
    intended: set[str] = set()
    for raw in filter(None, out.split(b"\0")):
        line = os.fsdecode(raw)
        kind, _, rest = line.partition(" ")
        if kind == "#":
            name, _, value = rest.partition(" ")
            head[name] = value
        elif kind in facts:
            path = line.split(" ", _FIELDS[kind])[-1] if kind in _FIELDS else rest
            facts[kind].append(path)
            if rest.startswith(".A"):
                intended.add(path)
        else:
            raise GitFailed("git_error", f"git status said something unknown: {line[:80]!r}")
    ignored, nested = Inner(top), Inner(top)
    for inner, paths in ((ignored, facts["!"]), (nested, facts["?"])):
        for path in paths:
            _walk(inner, path)
    commit, branch = head.get("branch.oid", ""), head.get("branch.head", "")
    return Status(
        commit="" if commit == "(initial)" else commit,
        branch="" if branch == "(detached)" else branch,
        changed=tuple(facts["1"]),
        untracked=tuple(path for path in facts["?"] if not path.endswith("/")),
        conflicts=tuple(facts["u"]),
        intended=frozenset(intended),
        ignored=ignored.files,
        nested=(*ignored.repositories, *nested.repositories),
    )


def _walk(inner: Inner, path: str) -> None:
    try:
        inner.walk(path)
    except OSError as error:
        raise GitFailed("git_error", f"cannot look into {path}: {error.strerror}") from error


def _filled(path: str) -> bool:
    """A submodule's directory with anything in it: git does not tell what."""
    try:
        return not os.path.islink(path) and bool(os.listdir(path))
    except (FileNotFoundError, NotADirectoryError):
        return False
    except OSError as error:
        raise GitFailed("git_error", f"cannot look into {path}: {error.strerror}") from error


def _hidden(top: str, entries: tuple[Entry, ...], known: set[str]) -> list[str]:
    """Files that git was told to take for unchanged, and which are not."""
    return [
        entry.path
        for entry in entries
        if (entry.tag.islower() or entry.tag == _SKIPPED)
        and entry.path not in known
        and not _as_told(os.path.join(top, entry.path), entry)
    ]


def _as_told(path: str, entry: Entry) -> bool:
    found = fingerprint(path, len(entry.object))
    if found is None:
        return entry.tag.upper() == _SKIPPED  # a sparse checkout leaves files out
    return found == (entry.mode, entry.object)


def fingerprint(path: str, digits: int) -> tuple[str, str] | None:
    """Mode and object id that git would give to exactly these bytes; None if it has no file.

    Computed without git, so that it can vouch for what git wrote."""
    try:
        found = os.lstat(path)
        if stat.S_ISLNK(found.st_mode):
            target = os.fsencode(os.readlink(path))
            return "120000", _hashed(digits, len(target), (target,))
        if not stat.S_ISREG(found.st_mode):
            return None  # a directory, a socket, a pipe: git keeps none of them
        mode = "100755" if found.st_mode & stat.S_IXUSR else "100644"
        with open(path, "rb", buffering=0) as file:
            size = os.fstat(file.fileno()).st_size
            return mode, _hashed(digits, size, iter(lambda: file.read(1 << 20), b""))
    except (FileNotFoundError, NotADirectoryError):
        return None
    except OSError as error:
        raise GitFailed("git_error", f"cannot read {path}: {error.strerror}") from error


def _hashed(digits: int, size: int, chunks: Iterable[bytes]) -> str:
    algorithm = hashlib.sha256() if digits == SHA256_DIGITS else hashlib.sha1(usedforsecurity=False)
    algorithm.update(b"blob %d\0" % size)
    for chunk in chunks:
        algorithm.update(chunk)
    return algorithm.hexdigest()


def state_of(top: str, status: Status) -> str:
    """A word that is another one after any change to the index or to a path that counts."""
    facts: list[object] = [status.commit, status.branch, status.entries, status.nested]
    for path in status.paths:
        try:
            found = os.lstat(os.path.join(top, path))
        except OSError:
            facts.append((path, None))
            continue
        # Nobody can set back the time of the last change of an inode.
        facts.append((path, found.st_ino, found.st_size, found.st_mode, found.st_ctime_ns))
    return hashlib.sha256(repr(facts).encode("utf-8", "surrogateescape")).hexdigest()
