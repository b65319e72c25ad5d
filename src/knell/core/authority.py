"""Who may do what to whom: the one decision that every verb asks for before it acts.

It is pure: who asks was proven before (life/base/caller.py), and what the targets are to the caller
was looked up (life/base/authority.py). docs/teams.md shows every decision in a table.
"""

from collections.abc import Sequence
from enum import StrEnum
from typing import NamedTuple

from knell.core.codes import Code

OPERATOR = "operator"
UNPROVEN = "unproven"
ASK = "ask the operator"
PROVE = (
    "type it in a shell of your own, without KNELL_RUN and KNELL_TOKEN; "
    "an agent proves itself by its KNELL_TOKEN"
)


class Caller(NamedTuple):
    """Who asks: the operator at a shell, an agent, or a process that cannot prove who it is."""

    by: str  # OPERATOR, "agent:luna", or UNPROVEN
    runs: tuple[str, ...] = ()  # the run it is in, and the runs around that one
    agent: str = ""  # its name, if it is an agent
    outside: bool = False  # no process of the agent is above it: it may end the agent itself
    doubt: str = ""  # why it is not known who asks; then every deed is refused
    way_out: str = ""  # what a person does about that doubt; empty: PROVE says it
    elsewhere: str = ""  # the run of another KNELL_HOME that it is in: all agents here are its own

    @property
    def run(self) -> str:
        return self.runs[0] if self.runs else ""

    @property
    def run_above(self) -> str:
        """The run that this process is below, and would end with; empty: none."""
        return "" if self.outside else self.run


class Deed(StrEnum):
    """What is done to agents; the value is the word for it in a refusal."""

    END = "end"  # kill, stop, restart, stalled --kill, watch --stalled, ask with a deadline
    START = "restart"  # resume too
    REAP = "end what is left of"
    CLEAN_UP = "clean up after"  # also as a part of an ending, and of its conversation: purge
    BEAT = "give a sign of life for"
    ANSWER = "answer for"
    ADOPT = "adopt"
    REPLACE = "take the name of"  # spawn, run, adopt in the name of an agent that has ended
    RECRUIT = "recruit"  # team add, team create --leader
    REAP_FOREIGN = "end leftovers of other programs"
    MANAGE = "manage"  # the MCP tools stop-agent and resume-agent
    WATCH = "start, end or install the watch"  # it acts with the operator's authority
    FORGET = "remove records"  # prune
    UNINSTALL = "uninstall knell"
    SET_UP = "change the settings and skills of other programs"  # hooks and skills, (un)installed
    FLEET = "change the fleet, or whose orders this host obeys"  # fleet init, join, leave, key, …


class Relation(StrEnum):
    """What a target is to the agent that asks."""

    ITSELF = "itself"
    STARTED = "what it started"
    LED = "a member of the team that it leads"
    AROUND = "what it runs in"
    TEAMED = "an agent of a team that it does not lead"
    FREE = "an agent of no team"
    STRANGE = "a process of no agent"


_OWN = frozenset({Relation.ITSELF, Relation.STARTED, Relation.LED})
PERMITTED: dict[Deed, frozenset[Relation]] = {  # to agents
    Deed.END: _OWN | {Relation.FREE},
    Deed.START: _OWN | {Relation.FREE},
    Deed.REAP: _OWN,  # what is left of an agent often no longer shows its team
    Deed.CLEAN_UP: _OWN,
    Deed.BEAT: frozenset({Relation.ITSELF}),
    Deed.ANSWER: frozenset({Relation.ITSELF}),
    Deed.ADOPT: frozenset({Relation.STARTED}),
    Deed.REPLACE: _OWN,  # a new agent in that name counts as started by the same starter
    Deed.RECRUIT: _OWN,  # else a leader could recruit a FREE agent, and then do what is refused
    Deed.REAP_FOREIGN: frozenset(),
    Deed.MANAGE: _OWN,
    Deed.WATCH: frozenset(),
    Deed.FORGET: frozenset(),
    Deed.UNINSTALL: frozenset(),
    Deed.SET_UP: frozenset(),
    Deed.FLEET: frozenset(),
}
# What reaches beyond the agents of one KNELL_HOME.
_BEYOND = frozenset(
    {Deed.ADOPT, Deed.REAP_FOREIGN, Deed.WATCH, Deed.UNINSTALL, Deed.SET_UP, Deed.FLEET}
)


class Subject(NamedTuple):
    """One target of a deed, as far as the decision needs it."""

    name: str  # an agent, or "PID 4711"
    relation: Relation
    team: str = ""
    leads: bool = False  # that team
    left: tuple[str, ...] = ()  # members of the team that would live on without a leader
    swept: bool = False  # it was meant by a group, as in `kill all`


