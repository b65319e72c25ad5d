"""What may become of a git worktree when its agent has ended."""

from collections.abc import Sequence
from enum import StrEnum
from typing import NamedTuple

from knell.core.ports.git import Tree
from knell.core.process import Unknown

SHOWN = 3  # names that a list has before it counts the rest


class Cleanup(StrEnum):
    OWN = "own"  # like safe, but only what knell itself made
    SAFE = "safe"  # remove what is finished, keep the rest
    FORCE = "force"  # save, then remove


class WorktreeDecision(NamedTuple):
    remove: bool
    rescue: bool
    why: str
    quarantine: bool = False  # it stays because of what it holds, and a person must look at it


_KEEP, _REMOVE = False, True


def decide(
    tree: Tree | Unknown,
    mode: Cleanup,
    inside: Sequence[str] = (),
    others: Sequence[str] = (),
    *,
    made: bool = True,
) -> WorktreeDecision:
    """Whether the worktree goes, and whether its work is saved first; work comes before order.

    `inside` names the live processes that use it, `others` the live agents that work there; `made`
    says whether knell made it.
    """
    if isinstance(tree, Unknown):
        return WorktreeDecision(_KEEP, rescue=False, why=f"it could not be looked at: {tree.why}")
    work, everything = tree.worth_saving, tree.only_here
    table: tuple[tuple[object, bool, bool, str], ...] = (
        # the first line that fits; its second word is the verdict, its third saves the work
        (not tree.linked, _KEEP, False, "it is the main checkout of its repository"),
        (others, _KEEP, False, f"{_listed(others)} works there too"),
        (mode is Cleanup.OWN and not made, _KEEP, False, "knell did not make it"),
        (tree.locked is not None, _KEEP, work, f"it is locked{_unlock(tree)}"),
        (tree.underway, _KEEP, work, f"it is in the middle of a {tree.underway}"),
        (tree.conflicts, _KEEP, work, f"conflicts in {_number(tree.conflicts, 'file')}"),
        (inside, _KEEP, work, f"in use by {_listed(inside)}"),
        (
            tree.within,
            _KEEP,
            work,
            f"another worktree is in it or needs it: {_listed(tree.within)}",
        ),
        (tree.nested, _KEEP, work, f"repositories of its own in it: {_listed(tree.nested)}"),
        (tree.gone, _REMOVE, everything, "its directory was deleted"),
        (mode is Cleanup.FORCE, _REMOVE, everything, "removal was asked for"),
        (tree.dirty, _KEEP, work, f"uncommitted work: {uncommitted(tree)}"),
        (not tree.merged_into, _KEEP, work, _unmerged(tree)),
        (tree.bulky, _KEEP, work, f"too much to save: {_number(tree.bulky, 'ignored file')}"),
        (True, _REMOVE, everything, f"clean and merged into {tree.merged_into}"),
    )
    remove, save, why = next(line[1:] for line in table if line[0])
    held = any((not tree.linked, others, mode is Cleanup.OWN and not made))
    return WorktreeDecision(remove, save, why, quarantine=not remove and not held)


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


def _listed(words: Sequence[str]) -> str:
    more = f" and {len(words) - SHOWN} more" if len(words) > SHOWN else ""
    return ", ".join(words[:SHOWN]) + more
