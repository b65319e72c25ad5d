"""Lists and ends what outlived its run."""

from collections.abc import Sequence
from typing import NamedTuple

from quell.core import ladder as ladders
from quell.core.errors import NoSuchAgent, Refused
from quell.core.lifecycle import Outcome
from quell.core.ports import World
from quell.core.process import Member
from quell.core.run import Ending, Orphan
from quell.life.caller import caller
from quell.life.orphans import (
    OrphanEnd,
    end_orphans,
    forget_dead,
    living_orphans,
    orphan_preview,
)
from quell.life.settle import settle


class Reaped(NamedTuple):
    orphans: list[Orphan]
    ends: list[OrphanEnd]


def reap(
    world: World,
    *,
    end: bool,
    names: Sequence[str] = (),
    grace: float | None = None,
    dry_run: bool = False,
) -> Reaped:
    """The orphans, of these agents if names are given; ended only if asked to."""
    settle(world)
    forget_dead(world)
    orphans = [o for o in living_orphans(world, by_stamp=True) if not names or o.agent in names]
    for name in names:
        if not any(o.agent == name for o in orphans) and world.store.agent(name) is None:
            raise NoSuchAgent(name)
    who = caller(world)
    if dry_run:
        would = [OrphanEnd(o, orphan_preview(world, o, _reaping(who.by))) for o in orphans]
        return Reaped(orphans, would)
    if not end:
        return Reaped(orphans, [])
    if who.runs and len({o.agent for o in orphans}) > 1:
        raise Refused("an agent may not reap for everybody", "name the agent to reap after")
    if not names:
        from quell.life.backends.server_ends import reap_unused

        reap_unused(world, who.by)
    ladder = ladders.with_grace(ladders.KILL, world.settings.kill_grace if grace is None else grace)
    return Reaped(orphans, end_orphans(world, orphans, ladder, _reaping(who.by)))


def _reaping(by: str) -> Ending:
    return Ending(Outcome.KILLED, by, "reaped")


def reap_foreign(world: World, pids: Sequence[int], *, dry_run: bool = False) -> list[OrphanEnd]:
    """Ends leftovers of agents that quell did not start: only those listed, only by PID."""
    listed = {member.process.pid: member for member in world.kernel.foreign()}
    orphans: list[Orphan] = []
    for pid in pids:
        member: Member | None = listed.get(pid)
        if member is None:
            raise Refused(
                f"PID {pid} is not among the foreign leftovers", "quell reap --foreign lists them"
            )
        orphans.append(Orphan("", "foreign", "", member.process, member.command, member.via))
    ending = _reaping(caller(world).by)
    if dry_run:
        return [OrphanEnd(orphan, orphan_preview(world, orphan, ending)) for orphan in orphans]
    ladder = ladders.with_grace(ladders.KILL, world.settings.kill_grace)
    return end_orphans(world, orphans, ladder, ending)
