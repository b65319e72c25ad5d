"""Deletes a conversation for good: exactly its files, inside its program's own folder."""

from collections.abc import Callable
from typing import Any

from knell.core.agent import Agent
from knell.core.codes import Code, Notice
from knell.core.conversation import UNSURE
from knell.core.errors import Refused
from knell.core.kind import Kind
from knell.core.ports.world import World
from knell.core.receipt import Conversation, Receipt, Result, TargetResult
from knell.life.base.conversation import (
    conversation_files,
    files_below,
    find_conversation,
    root_of,
    unread_files,
)
from knell.life.base.conversation_copy import forget_copies
from knell.life.base.conversation_users import conversation_user, namesakes

OVER = (Result.ENDED, Result.ALREADY_ENDED)
Troubles = tuple[Notice, ...]
Note = Callable[[str, tuple[str, ...]], Troubles]  # when, and which files; what went wrong
NOT_ENDED = (Result.NOT_FOUND, Result.REFUSED)


def check_purge(wanted: bool, *, confirmed: bool) -> None:  # noqa: FBT001 - the wish itself
    if wanted and not confirmed:
        raise Refused(
            "deleting a conversation cannot be undone",
            "add --yes if that is what you want",
            code=Code.NEEDS_YES,
        )


def purge_all(world: World, results: list[TargetResult]) -> list[TargetResult]:
    """Deletes the conversations of those that are over; the same results, which say so."""

    def purge_one(receipt: Receipt) -> Receipt:
        def note(at: str, paths: tuple[str, ...]) -> Troubles:
            return world.steps.note_purge(receipt, at, paths)

        return purge(world, receipt, world.store.runs.agent(receipt.agent), note)

    return [one._replace(receipts=tuple(map(purge_one, one.receipts))) for one in results]


def purge(world: World, receipt: Receipt, agent: Agent | None, note: Note) -> Receipt:
    """Deletes it, and says so in the receipt, the events and, by `note`, the registry file."""
    if receipt.result in NOT_ENDED:
        return receipt
    if receipt.result not in OVER or receipt.outcome == "archived":
        return _warned(receipt, _not_deleted("its conversation was not deleted: it is not over"))
    if agent is None or not world.kind(agent.kind).resume:
        return _warned(receipt, _not_deleted("no conversation is known, so none was deleted"))
    kind = world.kind(agent.kind)
    if why := _why_kept(world, agent, kind):
        return _warned(receipt, _not_deleted(f"its conversation was not deleted: {why}"))
    if kind.database is not None:
        command = " ".join((kind.program, *kind.with_id(kind.forget, agent.conversation)))
        why = f"{kind.name} keeps all conversations in one file; run {command}"
        return _warned(receipt, _not_deleted(why))
    files = conversation_files(world, agent, kind) + files_below(world, agent, kind, kind.extras)
    done = world.disk.purge(root_of(world, agent, kind), list(dict.fromkeys(files)))
    forget_copies(world, agent)
    facts: dict[str, Any] = {
        "conversation": agent.conversation,
        "purged_at": world.now(),
        "purged_paths": list(done.removed),
        "refused": list(done.refused),
    }
    world.store.events.record("conversation.purged", agent.name, receipt.run, facts)
    troubles = _not_deleted(*(f"not deleted: {refusal}" for refusal in done.refused))
    if not done.refused:
        troubles += note(facts["purged_at"], done.removed)
    why = f"deleted: {len(done.removed)} files" if done.removed else "there was nothing to delete"
    gone = receipt.conversation._replace(
        id=agent.conversation, exists=bool(done.refused), resume="", why=why, purged=done.removed
    )
    _amend(world, agent, gone)
    return _warned(receipt._replace(conversation=gone), troubles)


def _amend(world: World, agent: Agent, gone: Conversation) -> None:
    """The receipt that is kept offers no way back to what was deleted, and verify checks it."""
    kept = world.store.endings.newest_receipt(agent.name)
    if kept and kept.conversation.id == gone.id:
        world.store.endings.amend([kept._replace(conversation=gone)])


def _why_kept(world: World, agent: Agent, kind: Kind) -> str:
    """Why nothing may be deleted: it might be another's conversation, or another is in it."""
    found = find_conversation(world, agent)
    if found.source == UNSURE:
        return found.why
    if unread := unread_files(world, agent, kind):
        return f"{unread[0]} cannot be read, and may be that of another conversation"
    if user := conversation_user(world, agent, kind):
        return f"{user} is in it"
    others = namesakes(world, agent, agent.conversation)
    return f"it is that of '{others[0]}', too" if others else ""


def _not_deleted(*why: str) -> Troubles:
    return tuple(Notice(Code.CONVERSATION_NOT_DELETED, text) for text in why)


def _warned(receipt: Receipt, troubles: Troubles) -> Receipt:
    return receipt._replace(warnings=(*receipt.warnings, *troubles))
