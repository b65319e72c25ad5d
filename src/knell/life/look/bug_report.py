"""Gathers what a person who mends knell needs to see; a part that cannot be had says why."""

from collections.abc import Callable
from typing import Any, NamedTuple, TypeVar

from knell.core.errors import KnellError
from knell.core.ports.store import Event
from knell.core.ports.world import World
from knell.core.receipt import Receipt
from knell.core.settings import Settings
from knell.life.look.doctor import Diagnosis, examine
from knell.life.look.events import events
from knell.life.look.list import list_agents
from knell.life.look.show import newest_receipt

T = TypeVar("T")
JOURNAL = 32_768  # bytes of a keeper's journal, from its end


class BugReport(NamedTuple):
    """Nothing is hidden yet: `faces/text/bug_report.py` does that when it writes the text.

    A text in the place of a part says why it could not be had."""

    at: str
    settings: dict[str, Any] | str  # those that are not as they come
    diagnosis: Diagnosis | str
    events: list[Event] | str
    receipt: Receipt | str
    journal: str  # what the keeper of that run wrote


def bug_report(world: World, name: str, limit: int) -> BugReport:
    """About the agent or run of that name, or about the one that ended last."""
    receipt = _tried(lambda: _receipt(world, name))
    return BugReport(
        at=world.now(),
        settings=_tried(lambda: _changed(world.settings)),
        diagnosis=_tried(lambda: examine(world)),
        events=_tried(lambda: events(world, agent="", limit=limit)),
        receipt=receipt,
        journal=_journal(world, receipt.run) if isinstance(receipt, Receipt) else "",
    )


def _tried(part: Callable[[], T]) -> T | str:
    try:
        return part()
    except KnellError as error:
        return f"could not look: {error}"


def _changed(settings: Settings) -> dict[str, Any]:
    usual = Settings()._asdict()
    return {key: value for key, value in settings._asdict().items() if value != usual[key]}


def _receipt(world: World, name: str) -> Receipt | str:
    if name:
        return newest_receipt(world, name)
    ended = [view for view in list_agents(world, with_ended=True) if view.run and view.ended_at]
    if not ended:
        return "no agent has ended here"
    return newest_receipt(world, max(ended, key=lambda view: view.ended_at).run)


def _journal(world: World, run: str) -> str:
    found = world.archive.journal(run)
    return "could not look" if found is None else found[-JOURNAL:].decode(errors="replace")
