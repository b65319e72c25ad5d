"""`stop --session NAME`: a session that stands in the registry file, whoever started it."""

from quell.core.agent import proposed_name
from quell.core.errors import NoSuchAgent, Refused, RegistryFailed
from quell.core.lifecycle import Outcome
from quell.core.ports import Registry, Row, World
from quell.core.receipt import Receipt, Result
from quell.core.run import Ending
from quell.core.stopping import StopPlan, stop_plan
from quell.life.adopt import AdoptWish, adopt
from quell.life.kill import Slain
from quell.life.mirror import Mirrored, announce, same_server, write_end
from quell.life.receipts import blank
from quell.life.settle import settle
from quell.life.stop import StopWish, stop

NOT_LISTED = (
    "NOT in YAML — refusing to {} (no audit trail). Use tmux-agent-orchestrate-create first, "
    "or pass --force-no-yaml."
)


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
        row = Row(name, "unknown")
    plan = stop_plan(wish.options, world.settings.stop_mode)
    over = already(row, plan, world, told_twice=wish.yes)
    if over is not None:
        return [Slain(name, "", (over,))]
    run = live_run(world, row) or adopted(world, row)
    if run is None:
        if registry is None:
            raise NoSuchAgent(name)
        return [Slain(name, "", (written_off(world, registry, row, plan),))]
    return stop(world, wish._replace(targets=(f"id:{run}",)))


def already(row: Row, plan: StopPlan, world: World, *, told_twice: bool) -> Receipt | None:
    """A row that has ended: said, and left alone, unless asked to refresh its time."""
    receipt = blank(row.name, Result.ALREADY_ENDED, world.now())._replace(outcome=row.status)
    if row.status == "stopped" and plan.outcome is Outcome.STOPPED:
        return receipt._replace(detail=f"already stopped ({row.stopped_at or 'time unknown'})")
    if row.status == "terminated" and not told_twice:
        return receipt._replace(
            detail=f"Already terminated at {row.terminated_at}\n"
            "Re-running will just refresh the timestamp. Continue? (--yes to skip)"
        )
    return None


def live_run(world: World, row: Row) -> str:
    """The live run in that session on that row's server, if quell knows it."""
    for run in world.store.live_runs():
        if row.name in (run.place.session, run.agent) and same_server(row, run):
            return run.id
    return ""


def adopted(world: World, row: Row) -> str | None:
    """Takes charge of the session's pane, to be ended like any other; None: tmux is dead."""
    if row.status in ("terminated", "stopped"):
        return None
    wish = AdoptWish(
        target=f"session:{row.name}",
        name=proposed_name(row.name),
        kind=row.agent,
        server=row.tmux_server,
        conversation=row.conversation,
        pane=row.pane_id,
    )
    try:
        return adopt(world, wish).run.id
    except NoSuchAgent:
        return None


def written_off(world: World, registry: Registry, row: Row, plan: StopPlan) -> Receipt:
    """tmux is already dead (a crash, a reboot): nothing to end, the row is brought up to date."""
    mirrored = Mirrored(registry, row)
    receipt = blank(row.name, Result.ALREADY_ENDED, world.now())._replace(
        outcome=plan.outcome.value,
        detail="tmux already dead, just updated the YAML",
        kind=row.agent,
    )
    troubles = announce(mirrored)
    ending = Ending(plan.outcome, "operator", plan.reason)
    troubles += write_end(mirrored, ending, receipt, capture_id=False)
    if any("was not written" in trouble for trouble in troubles):
        raise RegistryFailed(troubles[-1])
    return receipt._replace(warnings=troubles)
