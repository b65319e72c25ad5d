"""A git worktree as a look shows it, and what may become of it when its agent has ended."""

from collections.abc import Collection, Sequence
from enum import StrEnum
from typing import NamedTuple, Protocol

from quell.core.errors import WorldError
from quell.core.process import Member, Unknown


class Cleanup(StrEnum):
    OWN = "own"  # like safe, but only what quell itself made
    SAFE = "safe"  # remove what is finished, keep the rest
    FORCE = "force"  # save, then remove


class GitFailed(WorldError):
    """Git refused or could not; `code` is one word that a program can tell apart."""

    def __init__(self, code: str, message: str, hint: str = "") -> None:
        super().__init__(message, hint)
        self.code = code


class Tree(NamedTuple):
    """One checkout. Counts are complete: a look that could not count is an `Unknown`."""

    top: str
    git_dir: str  # its own: index, HEAD
    common_dir: str  # the repository's: objects, branches
    linked: bool  # False: the main checkout, where people work
    commit: str = ""  # empty before the first one
    branch: str = ""  # empty when HEAD is detached
    locked: str | None = None  # the reason that was given, which may be empty
    changed: int = 0  # tracked files, in the index or on disk
    untracked: int = 0
    ignored: int = 0  # files that git is told not to see; nothing saves them
    conflicts: int = 0
    underway: str = ""  # rebase, merge, cherry-pick, revert, am or bisect
    nested: tuple[str, ...] = ()  # repositories and submodules inside: their work is not ours
    within: tuple[str, ...] = ()  # other worktrees whose directories lie in this one
    merged_into: str = ""
    squashed: bool = False  # merged by content, not by history
    alone: int = 0  # commits that no other branch, tag or remote holds
    gone: bool = False  # git still lists it, its directory is deleted
    state: str = ""  # changes whenever any of its uncommitted work does

    @property
    def dirty(self) -> bool:
        return bool(self.changed or self.untracked or self.conflicts)

    @property
    def worth_saving(self) -> bool:
        """Something that would be lost with the directory. A branch outlives its worktree."""
        return self.dirty or bool(self.alone and not self.branch)


class Rescue(NamedTuple):
    """Work that is now in the repository, read back and found complete."""

    ref: str
    commit: str
    paths: int
    ignored: int = 0  # not saved


class Lock(NamedTuple):
    """An `index.lock`, exactly that one."""

    path: str
    inode: int
    touched_ns: int


class Held(NamedTuple):
    """A live process that uses something at or below a path."""

    path: str  # as asked for
    member: Member
    how: str  # cwd, root, exe, open file, mapped file
    file: str


class Holding(NamedTuple):
    held: tuple[Held, ...] = ()
    unseen: int = 0  # processes, mostly of other users, that could not be looked into
    mounts: tuple[tuple[str, str], ...] = ()  # path as asked for, what is mounted at or below it

    def of(self, path: str) -> tuple[Held, ...]:
        return tuple(one for one in self.held if one.path == path)

    def users(self, path: str, without: Collection[int] = ()) -> tuple[str, ...]:
        """Who or what is there, in words; deleting below a mount would delete elsewhere."""
        people = [
            f"{one.member.command.split(' ')[0]} (pid {one.member.process.pid}, {one.how})"
            for one in self.of(path)
            if one.member.process.pid not in without
        ]
        return (*people, *(f"a mount at {at}" for asked, at in self.mounts if asked == path))

    @property
    def members(self) -> tuple[Member, ...]:
        return tuple({one.member.process: one.member for one in self.held}.values())


class Decision(NamedTuple):
    remove: bool
    rescue: bool
    why: str


class Worktrees(Protocol):
    """Git, as far as endings need it. What it cannot do raises GitFailed and changes nothing."""

    def describe(self, path: str) -> Tree | Unknown | None: ...
    def rescue(self, tree: Tree, ref: str, message: str) -> Rescue: ...
    def remove(self, tree: Tree, *, saved: bool) -> None: ...
    def create(self, repo: str, path: str, branch: str, base: str) -> Tree: ...
    def delete_merged_branch(self, repo: str, branch: str) -> str: ...
    def registered(self, tree: Tree) -> list[str]: ...
    def lock_of(self, tree: Tree) -> Lock | None: ...
    def drop_lock(self, lock: Lock) -> bool: ...


_KEEP, _REMOVE = False, True


def decide(
    tree: Tree | Unknown,
    mode: Cleanup,
    inside: Sequence[str] = (),
    others: Sequence[str] = (),
    *,
    made: bool = True,
) -> Decision:
    """Whether the worktree goes, and whether its work is saved first; work comes before order.

    `inside` names the live processes that use it, `others` the live agents that work there; `made`
    tells whether quell made it.
    """
    if isinstance(tree, Unknown):
        return Decision(_KEEP, rescue=False, why=f"it could not be looked at: {tree.why}")
    work = tree.worth_saving
    table: tuple[tuple[object, bool, bool, str], ...] = (
        # the first line that fits; its second word is the verdict, its third saves the work
        (not tree.linked, _KEEP, False, "it is the main checkout of its repository"),
        (others, _KEEP, False, f"{_listed(others)} works there too"),
        (mode is Cleanup.OWN and not made, _KEEP, False, "quell did not make it"),
        (tree.locked is not None, _KEEP, work, f"it is locked{_unlock(tree)}"),
        (tree.underway, _KEEP, work, f"it is in the middle of a {tree.underway}"),
        (tree.conflicts, _KEEP, work, f"conflicts in {_number(tree.conflicts, 'file')}"),
        (inside, _KEEP, work, f"in use by {_listed(inside)}"),
        (tree.within, _KEEP, work, f"another worktree lies in it: {_listed(tree.within)}"),
        (tree.nested, _KEEP, work, f"repositories of its own in it: {_listed(tree.nested)}"),
        (tree.gone, _REMOVE, work, "its directory was deleted"),
        (mode is Cleanup.FORCE, _REMOVE, work, "removal was asked for"),
        (tree.dirty, _KEEP, work, f"uncommitted work: {uncommitted(tree)}"),
        (not tree.merged_into, _KEEP, work, _unmerged(tree)),
        (True, _REMOVE, False, f"clean and merged into {tree.merged_into}"),
    )
    return next(Decision(remove, save, why) for fits, remove, save, why in table if fits)


def uncommitted(tree: Tree) -> str:
    """What a worktree holds that no commit does, in words."""
    counts = ((tree.changed, "changed"), (tree.untracked, "untracked"))
    return " and ".join(f"{count} {word}" for count, word in counts if count) or "nothing"


def _unmerged(tree: Tree) -> str:
    what = f"branch {tree.branch}" if tree.branch else "its detached HEAD"
    return f"{what} is not merged ({_number(tree.alone, 'commit')} that no other branch has)"


def _unlock(tree: Tree) -> str:
    return f"{f' ({tree.locked})' if tree.locked else ''}; git worktree unlock {tree.top}"


def _number(count: int, what: str) -> str:
    return f"{count} {what}{'' if count == 1 else 's'}"


def _listed(words: Sequence[str], shown: int = 3) -> str:
    more = f" and {len(words) - shown} more" if len(words) > shown else ""
    return ", ".join(words[:shown]) + more
