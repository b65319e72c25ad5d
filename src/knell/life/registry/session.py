"""Ends a session of the registry file, also one that knell never started (`stop --session`)."""

from knell.core.authority import Deed, Relation, Subject
from knell.core.codes import Code, Notice
from knell.core.conversation import UNSURE
from knell.core.ending_steps import RegistryRow
from knell.core.errors import NoSuchAgent, PlaceFailed, Refused, RegistryFailed
from knell.core.ports.registry import Row
from knell.core.ports.world import World
from knell.core.receipt import Conversation, Ended, Receipt, Result, TargetResult
from knell.core.run import Ending, Outcome, Place, Run, State
from knell.core.stop_plan import StopPlan
from knell.life.base.authority import check, check_agents
from knell.life.base.caller import caller
from knell.life.base.candidates import guessed_conversation
from knell.life.base.conversation import find_conversation
from knell.life.base.receipts import blank
from knell.life.base.take_in import take_in_journals
from knell.life.end.purge import check_purge, purge
from knell.life.end.stop import StopWish, plan_of, stop
from knell.life.registry.agent_of_row import (
    ENDED,
    OVER,
    agent_of,
    agents_pane,
    known_agent,
    name_for,
    note_guess,
    shows_agent,
)
from knell.life.registry.mirror import announce, speaks_of, write_end, write_purge
from knell.life.start.adopt import AdoptWish, take_charge

NOT_LISTED = (
    "NOT in YAML — refusing to {} (no audit trail). Use tmux-agent-orchestrate-create first, "
    "or pass --force-no-yaml."
)


def stop_session(
    world: World, name: str, wish: StopWish, *, verb: str, unlisted: bool
) -> list[TargetResult]:
    """Refused for a session without a row, unless `unlisted` sessions were asked for."""
    take_in_journals(world)
    registry = world.registry(world.cwd)
    row = registry.row(name) if registry else None
    if row is None:
        if not unlisted:
            raise Refused(
                NOT_LISTED.format(verb),
                "knell stop NAME ends agents that knell knows",
                code=Code.NOT_IN_REGISTRY,
            )
        registry = None
        row = Row(name, "unknown", tmux_server=world.env.get("TMUX_SERVER_NAME", ""))
    plan = plan_of(world, wish)
    check_purge(wish.purge, confirmed=wish.yes)
    named = known_agent(world, row)
    # Of a session that has ended nothing is signalled, so that no other gate is on the way.
    purged = [named.name if named else row.name] if wish.purge else []
    check_agents(world, caller(world), Deed.CLEAN_UP, purged)
    mirrored = RegistryRow(registry, row) if registry else None
    over = None if lives_on(world, row) else already_ended(row, plan, world, confirmed=wish.yes)
    if over is None:
        results = end_session(world, row, mirrored, wish, plan)
    else:
        results = [TargetResult(name, "", (over,))]
    if wish.purge and not wish.dry_run:
        return [purge_session(world, one, row, mirrored) for one in results]
    return results


def lives_on(world: World, row: Row) -> bool:
    """Whether the agent of a row lives that says stopped or terminated."""
    if row.status not in OVER:
        return False
    return any(speaks_of(row, run) for run in world.store.runs.live()) or shows_agent(world, row)


def already_ended(row: Row, plan: StopPlan, world: World, *, confirmed: bool) -> Receipt | None:
    """The receipt for a row that has ended already; None if there is something to do."""
    receipt = blank(row.name, Result.ALREADY_ENDED, world.now())._replace(outcome=row.status)
    if row.status == "stopped" and plan.outcome is Outcome.STOPPED:
        return receipt._replace(detail=f"already stopped ({row.stopped_at or 'time unknown'})")
    if row.status == "terminated" and not confirmed:
        return receipt._replace(
            detail=f"Already terminated at {row.terminated_at}", code=Code.ROW_ALREADY_ENDED
        )
    if row.status in ENDED and plan.let_go:
        return receipt._replace(detail=f"already {row.status}, nothing to let go of")
    return None


def end_session(
    world: World, row: Row, mirrored: RegistryRow | None, wish: StopWish, plan: StopPlan
) -> list[TargetResult]:
    """Ends what lives in the session; if nothing does, only updates the row."""
    runs = [run.id for run in world.store.runs.live() if speaks_of(row, run)]
    if not runs and wish.dry_run:
        return [TargetResult(row.name, "", (session_preview(world, row, plan),))]
    if not runs:
        runs = adopt_session(world, row)
    if runs:
        targets = tuple(f"id:{run}" for run in runs)
        results = stop(world, wish._replace(targets=targets, purge=False))
        return results if plan.let_go or wish.dry_run else warn_of_other_panes(world, row, results)
    if mirrored is None:
        raise NoSuchAgent(row.name)
    check_written_off(world, row)
    return [TargetResult(row.name, "", (write_off(world, mirrored, plan),))]


