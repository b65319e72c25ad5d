"""Saves what a worktree alone holds as a commit that `git stash apply` understands.

Its tree is every file as it lies on disk, byte for byte: no filter and no line ending is applied,
so nothing depends on a program that may be missing. Its second parent is what was staged, and has
for parents the commits that only the worktree's reflog knew, and the git folders of submodules.
Neither the worktree, nor its index, nor any branch is touched.
"""

import errno
import os
import tempfile
from collections.abc import Iterable, Sequence
from typing import NamedTuple

from knell.core.ports.git import GitFailed, Rescue, Tree
from knell.git.command import Runner, settings
from knell.git.describe import index_of_gone, staged_in
from knell.git.own_commits import files_below, folder_state
from knell.git.raw_files import SHA1_DIGITS, SHA256_DIGITS, check_held, fingerprint
from knell.git.status import CheckoutStatus, read_commit, read_status

SECONDS = 120.0  # for the files themselves, which may be many
ROOM = 0.5  # of the free space may be filled
# Names that another system could not check out must be saved all the same.
_ANY_NAME = settings("core.protectNTFS=false", "core.protectHFS=false")
_OURS, _THEIRS = "2", "3"
# Of commits without parents: the same files give the same commit whenever they are saved.
_NO_DATE = {"GIT_AUTHOR_DATE": "@1 +0000", "GIT_COMMITTER_DATE": "@1 +0000"}


class SavedFile(NamedTuple):
    """Mode and object of one file; both zero for one that is deleted."""

    path: str
    mode: str
    object: str


def save_work(git: Runner, tree: Tree, ref: str, message: str) -> Rescue:
    """Saves what exists nowhere else under `ref` (or `ref-2`, … if that holds something else).

    For a detached HEAD whose commits no ref holds, `ref` holds those commits. GitFailed unless
    every byte was read back. Caches, bulky ignored files and nested repositories are not saved."""
    try:
        return _save(git, tree, ref, message)
    except OSError as error:
        code = "disk_full" if error.errno in (errno.ENOSPC, errno.EDQUOT) else "git_error"
        raise GitFailed(code, f"{error.filename or tree.top}: {error.strerror}") from error


def _save(git: Runner, tree: Tree, ref: str, message: str) -> Rescue:
    if tree.gone:
        status = CheckoutStatus(entries=index_of_gone(git, tree))
        paths = staged_in(git, tree)
    else:
        status = read_status(git, tree.top, common=tree.common_dir)
        paths = status.paths
    commit = tree.commit
    if paths or tree.lost_commits or tree.modules:
        commit = _commit_all(git, tree, status, _with_list(tree, message))
    if not commit:
        raise GitFailed("git_error", "there is nothing to save")
    return Rescue(*_point_ref(git, tree, ref, commit), len(paths))


def _with_list(tree: Tree, message: str) -> str:
    lost = [f"Only its reflog knew the commit {name}" for name in tree.lost_commits]
    folders = [f"Of its git folder, {name} is saved" for name in tree.modules]
    return "\n".join([message, *lost, *folders])


def _commit_all(git: Runner, tree: Tree, status: CheckoutStatus, message: str) -> str:
    folders = [os.path.join(tree.git_dir, name) for name in tree.modules]
    inside = sorted({os.path.relpath(file, tree.git_dir) for file in files_below(*folders)})
    _check_room(tree, status.paths, inside)
    more = list(tree.lost_commits)
    with tempfile.TemporaryDirectory(prefix="knell-rescue-") as work:
        index = os.path.join(work, "index")
        # A stash has two parents, also before the first commit.
        start = tree.commit or _commit(git, tree, _write_tree(git, tree, index, ()), (), "Nothing")
        if inside:
            more.append(_commit_modules(git, tree, inside, work))
        saved = _store_files(git, tree, tree.top, status.paths, work)
        staged = _staged(status)
        second_tree = _write_tree(git, tree, index, staged)
        second = _commit(git, tree, second_tree, [start, *more], f"index of: {message}")
        whole = _write_tree(git, tree, index, saved)
    wanted = {*status.paths, *(staged_in(git, tree) if tree.gone else ())}
    _check_present(git, tree, [*saved, *(file for file in staged if file.path in wanted)])
    commit = _commit(git, tree, whole, [start, second], message)
    if not tree.gone:
        left_out = (*status.left_out, *(f"{path.rstrip('/')}/" for path in status.nested))
        held = read_commit(git, tree.common_dir, commit)
        check_held(tree.top, held, left_out, tree.common_dir)
    if folder_state(tree) != tree.folder_state:
        raise GitFailed("git_error", f"git has worked in {tree.top} while its work was being saved")
    return commit


def _commit_modules(git: Runner, tree: Tree, paths: Sequence[str], work: str) -> str:
    files = _store_files(git, tree, tree.git_dir, paths, work)
    content = _write_tree(git, tree, os.path.join(work, "other"), files)
    commit = _commit(git, tree, content, (), f"Git folders of submodules of {tree.top}")
    _check_present(git, tree, files)
    held = read_commit(git, tree.common_dir, commit)  # git leaves out names such as `a/.git`
    for path in paths:
        found = fingerprint(os.path.join(tree.git_dir, path), len(commit))
        if found is None or held.get(path) != found:
            raise GitFailed("git_error", f"{path} could not be saved as it is")
    return commit


# -- the files ---------------------------------------------------------------------------------


