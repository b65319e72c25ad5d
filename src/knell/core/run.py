"""One life of an agent: one process tree in one place, the table of the states it goes through, and
the secrets by which its keeper and its agent prove themselves.

Code may only move along the table; the docs print it."""

from binascii import b2a_base64
from enum import StrEnum
from typing import TYPE_CHECKING, NamedTuple

from knell.core.errors import IllegalTransition
from knell.core.process import ProcessId

if TYPE_CHECKING:
    from knell.core.ports.keepers import Journal


class State(StrEnum):
    SPAWNING = "spawning"
    RUNNING = "running"
    STOPPING = "stopping"
    ENDED = "ended"


class Happening(StrEnum):
    BORN = "born"  # the keeper, or a look, has seen the agent's process
    END_ASKED = "end_asked"  # an ending was claimed
    SPARED = "spared"  # the ending failed: something survived, or signals were refused
    LET_GO = "let_go"  # knell no longer answers for it; the process may live on
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
    LOST = "lost"  # gone while knell was not looking


class Place(NamedTuple):
    """Where a run lives, precisely enough that a restarted server cannot fool us."""

    name: str  # tmux, kitty, wezterm, headless, terminal
    pane: str = ""  # %3 in tmux, the window's number in kitty, the pane's in wezterm
    server: str = ""  # the socket to talk to
    server_pid: int = 0  # pane ids restart at %0 when the server does
    session: str = ""
    log: str = ""  # headless: where its output goes


class Ending(NamedTuple):
    """Who ended a run, why, and what it came to."""

    outcome: Outcome
    by: str
    reason: str
    detail: str = ""
    exit_code: int | None = None
    exit_signal: int | None = None
    tasks: str = ""  # what becomes of its open tasks: a Fate, or empty for the usual one
    cleanup: str = ""  # what becomes of its worktree: a Cleanup, or empty for nothing


class Run(NamedTuple):
    id: str
    agent: str
    host: str
    state: State
    place: Place
    started_at: str
    parent: str = ""  # the run whose agent started this one through knell
    keeper: ProcessId | None = None
    process: ProcessId | None = None  # the agent's own
    cgroup: str = ""
    owner: ProcessId | None = None  # the knell that is spawning or ending it right now
    ending: Ending | None = None  # asked for while stopping, final when ended
    ended_at: str = ""
    rung: str = ""  # the last rung written down
    task: str = ""  # what it was started for
    restarted_from: str = ""  # the run that the watch replaced by this one
    attempt: int = 0  # how many restarts lie between the first run and this one
    heartbeat: str = ""  # when it last beat, as far as it was recorded
    seal: str = ""  # while it lives: the digest of its token, which is the digest of its seal

    @property
    def live(self) -> bool:
        return self.state is not State.ENDED

    @property
    def pid(self) -> int | None:
        """The agent's own."""
        return self.process.pid if self.process else None

    @property
    def processes(self) -> tuple[ProcessId, ...]:
        """The run's keeper and its agent, as far as they are on record."""
        return tuple(process for process in (self.keeper, self.process) if process)


class Orphan(NamedTuple):
    """A process that outlived its run, tracked apart from the instances."""

    run: str
    agent: str
    tag: str
    process: ProcessId
    command: str
    why: str  # archived, kept, survived, keeper_gone


def next_state(state: State, happening: Happening) -> State:
    """The next state, or IllegalTransition: a bug in knell, never caught."""
    if (state, happening) not in TRANSITIONS:
        raise IllegalTransition(state, happening)
    return TRANSITIONS[state, happening]


def seen_ending(run: Run, journal: "Journal") -> Ending:
    """What came of the run: the claimed ending if there was one, else what the keeper saw."""
    code, number = journal.exit_code, journal.exit_signal
    left = journal.cause == "exit" and run.rung == "exit_keys"  # as it was told to
    if run.ending is not None and (left or journal.cause in ("asked", "")):
        return run.ending._replace(exit_code=code, exit_signal=number)
    if journal.failure:
        ending = Ending(Outcome.FAILED, "keeper", "not_started", journal.failure, code)
        return ending._replace(tasks="requeue")  # no agent has begun it
    if journal.cause == "hangup":  # a person closed the pane: a decision, not an accident
        return Ending(Outcome.STOPPED, "terminal", "pane_closed", "", code, number)
    if journal.cause == "signal":
        return Ending(Outcome.TERMINATED, "unknown", "keeper_signalled", "", code, number)
    if journal.cause == "exit":
        clean, not_clean = (Outcome.COMPLETED, "exited"), (Outcome.FAILED, "crashed")
        outcome, reason = clean if code == 0 else not_clean
        signal = "" if number is None else f"signal {number}"
        return Ending(outcome, "agent", reason, signal, code, number)
    return Ending(Outcome.LOST, "unknown", "lost", "gone while knell was not looking")


# -- its secrets --------------------------------------------------------------------------------
# The keeper has a seal, the agent a token, the store a digest; each is the digest of the former:
# so the store can tell both, and an agent that knows its token cannot make the seal.


def token_of(seal: str) -> str:
    """The token of the run whose keeper has this seal, in letters that a URL can carry."""
    letters = b2a_base64(_sha256(seal), newline=False).decode()
    return letters.rstrip("=").replace("+", "-").replace("/", "_")


def digest_of(token: str) -> str:
    """What the store has of a token."""
    return _sha256(token).hex()


def fits(seal: str, digest: str) -> bool:
    """Whether the store has that of this seal's token."""
    return digest_of(token_of(seal)) == digest


def _sha256(text: str) -> bytes:
    if TYPE_CHECKING:
        from hashlib import sha256
    else:
        try:
            from _sha256 import sha256  # hashlib takes milliseconds to load
        except ImportError:  # Python 3.12 and later have one module for all of its kind
            try:
                from _sha2 import sha256
            except ImportError:
                from hashlib import sha256
    return sha256(text.encode(errors="surrogateescape")).digest()
