"""One life of an agent: one process tree in one place."""

from typing import NamedTuple

from quell.core.lifecycle import Outcome, State
from quell.core.process import ProcessId


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
    parent: str = ""  # the run whose agent started this one through quell
    keeper: ProcessId | None = None
    process: ProcessId | None = None  # the agent's own
    cgroup: str = ""
    owner: ProcessId | None = None  # the quell that is spawning or ending it right now
    ending: Ending | None = None  # asked for while stopping, final when ended
    ended_at: str = ""
    rung: str = ""  # the last rung written down
    task: str = ""  # what it was started for
    restarted_from: str = ""  # the run that the watch replaced by this one
    attempt: int = 0  # how many restarts lie between the first run and this one
    heartbeat: str = ""  # when it last beat, as far as somebody took that in

    @property
    def live(self) -> bool:
        return self.state is not State.ENDED


class Orphan(NamedTuple):
    """A process that outlived its run, tracked apart from the instances."""

    run: str
    agent: str
    tag: str
    process: ProcessId
    command: str
    why: str  # archived, kept, survived, keeper_gone