class Refusal(NamedTuple):
    code: Code
    why: str
    hint: str


def decide(
    who: Caller,
    deed: Deed,
    subjects: Sequence[Subject],
    *,
    confirmed: bool = False,
    groups: Sequence[str] = (),
) -> Refusal | None:
    """Why this caller may not do this to all of these; None if it may. `confirmed`: by --yes.

    `groups`: the targets that meant a group of agents."""
    if who.doubt:
        why = f"it is not proven who asks: {who.doubt}"
        return Refusal(Code.CALLER_UNPROVEN, why, who.way_out or PROVE)
    # Whether it would clean up what no agent of its KNELL_HOME made.
    strange = deed is Deed.CLEAN_UP and any(one.relation is Relation.STRANGE for one in subjects)
    if who.elsewhere and (deed in _BEYOND or strange):
        return _beyond(deed, subjects)
    if not who.runs:
        return None if confirmed or deed is not Deed.END else _ended_leader(subjects)
    around = [one for one in subjects if one.relation is Relation.AROUND]
    if around:
        why = f"'{around[0].name}' runs this agent: no agent may {deed} its own ancestors"
        return Refusal(Code.RUNS_THIS_COMMAND, why, ASK)
    many = _several(deed, subjects, groups) if not confirmed else None
    refusals = (_refusal(who, deed, one) for one in subjects)
    return many or next((refusal for refusal in refusals if refusal), None)


def _beyond(deed: Deed, subjects: Sequence[Subject]) -> Refusal | None:
    """An agent that made a KNELL_HOME of its own is the operator of what it started there, and of
    nothing else on the machine."""
    if all(one.relation in PERMITTED[deed] for one in subjects):
        return None
    why = f"only the operator may {deed}: this is an agent of another KNELL_HOME"
    return Refusal(Code.NOT_ALLOWED, why, ASK)


def _ended_leader(subjects: Sequence[Subject]) -> Refusal | None:
    """A person ends a leader together with its whole team, as in `kill all`, or confirms with
    --yes that the team loses its leader."""
    for one in subjects:
        if one.leads and not (one.swept and not one.left):
            named = f": {', '.join(one.left)} would be without one" if one.left else ""
            hint = f"add --yes, or knell kill {one.name} --dissolve to dissolve the team as well"
            return Refusal(Code.NEEDS_YES, f"'{one.name}' leads team '{one.team}'{named}", hint)
    return None


def _several(deed: Deed, subjects: Sequence[Subject], groups: Sequence[str]) -> Refusal | None:
    """No agent ends more than one agent, or a whole group, without --yes."""
    names = list(dict.fromkeys(one.name for one in subjects))
    what = f"{', '.join(groups)} unasked" if groups else ""
    if len(names) > 1:
        what = f"{len(names)} runs unasked: {', '.join(names)}"
    if not what or deed not in (Deed.END, Deed.REAP):
        return None
    return Refusal(Code.NEEDS_YES, f"an agent may not {deed} {what}", "add --yes")


def _refusal(who: Caller, deed: Deed, one: Subject) -> Refusal | None:
    """For one target and an agent that asks."""
    if "@" in who.agent and one.relation is not Relation.LED:  # no agent of this host has that sign
        why = (
            f"'{who.agent}' is of another host: it may only {deed} members of a team that it leads"
        )
        return Refusal(Code.NOT_ALLOWED, why, ASK)
    if deed is Deed.END and one.leads:
        why = f"'{one.name}' leads team '{one.team}': no agent ends a leader"
        hint = f"the operator may; or knell team dissolve {one.team} first"
        return Refusal(Code.LEADER_STAYS, why, hint)
    if one.relation in PERMITTED[deed]:
        return None
    if not PERMITTED[deed]:
        why = f"only the operator may {deed}: '{who.agent}' is an agent"
    elif deed is Deed.ADOPT or one.relation is Relation.STRANGE:
        why = f"'{who.agent}' may only {deed} what it started itself, which {one.name} is not"
    elif deed in (Deed.BEAT, Deed.ANSWER):
        why = f"only '{one.name}' itself and the operator may {deed} '{one.name}'"
    elif one.relation is Relation.TEAMED:
        why = f"'{one.name}' is in team '{one.team}': only its leader may {deed} it"
        return Refusal(Code.ONLY_THE_LEADER, why, "ask the leader, or the operator")
    else:
        why = f"'{who.agent}' neither started '{one.name}' nor leads its team"
    return Refusal(Code.NOT_ALLOWED, why, ASK)
