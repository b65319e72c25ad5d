"""`stop --session NAME`: a session that stands in the registry file, whoever started it."""

from quell.core.errors import NoSuchAgent, PlaceFailed, Refused, RegistryFailed
from quell.core.lifecycle import Outcome, State
from quell.core.ports import Registry, Row, World
from quell.core.receipt import Conversation, Ended, Receipt, Result
from quell.core.run import Ending, Place, Run
from quell.core.stopping import StopPlan, stop_plan
from quell.life.adopt import AdoptWish, adopt
from quell.life.caller import caller
from quell.life.capture import capture
from quell.life.conversation import find_conversation
from quell.life.kill import Slain
from quell.life.listed import agent_of, agents_pane, known_agent, name_for
from quell.life.mirror import NOT_WRITTEN, Mirrored, announce, speaks_of, write_end
from quell.life.purge import check_purge, purge
from quell.life.receipts import blank
from quell.life.settle import settle
from quell.life.stop import StopWish, stop

NOT_LISTED = (
    "NOT in YAML — refusing to {} (no audit trail). Use tmux-agent-orchestrate-create first, "
    "or pass --force-no-yaml."
)
ENDED = ("stopped", "terminated", "archived")


def stop_session(
    world: World, name: str, wish: StopWish, *, verb: str, unlisted: bool
) -> list[Slain]:
    """Refused for a session without a row, unless `unlisted` sessions were asked for."""
    settle(world)
    registry = world.registry(world.cwd)
    row = registry.row(name) if registry else None
    if row is None:
        if not unlisted:
            raise Refused(NOT_LISTED.format(verb), "quell stop NAME ends agents that quell knows")
        registry = None
        row = Row(name, "unknown", tmux_server=world.env.get("TMUX_SERVER_NAME", ""))
    plan = stop_plan(wish.options, world.settings.stop_mode)
    check_purge(wish.purge, told_twice=wish.yes)
    mirrored = Mirrored(registry, row) if registry else None
    over = already(row, plan, world, told_twice=wish.yes)
    if over is None:
        slain = ended_session(world, row, mirrored, wish, plan)
    else:
        slain = [Slain(name, "", (over,))]
    if wish.purge and not wish.dry_run:
        return [purged(world, one, row, mirrored) for one in slain]
    return slain


def already(row: Row, plan: StopPlan, world: World, *, told_twice: bool) -> Receipt | None:
    """A row that has ended: said, and left alone, unless asked to refresh its time."""
    receipt = blank(row.name, Result.ALREADY_ENDED, world.now())._replace(outcome=row.status)
    if row.status == "stopped" and plan.outcome is Outcome.STOPPED:
        return receipt._replace(detail=f"already stopped ({row.stopped_at or 'time unknown'})")
    if row.status == "terminated" and not told_twice:
        return receipt._replace(detail=f"Already terminated at {row.terminated_at}")
    if row.status in ENDED and plan.let_go:
        return receipt._replace(detail=f"already {row.status}, nothing to let go of")
    return None


def ended_session(
    world: World, row: Row, mirrored: Mirrored | None, wish: StopWish, plan: StopPlan
) -> list[Slain]:
    """What lives in the session is ended; where nothing does, the row is brought up to date."""
    runs = [run.id for run in world.store.live_runs() if speaks_of(row, run)]
    if not runs and wish.dry_run:
        return [Slain(row.name, "", (session_preview(world, row),))]
    if not runs:
        runs = adopted(world, row)
    if runs:
        targets = tuple(f"id:{run}" for run in runs)
        slain = stop(world, wish._replace(targets=targets, purge=False))
        return slain if plan.let_go or wish.dry_run else lives_on(world, row, slain)
    if mirrored is None:
        raise NoSuchAgent(row.name)
    return [Slain(row.name, "", (written_off(world, mirrored, plan),))]


def adopted(world: World, row: Row) -> list[str]:
    """Takes charge of the session's pane, to be ended like any other; nothing: tmux is dead."""
    pane = agents_pane(world, row)
    if not pane:
        return []
    wish = AdoptWish(
        target=pane,
        name=name_for(world, row),
        kind=row.agent,
        server=row.tmux_server,
    )
    try:
        return [adopt(world, wish).run.id]
    except NoSuchAgent:
        return []


def session_preview(world: World, row: Row) -> Receipt:
    panes = world.sessions().panes(row.name, row.tmux_server)
    receipt = blank(row.name, Result.WOULD_END, world.now())._replace(kind=row.agent, place="tmux")
    if not panes:
        detail = "tmux already dead, the YAML would be updated"
        return receipt._replace(result=Result.ALREADY_ENDED, detail=detail)
    found = [Ended(pid, world.kernel.command(pid), "pane", "") for _, pid in panes]
    return receipt._replace(processes=tuple(found))


def lives_on(world: World, row: Row, slain: list[Slain]) -> list[Slain]:
    """Says so where the session has other panes: what is in them is not ours to end."""
    try:
        others = world.sessions().panes(row.name, row.tmux_server)
    except PlaceFailed:
        return slain  # the receipts say what tmux did not answer
    if not others or not slain[-1].receipts:
        return slain
    last = slain[-1].receipts[-1]
    told = f"the tmux session {row.name} lives on: {len(others)} other panes are in it"
    receipts = (*slain[-1].receipts[:-1], last._replace(warnings=(*last.warnings, told)))
    return [*slain[:-1], slain[-1]._replace(receipts=receipts)]


def written_off(world: World, mirrored: Mirrored, plan: StopPlan) -> Receipt:
    """tmux is already dead (a crash, a reboot): nothing to end, the row is brought up to date."""
    ending = Ending(plan.outcome, caller(world).by, plan.reason)
    receipt = blank(mirrored.row.name, Result.ALREADY_ENDED, world.now())._replace(
        outcome=plan.outcome.value,
        by=ending.by,
        reason=ending.reason,
        detail="tmux already dead, just updated the YAML",
        kind=mirrored.row.agent,
    )
    if mirrored.row.status in ENDED:  # its job was told when it ended
        mirrored = mirrored._replace(row=mirrored.row._replace(delegate_job=""))
    if plan.capture_id:
        receipt = receipt._replace(conversation=last_conversation(world, mirrored))
    troubles = announce(mirrored)
    troubles += write_end(mirrored, ending, receipt, capture_id=plan.capture_id)
    if any(NOT_WRITTEN in trouble for trouble in troubles):
        raise RegistryFailed(troubles[-1])
    return receipt._replace(warnings=troubles)


def last_conversation(world: World, mirrored: Mirrored) -> Conversation:
    """What the dead session talked about last, by what it left on disk."""
    registry, row = mirrored
    agent = known_agent(world, row)
    agent = agent or agent_of(world, row, registry)._replace(conversation="")
    nowhere = Run("", agent.name, world.host, State.ENDED, Place("tmux"), "")
    found = capture(world, agent, nowhere, registry, row)
    return find_conversation(world, agent._replace(conversation=found.conversation), found.found_by)


def purged(world: World, one: Slain, row: Row, mirrored: Mirrored | None) -> Slain:
    """With the conversation deleted, whatever state the session was in."""
    registry: Registry | None = mirrored.registry if mirrored else None
    agent = known_agent(world, row) or agent_of(world, row, registry)
    if not agent.conversation:
        agent = agent._replace(conversation=row.conversation)
    receipts = tuple(purge(world, receipt, agent, mirrored) for receipt in one.receipts)
    return one._replace(receipts=receipts)
