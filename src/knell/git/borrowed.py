"""What a repository keeps inside one of its worktrees, and would lose with it."""

import os
from collections.abc import Iterator
from contextlib import suppress

from knell.core.paths import is_below
from knell.core.ports.git import GitFailed, Tree
from knell.git.command import Runner

_NO_WORK = "hooks"  # programs, which people often keep in a checkout


def check_borrowed(git: Runner, tree: Tree) -> None:
    """GitFailed if objects, refs or anything else of the repository would go with the worktree."""
    listed = git.must_bare(tree.common_dir, "count-objects", "-v").out
    for line in listed.splitlines():
        word, _, value = os.fsdecode(line).partition(": ")
        odd = value.startswith('"')  # quoted, which no usual path is
        if word == "alternate" and (odd or _goes(tree, os.path.realpath(value))):
            raise GitFailed("git_error", f"the repository borrows objects from {value}")
    for link in _links(tree.common_dir):
        target = os.path.realpath(link)
        goes_too = is_below(link, tree.git_dir) and not is_below(target, tree.top)
        if _goes(tree, target) and not goes_too:
            raise GitFailed("git_error", f"{link} leads to {target}, which would go with it")


def _goes(tree: Tree, path: str) -> bool:
    return is_below(path, tree.top) or is_below(path, tree.git_dir)


def _links(root: str) -> Iterator[str]:
    folders = [root]
    while folders:
        entries: list[os.DirEntry[str]] = []
        with suppress(FileNotFoundError), os.scandir(folders.pop()) as found:
            entries += found
        yield from (entry.path for entry in entries if entry.is_symlink())
        inside = (entry.path for entry in entries if entry.is_dir(follow_symlinks=False))
        folders += (path for path in inside if path != os.path.join(root, _NO_WORK))
