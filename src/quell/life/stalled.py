"""Who still works and who does not; ends only those who surely do not."""

import json
import math
from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, NamedTuple

from quell.core import ladder as ladders
from quell.core.agent import Agent
from quell.core.environment import shares
from quell.core.errors import Refused, StoreFailed
from quell.core.lifecycle import Outcome, State
from quell.core.ports import World
from quell.core.receipt import Receipt
from quell.core.run import Ending, Run
from quell.core.signs import Look, Memory, memory_from, memory_parts, remembered
from quell.core.stall import Activity, Patience, Verdict, checked_patience, judge
from quell.life.authority import check_authority, note_override
from quell.life.before import Way
from quell.life.caller import Caller, caller
from quell.life.choose import Crowd
from quell.life.ending import end_runs
from quell.life.preview import preview
from quell.life.settle import settle

if TYPE_CHECKING:
    from quell.life.looking.looks import Eyes


class Judged(NamedTuple):
    run: Run
    agent: Agent
    verdict: Verdict
    look: Look
    memory: Memory
    told: str = ""  # the activity that the watch last told of


class StalledWish(NamedTuple):
    """End those who have stalled."""

    older_than: float | None = None  # seconds without a sign of life; None: as configured
    targets: tuple[str, ...] = ()  # only these; empty: everybody
    grace: float | None = None
    force: bool = False  # KILL at once
    tasks: str = ""
    cleanup: str = ""
    yes: bool = False
    dry_run: bool = False


def patience_of(world: World, older_than: float | None = None) -> Patience:
    """As configured; who asks for another time means it for an open turn too, if it is longer."""
    beat = world.settings.stall_after if older_than is None else older_than
    tool = max(world.settings.stall_tool_after, beat)
    return Patience(checked_patience(beat), tool)


def judged(world: World, patience: Patience, targets: Sequence[str] = ()) -> list[Judged]:
    """A verdict on every live run of this host, or on those that the targets mean."""
    from quell.life.looking.looks import Eyes

    runs = settle(world)
    if targets:
        crowd = Crowd(world)
        meant = {c.run for target in targets for c in crowd.choose(target).candidates if c.live}
        runs = [run for run in runs if run.id in meant]
    return verdicts(world, Eyes(world), runs, patience)


def verdicts(
    world: World, eyes: "Eyes", runs: Iterable[Run], patience: Patience, longest: float = math.inf
) -> list[Judged]:
    """Looks at all of them at once, and writes down what was seen for whoever looks next."""
    from quell.life.looking.looks import born_of

    here = [run for run in runs if run.host == world.host and run.state is State.RUNNING]
    known = {run: _parts(text) for run, text in world.store.memories().items()}
    past = {run: memory for run, parts in known.items() if (memory := memory_from(parts))}
    agents = {agent.name: agent for agent in world.store.agents()}
    seen = eyes.look(here, past)
    found: list[Judged] = []
    for run in here:
        if run.id not in seen:
            continue
        agent = agents.get(run.agent) or Agent(run.agent, "command", "/")
        look = seen[run.id]
        memory = remembered(past.get(run.id), look, born_of(run), longest)
        vowed = not world.kind(agent.kind).program and not shares(agent.env)  # a server rests
        verdict = judge(look, memory, vowed=vowed, patience=patience)
        told = str(known.get(run.id, {}).get("told", ""))
        found.append(Judged(run, agent, verdict, look, memory, told))
    write_down(world, found)
    return found


def _parts(text: str) -> dict[str, object]:
    try:
        parts = json.loads(text)
    except (ValueError, RecursionError):
        return {}
    return parts if isinstance(parts, dict) else {}  # pyright: ignore[reportUnknownVariableType]


def write_down(world: World, found: Sequence[Judged]) -> None:
    memories = {
        one.run.id: json.dumps(
            memory_parts(one.memory)
            | {"activity": one.verdict.activity, "why": one.verdict.why, "told": one.told}
        )
        for one in found
    }
    beats = {
        one.run.id: world.moment(one.look.beat.wall)
        for one in found
        if one.look.beat and one.look.beat.wall
    }
    try:
        world.store.remember(memories, beats)
    except StoreFailed:
        return  # the next look starts with an older memory: nobody is aged by that


def explain(world: World, name: str, patience: Patience) -> Judged:
    """The verdict on one agent, with its evidence."""
    found = judged(world, patience, (name,))
    if not found:
        ended = Crowd(world).only(name).agent
        raise Refused(f"'{ended}' is not running here", f"quell show {ended} has its end")
    return found[0]


# -- ending them -------------------------------------------------------------------------------


def end_stalled(world: World, wish: StalledWish) -> list[tuple[Judged, Receipt | None]]:
    """Everybody who was judged, and a receipt for each that was ended."""
    patience = patience_of(world, wish.older_than)
    who = caller(world)
    found = judged(world, patience, wish.targets)
    stalled = [one for one in found if one.verdict.activity is Activity.STALLED]
    runs = [one.run for one in stalled]
    check_authority(world, runs, who, told_twice=wish.yes)
    if wish.dry_run:
        receipts = {o.run.id: preview(world, o.run, _ending(o, who.by, wish)) for o in stalled}
    else:
        note_override(world, runs, who)
        receipts = end_if_still(world, stalled, patience, _way(stalled, who, wish))
    return [(one, receipts.get(one.run.id)) for one in found]


def end_if_still(
    world: World, stalled: Sequence[Judged], patience: Patience, way: Way
) -> dict[str, Receipt]:
    """Looks once more right before the first signal: one who has just come back is spared.

    Their child runs live on, for they may be at work."""
    from quell.life.looking.looks import Eyes

    runs = [run for one in stalled if (run := world.store.run(one.run.id)) and run.live]
    again = verdicts(world, Eyes(world), runs, patience) if runs else []
    doomed = [one.run for one in again if one.verdict.activity is Activity.STALLED]
    receipts = end_runs(world, doomed, way) if doomed else []
    return {run.id: receipt for run, receipt in zip(doomed, receipts, strict=True)}


def _way(stalled: Sequence[Judged], who: Caller, wish: StalledWish) -> Way:
    ending = Ending(Outcome.KILLED, who.by, "stalled", tasks=wish.tasks, cleanup=wish.cleanup)
    patient = ladders.with_grace(ladders.KILL_STALLED, wish.grace)
    ladder = ladders.FORCE if wish.force else patient
    return Way(ladder, ending, deregister=True, details=details_of(stalled))


def details_of(stalled: Sequence[Judged]) -> Mapping[str, str]:
    return {one.run.id: one.verdict.why for one in stalled}


def _ending(one: Judged, by: str, wish: StalledWish) -> Ending:
    return Ending(
        Outcome.KILLED, by, "stalled", one.verdict.why, tasks=wish.tasks, cleanup=wish.cleanup
    )
