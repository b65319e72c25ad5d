"""Commits that lie in a worktree's own git folder only, and would go with it."""

import hashlib
import os
import re
import stat
from collections.abc import Iterable, Iterator, Sequence
from itertools import chain

from knell import files
from knell.core.ports.git import GitFailed, Tree
from knell.git.command import Runner
from knell.git.raw_files import raise_unreadable, read_start

# Refs that belong to one worktree and vanish with it, so what they hold is not kept.
OWN_REFS = ("refs/bisect/*", "refs/worktree/*", "refs/rewritten/*")
NOTE = "knell-removing"  # in the git folder of a worktree that is being removed: see removal.py
_ID = re.compile(rb"\b(?:[0-9a-f]{64}|[0-9a-f]{40})\b")
# A line of a reflog. What its name or its message mentions, git does not keep.
_LINE = re.compile(
    rb"^([0-9a-f]{64}|[0-9a-f]{40}) ([0-9a-f]{64}|[0-9a-f]{40}) "
    rb"[^\t\n]*> \d+ [+-]\d{4}(?:\t.*)?\n", re.MULTILINE
)  # fmt: skip
_MOST = 1 << 26  # bytes of a reflog
# In a worktree's own git folder: what git itself puts there, which is looked at elsewhere or holds
# no work. All else was put there by a person, an agent or another program.
_OF_GIT = frozenset({
    *("commondir", "gitdir", "locked", "config.worktree", "info/sparse-checkout", "AUTO_MERGE"),
    *("COMMIT_EDITMSG", "TAG_EDITMSG", "NOTES_EDITMSG", "MERGE_MSG", "SQUASH_MSG", "MERGE_RR"),
    *("MERGE_MODE", "MERGE_AUTOSTASH", "EDIT_DESCRIPTION", "index", "index.lock"),
})  # fmt: skip
_STARTS = (
    *("logs/", "refs/", "reftable/", "rebase-merge/", "sequencer/", "NOTES_MERGE_", "BISECT_"),
    *("rebase-apply/", "index.stash.", "sharedindex.", "fsmonitor--daemon", NOTE),
)
# The place of the worktree, a lock that may be stale, and our own note hold no work.
_NO_WORK = frozenset({"gitdir", "index.lock", NOTE})


def folder_state(tree: Tree) -> str:
    """Another word after any change to the index, HEAD, reflog or submodules of a worktree."""
    if not tree.linked:
        return ""
    facts: list[object] = []
    for path in files_below(tree.git_dir):
        name = os.path.relpath(path, tree.git_dir)
        if name not in _NO_WORK:
            found = os.lstat(path)
            # Git renews the time of a shared index whenever it reads one, and never its content.
            touched = 0 if name.startswith("sharedindex.") else found.st_mtime_ns
            facts.append((name, found.st_ino, found.st_size, touched))
    return hashlib.sha256(repr(sorted(facts, key=str)).encode(errors="replace")).hexdigest()


def files_below(*paths: str) -> Iterator[str]:
    """These files, and all below these folders. GitFailed if one cannot be looked into."""
    for path in paths:
        if not os.path.isdir(path):
            yield from [path] if os.path.lexists(path) else []
            continue
        for here, _, names in os.walk(path, onerror=raise_unreadable):
            yield from (os.path.join(here, name) for name in names)


def other_files(tree: Tree) -> list[str]:
    """Files in its git folder that git has not made, and that go with it; relative to it."""
    modules = tuple(f"{os.path.relpath(one, tree.git_dir)}/" for one in module_folders(tree))
    found: list[str] = []
    for path in files_below(tree.git_dir):
        name = os.path.relpath(path, tree.git_dir)
        known = name in _OF_GIT or name.startswith((*_STARTS, *modules))
        known = known or (os.sep not in name and name.endswith("HEAD"))
        kind = stat.S_IFMT(os.lstat(path).st_mode)
        if not known and kind in (stat.S_IFREG, stat.S_IFLNK):
            found.append(name)
    return sorted(found)


