"""Ends agents surely: TERM → 2 s → KILL, every process of theirs, proven by a receipt."""

from collections.abc import Sequence
from typing import TYPE_CHECKING, NamedTuple

from quell.core import ladder as ladders
from quell.core.errors import BadRequest, QuellError, Refused, StoreFailed
from quell.core.ladder import Ladder
from quell.core.lifecycle import Outcome
from quell.core.receipt import Receipt, Result
from quell.core.run import Ending, Orphan, Run
from quell.core.selector import Chosen
from quell.life.authority import check_authority, led_by, note_override
from quell.life.before import Way
from quell.life.caller import Caller, caller
from quell.life.choose import Crowd
from quell.life.ending import end_runs
from quell.life.orphans import (
    OrphanEnd,
    end_orphans,
    forget_dead,
    of_ended_runs,
    orphan_preview,
)
from quell.life.receipts import already_ended, refused_receipt
from quell.life.selfend import end_from_outside, keeperless_self
from quell.life.settle import settle

if TYPE_CHECKING:
    from quell.core.ports import World


class KillWish(NamedTuple):
    targets: tuple[str, ...]
    grace: float | None = None
    force: bool = False
    detail: str = ""
    yes: bool = False
    children: bool = True
    dry_run: bool = False
    dissolve: bool = False  # whoever of them leads a team, its team goes with it
    stalled: bool = False  # the longer ladder: an agent that hangs may need time to tidy up
    tasks: str = ""  # fail, retry, requeue or leave; empty: by how it ended
    cleanup: str = ""  # safe or force; empty: nothing is cleaned


class Slain(NamedTuple):
    """What one target of the command came to."""

    target: str
    label: str  # "all", "tag:dev": a group that gets a summary; empty for one agent
    receipts: tuple[Receipt, ...]


def kill(world: "World", wish: KillWish, who: Caller | None = None) -> list[Slain]:
    """Ends whatever the targets mean. One failure does not stop the others."""
    live = {run.agent for run in settle(world)}
    forget_dead(world)
    who = who or caller(world)
    ending = Ending(
        Outcome.KILLED, who.by, "killed", wish.detail, tasks=wish.tasks, cleanup=wish.cleanup
    )
    ladder = chosen_ladder(world, wish)
    # Named live runs need no search of the machine for what others have left.
    strays = of_ended_runs(world, by_stamp=not live.issuperset(wish.targets))
    crowd = Crowd(world, strays, wish.targets)
    chosen, slain = choose_all(world, crowd, wish.targets)
    runs = doomed_runs(world, crowd, chosen, with_children=wish.children)
    check_authority(world, runs, who, chosen, told_twice=wish.yes or wish.dissolve)
    way = Way(ladder, ending, deregister=any(one.label for one in chosen))
    if wish.dry_run:
        from quell.life.preview import preview

        receipts = {run.id: preview(world, run, ending) for run in runs}
    else:
        note_override(world, runs, who)
        force_requests(world, runs, who)
        led = led_by(world, runs) if wish.dissolve else {}
        receipts = end_all(world, who, runs, way, "kill")
        if led:
            from quell.life.together.team import dissolve_after

            dissolve_after(world, led, receipts)
    orphans = doomed_orphans(crowd, chosen)
    if wish.dry_run:
        ends = [OrphanEnd(orphan, orphan_preview(world, orphan, ending)) for orphan in orphans]
    else:
        ends = end_orphans(world, orphans, ladder, ending)
        nobody_returns(world, crowd, chosen, who)
    by_orphan = {(end.orphan.run, end.orphan.process.pid): end.receipt for end in ends}
    return slain + [told(world, crowd, one, receipts, by_orphan) for one in chosen]


def nobody_returns(world: "World", crowd: Crowd, chosen: Sequence[Chosen], who: Caller) -> None:
    """Whoever is meant and has ended already is not started again by the watch."""
    over = [c.run for one in chosen for c in (*one.candidates, *one.ended) if not c.live]
    runs = [crowd.runs[run] for run in dict.fromkeys(over) if run in crowd.runs]
    runs = [run for run in runs if (agent := crowd.agents.get(run.agent)) and agent.restart > 0]
    if not runs:
        return
    from quell.life.restart import call_off

    try:
        call_off(world, runs, who.by)
    except StoreFailed:
        return  # nor can anybody start a run that cannot be written down


def force_requests(world: "World", runs: Sequence[Run], who: Caller) -> None:
    """Whoever was asked to leave, and is now made to, did not leave by itself."""
    asked = world.store.leaving()
    made = [run for run in runs if run.id in asked and run.id != who.run]
    if made:
        from quell.life.together.ask import force_request

        for run in made:
            force_request(world, run)


