"""Agents, their runs, and the processes that outlived a run."""

import json
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from knell.core.agent import Agent
from knell.core.errors import IllegalTransition, NoSuchAgent, StillRunning
from knell.core.ports.store import LiveRecords, NotLive, RunRecord, Seat
from knell.core.process import ProcessId
from knell.core.run import Happening, Orphan, Run, State, next_state
from knell.stores import records
from knell.stores.sqlite import FULL, NORMAL, Part, Transactions, Value

if TYPE_CHECKING:
    from knell.core.conversation import KnownConversation
    from knell.core.receipt import Receipt

# Whether a team is affected when the run begins or ends; most runs are in no team.
IN_A_TEAM = """
    SELECT 1 FROM members WHERE agent = :agent
    UNION ALL SELECT 1 FROM team_tasks WHERE owner = :agent AND status != 'completed'
    UNION ALL SELECT 1 FROM shutdowns WHERE run = :run AND phase IN ('requested', 'approved')
    UNION ALL SELECT 1 FROM teams WHERE name = :team AND dissolved_at = ''"""
_RUNS_OF = records.RUNS + " WHERE r.agent = ? ORDER BY seq DESC"
_LIVE = records.LIVE_RUNS + " ORDER BY r.started_at, r.seq"
_LIVE_AGENTS = records.AGENTS + " WHERE name IN (SELECT agent FROM instances) ORDER BY rowid"
WORDS = """
    SELECT r.agent || ' ' || a.kind || ' ' || a.tag || ' ' || a.team || ' ' || a.task
        || ' ' || a.cwd || ' ' || r.id || ' ' || coalesce(r.outcome, '') || ' ' || r.ended_by
        || ' ' || r.reason
    FROM runs r JOIN agents a ON a.name = r.agent WHERE r.id = :run"""
_SEATS = "SELECT agent, team, role FROM members ORDER BY seq"
_LEAVING = "SELECT run FROM shutdowns WHERE phase IN ('requested', 'approved')"
_ORPHANS = (
    "SELECT pid, start, boot, inode, run, agent, tag, command, why FROM orphans ORDER BY rowid"
)
AT_END = ("outcome", "reason", "detail", "exit_code", "exit_signal")  # columns of `runs`
_AT_BIRTH = ("id", "agent", "host", "parent", "task", "restarted_from", "attempt")


