"""Removes ended runs that are older than the setting retention.days, with their directories."""

import os
from collections.abc import Callable
from typing import NamedTuple

from knell.core.authority import Deed
from knell.core.errors import BadRequest
from knell.core.ports.world import World
from knell.core.receipt import Receipt
from knell.life.base.authority import check_operator
from knell.life.base.restart_plans import forget_everywhere
from knell.life.base.take_in import put_leftovers_away

DAY = 86400.0
Export = Callable[[Receipt], None]


class Pruned(NamedTuple):
    """What was removed, or with a dry run would be."""

    before: str  # runs that ended before this time
    runs: tuple[str, ...]
    freed: int  # bytes of their directories, and of their lines in the archive
    kept: tuple[str, ...]  # "RUN: why" of directories that could not be removed


def prune(
    world: World, days: float | None = None, export: Export | None = None, *, dry_run: bool = False
) -> Pruned:
    """The newest run of each agent stays, so that it can be resumed. `export` gets each receipt
    before anything is removed.

    Directories and lines go first: one that is left without its row would be taken for a lost
    store's."""
    days = world.settings.retention_days if days is None else days
    if not 0 <= days < 100_000:  # noqa: PLR2004 - NaN is refused as well
        raise BadRequest(f"{days:g} is no number of days", "for example --days 30")
    check_operator(world, Deed.FORGET)
    before = world.moment(world.seconds() - days * DAY)
    old = world.store.pruning.old_runs(before)
    for run in old if export else ():
        if export and (receipt := world.store.endings.receipt(run)):
            export(receipt)
    tracked = {orphan.run for orphan in world.store.runs.orphans()}
    free = [run for run in old if run not in tracked]
    size = sum(world.disk.allocated_bytes(world.rundir(run)) for run in free)
    size += world.archive.weight(free)
    kept = [f"{run}: processes of it are still there" for run in old if run in tracked]
    whys = {run: "" if dry_run else _remove_directory(world, run) for run in free}
    kept += [f"{run}: {why}" for run, why in whys.items() if why]
    removed = [run for run, why in whys.items() if not why]
    if removed and not dry_run:
        if why := world.archive.forget(removed):
            return Pruned(before, (), 0, (*kept, *(f"{run}: {why}" for run in removed)))
        world.store.pruning.forget(removed, before)
    if not dry_run:
        forget_everywhere(world)
        put_leftovers_away(world)
    return Pruned(before, tuple(removed), size, tuple(kept))


def _remove_directory(world: World, run: str) -> str:
    path = world.rundir(run)
    if not world.disk.is_directory(path):
        return ""
    return world.disk.remove_below(os.path.dirname(path), path)