def _check_room(tree: Tree, paths: Iterable[str], folders: Iterable[str]) -> None:
    size = 0
    files = [os.path.join(tree.top, path) for path in paths]
    for file in (*files, *(os.path.join(tree.git_dir, path) for path in folders)):
        try:
            size += os.lstat(file).st_size
        except OSError:
            pass  # deleted, which needs no room
    disk = os.statvfs(tree.common_dir)
    if size > disk.f_bavail * disk.f_frsize * ROOM:
        why = f"{size / 1e6:.1f} MB to save would fill the repository's disk"
        raise GitFailed("disk_full", why)


def _store_files(
    git: Runner, tree: Tree, root: str, paths: Iterable[str], work: str
) -> list[SavedFile]:
    """Every path, with its content in the repository. Links are saved as links."""
    saved: list[SavedFile] = []
    sources: list[str] = []
    for path in paths:
        there = os.path.join(root, path)
        if os.path.islink(there):
            mode = "120000"
            target = os.path.join(work, f"link{len(sources)}")
            with open(target, "wb") as file:
                file.write(os.fsencode(os.readlink(there)))
            sources.append(target)
        elif os.path.isfile(there):
            mode = "100755" if os.stat(there).st_mode & 0o100 else "100644"
            sources.append(there)
        else:
            mode = ""
        saved.append(SavedFile(path, mode, ""))
    given = b"".join(_quoted(source) + b"\n" for source in sources)
    words = ("hash-object", "-w", "--no-filters", "--stdin-paths")
    output = git.must_bare(tree.common_dir, *words, given=given, seconds=SECONDS)
    objects = iter(output.out.decode("ascii").split())
    nothing = "0" * _digits(git, tree)
    return [
        one._replace(object=next(objects)) if one.mode else SavedFile(one.path, "0", nothing)
        for one in saved
    ]


def _digits(git: Runner, tree: Tree) -> int:
    """Of an object's name; before the first commit, git tells."""
    if tree.commit:
        return len(tree.commit)
    words = ("rev-parse", "--show-object-format=storage")
    sha256 = git.must_bare(tree.common_dir, *words).line == "sha256"
    return SHA256_DIGITS if sha256 else SHA1_DIGITS


def _quoted(path: str) -> bytes:
    """As git reads a path on a line of its own, whatever bytes it is made of."""
    return b'"' + b"".join(b"\\%03o" % byte for byte in os.fsencode(path)) + b'"'


# -- trees and commits -------------------------------------------------------------------------


def _staged(status: CheckoutStatus) -> list[SavedFile]:
    """The index; of a conflict, our side, or theirs where we deleted it."""
    chosen: dict[str, tuple[str, SavedFile]] = {}
    for entry in status.entries:
        if entry.path in status.intended or entry.stage not in ("0", _OURS, _THEIRS):
            continue
        if entry.path not in chosen or entry.stage < chosen[entry.path][0]:
            file = SavedFile(entry.path, entry.mode, entry.object)
            chosen[entry.path] = (entry.stage, file)
    return [file for _, file in chosen.values()]


def _write_tree(git: Runner, tree: Tree, index: str, files: Iterable[SavedFile]) -> str:
    lines = (f"{one.mode} {one.object}\t".encode() + os.fsencode(one.path) for one in files)
    given = b"".join(line + b"\0" for line in lines)
    env = {"GIT_INDEX_FILE": index}
    # --replace: a file may have become a directory
    words = (*_ANY_NAME, "update-index", "--replace", "-z", "--index-info")
    git.must_bare(tree.common_dir, *words, given=given, env=env, seconds=SECONDS)
    words = (*_ANY_NAME, "write-tree", "--missing-ok")
    return git.must_bare(tree.common_dir, *words, env=env).line


def _commit(git: Runner, tree: Tree, content: str, parents: Sequence[str], message: str) -> str:
    above = [word for parent in parents for word in ("-p", parent)]
    given = (message + "\n").encode("utf-8", "replace")
    env = {} if parents else _NO_DATE
    return git.must_bare(tree.common_dir, "commit-tree", *above, content, given=given, env=env).line


# -- the proof ---------------------------------------------------------------------------------


def _check_present(git: Runner, tree: Tree, files: Iterable[SavedFile]) -> None:
    kinds = git.kinds_of(tree.common_dir, {file.object for file in files if file.mode != "0"})
    if set(kinds.values()) - {"blob", "commit"}:
        raise GitFailed("git_error", "the repository does not hold all that was saved")


def _point_ref(git: Runner, tree: Tree, ref: str, commit: str) -> tuple[str, str]:
    """A ref of that name, or with a number after it, that holds this work; and its commit."""
    name, number = ref, 1
    while True:
        known = git.run_bare(tree.common_dir, "rev-parse", "--verify", "--quiet", name)
        # An agent may have put a name there that leads into what will be deleted.
        leads = git.run_bare(tree.common_dir, "symbolic-ref", "--quiet", name).code == 0
        if known.code and not leads:
            git.must_bare(tree.common_dir, "update-ref", name, commit, "0" * len(commit))
            if git.must_bare(tree.common_dir, "rev-parse", "--verify", name).line != commit:
                raise GitFailed("git_error", f"{name} was moved by another program")
            return name, commit
        if not leads and _facts(git, tree, known.line) == _facts(git, tree, commit):
            return name, known.line
        number += 1
        name = f"{ref}-{number}"


def _facts(git: Runner, tree: Tree, commit: str) -> tuple[list[bytes], list[bytes]]:
    """Its files and first parent; the staged files and what else is held: saved twice alike."""
    words = ("show", "--no-patch", "--format=%T %P")
    first, second = (git.run_bare(tree.common_dir, *words, one) for one in (commit, f"{commit}^2"))
    return first.out.split()[:2], second.out.split()