class SqliteRuns(Part):
    # -- the beginning of a run --------------------------------------------------------------

    def add(self, agent: Agent, run: Run) -> None:
        """An agent that is spawned again keeps the date of its first spawn."""
        if run.state not in {State.SPAWNING, State.RUNNING}:
            raise IllegalTransition(run.state, "add_run")
        started = run.started_at or self._file.now()
        with self._file.writing(FULL):
            if self._file.live_run_of(agent.name):
                raise StillRunning(agent.name, "start it again")
            if run.restarted_from:
                self._continue_ended(run)
            self._put_agent(agent._replace(created_at=agent.created_at or started))
            self._add_run(run, started, {})
            owner = records.process_text(run.owner)
            now = {"agent": run.agent, "state": run.state, "owner": owner}
            self._file.insert("instances", run=run.id, **now)
            event = "life.spawning" if run.state is State.SPAWNING else "life.started"
            told = {"kind": agent.kind, "place": run.place.name}
            self._file.write_event(event, run.agent, run.id, told)
            if affects_a_team(self._file, run, agent.team):
                from knell.stores.teams import begin_in_team

                begin_in_team(self._file, agent, run)

    def _continue_ended(self, run: Run) -> None:
        """Inside the transaction that adds `run` in the place of an ended run."""
        from knell.stores.orchestrator import take_task_again
        from knell.stores.restarts import record_restart

        self._file.known_run(run.restarted_from)
        record_restart(self._file, run)
        take_task_again(self._file, run)

    def mark_born(self, run: Run) -> None:
        """Its process exists. Nothing changes if that, or the run's end, was recorded before."""
        with self._file.writing(NORMAL):
            known = self._file.known_run(run.id)
            settled = known.state is not State.SPAWNING
            if settled and known.process and run.process and known.process.same_as(run.process):
                return
            if known.state is State.ENDED and known.process is None:
                return  # the caller that ended it had not seen its process
            state = next_state(known.state, Happening.BORN)
            owner = records.process_text(None if known.state is State.SPAWNING else known.owner)
            self._file.update("runs", {"id": run.id}, **records.whereabouts(run))
            self._file.update("instances", {"run": run.id}, state=state, owner=owner)
            self._file.changed_runs[run.id] = None
            told = {"pid": run.pid, "place": run.place.name}
            self._file.write_event("life.started", run.agent, run.id, told)

    def set_token(self, run: str, digest: str) -> None:
        """The SHA-256 of the token, never the token. It is deleted when the run ends."""
        with self._file.writing(FULL):
            if not self._file.update("instances", {"run": run}, token=digest):
                raise NotLive(self._file.agent_of(run))
            self._file.changed_runs[run] = None

    def run_of_token(self, digest: str) -> Run | None:
        """The live run that was given this token."""
        query = records.LIVE_RUNS + " WHERE i.token = ? AND i.token != ''"
        return self._file.one(query, records.run_from, digest)

    # -- agents ------------------------------------------------------------------------------

    def agent(self, name: str) -> Agent | None:
        return self._file.one(records.AGENT, records.agent_from, name)

    def agents(self) -> list[Agent]:
        """All agents, in the order in which they were first recorded."""
        return self._file.all(records.AGENTS + " ORDER BY rowid", records.agent_from)

    def live_agents(self) -> list[Agent]:
        """The agents that have a live run, in the same order."""
        return self._file.all(_LIVE_AGENTS, records.agent_from)

    def agent_names(self) -> frozenset[str]:
        """The name of every agent that has begun; the name of one that never did is free."""
        begun = "SELECT 1 FROM runs WHERE agent = name AND reason IS NOT 'not_started'"
        query = f"SELECT name FROM agents WHERE EXISTS ({begun})"
        return frozenset(self._file.all(query, records.first))

    def set_conversation(self, agent: str, known: "KnownConversation") -> None:
        columns = {"conversation_source": known.source, "conversation_since": known.since}
        with self._file.writing(FULL):
            told = {"conversation": known.id, **columns}
            if not self._file.update("agents", {"name": agent}, **told):
                raise NoSuchAgent(agent)
            run = self.newest_of(agent)
            if run:
                self._file.changed_runs[run.id] = None

    # -- runs --------------------------------------------------------------------------------

    def run(self, run: str) -> Run | None:
        return self._file.one(records.RUN, records.run_from, run)

    def live(self) -> list[Run]:
        """The longest-lived first."""
        return self._file.all(_LIVE, records.run_from)

    def live_records(self) -> LiveRecords:
        """Runs are read before agents: every agent is older than its runs, so none is missing."""
        with self._file.reading() as db:
            return LiveRecords(
                [records.run_from(row) for row in db.execute(_LIVE)],
                [records.agent_from(row) for row in db.execute(_LIVE_AGENTS)],
                {agent: Seat(team, role) for agent, team, role in db.execute(_SEATS)},
                frozenset(run for [run] in db.execute(_LEAVING)),
                [records.orphan_from(row) for row in db.execute(_ORPHANS)],
            )

    def ids(self) -> frozenset[str]:
        """The id of every run on record."""
        return frozenset(self._file.all("SELECT id FROM runs", records.first))

    def newest(self) -> dict[str, Run]:
        """Every agent's newest run, live or ended."""
        return {run.agent: run for run in self._file.all(records.NEWEST_RUNS, records.run_from)}

    def newest_of(self, agent: str) -> Run | None:
        """The agent's newest run, live or ended."""
        return self._file.one(_RUNS_OF + " LIMIT 1", records.run_from, agent)

    def of(self, agent: str) -> list[Run]:
        """All runs of the agent, the newest first."""
        return self._file.all(_RUNS_OF, records.run_from, agent)

    def outcomes(self) -> dict[str, int]:
        """How many agents have a newest run that ended with each outcome."""
        return dict(self._file.all(records.OUTCOMES, tuple[str, int]))

    # -- what most verbs ask about teams, without loading the parts for teams ----------------

    def seats(self) -> dict[str, Seat]:
        """Agent → its place in a team, for the agents that are in one now."""
        found = self._file.all(_SEATS, tuple[str, ...])
        return {agent: Seat(team, role) for agent, team, role in found}

    def leaving(self) -> frozenset[str]:
        """The ids of the runs that were asked to shut down and have not finished doing so."""
        return frozenset(self._file.all(_LEAVING, records.first))

    def restore(self, record: RunRecord) -> None:
        """Puts a run back as it was; its agent too, as its newest run had it."""
        agent, run, ending = record.agent, record.run, record.run.ending
        with self._file.writing(FULL):
            self._put_agent(agent)
            ended = (
                {"rung": run.rung, "ended_at": run.ended_at, "ended_by": ending.by}
                | {key: getattr(ending, key) for key in AT_END}
                if ending and not run.live
                else {}
            )
            self._add_run(run, run.started_at, ended)
            if run.live:
                now = {"state": run.state, "owner": records.process_text(run.owner)}
                columns = now | {"agent": run.agent, "token": record.token}
                self._file.insert("instances", run=run.id, **columns)
            if record.receipt:
                put_receipt(self._file, run.id, record.receipt, run.ended_at)
            self._file.write_event("run.restored", run.agent, run.id, {"state": run.state})
            if run.live and affects_a_team(self._file, run, agent.team):
                from knell.stores.teams import begin_in_team

                begin_in_team(self._file, agent, run)

    def _put_agent(self, agent: Agent) -> None:
        """An agent that is on record keeps the date of its first spawn."""
        # ASCII keeps an incomplete character as \udcff: a resume gets the very same argument.
        lists = {key: json.dumps(getattr(agent, key)) for key in ("args", "env", "keep")}
        columns = agent._asdict() | lists
        known = {key: columns[key] for key in columns if key != "created_at"}
        if not self._file.update("agents", {"name": agent.name}, **known):
            self._file.insert("agents", **columns)

    def _add_run(self, run: Run, started: str, more: Mapping[str, Any]) -> None:
        self._file.insert(
            "runs",
            **records.whereabouts(run),
            **{key: getattr(run, key) for key in _AT_BIRTH},
            started_at=started,
            last_heartbeat=run.heartbeat,
            **more,
        )

    # -- orphans -----------------------------------------------------------------------------

    def orphans(self) -> list[Orphan]:
        """In the order in which they were tracked."""
        return self._file.all(_ORPHANS, records.orphan_from)

    def track_orphans(self, orphans: Sequence[Orphan]) -> None:
        """An orphan that is tracked already gets the new description."""
        if orphans:
            with self._file.writing(NORMAL):
                put_orphans(self._file, orphans)

    def untrack_orphans(self, processes: Sequence[ProcessId]) -> None:
        if not processes:
            return
        with self._file.writing(NORMAL):
            for process in processes:
                statement = "DELETE FROM orphans WHERE pid = ? AND start = ? AND boot = ?"
                self._file.execute(statement, *process[:3])


# -- inside a transaction ------------------------------------------------------------------------


def receipt_columns(file: Transactions, receipt: "Receipt") -> dict[str, Value]:
    """What a search looks at is as it was when the run ended."""
    [found] = file.execute(f"SELECT ({WORDS})", run=receipt.run).fetchone()
    return records.receipt_columns(receipt, found)


def put_receipt(file: Transactions, run: str, receipt: "Receipt", at: str) -> None:
    file.insert("receipts", run=run, at=at, **receipt_columns(file, receipt))


def put_orphans(file: Transactions, orphans: Sequence[Orphan]) -> None:
    at = file.now()
    for orphan in orphans:
        told = orphan._asdict() | {"tracked_at": at}
        pid, start, boot, told["inode"] = told.pop("process")
        file.put("orphans", {"pid": pid, "start": start, "boot": boot}, **told)


def affects_a_team(file: Transactions, run: Run, team: str) -> bool:
    """Whether the run's beginning or end changes anything in a team."""
    found = file.execute(IN_A_TEAM, agent=run.agent, run=run.id, team=team)
    return found.fetchone() is not None
