"""Compares the registry file, the store and the machine, and mends the registry file.

A decided end (stopped, archived, terminated) stays, unless a run of knell's lives in that session.
"""

from collections.abc import Iterator
from typing import Any

from knell.core.authority import Deed, Relation, Subject, decide
from knell.core.conversation import NOTHING_KNOWN, in_conversation
from knell.core.ending_steps import RegistryRow
from knell.core.errors import Ambiguous, PlaceFailed, RegistryFailed
from knell.core.ladder import checked_seconds
from knell.core.ports.registry import Registry, Row
from knell.core.ports.world import World
from knell.core.run import Outcome, Place, Run, State
from knell.core.stop_plan import row_end
from knell.core.watch_report import Drift
from knell.life.base.caller import caller
from knell.life.base.conversation import find_conversation
from knell.life.base.known_conversation import known_conversation
from knell.life.base.take_in import take_in_journals
from knell.life.end.vendors import find_revived
from knell.life.registry.agent_of_row import (
    OVER,
    agent_of,
    agents_pane,
    newest_run_of,
    programs_in,
    sessions_on,
    shows_agent,
)
from knell.life.registry.mirror import mark_running, server_name, session_of, speaks_of
from knell.life.start.adopt import shown_program

LIVE = ("running", "unknown")
INTERVAL = 30.0  # seconds between two looks of the monitor
INTERVALS = (0.05, 3600.0)  # at least and at most


def reconcile(world: World, live: list[Run] | None = None, *, dry_run: bool = False) -> list[Drift]:
    """Mends what is surely wrong, and reports what it could not see.

    `live` are the live runs, if the caller has just taken them in."""
    live = take_in_journals(world) if live is None else live
    again = "conversation {} is alive again as PID {}"
    drifts = [
        Drift("resurrected", agent.name, again.format(agent.conversation, found.process.pid), "")
        for agent, found in find_revived(world)
    ]
    registry = world.registry(world.cwd)
    if registry is None:
        return drifts
    return drifts + _Comparison(world, registry, live, dry_run=dry_run).drifts()


def monitor(
    world: World, *, once: bool, interval: float | None, dry_run: bool
) -> Iterator[list[Drift]]:
    """What drifted, once or again and again; what was told before is not told again."""
    asked, hint = INTERVAL if interval is None else interval, "give it in seconds, for example 30"
    pause = checked_seconds("an interval", asked, INTERVALS, hint)
    return _looks(world, None if once else pause, dry_run=dry_run)


def _looks(world: World, pause: float | None, *, dry_run: bool) -> Iterator[list[Drift]]:
    """One look, or another after each pause."""
    told: list[Drift] = []
    while True:
        found = reconcile(world, dry_run=dry_run)
        fresh = [drift for drift in found if drift not in told]
        if fresh or pause is None:
            yield fresh
        if pause is None:
            return
        told = found
        world.wait([], pause)


