"""What became of worktrees: kept or removed, why, and where their work was saved."""

from typing import Any, NamedTuple

from knell.core.ports.ending_store import ReceiptQuery
from knell.core.ports.world import World
from knell.core.receipt import Cleaning
from knell.life.base.take_in import take_in_journals

OF_CLEANING = ("state", "why", "branch", "rescue", "quarantined")


class WorktreeView(NamedTuple):
    """One worktree, as the newest ending that looked at it left it."""

    path: str
    state: str  # kept, removed, gone
    why: str
    branch: str
    agent: str
    run: str
    at: str
    rescue: str  # the ref that holds work that existed nowhere else
    quarantined: bool
    commands: tuple[str, ...]  # by which a person gets the work back

    def to_json(self) -> dict[str, Any]:
        return self._asdict()


def worktrees(world: World, limit: int) -> list[WorktreeView]:
    """The newest first, one row a path and ref."""
    take_in_journals(world)
    found: dict[tuple[str, str], WorktreeView] = {}
    for stored in world.store.endings.search(ReceiptQuery(limit=limit, with_worktree=True)):
        receipt, cleaning = stored.receipt, stored.receipt.cleaning
        view = WorktreeView(
            **{name: getattr(cleaning, name) for name in OF_CLEANING},
            path=cleaning.worktree,
            agent=receipt.agent,
            run=receipt.run,
            at=stored.at,
            commands=commands(cleaning, receipt.agent),
        )
        found.setdefault((view.path, view.rescue), view)
    return list(found.values())


def commands(cleaning: Cleaning, agent: str) -> tuple[str, ...]:
    """To be given inside the repository."""
    rescue = cleaning.rescue
    return (f"git show --stat {rescue}", cleaning.way_back(agent)) if rescue else ()
