"""Who is there and how they are. Looks; ends nothing."""

import os
from collections.abc import Collection
from typing import TYPE_CHECKING, Any, NamedTuple

from quell.core.agent import Agent
from quell.core.lifecycle import State
from quell.core.process import Gone, Unknown
from quell.core.run import Run
from quell.life.settle import Seen, settle

if TYPE_CHECKING:
    from quell.core.ports import World

UNKNOWN = "unknown"
FRESH = 120.0  # seconds for which the watch's last verdict is worth showing


class AgentView(NamedTuple):
    """One line of `list`: an agent and its newest run."""

    name: str
    kind: str
    state: str
    outcome: str
    activity: str
    pid: int | None
    place: str
    pane: str
    team: str
    tag: str
    role: str
    task: str
    heartbeat_age_s: float | None
    cwd: str
    conversation: str
    run: str
    parent: str
    host: str
    started_at: str
    ended_at: str
    by: str
    reason: str
    note: str  # what is odd about it: an interrupted ending, a lost keeper
    team_status: str  # in the words that team tools use

    def to_json(self) -> dict[str, Any]:
        return self._asdict()


def list_agents(world: "World", *, everybody: bool = False) -> list[AgentView]:
    """The agents that live, or with `everybody` all that ever did, oldest first."""
    seen: Seen = {}
    live = {run.agent: run for run in settle(world, seen)}
    known = world.store.agents() if everybody else world.store.live_agents()
    agents = {agent.name: agent for agent in known}
    runs = world.store.last_runs() | live if everybody else live
    unknown = Agent("?", "?", "?")
    ordered = sorted(runs.values(), key=lambda run: run.started_at)
    judged, leaving = last_activity(world), world.store.leaving()
    return [
        view_of(
            world,
            agents.get(run.agent, unknown),
            run,
            judged.get(run.id, UNKNOWN),
            leaving=leaving,
            seen=seen,
        )
        for run in ordered
    ]


def team_status(run: Run, activity: str, leaving: Collection[str]) -> str:
    """spawning, active, idle, inactive, shutting_down (exactly while it is asked to leave), or
    terminated."""
    if not run.live:
        return "terminated"
    if run.id in leaving:
        return "shutting_down"
    if run.state is State.SPAWNING:
        return "spawning"
    return {"idle": "idle", "stalled": "inactive"}.get(activity, "active")


def last_activity(world: "World") -> dict[str, str]:
    """Run → what the last look at it found, unless that was long ago; a list looks at nobody."""
    texts = world.store.memories()
    if not texts:
        return {}
    import json

    now = world.clock()
    found: dict[str, str] = {}
    for run, text in texts.items():
        try:
            told = json.loads(text)
            _, awake, _, boot = told["at"]
            if boot == now.boot and now.awake - awake <= FRESH:
                found[run] = str(told["activity"])
        except (ValueError, KeyError, TypeError, RecursionError):
            continue  # not ours to explain here: quell explain looks afresh
    return found


def view_of(
    world: "World",
    agent: Agent,
    run: Run,
    activity: str = UNKNOWN,
    *,
    leaving: Collection[str] = (),
    seen: "Seen | None" = None,
) -> AgentView:
    """`seen`: looks that were just taken, and need not be again."""
    age = heartbeat_age(world, run) if run.live else None
    return AgentView(
        name=run.agent,
        kind=agent.kind,
        state=run.state.value,
        outcome=run.ending.outcome.value if run.ending and not run.live else "",
        activity=activity if run.live else "",
        pid=run.process.pid if run.process else None,
        place=run.place.name,
        pane=run.place.pane,
        team=agent.team,
        tag=agent.tag,
        role=agent.role,
        task=agent.task,
        heartbeat_age_s=age,
        cwd=agent.cwd,
        conversation=agent.conversation,
        run=run.id,
        parent=run.parent,
        host=run.host,
        started_at=run.started_at,
        ended_at=run.ended_at,
        by=run.ending.by if run.ending else "",
        reason=run.ending.reason if run.ending else "",
        note=oddity(world, run, seen or {}) if run.live else "",
        team_status=team_status(run, activity, leaving),
    )


def heartbeat_age(world: "World", run: Run) -> float | None:
    """Seconds since the agent touched its heartbeat file; None if it never did."""
    at = world.disk.touched_at(os.path.join(world.rundir(run.id), "heartbeat"))
    return None if at is None else round(max(0.0, world.seconds() - at), 1)


def oddity(world: "World", run: Run, looks: "Seen") -> str:
    """What a person should know about a live run, in a few words; usually nothing."""
    if run.host != world.host:
        return f"on host {run.host}"
    if run.state is State.STOPPING and run.owner:
        interrupted = isinstance(world.kernel.look(run.owner), Gone)
        return "its ending was interrupted; quell kill finishes it" if interrupted else ""
    if run.process is None and run.keeper is None:
        from quell.life.birth import never_came

        started = not never_came(world, run)
        return "" if started else "its start was interrupted; quell stop clears it"
    watched = run.keeper or run.process
    seen = (looks.get(watched) or world.kernel.look(watched)) if watched else None
    if isinstance(seen, Gone):
        return _without_it(world, run)
    return f"could not look: {seen.why}" if isinstance(seen, Unknown) else ""


def _without_it(world: "World", run: Run) -> str:
    """What is odd about a live run whose keeper, or whose agent if it was adopted, has gone."""
    if world.kernel.journal(world.rundir(run.id)).ended:  # or it would not stand here
        return "it has ended, but that could not be written down"
    whose = "its keeper is gone" if run.keeper else "it has left"
    return f"{whose}; quell kill ends what is left"
