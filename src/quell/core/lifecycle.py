"""The life of a run as a table. Code may only move along it; the docs print it."""

from enum import StrEnum

from quell.core.errors import IllegalTransition


class State(StrEnum):
    SPAWNING = "spawning"
    RUNNING = "running"
    STOPPING = "stopping"
    ENDED = "ended"


class Happening(StrEnum):
    BORN = "born"  # the keeper, or a look, has seen the agent's process
    END_ASKED = "end_asked"  # an ending was claimed
    SPARED = "spared"  # the ending failed: something survived, or signals were refused
    LET_GO = "let_go"  # quell no longer answers for it; the process may live on
    GONE = "gone"  # its end was seen


TRANSITIONS: dict[tuple[State, Happening], State] = {
    (State.SPAWNING, Happening.BORN): State.RUNNING,
    (State.SPAWNING, Happening.END_ASKED): State.STOPPING,
    (State.SPAWNING, Happening.LET_GO): State.ENDED,
    (State.SPAWNING, Happening.GONE): State.ENDED,
    (State.RUNNING, Happening.END_ASKED): State.STOPPING,
    (State.RUNNING, Happening.LET_GO): State.ENDED,
    (State.RUNNING, Happening.GONE): State.ENDED,
    (State.STOPPING, Happening.BORN): State.STOPPING,  # a kill that overtook the spawn
    (State.STOPPING, Happening.END_ASKED): State.STOPPING,  # a dead killer's claim taken over
    (State.STOPPING, Happening.SPARED): State.RUNNING,
    (State.STOPPING, Happening.LET_GO): State.ENDED,
    (State.STOPPING, Happening.GONE): State.ENDED,
}


class Outcome(StrEnum):
    """How an ended run ended. Who asked, and why, are other fields."""

    COMPLETED = "completed"  # exit 0, by itself
    FAILED = "failed"  # crashed, non-zero, or never started
    STOPPED = "stopped"  # deliberate, resumable
    KILLED = "killed"
    TERMINATED = "terminated"  # ended by a signal or a tool that is not ours
    ARCHIVED = "archived"  # let go of; the process may live on and is tracked
    LOST = "lost"  # gone while nobody looked


def step(state: State, happening: Happening) -> State:
    """The next state, or IllegalTransition: a bug of ours, never caught."""
    try:
        return TRANSITIONS[state, happening]
    except KeyError:
        raise IllegalTransition(state, happening) from None


def diagram() -> str:
    """The table as a Mermaid state diagram."""
    arrows = [f"    {a} --> {b}: {happening}" for (a, happening), b in TRANSITIONS.items()]
    return "\n".join(["stateDiagram-v2", "    [*] --> spawning", *arrows, "    ended --> [*]"])
