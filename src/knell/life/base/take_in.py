"""Copies keepers' journals into the store, births and ends, and puts the directories of ended runs
away into the archive. Signals nothing."""

from __future__ import annotations  # every verb comes here, and few have an end to write down

from typing import TYPE_CHECKING

from knell.core.errors import StoreFailed
from knell.core.process import Gone
from knell.core.run import Outcome, State

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from knell.core.ending_steps import Case
    from knell.core.ports.keepers import Journal
    from knell.core.ports.world import World
    from knell.core.process import Alive, ProcessId, Unknown
    from knell.core.receipt import Receipt
    from knell.core.run import Run

AT_ONCE = 2000  # directories that one housekeeping clears, in a second or so
Seen = dict["ProcessId", "Alive | Gone | Unknown"]  # looks at processes, each taken once


def take_in_journals(
    world: World, seen: Seen | None = None, live: Sequence[Run] | None = None
) -> list[Run]:
    """Brings the store up to what the run directories say; returns the runs that live on.

    A store that cannot be written is no error here: the verb that must write will say so.
    `seen` gets every look at a process that was taken on the way; `live`: the runs, where they
    were just read."""
    seen = {} if seen is None else seen
    found: list[Run] = []
    for run in world.store.runs.live() if live is None else live:
        try:
            now = take_in(world, run, seen)
        except StoreFailed:
            now = None if world.keepers.journal(world.rundir(run.id)).ended else run
        if now is not None:
            found.append(now)
    return found


def take_in(world: World, run: Run, seen: Seen) -> Run | None:
    """Records a birth or an end that the keeper saw. The run as it is now; None once it is over."""
    elsewhere = run.host != world.host
    if elsewhere or (run.state is not State.SPAWNING and not _gone(world, run, seen)):
        return run
    if not world.disk.is_directory(world.rundir(run.id)):
        now = world.store.runs.run(run.id)
        if now is None or not now.live:
            return None  # another process has ended it meanwhile, and put it away
        world.archive.put_back(run.id)  # the store is an older copy, which does not know of its end
    left = world.left_receipt(run.id)
    journal = world.keepers.journal(world.rundir(run.id), run.seal)
    # Without an outcome, something had survived. The agent could have written this receipt: without
    # the keeper's seal it is believed only if nothing of the run is left, and proves nothing.
    if left is not None and left.outcome and _over(world, run, journal):
        from knell.life.base.receipts import record_left_receipt

        put_away(world, [record_left_receipt(world, run, left, journal)])
        return None
    if journal.process and run.state is State.SPAWNING and not _owner_busy(world, run, journal):
        world.store.runs.mark_born(born(run, journal))
        run = world.store.runs.run(run.id) or run
    # A cleanup that was asked for is no bookkeeping: the watch or the next kill does it.
    cleans = run.state is State.STOPPING and run.ending and run.ending.cleanup
    if cleans or _owner_busy(world, run, journal):
        return run  # the process that ends it has seen more, and writes the better receipt
    if _over(world, run, journal):
        from knell.life.base.receipts import record_end

        world.keepers.take_back_order(world.rundir(run.id))  # first: an ended run is final
        receipt = record_end(world, run, journal)
        world.keepers.discard(world.rundir(run.id))
        give_up_leaf(world, run)
        put_away(world, [receipt])
        return None
    return run if run.live else None  # it may have been ended meanwhile


def give_up_leaf(world: World, run: Run) -> None:
    """Removes the cgroup that an adoption made; a keeper's goes with its keeper or journal."""
    if run.cgroup and run.keeper is None:
        world.enclosures.release(run.cgroup)


def _gone(world: World, run: Run, seen: Seen) -> bool:
    watched = run.keeper or run.process
    if watched is None:
        return True
    seen[watched] = world.processes.look(watched)
    return isinstance(seen[watched], Gone)


def _owner_busy(world: World, run: Run, journal: Journal) -> bool:
    """Whether a live process is spawning or ending it. `knell run` becomes its own keeper."""
    if run.owner is None or (journal.keeper and run.owner.same_as(journal.keeper)):
        return False
    return not isinstance(world.processes.look(run.owner), Gone)


def _over(world: World, run: Run, journal: Journal) -> bool:
    """Whether its keeper's last line says so, or nothing of it is left. A program that can read
    the keeper's memory can forge that line, so it does not count while the agent lives."""
    if journal.ended and (not run.process or isinstance(world.processes.look(run.process), Gone)):
        return True
    return _lost(world, run, journal)


def _lost(world: World, run: Run, journal: Journal) -> bool:
    """Whether nothing of it is left, though no keeper saw its end. A dead keeper proves nothing."""
    watched = [p for p in (run.keeper, run.process, journal.keeper, journal.process) if p]
    looks = [world.processes.look(p) for p in watched]
    if not looks or not all(isinstance(seen, Gone) for seen in looks):
        return False
    if all(seen == Gone("rebooted") for seen in looks):
        return True  # nothing outlives the kernel: no need to search the machine for each of many
    if world.processes.stamped().get(run.id):  # the process that runs this may be one of them
        return False
    from knell.life.base.members import protected_now, target_of  # few runs are lost

    left = world.processes.members(target_of(world, run), protected_now(world))
    # A zombie counts as gone.
    return all(isinstance(world.processes.look(one.process), Gone) for one in left)


def born(run: Run, journal: Journal) -> Run:
    return run._replace(keeper=journal.keeper, process=journal.process, cgroup=journal.cgroup)


# -- putting away ----------------------------------------------------------------------------------


def put_away(world: World, receipts: Iterable[Receipt | None]) -> None:
    """Archives runs of which nothing is alive: a survivor may still write into the directory."""
    ended = [one for one in receipts if one and one.outcome and one.outcome != Outcome.ARCHIVED]
    world.archive.put_away([one.run for one in ended if not one.survivors and not one.kept])


def put_away_after(world: World, cases: list[Case]) -> list[Case]:
    """A step of endings (knell/start_end_steps.py)."""
    put_away(world, [case.receipt for case in cases])
    return cases


def put_leftovers_away(world: World) -> None:
    """Archives ended runs whose directories are still whole, because an earlier knell, a crash or
    a full disk left them."""
    tracked = {orphan.run for orphan in world.store.runs.orphans()}
    live = {run.id for run in world.store.runs.live()}
    found = [run for run in world.archive.leftovers() if run not in tracked | live]
    put_away(world, [world.store.endings.receipt(run) for run in found[:AT_ONCE]])
