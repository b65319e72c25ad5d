"""The gate: asks core/authority.py whether the caller may, with what the targets are to it."""

import os
from collections.abc import Mapping, Sequence
from contextlib import nullcontext, suppress
from typing import TYPE_CHECKING

from knell.core.authority import OPERATOR, Caller, Deed, Relation, Subject, decide
from knell.core.codes import Code
from knell.core.errors import StoreFailed
from knell.core.ports.store import Seat
from knell.core.run import Run
from knell.core.selector import Chosen
from knell.life.base.caller import asker, caller, refuse
from knell.life.base.members import starters_of

if TYPE_CHECKING:
    from contextlib import AbstractContextManager

    from knell.core.agent import Agent
    from knell.core.ports.world import World

LEADER = "leader"  # core.team.Role.LEADER, which most endings need not load
Seats = Mapping[str, Seat]


def check(
    world: "World",
    who: Caller,
    deed: Deed,
    subjects: Sequence[Subject],
    *,
    confirmed: bool = False,
    groups: Sequence[str] = (),
) -> None:
    """Refuses, and records it, unless the caller may do that to all of these."""
    refusal = decide(who, deed, subjects, confirmed=confirmed, groups=groups)
    if refusal:
        refuse(world, who, refusal.why, refusal.hint, code=refusal.code)


def check_authority(
    world: "World",
    runs: Sequence[Run],
    who: Caller,
    chosen: Sequence[Chosen] = (),
    seats: Seats | None = None,
    *,
    confirmed: bool,
) -> None:
    """Refuses to end these runs, before anything is done. `chosen`: what the targets mean."""
    seats = world.store.runs.seats() if seats is None else seats
    groups = [one.target for one in chosen if one.label]
    swept = {c.run for one in chosen if one.label for c in one.candidates}
    to_end = {run.agent for run in runs}
    subjects = [
        subject_of(world, who, run.agent, run, seats)._replace(
            left=_left_behind(run.agent, to_end, seats), swept=run.id in swept
        )
        for run in runs
    ]
    check(world, who, Deed.END, subjects, confirmed=confirmed, groups=groups)


def check_operator(world: "World", deed: Deed) -> None:
    """Refuses a deed that has no agent for its target and is the operator's alone."""
    check(world, caller(world), deed, [Subject("", Relation.STRANGE)])


def one_installer(world: "World", lock: str, *, dry_run: bool) -> "AbstractContextManager[None]":
    """Holds the lock under which one person installs or removes; anyone may do a dry run."""
    if dry_run:
        return nullcontext()
    check_operator(world, Deed.SET_UP)
    return world.disk.lock(os.path.join(world.home, lock))


def check_agents(
    world: "World",
    who: Caller,
    deed: Deed,
    agents: Sequence[str],
    seats: Seats | None = None,
    *,
    confirmed: bool = False,
) -> None:
    """The same for agents by their names, whether they live or not."""
    if not agents and not who.doubt:
        return
    seats = world.store.runs.seats() if seats is None else seats
    subjects = [
        subject_of(world, who, name, world.store.runs.newest_of(name) if who.runs else None, seats)
        for name in dict.fromkeys(agents)
    ]
    check(world, who, deed, subjects, confirmed=confirmed)


def subject_of(world: "World", who: Caller, agent: str, run: Run | None, seats: Seats) -> Subject:
    """What that agent is to the caller."""
    seat = seats.get(agent)
    if not who.runs or who.doubt:
        relation = Relation.FREE  # a person's relation is not asked for
    elif run and run.id in who.runs[1:]:
        relation = Relation.AROUND
    elif agent == who.agent:
        relation = Relation.ITSELF
    elif run and started_all(world, who.agent, agent):
        relation = Relation.STARTED
    else:
        team = seat.team if seat else _last_team(world, agent)
        leads = team and seats.get(who.agent) == Seat(team, LEADER)
        relation = Relation.LED if leads else Relation.TEAMED if team else Relation.FREE
        return Subject(agent, relation, team, leads=_leads(seat))
    return Subject(agent, relation, seat.team if seat else "", leads=_leads(seat))


def _leads(seat: Seat | None) -> bool:
    return seat is not None and seat.role == LEADER


def _last_team(world: "World", agent: str) -> str:
    """The team that it was in until its end. Without such a team, or once that was dissolved, the
    name on its record is only a word to select by: then empty."""
    record = world.store.runs.agent(agent)
    team = world.store.teams.team(record.team) if record and record.team else None
    return team.name if team and not team.dissolved_at else ""


def started_all(world: "World", starter: str, agent: str) -> bool:
    """Whether `starter` started every run that the agent had since it got its name. Just bringing
    back another's agent, which is allowed for an agent of no team, does not count."""
    record = world.store.runs.agent(agent)
    since = record.created_at if record else ""
    runs = [run for run in world.store.runs.of(agent) if run.started_at >= since]
    return bool(runs) and all(_started(world, starter, run) for run in runs)


def _started(world: "World", agent: str, run: Run) -> bool:
    """Whether that run, or one that started it, was started in some run of the agent."""
    above = (world.store.runs.run(one) for one in starters_of(world, run))
    return any(one and one.agent == agent for one in above)


def _left_behind(agent: str, to_end: set[str], seats: Seats) -> tuple[str, ...]:
    """The members of the team that this agent leads, and that would live on without a leader."""
    seat = seats.get(agent)
    if seat is None or not _leads(seat):
        return ()
    return tuple(one for one, its in seats.items() if its.team == seat.team and one not in to_end)


def note_override(
    world: "World", runs: Sequence[Run], who: Caller, seats: Seats | None = None
) -> None:
    """Records that a person ends members of a team without asking its leader."""
    if not who.by.startswith(OPERATOR):  # also the person who uses knell mcp --operator
        return
    seats = world.store.runs.seats() if seats is None else seats
    with suppress(StoreFailed):  # reported with the ending, which cannot be written either
        for run in runs:
            if seat := seats.get(run.agent):
                facts = {"by": who.by, "team": seat.team, "role": seat.role}
                world.store.events.record("authority.override", run.agent, run.id, facts)


def check_may_be_called(world: "World", name: str) -> None:
    """Refuses to give a new agent the name of an agent that the caller may not replace: from then
    on it would count as that agent, for its messages and for the right to end what was started."""
    if name and world.store.runs.agent(name):
        check_agents(world, caller(world), Deed.REPLACE, [name])


def check_may_continue(world: "World", agent: "Agent", conversation: str) -> None:
    """Refuses to continue the conversation of an agent that the caller may not start: that would
    bring the other agent back. `conversation`: the one that was named; empty: none was."""
    who = caller(world)
    if not conversation or not (who.runs or who.elsewhere or who.doubt):
        return  # there may be a hundred thousand agents to read
    from knell.life.base.conversation_users import namesakes  # a kill asks for none

    if others := namesakes(world, agent, conversation):
        check_agents(world, who, Deed.START, others)


def check_may_start_in(world: "World", team: str) -> None:
    """Only its leader and the operator start members of a team, which must have been made."""
    known = world.store.teams.team(team)
    if known is None or known.dissolved_at:
        from knell.core.ports.teams import NoSuchTeam  # most verbs have nothing to do with teams

        raise NoSuchTeam(team, world.store.teams.teams())
    who = asker(world)
    if who.runs and (not who.agent or who.agent != known.leader):
        why = "Only the team leader can spawn agents"
        refuse(world, who, why, f"leave out --team {team}", code=Code.ONLY_THE_LEADER)