def adopt_session(world: World, row: Row) -> list[str]:
    """Adopts the session's pane, so that it can be ended; gives nothing if the session is dead."""
    pane = agents_pane(world, row)
    if not pane:
        return []
    wish = AdoptWish(target=pane, name=name_for(world, row), kind=row.agent, server=row.tmux_server)
    try:
        return [take_charge(world, wish).run.id]
    except NoSuchAgent:
        return []


def session_preview(world: World, row: Row, plan: StopPlan) -> Receipt:
    panes = world.sessions().panes(row.name, row.tmux_server)
    receipt = blank(row.name, Result.WOULD_END, world.now())._replace(
        kind=row.agent, place="tmux", outcome=plan.outcome.value
    )
    if not panes:
        detail = "tmux already dead, the YAML would be updated"
        return receipt._replace(result=Result.ALREADY_ENDED, detail=detail)
    found = [Ended(pid, world.processes.command(pid), "pane", "") for _, pid in panes]
    return receipt._replace(processes=tuple(found))


def warn_of_other_panes(world: World, row: Row, results: list[TargetResult]) -> list[TargetResult]:
    """Adds a warning if the session has other panes, which are left alone."""
    try:
        others = world.sessions().panes(row.name, row.tmux_server)
    except PlaceFailed:
        return results  # the receipts say what tmux did not answer
    if not others or not results[-1].receipts:
        return results
    last = results[-1].receipts[-1]
    panes = "another pane" if len(others) == 1 else f"{len(others)} other panes"
    why = f"the tmux session {row.name} still runs: it has {panes}"
    warning = Notice(Code.PANES_OF_OTHERS, why)
    receipts = (*results[-1].receipts[:-1], last._replace(warnings=(*last.warnings, warning)))
    return [*results[:-1], results[-1]._replace(receipts=receipts)]


def check_written_off(world: World, row: Row) -> None:
    """Refuses to write the row off unless the caller may end the agent: the session may live in a
    tmux that is not seen from here. One that knell never had charge of needs the right to adopt."""
    who, known = caller(world), known_agent(world, row)
    if known:
        check_agents(world, who, Deed.END, [known.name], confirmed=True)
    else:
        subject = Subject(f"the session {row.name}", Relation.STRANGE)
        check(world, who, Deed.ADOPT, [subject])


def write_off(world: World, mirrored: RegistryRow, plan: StopPlan) -> Receipt:
    """Updates the row of a session that is dead already, after a crash or a reboot."""
    ending = Ending(plan.outcome, caller(world).by, plan.reason)
    receipt = blank(mirrored.row.name, Result.ALREADY_ENDED, world.now())._replace(
        outcome=plan.outcome.value,
        by=ending.by,
        reason=ending.reason,
        detail="tmux already dead, just update YAML",
        kind=mirrored.row.agent,
    )
    if mirrored.row.status in ENDED:  # its job was updated when it ended
        mirrored = mirrored._replace(row=mirrored.row._replace(delegate_job=""))
    if plan.capture_id:
        receipt = receipt._replace(conversation=last_conversation(world, mirrored))
    troubles = announce(mirrored)
    troubles += write_end(mirrored, ending, receipt, capture_id=plan.capture_id)
    unwritten = [one.text for one in troubles if one.code is Code.ROW_NOT_WRITTEN]
    if unwritten:
        raise RegistryFailed(unwritten[-1])
    return receipt._replace(warnings=troubles)


def last_conversation(world: World, mirrored: RegistryRow) -> Conversation:
    """The last conversation of a dead session, from its files."""
    registry, row = mirrored
    agent = known_agent(world, row) or agent_of(world, row)
    found = find_conversation(world, agent)
    if found.source != UNSURE:
        return found
    nowhere = Run("", agent.name, world.host, State.ENDED, Place("tmux"), "")
    found = guessed_conversation(world, agent, nowhere, registry, row)
    if found.id:
        note_guess(world, row, found.id)
    return found


def purge_session(
    world: World, one: TargetResult, row: Row, mirrored: RegistryRow | None
) -> TargetResult:
    """Deletes the conversation, in whatever state the session was."""
    agent = known_agent(world, row) or agent_of(world, row)

    def note(at: str, paths: tuple[str, ...]) -> tuple[Notice, ...]:
        return write_purge(world, agent, mirrored, at, paths) if mirrored else ()

    receipts = tuple(purge(world, receipt, agent, note) for receipt in one.receipts)
    return one._replace(receipts=receipts)
