"""Teams: who leads, who belongs to them, in which colour, and what each role may do."""

from collections.abc import Sequence
from enum import StrEnum
from typing import NamedTuple

# The pool of the contract's original; a team of more shares the longest-held ones.
COLOURS = (
    *("#FF6B6B", "#4ECDC4", "#45B7D1", "#96CEB4", "#FFEAA7"),
    *("#DDA0DD", "#98D8C8", "#F7DC6F", "#BB8FCE", "#85C1E9"),
)


class Role(StrEnum):
    LEADER = "leader"
    WORKER = "worker"
    REVIEWER = "reviewer"
    TASK_MANAGER = "task-manager"


class Topology(StrEnum):
    FLAT = "flat"  # everybody claims tasks
    HIERARCHICAL = "hierarchical"  # only the leader and task managers hand them out


class Team(NamedTuple):
    name: str
    leader: str  # the agent's name; empty: only the operator leads
    created_at: str = ""
    topology: str = Topology.FLAT.value
    description: str = ""
    dissolved_at: str = ""


class Member(NamedTuple):
    """One who belongs to a team as long as its run is not proven to be over."""

    team: str
    agent: str
    role: str
    colour: str
    joined_at: str
    run: str = ""  # empty: it was added before it was started


# tool or verb → roles that must not use it; whoever is not named may
DENIED = {
    "kill-agent": (Role.WORKER, Role.REVIEWER, Role.TASK_MANAGER),
    "spawn-agent": (Role.WORKER, Role.REVIEWER, Role.TASK_MANAGER),
    "dissolve-team": (Role.WORKER, Role.REVIEWER, Role.TASK_MANAGER),
    "claim-task": (Role.LEADER,),
}


def may(role: str, what: str) -> bool:
    """Whether that role may do that. A role that nobody knows is a worker."""
    known = role if role in set(Role) else Role.WORKER
    return known not in DENIED.get(what, ())


def next_colour(held: Sequence[str]) -> str:
    """The first that no live member holds; else the one held longest (`held`: oldest first)."""
    free = [colour for colour in COLOURS if colour not in held]
    if free:
        return free[0]
    latest = {colour: place for place, colour in enumerate(held)}
    return min(COLOURS, key=lambda colour: latest[colour])
