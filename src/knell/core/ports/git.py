"""The port to git: a worktree as a look shows it, and what may be done to one."""

from collections.abc import Callable, Sequence
from typing import NamedTuple, Protocol

from knell.core.codes import Code
from knell.core.errors import WorldError
from knell.core.process import Unknown


class GitFailed(WorldError):
    """Git refused or could not; `problem` is the word of the orchestrator's contract for it."""

    code = Code.GIT_FAILED

    def __init__(self, problem: str, message: str, hint: str = "") -> None:
        super().__init__(message, hint)
        self.problem = problem


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
    ignored: int = 0  # files that git ignores, and that are saved with the work
    caches: int = 0  # ignored files that a program can make again; they are not saved
    bulky: int = 0  # ignored files that are too many or too large to save
    filtered: int = 0  # tracked files whose bytes git has not: by a filter, or it lost them
    conflicts: int = 0
    underway: str = ""  # rebase, merge, cherry-pick, revert, am or bisect
    nested: tuple[str, ...] = ()  # repositories and submodules inside: their work is not ours
    within: tuple[str, ...] = ()  # other worktrees whose directories lie in this one
    merged_into: str = ""
    squashed: bool = False  # merged by content, not by history
    alone: int = 0  # commits that no other branch, tag or remote holds
    gone: bool = False  # git still lists it, its directory is deleted
    lost_commits: tuple[str, ...] = ()  # tips that only its own reflog and HEADs know
    modules: tuple[str, ...] = ()  # submodules' git folders in its own, with unpushed work
    left_out: tuple[str, ...] = ()  # the paths of `caches` and `bulky`; directories end with /
    folder_state: str = ""  # changes with its index, HEAD, reflog and submodules

    @property
    def dirty(self) -> bool:
        return bool(self.changed or self.untracked or self.conflicts)

    @property
    def worth_saving(self) -> bool:
        """Work that is in no commit, or in commits that no branch holds; also saved where the
        worktree stays."""
        return self.dirty or bool(self.alone and not self.branch)

    @property
    def only_here(self) -> bool:
        """Something that would be lost with the directory. A branch outlives its worktree."""
        extra = self.ignored or self.filtered or self.lost_commits or self.modules
        return self.worth_saving or bool(extra)


class Rescue(NamedTuple):
    """Work that is now in the repository, read back and found complete."""

    ref: str
    commit: str
    paths: int


class IndexLock(NamedTuple):
    """An `index.lock`, exactly that one."""

    path: str
    inode: int
    touched_ns: int


Users = Callable[[str], Sequence[str]]  # the processes that use what lies below a path, in words


class Worktrees(Protocol):
    """Git, as far as endings need it. What it cannot do raises GitFailed and changes nothing."""

    def describe(self, path: str, *, raw: bool = False) -> Tree | Unknown | None: ...
    def rescue(self, tree: Tree, ref: str, message: str) -> Rescue: ...
    def remove(self, tree: Tree, rescue: Rescue | None, users: Users | None = None) -> None: ...
    def create(self, repo: str, path: str, branch: str, base: str) -> Tree: ...
    def delete_merged_branch(self, repo: str, branch: str) -> str: ...
    def registered(self, tree: Tree) -> list[str]: ...
    def lock_of(self, tree: Tree) -> IndexLock | None: ...
    def drop_lock(self, tree: Tree, lock: IndexLock) -> bool: ...
