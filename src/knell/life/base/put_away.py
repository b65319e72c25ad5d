"""Puts ended runs away: what their directories say goes into the archive of ended runs."""

from __future__ import annotations  # every kill comes here

from typing import TYPE_CHECKING

from knell.core.receipt import Result
from knell.core.run import Outcome

if TYPE_CHECKING:
    from collections.abc import Sequence

    from knell.core.ending_steps import Case
    from knell.core.ports.world import World
    from knell.core.receipt import Receipt

AT_ONCE = 2000  # directories that one housekeeping clears, in a second or so


def put_away(world: World, receipts: Sequence[Receipt]) -> None:
    """The runs of which nothing lives any more: what goes on may still write into its directory."""
    world.archive.put_away([receipt.run for receipt in receipts if is_over(receipt)])


def is_over(receipt: Receipt) -> bool:
    let_go = receipt.outcome == Outcome.ARCHIVED
    return bool(receipt.outcome) and not (let_go or receipt.survivors or receipt.kept)


def put_away_after(world: World, cases: list[Case]) -> list[Case]:
    """A step of endings (knell/start_end_steps.py)."""
    ended = [case.receipt for case in cases if case.receipt]
    put_away(world, [one for one in ended if one.result is Result.ENDED])
    return cases


def put_leftovers_away(world: World) -> None:
    """Ended runs whose directories are still whole: of an earlier knell, or because a crash or a
    full disk came in between."""
    tracked = {orphan.run for orphan in world.store.runs.orphans()}
    live = {run.id for run in world.store.runs.live()}
    found = [run for run in world.archive.leftovers() if run not in tracked | live]
    receipts = [world.store.endings.receipt(run) for run in found[:AT_ONCE]]
    put_away(world, [receipt for receipt in receipts if receipt])
