"""Ends agents surely: TERM → 2 s → KILL, all of their processes, proven by a receipt."""

from collections.abc import Sequence
from contextlib import suppress
from typing import TYPE_CHECKING, NamedTuple

from knell.core import ladder as ladders
from knell.core.authority import Deed
from knell.core.ending_steps import Way
from knell.core.errors import StoreFailed
from knell.core.ladder import Ladder
from knell.core.ports.store import NotLive
from knell.core.receipt import Receipt, TargetResult
from knell.core.run import Ending, Outcome, Run
from knell.life.base.authority import Seats, check_agents, check_authority, note_override
from knell.life.base.caller import Caller, caller
from knell.life.base.members import forget_dead, living_orphans
from knell.life.base.targets import Crowd, Meant, Picture
from knell.life.end.engine import end
from knell.life.end.prepare import preview

if TYPE_CHECKING:
    from knell.core.ports.world import World

PURGE = "purge"  # an ending that deletes the conversation, and no worktree


class KillWish(NamedTuple):
    targets: tuple[str, ...]
    grace: float | None = None
    force: bool = False
    detail: str = ""
    yes: bool = False
    children: bool = True
    dry_run: bool = False
    dissolve: bool = False  # teams that they lead are dissolved
    tasks: str = ""  # fail, retry, requeue or leave; empty: by how it ended
    cleanup: str = ""  # safe or force; empty: nothing is cleaned
    stalled: bool = False  # the longer ladder: an agent that hangs may need time to tidy up


def kill(world: "World", wish: KillWish, who: Caller | None = None) -> list[TargetResult]:
    """Ends whatever the targets mean. One failure does not stop the others."""
    picture = Picture(world)
    orphans = forget_dead(world) if picture.orphans else []
    who = who or caller(world, picture.live, picture.seen)
    ending = Ending(
        Outcome.KILLED, who.by, "killed", wish.detail, tasks=wish.tasks, cleanup=wish.cleanup
    )
    ladder = chosen_ladder(world, wish)
    # Live runs that are named need no search of the machine for what ended runs have left.
    if not {run.agent for run in picture.live}.issuperset(wish.targets):
        orphans = living_orphans(world)
    live = {run.id for run in picture.live}
    crowd = Crowd(picture, [o for o in orphans if o.run not in live], wish.targets)
    meant = crowd.meaning(wish.targets, with_children=wish.children)
    runs, seats = meant.runs, picture.seats
    check_meant(crowd, who, meant, seats, confirmed=wish.yes or wish.dissolve, cleans=wish.cleanup)
    group = any(one.label for one in meant.chosen)
    own, agents = who.run_above, picture.agents
    way = Way(ladder, ending, deregister=group, dissolve=wish.dissolve, own_run=own, agents=agents)
    if wish.dry_run:
        ended = [preview(world, run, ending) for run in runs]
    else:
        if seats:
            note_override(world, runs, who, seats)
        force_requests(picture, runs, who)
        ended = end(world, runs, way)
        call_off_restarts(crowd, meant.over, who)
    by_orphan: dict[tuple[str, int], Receipt] = {}
    if meant.orphans:
        from knell.life.end.reap import end_or_preview

        ends = end_or_preview(world, meant.orphans, way, dry_run=wish.dry_run)
        by_orphan = {(orphan.run, orphan.process.pid): receipt for orphan, receipt in ends}
    results = crowd.results(meant, ended, by_orphan)
    if not wish.cleanup:
        return results
    from knell.life.end.cleanup import clean_up_ended

    return clean_up_ended(world, results, meant.over, wish.cleanup, dry_run=wish.dry_run)


def check_meant(
    crowd: Crowd, who: Caller, meant: Meant, seats: Seats, *, confirmed: bool, cleans: str
) -> None:
    """Refuses, before anything is done, unless the caller may do all of it: also what is done to
    agents that have ended, and what an ending does besides. `cleans`: safe, force or PURGE."""
    check_authority(crowd.world, meant.runs, who, meant.chosen, seats, confirmed=confirmed)
    ended = {
        Deed.START: [run.agent for run in meant.over if comes_back(crowd, run)],
        Deed.REAP: [orphan.agent for orphan in meant.orphans],
        Deed.CLEAN_UP: [run.agent for run in (*meant.runs, *meant.over) if cleans],
    }
    for deed, agents in ended.items():
        if agents:
            check_agents(crowd.world, who, deed, agents, seats, confirmed=confirmed)
    if cleans and (who.runs or who.elsewhere):
        from knell.life.end.worktree_agents import check_conversations, check_trees

        also = check_conversations if cleans == PURGE else check_trees
        also(crowd.world, who, ended[Deed.CLEAN_UP])


def comes_back(crowd: Crowd, run: Run) -> bool:
    agent = crowd.agents.get(run.agent)
    return agent is not None and agent.restart > 0


def call_off_restarts(crowd: Crowd, over: Sequence[Run], who: Caller) -> None:
    """Agents that are meant and had ended before are not started again by the watch."""
    over = [run for run in over if comes_back(crowd, run)]
    if not over:
        return
    from knell.life.base.restart_plans import call_off

    with suppress(StoreFailed):  # no run can be started either while the store cannot be written
        call_off(crowd.world, over, who.by)


def force_requests(picture: Picture, runs: Sequence[Run], who: Caller) -> None:
    """Marks the open shutdown requests of these runs as forced: the agents were asked to leave,
    and are now ended instead."""
    asked = [run.id for run in runs if run.id in picture.leaving and run.id != who.run]
    for run in asked:
        request = picture.world.store.shutdowns.open_of(run)
        with suppress(NotLive):  # it ended meanwhile
            if request:
                picture.world.store.shutdowns.ask(request._replace(force=True))


def chosen_ladder(world: "World", wish: KillWish) -> Ladder:
    settings = world.settings  # a broken file raises before anything is claimed
    if wish.force:
        return ladders.FORCE
    if wish.stalled:
        return ladders.with_grace(ladders.KILL_STALLED, wish.grace)
    grace = settings.kill_grace if wish.grace is None else wish.grace
    usual = ladders.KILL[0].wait  # nothing to check, and no other ladder to build
    return ladders.KILL if grace == usual else ladders.with_grace(ladders.KILL, grace)
