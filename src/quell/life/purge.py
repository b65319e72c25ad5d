"""Deletes a conversation for good: exactly its files, inside its program's own folder."""

from typing import Any

from quell.core.agent import Agent
from quell.core.errors import Refused
from quell.core.kind import filled
from quell.core.ports import World
from quell.core.receipt import Receipt, Result
from quell.life.conversation import conversation_files, files_below, root_of
from quell.life.kill import Slain
from quell.life.mirror import Mirrored, Troubles, find_row, note_purge

OVER = (Result.ENDED, Result.ALREADY_ENDED)
NOBODY = (Result.NOT_FOUND, Result.REFUSED)


def check_purge(wanted: bool, *, told_twice: bool) -> None:  # noqa: FBT001 - the wish itself
    if wanted and not told_twice:
        raise Refused(
            "deleting a conversation cannot be undone, and nobody can be asked",
            "add --yes if that is what you want",
        )


def purged(world: World, slain: list[Slain]) -> list[Slain]:
    """The same endings, with the conversations of those that are over deleted and recorded."""
    return [
        one._replace(
            receipts=tuple(
                purge(world, receipt, world.store.agent(receipt.agent), _row_of(world, receipt))
                for receipt in one.receipts
            )
        )
        for one in slain
    ]


def _row_of(world: World, receipt: Receipt) -> Mirrored | None:
    run, agent = world.store.run(receipt.run), world.store.agent(receipt.agent)
    return find_row(world, agent, run)[0] if run and agent else None


def purge(
    world: World, receipt: Receipt, agent: Agent | None, mirrored: Mirrored | None
) -> Receipt:
    """What was deleted stands in the receipt, the events and the registry file."""
    if receipt.result in NOBODY:
        return receipt
    if receipt.result not in OVER or receipt.outcome == "archived":
        return _warned(receipt, ("its conversation was not deleted: it is not over",))
    if agent is None or not agent.conversation:
        return _warned(receipt, ("no conversation is known, so none was deleted",))
    kind = world.kind(agent.kind)
    if kind.database is not None:
        command = " ".join((kind.program, *filled(kind.forget, agent.conversation)))
        return _warned(
            receipt, (f"{kind.name} keeps everybody's conversations in one file; run {command}",)
        )
    files = conversation_files(world, agent, kind) + files_below(world, agent, kind, kind.extras)
    done = world.disk.purge(root_of(world, agent, kind), list(dict.fromkeys(files)))
    facts: dict[str, Any] = {
        "conversation": agent.conversation,
        "purged_at": world.now(),
        "purged_paths": list(done.removed),
        "refused": list(done.refused),
    }
    world.store.note("conversation.purged", agent.name, receipt.run, facts)
    troubles: Troubles = tuple(f"not deleted: {refusal}" for refusal in done.refused)
    if mirrored and not done.refused:
        troubles += note_purge(mirrored, facts["purged_at"], done.removed)
    why = f"deleted: {len(done.removed)} files" if done.removed else "there was nothing to delete"
    gone = receipt.conversation._replace(
        id=agent.conversation, exists=bool(done.refused), resume="", why=why, purged=done.removed
    )
    return _warned(receipt._replace(conversation=gone), troubles)


def _warned(receipt: Receipt, troubles: Troubles) -> Receipt:
    return receipt._replace(warnings=(*receipt.warnings, *troubles))
