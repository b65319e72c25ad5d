"""Who is there and how they are. Looks; ends nothing."""

import json
import os
from collections.abc import Collection
from typing import Any, NamedTuple

from quell.core.agent import Agent
from quell.core.lifecycle import State
from quell.core.ports import World
from quell.core.process import Gone, Unknown
from quell.core.run import Run
from quell.life.settle import settle

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


def list_agents(world: World, *, everybody: bool = False) -> list[AgentView]:
    """The agents that live, or with `everybody` all that ever did, oldest first."""
    live = {run.agent: run for run in settle(world)}
    agents = {agent.name: agent for agent in world.store.agents()}
    runs = world.store.last_runs() | live if everybody else live
    unknown = Agent("?", "?", "?")
    ordered = sorted(runs.values(), key=lambda run: run.started_at)
    judged, leaving = last_activity(world), world.store.leaving()
    views = [
        view_of(world, agents.get(run.agent, unknown), run, judged.get(run.id, UNKNOWN))
        for run in ordered
    ]
    return [
        view._replace(team_status=team_status(run, view.activity, leaving))
        for view, run in zip(views, ordered, strict=True)
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


def last_activity(world: World) -> dict[str, str]:
    """Run → what the last look at it found, unless that was long ago; a list looks at nobody."""
    texts = world.store.memories()
    now = world.clock() if texts else None
    found: dict[str, str] = {}
    for run, text in texts.items():
        try:
            told = json.loads(text)
            _, awake, _, boot = told["at"]
            if now and boot == now.boot and now.awake - awake <= FRESH:
                found[run] = str(told["activity"])
        except (ValueError, KeyError, TypeError):
            continue  # not ours to explain here: quell explain looks afresh
    return found


def view_of(world: World, agent: Agent, run: Run, activity: str = UNKNOWN) -> AgentView:
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
        note=oddity(world, run) if run.live else "",
        team_status=team_status(run, activity, ()),
    )


def heartbeat_age(world: World, run: Run) -> float | None:
    """Seconds since the agent touched its heartbeat file; None if it never did."""
    at = world.disk.touched_at(os.path.join(world.rundir(run.id), "heartbeat"))
    return None if at is None else round(max(0.0, world.seconds() - at), 1)


def oddity(world: World, run: Run) -> str:
    """What a person should know about a live run, in a few words; usually nothing."""
    if run.host != world.host:
        return f"on host {run.host}"
    if run.state is State.STOPPING and run.owner:
        interrupted = isinstance(world.kernel.look(run.owner), Gone)
        return "its ending was interrupted; quell kill finishes it" if interrupted else ""
    if run.keeper and isinstance(world.kernel.look(run.keeper), Gone):
        return "its keeper is gone; quell kill ends what is left"
    seen = world.kernel.look(run.process) if run.process else None
    return f"could not look: {seen.why}" if isinstance(seen, Unknown) else ""
