"""Which processes belong to a run, which outlived it, and which ones no ending may touch."""

from __future__ import annotations

from contextlib import suppress
from typing import TYPE_CHECKING

from knell.core.errors import StoreFailed
from knell.core.process import Gone
from knell.core.run import Orphan, State

if TYPE_CHECKING:
    from collections.abc import Iterator

    from knell.core.kind import Helper, Kind
    from knell.core.ports.processes import Target
    from knell.core.ports.world import World
    from knell.core.process import ProcessId
    from knell.core.run import Run

SURVIVED = "survived"  # why a process that no ending could end is on record as an orphan


def target_of(world: World, run: Run) -> Target:
    """The run as the kernel needs it; its ladder is still empty."""
    from knell.core.ports.processes import Target

    rundir = world.rundir(run.id)
    target = Target(run.id, rundir, run.keeper, run.process, run.cgroup, (), seal=run.seal)
    kept = run.keeper and not isinstance(world.processes.look(run.keeper), Gone)
    return target if kept else with_helpers(world, run, target)


def with_helpers(world: World, run: Run, target: Target) -> Target:
    """Adds what is needed to look without the run's keeper, which has it in its order."""
    agent = world.store.runs.agent(run.agent)
    kind = world.kinds.kind_or_command(agent.kind) if agent else None
    shared = helper_rules(kind) if kind else ()
    # The record is often the only trace of processes that an earlier ending could not end.
    return target._replace(known=living_of(world, run, SURVIVED), shared=shared)


def helper_rules(kind: Kind) -> tuple[tuple[str, str], ...]:
    """The rules that recognise a vendor's helpers, which other sessions may use."""
    return tuple((one.pattern, ",".join(one.serves)) for one in kind.helpers)


def living_of(world: World, run: Run, why: str) -> tuple[ProcessId, ...]:
    """What lives of the orphans that are on record for that run and that reason."""
    tracked = [o.process for o in world.store.runs.orphans() if (o.run, o.why) == (run.id, why)]
    return tuple(p for p in tracked if not isinstance(world.processes.look(p), Gone))


def protected_now(world: World) -> list[ProcessId]:
    """Keepers and agents of all live runs. An ending signals none of them but its own.

    Ask again before every signal: an agent may have started another a moment ago."""
    runs = world.store.runs.live()
    return [process for run in runs if run.host == world.host for process in run.processes]


def never_came(world: World, run: Run) -> bool:
    """Whether the process that was starting this run died before it started anything."""
    if run.process or run.keeper or run.place.pane or run.host != world.host:
        return False
    if run.owner is None:
        return run.state is not State.SPAWNING  # an earlier ending found no PID
    return isinstance(world.processes.look(run.owner), Gone)


def starters_of(world: World, run: Run) -> Iterator[str]:
    """The id of the run that started it, of the one that started that, and so on."""
    passed = {""}
    above: Run | None = run
    while above and above.parent not in passed:
        passed.add(above.parent)
        yield above.parent
        above = world.store.runs.run(above.parent)


# -- processes that outlived their run --------------------------------------------------------


def living_orphans(world: World) -> list[Orphan]:
    """Orphans on record that still live, and others that a search of the machine finds."""
    tracked, _ = tracked_orphans(world)
    known = {(o.process.pid, o.process.start) for o in tracked}
    archived = {o.run for o in tracked if o.why == "archived"}
    for run_id, stamped in world.processes.stamped().items():
        run = world.store.runs.run(run_id)
        if run is None or run_id in archived:
            continue  # a run of another KNELL_HOME; or held by a keeper that is on record
        why = _why_orphaned(world, run)
        if not why:
            continue
        agent = world.store.runs.agent(run.agent)
        tag, me = agent.tag if agent else "", world.processes.me().pid
        tracked += [
            Orphan(run_id, run.agent, tag, one, world.processes.command(one.pid), why)
            for one in stamped
            if (one.pid, one.start) not in known and one.pid != me
        ]
    return tracked


def tracked_orphans(world: World) -> tuple[list[Orphan], list[Orphan]]:
    """The orphans on record: those that live, and those that are gone."""
    living: list[Orphan] = []
    gone: list[Orphan] = []
    for orphan in world.store.runs.orphans():
        is_gone = isinstance(world.processes.look(orphan.process), Gone)
        (gone if is_gone else living).append(orphan)
    return living, gone


def _why_orphaned(world: World, run: Run) -> str:
    if run.host != world.host:
        return ""
    if not run.live:
        return "outlived its run"
    if run.keeper and isinstance(world.processes.look(run.keeper), Gone):
        return "its keeper is gone"
    return ""


def forget_dead(world: World) -> list[Orphan]:
    """Takes orphans that have gone off the record; returns those on record that live."""
    living, gone = tracked_orphans(world)
    with suppress(StoreFailed):  # each is looked at again before anything is done to it
        world.store.runs.untrack_orphans([orphan.process for orphan in gone])
    return living


def running_helpers(world: World, kind: Kind) -> list[Helper]:
    """The supervisors of this kind that run on this machine."""
    if not kind.helpers:
        return []
    import fnmatch

    commands = [member.command for member in world.processes.all_processes()]
    return [
        helper
        for helper in kind.helpers
        if any(fnmatch.fnmatchcase(command, helper.pattern) for command in commands)
    ]
