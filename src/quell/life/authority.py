"""Who may end whom: a leader its members, the operator everybody, nobody what it runs in."""

from collections.abc import Collection, Mapping, Sequence
from typing import TYPE_CHECKING

from quell.core.errors import StoreFailed
from quell.core.run import Run
from quell.core.selector import Chosen
from quell.core.store import Seat
from quell.life.caller import OPERATOR, Caller, refuse

if TYPE_CHECKING:
    from quell.core.ports import World

LEADER = "leader"  # in the words of core.team.Role, which most endings need not load


def check_authority(
    world: "World",
    runs: Sequence[Run],
    who: Caller,
    chosen: Sequence[Chosen] = (),
    *,
    told_twice: bool,
) -> None:
    """Refuses before anything is done. `chosen`: the targets by which the runs were found."""
    seats = world.store.seats()
    if who.runs:
        check_agent(world, runs, who, chosen, told_twice=told_twice)
        for run in runs:
            check_may_end(world, who, run, seats)
    elif not told_twice:
        check_leaders(world, runs, who, chosen, seats)


def check_agent(
    world: "World", runs: Sequence[Run], who: Caller, chosen: Sequence[Chosen], *, told_twice: bool
) -> None:
    """No agent ends what it runs in, or, without --yes, more than one run, or a whole group."""
    around = [run for run in runs if run.id in who.runs[1:]]
    if around:
        why = f"'{around[0].agent}' runs this agent: no agent ends its own ancestors"
        refuse(world, who, why, "ask the operator to end it")
    if len(runs) > 1 and not told_twice:
        names = ", ".join(run.agent for run in runs)
        refuse(world, who, f"an agent may not end {len(runs)} runs unasked: {names}", "add --yes")
    groups = [one.target for one in chosen if one.label]
    if groups and not told_twice:
        refuse(world, who, f"an agent may not end {', '.join(groups)} unasked", "add --yes")


def check_may_end(world: "World", who: Caller, run: Run, seats: Mapping[str, Seat]) -> None:
    """An agent ends itself, whom it started, who is in no team, and, as their leader, members;
    never who leads a team, be it itself."""
    seat = seats.get(run.agent)
    if seat is None:
        return
    if seat.role == LEADER:
        why = f"'{run.agent}' leads team '{seat.team}': no agent ends a leader"
        refuse(world, who, why, f"the operator may; or quell team dissolve {seat.team} first")
    mine = seats.get(who.agent)
    leads = mine is not None and mine == Seat(seat.team, LEADER)
    if not leads and run.id != who.run and not started_by(world, who.run, run):
        why = f"'{run.agent}' is in team '{seat.team}': only its leader may end it"
        refuse(world, who, why, "ask the leader, or the operator")


def started_by(world: "World", run: str, other: Run) -> bool:
    """Whether `other` was started from inside that run, or from inside one that was."""
    seen: set[str] = set()
    above: Run | None = other
    while above and above.parent and above.parent not in seen:
        if above.parent == run:
            return True
        seen.add(above.parent)
        above = world.store.run(above.parent)
    return False


def check_leaders(
    world: "World",
    runs: Sequence[Run],
    who: Caller,
    chosen: Sequence[Chosen],
    seats: Mapping[str, Seat],
) -> None:
    """A person ends a leader with all of its team, as in `kill all`, or after being told what
    that means."""
    doomed = {run.agent for run in runs}
    swept = {c.run for one in chosen if one.label for c in one.candidates}
    for run in runs:
        seat = seats.get(run.agent)
        if seat is None or seat.role != LEADER:
            continue
        left = left_behind(seat.team, doomed, seats)
        if run.id in swept and not left:
            continue
        named = f": {', '.join(left)} would be without one" if left else ""
        why = f"'{run.agent}' leads team '{seat.team}'{named}"
        hint = f"add --yes, or quell kill {run.agent} --dissolve to dissolve the team as well"
        refuse(world, who, why, hint)


def left_behind(team: str, doomed: Collection[str], seats: Mapping[str, Seat]) -> list[str]:
    """Members whom the others would leave without a leader."""
    return [agent for agent, seat in seats.items() if seat.team == team and agent not in doomed]


def note_override(world: "World", runs: Sequence[Run], who: Caller) -> None:
    """A person ends members of a team over the head of its leader: the trail says so."""
    if not who.by.startswith(OPERATOR):  # also the one who uses quell mcp --operator
        return
    seats = world.store.seats()
    for run in runs:
        seat = seats.get(run.agent)
        if seat is None:
            continue
        told = {"by": who.by, "team": seat.team, "role": seat.role}
        try:
            world.store.note("authority.override", run.agent, run.id, told)
        except StoreFailed:
            return  # said with the ending, which cannot be written either


def led_by(world: "World", runs: Sequence[Run]) -> dict[str, str]:
    """Run → the team that its agent leads, for those who lead one."""
    seats = world.store.seats()
    of_runs = {run.id: seats[run.agent] for run in runs if run.agent in seats}
    return {run: seat.team for run, seat in of_runs.items() if seat.role == LEADER}