def lost_commits(git: Runner, tree: Tree) -> list[str]:
    """The newest of the commits that only this worktree's reflog, HEADs and own refs know.

    What a branch's reflog knows stays: that one lies in the repository's own folder."""
    if os.path.isdir(os.path.join(tree.git_dir, "reftable")):
        raise GitFailed("git_error", "its reflog is a reftable, which knell cannot read")
    refs = list(files_below(os.path.join(tree.git_dir, "refs")))
    _check_own_refs(git, tree, refs)
    # MERGE_AUTOSTASH names a commit as well as every *HEAD does, and so may what git has next.
    never = ("index", "sharedindex", NOTE)
    files = [file for file in os.scandir(tree.git_dir) if file.is_file()]
    own = [file.path for file in files if not file.name.startswith(never)]
    own += [*refs, *files_below(os.path.join(tree.git_dir, "logs"))]
    known = _commits(git, tree, own) - {tree.commit}
    if not known:
        return []
    kept = _commits(git, tree, _logs(git, tree), mentioned=False)
    if tree.commit:
        kept.add(tree.commit)
    lines = "".join([*(f"{name}\n" for name in known), *(f"^{name}\n" for name in kept)])
    elsewhere = ("--not", *(f"--exclude={pattern}" for pattern in OWN_REFS), "--glob=refs/*")
    words = ("rev-list", "--parents", "--stdin", *elsewhere)
    output = git.must_bare(tree.common_dir, *words, given=lines.encode()).out.decode("ascii")
    family = [line.split() for line in output.splitlines()]
    parents = {parent for _, *above in family for parent in above}
    return sorted(commit for commit, *_ in family if commit not in parents)


def _logs(git: Runner, tree: Tree) -> list[str]:
    """The reflogs that the repository itself keeps: git heeds no other file among them."""
    names = git.must_bare(tree.common_dir, "for-each-ref", "--format=%(refname)").out.split(b"\n")
    root = os.path.join(tree.common_dir, "logs")
    known = {os.path.join(root, os.fsdecode(name)) for name in (b"HEAD", *names) if name}
    return [path for path in files_below(root) if path in known]


def _check_own_refs(git: Runner, tree: Tree, refs: Sequence[str]) -> None:
    """GitFailed if one leads to anything but a commit: a rescue has no place for it."""
    for path in refs:
        name = read_start(path, 4096).strip()
        if not name or name.startswith(b"ref:"):
            continue
        output = git.run(tree.common_dir, "cat-file", "-t", os.fsdecode(name))
        if output.code == 0 and output.line != "commit":
            ref = os.path.relpath(path, tree.git_dir)
            raise GitFailed("git_error", f"its own {ref} names a {output.line}, not a commit")


def _commits(git: Runner, tree: Tree, paths: Iterable[str], *, mentioned: bool = True) -> set[str]:
    """The commits that these files name, as far as the repository has them.

    Unless `mentioned`, only those count that a reflog is about."""
    names: set[str] = set()
    for path in paths:
        try:
            content = files.read(path, _MOST)
        except OSError as error:
            raise GitFailed("git_error", f"cannot read {path}: {error.strerror}") from error
        found = _ID.findall(content) if mentioned else chain(*_LINE.findall(content))
        names.update(f"{name.decode()}^{{commit}}" for name in found)  # a tag leads to its commit
    kinds = git.kinds_of(tree.common_dir, names)
    return {name for name, kind in kinds.items() if kind == "commit"}


def modules_with_work(git: Runner, tree: Tree) -> list[str]:
    """The git folders of submodules in this worktree's own, with commits or staged files that no
    remote has, relative to it. A submodule leaves its folder here when it is deinitialised."""
    found = (module for module in module_folders(tree) if _has_work(git, module))
    return [os.path.relpath(module, tree.git_dir) for module in found]


def module_folders(tree: Tree) -> Iterator[str]:
    """The git folders of all submodules in this worktree's own."""
    root = os.path.join(tree.git_dir, "modules")
    walk = os.walk(root, onerror=raise_unreadable) if os.path.isdir(root) else ()
    for here, folders, names in walk:
        if "HEAD" not in names or "objects" not in folders:
            continue  # a part of a submodule's name, which may be `hooks` or `refs`
        yield here
        folders[:] = [name for name in folders if name not in ("objects", "logs", "refs", "hooks")]


def _has_work(git: Runner, module: str) -> bool:
    """What git cannot tell counts as work."""
    # The directory that its configuration names is gone, so it is told to look at another one.
    at = (f"--git-dir={module}", f"--work-tree={module}")
    count = git.run(module, *at, "rev-list", "--count", "--all", "--reflog", "--not", "--remotes")
    staged = git.run(module, *at, "diff-index", "--cached", "--quiet", "HEAD")
    detached = git.run(module, *at, "rev-list", "--count", "HEAD", "--not", "--remotes")
    return (count.out, detached.out, staged.code) != (b"0\n", b"0\n", 0)
