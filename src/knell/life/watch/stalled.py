"""Judges which agents still work, and ends those that have surely stalled.

What counts as stalled is decided in core/stall/verdict.py."""

import json
import math
from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from typing import NamedTuple

from knell.core import ladder as ladders
from knell.core.agent import Agent
from knell.core.authority import Caller, Deed
from knell.core.codes import Code
from knell.core.ending_steps import Way
from knell.core.environment import LAUNCHER, shares
from knell.core.errors import Refused, StoreFailed
from knell.core.json_lines import object_in
from knell.core.ports.world import World
from knell.core.receipt import Receipt
from knell.core.run import Ending, Outcome, Run, State
from knell.core.stall.memory import memory_from, memory_parts, remembered
from knell.core.stall.signs import start_time
from knell.core.stall.verdict import (
    Activity,
    Judgement,
    StallLimits,
    by_heartbeat,
    checked_patience,
    judge,
)
from knell.life.base.authority import check_agents, check_authority, note_override
from knell.life.base.caller import caller
from knell.life.base.targets import Crowd, Picture
from knell.life.end.engine import end
from knell.life.end.prepare import preview
from knell.life.end.worktree_agents import check_trees
from knell.life.watch.signs.collect import SignCollector


class StalledWish(NamedTuple):
    older_than: float | None = None  # seconds without a sign of life; None: as configured
    targets: tuple[str, ...] = ()  # only these; empty: all agents
    grace: float | None = None
    force: bool = False  # KILL at once
    tasks: str = ""
    cleanup: str = ""
    yes: bool = False
    dry_run: bool = False
    evidence: str = ""  # the orchestrator's rule of heartbeats (StallLimits.evidence)


def stall_limits(world: World, older_than: float | None = None, evidence: str = "") -> StallLimits:
    """As configured. Another time that is longer than an open turn may take holds for turns too."""
    settings = world.settings
    beat = settings.stall_after if older_than is None else older_than
    tool = max(settings.stall_tool_after, beat)
    return StallLimits(checked_patience(beat), tool, settings.stall_unresponsive_after, evidence)


def judge_runs(world: World, limits: StallLimits, targets: Sequence[str] = ()) -> list[Judgement]:
    """A verdict on every live run of this host, or on those that the targets mean."""
    picture = Picture(world)
    runs = picture.live
    if targets:
        crowd = Crowd(picture)
        meant = {c.run for target in targets for c in crowd.choose(target).candidates if c.live}
        runs = [run for run in runs if run.id in meant]
    return assess(world, SignCollector(world), runs, limits)


def assess(
    world: World,
    collector: SignCollector,
    runs: Iterable[Run],
    limits: StallLimits,
    longest: float = math.inf,
) -> list[Judgement]:
    """Judges runs of this host by their signs of life, and stores them for the next look."""
    here = [run for run in runs if run.host == world.host and run.state is State.RUNNING]
    known = {run: object_in(text) for run, text in world.store.watch.memories().items()}
    past = {run: memory for run, parts in known.items() if (memory := memory_from(parts))}
    known_agents = {agent.name: agent for agent in world.store.runs.agents()}
    agents = {
        run.id: known_agents.get(run.agent) or Agent(run.agent, "command", "/") for run in here
    }
    looks = collector.collect(here, agents, past)
    found: list[Judgement] = []
    for run in here:
        agent, look = agents[run.id], looks[run.id]
        memory = remembered(past.get(run.id), look, start_time(run), longest)
        program = world.kinds.kind_or_command(agent.kind).program
        promised = not program and not shares(agent.env)  # a shared server may rest
        verdict = judge(look, memory, promised=promised, limits=limits)
        reported = str(known.get(run.id, {}).get("reported", ""))
        one = Judgement(run, agent, verdict, look, memory, reported)
        if limits.evidence:
            launched = LAUNCHER in dict(agent.env)
            one = one._replace(verdict=by_heartbeat(verdict, one, limits, launched=launched))
        found.append(one)
    remember(world, found)
    return found


def remember(world: World, found: Sequence[Judgement]) -> None:
    memories: dict[str, str] = {}
    beats: dict[str, str] = {}
    for run, _, verdict, look, memory, reported in found:
        shown = {"activity": verdict.activity, "why": verdict.why, "reported": reported}
        shown |= {"quiet": verdict.quiet}
        memories[run.id] = json.dumps(memory_parts(memory) | shown)
        if look.beat and look.beat.wall:
            beats[run.id] = world.moment(look.beat.wall)
    # Else the next look starts with an older memory, which makes no agent look silent.
    with suppress(StoreFailed):
        world.store.watch.remember(memories, beats)


def explain(world: World, name: str, limits: StallLimits) -> Judgement:
    found = judge_runs(world, limits, (name,))
    if not found:
        ended = Crowd(Picture(world)).only(name).agent
        hint = f"knell show {ended} has its end"
        raise Refused(f"'{ended}' is not running here", hint, code=Code.NOT_RUNNING)
    return found[0]


# -- ending them -------------------------------------------------------------------------------


def end_stalled(world: World, wish: StalledWish) -> list[tuple[Judgement, Receipt | None]]:
    """Every agent that was judged, by the last look at it, with a receipt if it was ended."""
    limits = stall_limits(world, wish.older_than, wish.evidence)
    who = caller(world)
    found = judge_runs(world, limits, wish.targets)
    stalled = [one for one in found if one.verdict.activity is Activity.STALLED]
    runs = [one.run for one in stalled]
    check_authority(world, runs, who, confirmed=wish.yes)
    if wish.cleanup:
        check_cleanup(world, who, runs)
    ending = Ending(Outcome.KILLED, who.by, "stalled", tasks=wish.tasks, cleanup=wish.cleanup)
    why = reasons(stalled)
    if wish.dry_run:
        previews = [preview(world, run, ending._replace(detail=why[run.id])) for run in runs]
        last = list(zip(stalled, previews, strict=True))
    else:
        note_override(world, runs, who)
        patient = ladders.with_grace(ladders.KILL_STALLED, wish.grace)
        ladder = ladders.FORCE if wish.force else patient
        way = Way(ladder, ending, deregister=True, details=why)
        last = end_if_still(world, stalled, limits, way)
    by_run = {one.run.id: (one, receipt) for one, receipt in last}
    return [by_run.get(one.run.id, (one, None)) for one in found]


def check_cleanup(world: World, who: Caller, runs: Sequence[Run]) -> None:
    """Refuses an ending that also cleans up, unless the caller may clean up after these."""
    agents = [run.agent for run in runs]
    check_agents(world, who, Deed.CLEAN_UP, agents)
    if who.runs or who.elsewhere:
        check_trees(world, who, agents)


def end_if_still(
    world: World, stalled: Sequence[Judgement], limits: StallLimits, way: Way
) -> list[tuple[Judgement, Receipt | None]]:
    """Looks once more right before the first signal: an agent that works again is spared.

    Returns that look, with the receipts of those that were ended. Child runs live on, because
    they may be at work."""
    runs = [run for one in stalled if (run := world.store.runs.run(one.run.id)) and run.live]
    again = assess(world, SignCollector(world), runs, limits) if runs else []
    still = [one.run for one in again if one.verdict.activity is Activity.STALLED]
    ended = {r.run: r for r in end(world, still, way)} if still else {}
    return [(one, ended.get(one.run.id)) for one in again]


def reasons(stalled: Sequence[Judgement]) -> Mapping[str, str]:
    return {one.run.id: one.verdict.why for one in stalled}
