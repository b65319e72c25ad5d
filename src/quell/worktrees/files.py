"""What git leaves in its own folders, read without starting git."""

import os

from quell.core.worktree import Lock

# Which file in a checkout's git folder says that something is unfinished, in git's own order.
_UNDERWAY = (
    ("rebase-merge", "rebase"),
    ("rebase-apply/rebasing", "rebase"),
    ("rebase-apply", "mailbox apply (am)"),
    ("MERGE_HEAD", "merge"),
    ("CHERRY_PICK_HEAD", "cherry-pick"),
    ("REVERT_HEAD", "revert"),
    ("sequencer", "sequence of picks"),
    ("BISECT_LOG", "bisect"),
)


def underway(git_dir: str) -> str:
    return next(
        (what for name, what in _UNDERWAY if os.path.lexists(os.path.join(git_dir, name))), ""
    )


def locked(git_dir: str) -> str | None:
    """Why the worktree is locked, perhaps without a word; None if it is not."""
    try:
        with open(os.path.join(git_dir, "locked"), errors="replace") as file:
            return " ".join(file.read(4096).split())
    except FileNotFoundError:
        return None


def registered(common_dir: str) -> dict[str, str]:
    """Every linked worktree that the repository knows, by its git folder there; also gone ones."""
    found: dict[str, str] = {}
    root = os.path.join(common_dir, "worktrees")
    try:
        names = sorted(os.listdir(root))
    except FileNotFoundError:
        return found
    for name in names:
        git_dir = os.path.join(root, name)
        try:
            with open(os.path.join(git_dir, "gitdir"), "rb") as file:
                told = os.fsdecode(file.read().removesuffix(b"\n"))
        except (FileNotFoundError, NotADirectoryError):
            continue  # being made or being pruned
        link = os.path.join(git_dir, told)  # newer git may write it relative to this folder
        found[git_dir] = os.path.realpath(os.path.dirname(link))
    return found


def is_below(path: str, top: str) -> bool:
    return path == top or path.startswith(top.rstrip("/") + "/")


def lock_of(git_dir: str) -> Lock | None:
    path = os.path.join(git_dir, "index.lock")
    try:
        found = os.lstat(path)
    except OSError:
        return None
    return Lock(path, found.st_ino, found.st_mtime_ns)


def drop_lock(lock: Lock) -> bool:
    """Removes exactly that lock; False if it is gone or another by now."""
    if lock_of(os.path.dirname(lock.path)) != lock:
        return False
    try:
        os.unlink(lock.path)
    except OSError:
        return False
    return True


class Inner:
    """What lies in directories that git does not look into: how many files, which repositories."""

    def __init__(self, top: str) -> None:
        self.top = top
        self.files = 0
        self.repositories: list[str] = []

    def walk(self, relative: str) -> None:
        """Counts a file, or everything below a directory; follows no link."""
        path = os.path.join(self.top, relative.rstrip("/"))
        if not relative.endswith("/") or os.path.islink(path):
            self.files += 1
            return
        todo = [path]
        while todo:
            todo += self._look_into(todo.pop())

    def _look_into(self, here: str) -> list[str]:
        """The directories in this one; counts the rest."""
        below: list[str] = []
        with os.scandir(here) as entries:
            for entry in entries:
                if entry.name == ".git":
                    self.repositories.append(os.path.relpath(here, self.top))
                elif entry.is_dir(follow_symlinks=False):
                    below.append(entry.path)
                else:
                    self.files += 1
        return below
