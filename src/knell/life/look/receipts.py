"""What receipts say: found by words, the agents that ended last, what became of worktrees."""

from typing import Any, NamedTuple

from knell.core.agent import Agent
from knell.core.ports.ending_store import ReceiptQuery, StoredReceipt
from knell.core.ports.world import World
from knell.life.base.take_in import take_in_journals
from knell.life.look.list import AgentView, LastVerdict, view_of

MOST = 500
MOST_WORDS = 20
OF_CLEANING = ("state", "why", "branch", "rescue", "quarantined")


class ReceiptPage(NamedTuple):
    """Receipts, the newest first."""

    found: tuple[StoredReceipt, ...]
    more: int  # the number before which older ones follow; 0: there are none

    def to_json(self) -> dict[str, Any]:
        told = [{"id": one.id, "at": one.at} | one.receipt.to_json() for one in self.found]
        return {"receipts": told, "more": self.more}


def find_receipts(world: World, text: str, limit: int, before: int) -> ReceiptPage:
    take_in_journals(world)
    limit = max(1, min(limit, MOST))
    words = tuple(text.split()[:MOST_WORDS])
    found = world.store.endings.search(ReceiptQuery(words, limit + 1, before))
    shown = tuple(found[:limit])
    return ReceiptPage(shown, shown[-1].id if len(found) > limit else 0)


def recently_ended(world: World, limit: int) -> list[AgentView]:
    """One row an agent. An agent that could not be ended, or that runs again, is not among them."""
    views: dict[str, AgentView] = {}
    seen: set[str] = set()
    for stored in world.store.endings.search(ReceiptQuery(limit=2 * limit)):
        name = stored.receipt.agent
        if name in seen or len(views) == limit:
            continue
        seen.add(name)
        run = world.store.runs.newest_of(name)
        if run and not run.live:
            agent = world.store.runs.agent(name) or Agent(name, stored.receipt.kind, "?")
            views[name] = view_of(world, agent, run, LastVerdict())
    return list(views.values())


# -- worktrees -----------------------------------------------------------------------------------


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
    commands: tuple[str, ...]  # by which a person gets the work back, inside the repository


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
            commands=(f"git show --stat {cleaning.rescue}", cleaning.way_back(receipt.agent))
            if cleaning.rescue
            else (),
        )
        found.setdefault((view.path, view.rescue), view)
    return list(found.values())
