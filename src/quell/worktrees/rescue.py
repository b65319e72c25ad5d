"""Saves uncommitted work as a commit that `git stash apply` understands.

Its tree is every file as it lies on disk, byte for byte: no filter and no line ending is applied,
so nothing depends on a program that may be missing. Its second parent is what was staged. Neither
the worktree, nor its index, nor any branch is touched.
"""

import os
import tempfile
from collections.abc import Iterable, Sequence
from typing import NamedTuple

from quell.core.worktree import GitFailed, Rescue, Tree
from quell.worktrees.looking import staged_in
from quell.worktrees.running import Runner, settings
from quell.worktrees.status import (
    Entry,
    Status,
    fingerprint,
    read_index,
    read_status,
    state_of,
)

SECONDS = 120.0  # for the files themselves, which may be many
ROOM = 0.5  # of the free space may be filled
# Names that another system could not check out must be saved all the same.
_ANY_NAME = settings("core.protectNTFS=false", "core.protectHFS=false")
_OURS, _THEIRS = "2", "3"


class Saved(NamedTuple):
    """Mode and object of one file; both zero for one that is deleted."""

    path: str
    mode: str
    object: str


def rescue(git: Runner, tree: Tree, ref: str, message: str) -> Rescue:
    """The commit that holds it, read back before `ref` points there; never moves an older ref."""
    if tree.gone:
        commit, paths = _from_index_alone(git, tree, message)
    elif tree.dirty:
        commit, paths = _from_disk(git, tree, message)
    else:
        commit, paths = tree.commit, 0
    if not commit:
        raise GitFailed("git_error", "there is nothing to save")
    return Rescue(*_pointed(git, tree, ref, commit), paths, tree.ignored)


def _from_disk(git: Runner, tree: Tree, message: str) -> tuple[str, int]:
    status = read_status(git, tree.top)
    before = state_of(tree.top, status)
    _check_room(tree, status.paths)
    with tempfile.TemporaryDirectory(prefix="quell-rescue-") as work:
        index = os.path.join(work, "index")
        saved = _stored(git, tree.top, status, work)
        parents = [tree.commit] if tree.commit else []
        staged = _written(git, tree.top, index, _staged(status.entries, status.intended))
        parents.append(_committed(git, tree.top, staged, parents, f"index of: {message}"))
        whole = _written(git, tree.top, index, _lines(saved))
    commit = _committed(git, tree.top, whole, parents, message)
    _check_complete(git, tree, status, commit)
    if state_of(tree.top, read_status(git, tree.top)) != before:
        raise GitFailed("git_error", f"{tree.top} changed while its work was being saved")
    return commit, len(saved)


def _from_index_alone(git: Runner, tree: Tree, message: str) -> tuple[str, int]:
    """The directory is deleted; what was staged is still there."""
    staged = staged_in(git, tree)
    if not staged:
        return tree.commit, 0
    entries = read_index(git, tree.git_dir, f"--git-dir={tree.git_dir}")
    with tempfile.TemporaryDirectory(prefix="quell-rescue-") as work:
        index = os.path.join(work, "index")
        whole = _written(git, tree.common_dir, index, _staged(entries, frozenset()))
    _check_present(git, tree, [entry.object for entry in entries if entry.path in set(staged)])
    return _committed(git, tree.common_dir, whole, [tree.commit], message), len(staged)


# -- the files ---------------------------------------------------------------------------------


def _check_room(tree: Tree, paths: Iterable[str]) -> None:
    size = 0
    for path in paths:
        try:
            size += os.lstat(os.path.join(tree.top, path)).st_size
        except OSError:
            pass  # deleted, which needs no room
    disk = os.statvfs(tree.common_dir)
    if size > disk.f_bavail * disk.f_frsize * ROOM:
        raise GitFailed("disk_full", f"{size >> 20} MB to save would fill the repository's disk")


def _stored(git: Runner, top: str, status: Status, work: str) -> list[Saved]:
    """Every path that differs, with its content in the repository. Links are saved as links."""
    saved: list[Saved] = []
    sources: list[str] = []
    nothing = "0" * len(status.entries[0].object if status.entries else status.commit)
    for path in status.paths:
        there = os.path.join(top, path)
        if os.path.islink(there):
            sources.append(_link_text(there, work, len(sources)))
            saved.append(Saved(path, "120000", ""))
        elif os.path.isfile(there):
            sources.append(there)
            saved.append(Saved(path, "100755" if os.stat(there).st_mode & 0o100 else "100644", ""))
        else:
            saved.append(Saved(path, "0", nothing))
    given = b"".join(_quoted(source) + b"\n" for source in sources)
    words = ("hash-object", "-w", "--no-filters", "--stdin-paths")
    said = git.must(top, *words, given=given, seconds=SECONDS)
    objects = iter(said.out.decode("ascii").split())
    return [one if one.object else one._replace(object=next(objects)) for one in saved]