def end_all(
    world: "World", who: Caller, runs: Sequence[Run], way: Way, verb: str
) -> dict[str, Receipt]:
    """Ends the runs; the caller's own comes last, by somebody who outlives it."""
    myself = keeperless_self(who, runs)
    others = [run for run in runs if run is not myself]
    ended = end_runs(world, others, way)
    if any(receipt.kind and world.kind(receipt.kind).helpers for receipt in ended):
        from quell.life.resurrection import watch_after

        ended = watch_after(world, ended)
    receipts = {run.id: receipt for run, receipt in zip(others, ended, strict=True)}
    if myself is not None:
        why = way.ending.detail if verb == "kill" else way.ending.reason
        grace = str(ladders.grace_of(way.ladder))
        # Its children are among the others, or were meant to be spared.
        command = (verb, f"id:{myself.id}", "--no-children", "--grace", grace, "--reason", why)
        receipts[myself.id] = end_from_outside(world, who, myself, command)
    return receipts


def chosen_ladder(world: "World", wish: KillWish) -> Ladder:
    settings = world.settings  # a broken file is said before anything is claimed
    if wish.force:
        return ladders.FORCE
    if wish.stalled:
        return ladders.with_grace(ladders.KILL_STALLED, wish.grace)
    grace = settings.kill_grace if wish.grace is None else wish.grace
    return ladders.with_grace(ladders.KILL, grace)


def choose_all(
    world: "World", crowd: Crowd, targets: Sequence[str]
) -> tuple[list[Chosen], list[Slain]]:
    """Whom each target means; a target that means nobody becomes a receipt that says so.

    One that cannot mean anybody is an error of the whole request, before anything is done.
    """
    chosen: list[Chosen] = []
    failed: list[Slain] = []
    for target in targets:
        try:
            chosen.append(crowd.choose(target))
        except BadRequest:
            raise
        except QuellError as error:
            failed.append(Slain(target, "", (refused_receipt(target, error, world.now()),)))
    return chosen, failed


def doomed_runs(
    world: "World", crowd: Crowd, chosen: Sequence[Chosen], *, with_children: bool
) -> list[Run]:
    """The live runs that are meant, children before parents, each once."""
    ordered: dict[str, None] = {}

    def add(run_id: str) -> None:
        if with_children and run_id not in ordered:
            for child in crowd.children.get(run_id, ()):
                add(child.id)
        ordered[run_id] = None

    for one in chosen:
        for candidate in one.candidates:
            if candidate.live:
                add(candidate.run)
    runs = [crowd.runs[run_id] for run_id in ordered]
    return [run for run in runs if run.host == world.host]


def doomed_orphans(crowd: Crowd, chosen: Sequence[Chosen]) -> list[Orphan]:
    meant = {(c.run, pid) for one in chosen for c in one.candidates if c.orphan for pid in c.pids}
    return [o for o in crowd.orphans if (o.run, o.process.pid) in meant]


def told(
    world: "World",
    crowd: Crowd,
    one: Chosen,
    receipts: dict[str, Receipt],
    orphans: dict[tuple[str, int], Receipt],
) -> Slain:
    """The receipts of one target, its child runs' included."""
    told_runs: list[Receipt] = []
    for candidate in one.candidates:
        if candidate.orphan:
            found = [orphans.get((candidate.run, pid)) for pid in candidate.pids]
            told_runs += [receipt for receipt in found if receipt]
        elif candidate.run in receipts:
            told_runs += _with_children(crowd, candidate.run, receipts)
        elif candidate.live:
            told_runs.append(_elsewhere(world, crowd.runs[candidate.run]))
        else:
            told_runs.append(already_ended(world, crowd.runs[candidate.run]))
    each = {(receipt.agent, receipt.run, receipt.pid): receipt for receipt in told_runs}
    return Slain(one.target, one.label, tuple(each.values()))


def _with_children(crowd: Crowd, run: str, receipts: dict[str, Receipt]) -> list[Receipt]:
    below = [
        receipt
        for child in crowd.children.get(run, ())
        if child.id in receipts
        for receipt in _with_children(crowd, child.id, receipts)
    ]
    return [*below, receipts[run]]


def _elsewhere(world: "World", run: Run) -> Receipt:
    error = Refused(
        f"'{run.agent}' runs on host {run.host}: it is managed there",
        f"run quell kill {run.agent} on {run.host}",
    )
    return refused_receipt(run.agent, error, world.now())._replace(
        run=run.id, result=Result.REFUSED
    )


def self_target(who: Caller, world: "World") -> str:
    """The agent that is asking, for verbs that mean "myself" without a target."""
    run = world.store.run(who.run) if who.run else None
    return run.agent if run else ""
