"""What an ending would do to whom, without doing it."""

from quell.core.cleaning import Cleaning
from quell.core.ports import World
from quell.core.receipt import Ended, Pane, Receipt, Result
from quell.core.run import Ending, Run
from quell.core.worktree import Cleanup
from quell.life.before import others_alive, target_of
from quell.life.conversation import find_conversation
from quell.life.receipts import blank


def preview(world: World, run: Run, ending: Ending) -> Receipt:
    """A receipt that names every process, the pane and the conversation, and ended nothing."""
    agent = world.store.agent(run.agent)
    cleaning = Cleaning()
    if agent and ending.cleanup:
        from quell.life.cleanup import preview_cleaning

        cleaning = preview_cleaning(world, run, agent, Cleanup(ending.cleanup))
    members = world.kernel.members(target_of(world, run), others_alive(world))
    return blank(run.agent, Result.WOULD_END, world.now())._replace(
        run=run.id,
        kind=agent.kind if agent else "",
        place=run.place.name,
        by=ending.by,
        reason=ending.reason,
        outcome=ending.outcome.value,
        pid=run.process.pid if run.process else None,
        started_at=run.started_at,
        processes=tuple(Ended(m.process.pid, m.command, m.via, "") for m in members),
        pane=Pane(run.place.name, run.place.pane),
        worktree=cleaning.worktree,
        cleaning=cleaning,
        **({"conversation": find_conversation(world, agent)} if agent else {}),
    )