def _link_text(link: str, work: str, number: int) -> str:
    path = os.path.join(work, f"link{number}")
    with open(path, "wb") as file:
        file.write(os.fsencode(os.readlink(link)))
    return path


def _quoted(path: str) -> bytes:
    """As git reads a path on a line of its own, whatever bytes it is made of."""
    return b'"' + b"".join(b"\\%03o" % byte for byte in os.fsencode(path)) + b'"'


# -- trees and commits -------------------------------------------------------------------------


def _staged(entries: Iterable[Entry], intended: frozenset[str]) -> bytes:
    """The index as lines; of a conflict, our side, or theirs where we deleted it."""
    chosen: dict[str, Entry] = {}
    for entry in entries:
        if entry.path in intended or entry.stage not in ("0", _OURS, _THEIRS):
            continue
        if entry.path not in chosen or entry.stage < chosen[entry.path].stage:
            chosen[entry.path] = entry
    return _lines(Saved(entry.path, entry.mode, entry.object) for entry in chosen.values())


def _lines(files: Iterable[Saved]) -> bytes:
    return b"".join(
        f"{one.mode} {one.object}\t".encode() + os.fsencode(one.path) + b"\0" for one in files
    )


def _written(git: Runner, where: str, index: str, lines: bytes) -> str:
    # --replace: a file may have become a directory
    words = ("update-index", "--replace", "-z", "--index-info")
    git.must(where, *_ANY_NAME, *words, given=lines, index=index, seconds=SECONDS)
    return git.must(where, *_ANY_NAME, "write-tree", "--missing-ok", index=index).line


def _committed(git: Runner, where: str, tree: str, parents: Sequence[str], message: str) -> str:
    above = [word for parent in parents for word in ("-p", parent)]
    given = (message + "\n").encode("utf-8", "replace")
    return git.must(where, "commit-tree", *above, tree, given=given).line


# -- the proof ---------------------------------------------------------------------------------


def _check_complete(git: Runner, tree: Tree, status: Status, commit: str) -> None:
    """Every path that differed is in the commit, with the bytes that are on disk now."""
    said = git.must(tree.top, "ls-tree", "-r", "-z", "--full-tree", commit)
    held: dict[str, tuple[str, str]] = {}
    for line in filter(None, said.out.split(b"\0")):
        facts, path = line.split(b"\t", 1)
        mode, _, name = facts.decode("ascii").split(" ")
        held[os.fsdecode(path)] = (mode, name)
    for path in status.paths:
        if held.get(path) != fingerprint(os.path.join(tree.top, path), len(commit)):
            raise GitFailed("git_error", f"{path} could not be saved as it is")
    wanted = set(status.paths)
    staged = [entry.object for entry in status.entries if entry.path in wanted - status.intended]
    _check_present(git, tree, [*(held[path][1] for path in wanted if path in held), *staged])


def _check_present(git: Runner, tree: Tree, objects: Iterable[str]) -> None:
    given = "".join(f"{name}\n" for name in dict.fromkeys(objects)).encode()
    if not given:
        return
    said = git.must(tree.common_dir, "cat-file", "--batch-check=%(objecttype)", given=given)
    if set(said.out.split(b"\n")) - {b"blob", b"commit", b""}:
        raise GitFailed("git_error", "the repository does not hold all that was saved")


def _pointed(git: Runner, tree: Tree, ref: str, commit: str) -> tuple[str, str]:
    """A ref of that name, or with a number after it, that holds this work; and its commit."""
    number = 1
    name = ref
    while True:
        known = git.ask(tree.common_dir, "rev-parse", "--verify", "--quiet", name)
        if known.code == 0 and _same_work(git, tree, known.line, commit):
            return name, known.line
        if known.code:
            git.tell(tree.common_dir, "update-ref", name, commit, "0" * len(commit))
            if git.tell(tree.common_dir, "rev-parse", "--verify", name).line != commit:
                raise GitFailed("git_error", f"{name} was moved by somebody else")
            return name, commit
        number += 1
        name = f"{ref}-{number}"


def _same_work(git: Runner, tree: Tree, one: str, other: str) -> bool:
    """The same files on the same commit with the same index: saved twice."""
    looks = [
        git.ask(tree.common_dir, "show", "--no-patch", "--format=%T%n%P", name)
        for name in (one, other)
    ]
    return looks[0].out.split()[:2] == looks[1].out.split()[:2] and _index_tree(
        git, tree, one
    ) == _index_tree(git, tree, other)


def _index_tree(git: Runner, tree: Tree, commit: str) -> str:
    return git.ask(tree.common_dir, "rev-parse", "--verify", "--quiet", f"{commit}^2^{{tree}}").line