class _Comparison:
    """One look at a registry file, the live runs and the tmux servers that the rows name."""

    def __init__(self, world: World, registry: Registry, live: list[Run], *, dry_run: bool) -> None:
        self.world, self.registry, self.live, self.dry_run = world, registry, live, dry_run
        self.rows = registry.rows()
        servers = dict.fromkeys(row.tmux_server for row in self.rows)
        self.sessions = {server: sessions_on(world, server) for server in servers}

    def drifts(self) -> list[Drift]:
        found: list[Drift] = []
        for row in self.rows:
            run = self.run_of(row)
            sessions = self.sessions[row.tmux_server]
            there = run is not None or (sessions is not None and session_of(row) in sessions)
            if row.status in OVER and there:
                found += self.check_ended(row, run)
            elif row.status in LIVE and there:
                found += self.check_conversation(row, run or self.stranger(row))
            elif row.status in LIVE and sessions is None:
                what = "tmux did not answer; the row was left as it is"
                found.append(Drift("unseen", row.name, what, ""))
            elif row.status in LIVE:
                found.append(self.mend_dead(row))
        return found + self.unlisted()

    def run_of(self, row: Row) -> Run | None:
        """The live run of this row: a run with a row of its own name is not that of its session."""
        names = {one.name for one in self.rows} - {row.name}
        return next((r for r in self.live if speaks_of(row, r) and r.agent not in names), None)

    def check_ended(self, row: Row, run: Run | None) -> list[Drift]:
        """Mends a row that says ended while its agent lives, if knell itself has that agent."""
        if run is None and not shows_agent(self.world, row):
            return []
        whose = f"'{run.agent}'" if run else f"its {row.agent or 'program'}"
        drift = Drift("alive", row.name, f"the row says {row.status}, but {whose} runs", "")
        agent = self.world.store.runs.agent(run.agent) if run else None
        if run is None or agent is None or self.dry_run:
            return [drift]
        troubles = mark_running(RegistryRow(self.registry, row), self.world, agent, run)
        return [drift._replace(done="" if troubles else "running")]

    def stranger(self, row: Row) -> Run | None:
        """A run made up for a session that knell did not start, so that it can be looked at."""
        try:
            panes = dict(self.world.sessions().panes(row.name, row.tmux_server))
            pane = agents_pane(self.world, row)
        except (PlaceFailed, Ambiguous):
            return None
        process = self.world.processes.identify(shown_program(self.world, panes.get(pane, 0)))
        place = Place("tmux", pane, row.tmux_server, session=row.name)
        return Run("", row.name, self.world.host, State.RUNNING, place, "", process=process)

    def mend_dead(self, row: Row) -> Drift:
        """Writes the end of a dead session: a stop that knell recorded, else a termination."""
        last = newest_run_of(self.world, row)
        outcome, ending = Outcome.TERMINATED, last.ending if last else None
        changes = row_end(outcome, "auto_detected", self.world.now(), graceful=False)
        changes["termination_mode"] = "auto-detected"
        if last and ending and ending.outcome is Outcome.STOPPED and ending.by != "terminal":
            outcome = ending.outcome
            changes = row_end(outcome, ending.reason, last.ended_at, graceful=False)
        what = "the row says running, but its tmux session is dead"
        # A session that knell never had charge of may live in a tmux that is not seen from here.
        strange = [Subject(f"the session {row.name}", Relation.STRANGE)]
        if last is None and decide(caller(self.world), Deed.ADOPT, strange):
            return Drift("dead", row.name, what, "")
        return self.write(row, changes, Drift("dead", row.name, what, outcome.value))

    def check_conversation(self, row: Row, run: Run | None) -> list[Drift]:
        if run is None:
            return []
        world = self.world
        agent = world.store.runs.agent(run.agent) if run.id else None
        agent = agent or in_conversation(agent_of(world, row), NOTHING_KNOWN)
        own = self.registry.id_field(agent.kind)
        if not own:
            return []
        found = known_conversation(world, agent, run)
        if not found.sure or found.id == row.conversation:
            return []
        agent = in_conversation(agent, found)
        if find_conversation(world, agent).exists is False:
            return []  # nothing was said in it yet: the null of the row says so
        if run.id and not self.dry_run:
            world.store.runs.set_conversation(agent.name, found)
        drift = Drift(
            "conversation", row.name, f"its conversation is {agent.conversation}", "recorded"
        )
        return [self.write(row, {own: agent.conversation}, drift)]

    def write(self, row: Row, changes: dict[str, Any], drift: Drift) -> Drift:
        """Writes the row; returns the drift with what was done, or why it could not be done."""
        if self.dry_run:
            return drift._replace(done="")
        try:
            self.registry.update(row.name, changes)
        except RegistryFailed as error:
            return drift._replace(what=f"{drift.what}; not written: {error}", done="")
        return drift

    def unlisted(self) -> list[Drift]:
        """Agents in tmux without a row: knell's anywhere, others on the servers of the rows."""
        ours = [run for run in self.live if run.place.name == "tmux"]
        drifts = [
            Drift("unlisted", run.place.session, f"'{run.agent}' runs, but has no row", "")
            for run in ours
            if not any(speaks_of(row, run) for row in self.rows)
        ]
        known = {*map(session_of, self.rows), *(run.place.session for run in ours)}
        panes = {(server_name(run.place.server), run.place.pane) for run in ours}
        for server, names in self.sessions.items():
            for name in sorted((names or set()) - known):
                for kind in self.kinds_in(name, server, panes):
                    what = f"a {kind} runs in it, but has no row"
                    drifts.append(Drift("unlisted", name, what, ""))
        return drifts

    def kinds_in(self, session: str, server: str, ours: set[tuple[str, str]]) -> list[str]:
        """The agents in a session's panes, but not in knell's own: its session may be renamed."""
        try:
            shown = programs_in(self.world, Row(session, "", tmux_server=server))
        except PlaceFailed:
            return []  # reported with the rows of that server
        name = server_name(server) or "default"
        return [k for pane, k in shown.items() if k != "command" and (name, pane) not in ours]
