"""The default store: one SQLite file that any number of processes share."""

import json
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from quell.core.agent import Agent
from quell.core.errors import IllegalTransition, NoSuchAgent, StillRunning, StoreFailed
from quell.core.lifecycle import Happening, Outcome, State, step
from quell.core.process import ProcessId, process_text
from quell.core.receipt import Receipt, receipt_from_json
from quell.core.run import Ending, Orphan, Run
from quell.core.store import Claim, Held, Over, Won
from quell.stores import rows
from quell.stores.orchestrator import Orchestrator
from quell.stores.transactions import FULL, NORMAL
from quell.stores.watching import Watching

if TYPE_CHECKING:
    from quell.stores.teamwork import Teamwork

# Whether a run's beginning or end means anything to a team; most are in none.
_TEAMED = """
    SELECT 1 FROM members WHERE agent = :agent
    UNION ALL SELECT 1 FROM team_tasks WHERE owner = :agent AND status != 'completed'
    UNION ALL SELECT 1 FROM shutdowns WHERE run = :run AND phase IN ('requested', 'approved')
    UNION ALL SELECT 1 FROM teams WHERE name = :team AND dissolved_at = ''"""


class SqliteStore(Watching, Orchestrator):
    """core.ports.Store. Each method is one transaction: all of it happens, or StoreFailed."""

    # -- a life ------------------------------------------------------------------------------

    def add_run(self, agent: Agent, run: Run) -> None:
        """A second spawn of a name keeps the day on which it was first heard of."""
        if run.state not in {State.SPAWNING, State.RUNNING}:
            raise IllegalTransition(run.state, "add_run")
        started = run.started_at or self._now()
        with self._file.writing(FULL) as db:
            if db.execute("SELECT 1 FROM instances WHERE agent = ?", [agent.name]).fetchone():
                raise StillRunning(agent.name, "start it again")
            if run.restarted_from:
                self._known(run.restarted_from)
                self._restart(run)
                self._take_again(run)
            known = agent._replace(created_at=agent.created_at or started)
            db.execute(rows.PUT_AGENT, rows.agent_row(known))
            db.execute(rows.ADD_RUN, rows.birth_row(run, started))
            db.execute(
                "INSERT INTO instances (run, agent, state, owner) VALUES (?, ?, ?, ?)",
                [run.id, run.agent, str(run.state), process_text(run.owner)],
            )
            event = "life.spawning" if run.state is State.SPAWNING else "life.started"
            self._tell(event, run, {"kind": agent.kind, "place": run.place.name})
            if self._teamed(run, agent.team):
                self.teamwork.begin(agent, run)

    def born(self, run: Run) -> None:
        """Told twice of the same process, nothing changes."""
        with self._file.writing(NORMAL) as db:
            known = self._known(run.id)
            settled = known.state in {State.RUNNING, State.STOPPING}
            if settled and known.process and run.process and known.process.same_as(run.process):
                return
            state = step(known.state, Happening.BORN)
            owner = None if known.state is State.SPAWNING else known.owner
            db.execute(rows.MOVE_RUN, [*rows.whereabouts(run), run.id])
            db.execute(
                "UPDATE instances SET state = ?, owner = ? WHERE run = ?",
                [str(state), process_text(owner), run.id],
            )
            pid = run.process.pid if run.process else None
            self._tell("life.started", run, {"pid": pid, "place": run.place.name})

    def claim(self, run: str, ending: Ending, owner: ProcessId, dead: ProcessId | None) -> Claim:
        """Of any number who ask at once, one wins; a dead owner's claim passes on to one."""
        with self._file.writing(FULL) as db:
            known = self._known(run)
            if not known.live:
                return Over(known)
            mine = known.owner is not None and known.owner.same_as(owner)
            if known.owner and not mine and not (dead and known.owner.same_as(dead)):
                return Held(known)
            state = step(known.state, Happening.END_ASKED)
            # Whoever asked first decided what the ending is called; only a kill overrules it.
            if known.ending and not mine and ending.outcome is not Outcome.KILLED:
                ending = known.ending
            ending = _with_wishes(ending, known.ending)
            db.execute(
                "UPDATE instances SET state = ?, owner = ?, ending = ? WHERE run = ?",
                [str(state), process_text(owner), rows.ending_text(ending), run],
            )
            told = {"by": ending.by, "reason": ending.reason, "outcome": ending.outcome}
            self._tell("life.stopping", known, told | {"owner": process_text(owner)})
            return Won(self._known(run))

    def climbing(self, rungs: Sequence[tuple[str, str]]) -> None:
        """Written down before it is climbed. A run that has ended meanwhile is passed over."""
        if not rungs:
            return
        with self._file.writing(NORMAL) as db:
            at = self._now()
            for run, rung in rungs:
                db.execute("UPDATE instances SET rung = ? WHERE run = ?", [rows.plain(rung), run])
                db.execute(
                    "INSERT INTO events (at, type, agent, run, data)"
                    " SELECT ?, 'life.rung', agent, run, ? FROM instances WHERE run = ?",
                    [at, rows.json_text({"rung": rung}), run],
                )

    def spare(self, run: str, receipt: Receipt) -> None:
        """The ending failed: it runs on, and anyone may claim it again."""
        with self._file.writing(FULL) as db:
            known = self._known(run)
            db.execute(
                "UPDATE instances SET state = ?, owner = '', ending = '', rung = '' WHERE run = ?",
                [str(step(known.state, Happening.SPARED)), run],
            )
            self._keep(run, receipt)
            self._tell("life.spared", known, {"receipt": receipt.to_json()})

    def end(self, run: Run, receipt: Receipt, orphans: Sequence[Orphan]) -> Receipt:
        """The receipt as it is kept, with the tasks that were handed back.

        Final: ending an ended run changes nothing.
        """
        with self._file.writing(FULL) as db:
            known = self._known(run.id)
            if not known.live:
                return self.receipt(run.id) or receipt
            ending = run.ending or known.ending
            if ending is None:
                raise ValueError(f"run {run.id} cannot end without an ending")
            ending = _with_wishes(ending, known.ending)
            archived = ending.outcome is Outcome.ARCHIVED
            ended = known._replace(
                state=step(known.state, Happening.LET_GO if archived else Happening.GONE),
                place=run.place,
                keeper=run.keeper or known.keeper,
                process=run.process or known.process,
                cgroup=run.cgroup or known.cgroup,
                rung=known.rung or run.rung,
                ended_at=run.ended_at or self._now(),
            )
            db.execute(rows.END_RUN, rows.end_row(ended, ending))
            db.execute("DELETE FROM instances WHERE run = ?", [run.id])
            agent = self.agent(run.agent)
            tasks = tuple(task._asdict() for task in self._hand_back(ended, ending, agent))
            if self._teamed(ended, ""):
                given, trouble = self.teamwork.end(ended, ending)
                tasks = (*tasks, *given)
                receipt = receipt._replace(warnings=(*receipt.warnings, *trouble))
            receipt = receipt._replace(tasks=(*receipt.tasks, *tasks))
            self._keep(run.id, receipt)
            self._track(orphans)
            told = _farewell(ended, ending, agent)
            told |= {"tasks": tasks, "death": receipt.death.sentence}
            self._tell("life.stopped", ended, told)
            return receipt

    # -- teams -------------------------------------------------------------------------------

    _teamwork: "Teamwork | None" = None

    @property
    def teamwork(self) -> "Teamwork":
        """What teams need, which most verbs do not load."""
        if self._teamwork is None:
            from quell.stores.teamwork import Teamwork

            self._teamwork = Teamwork(self._file, self._now)
        return self._teamwork

    def _teamed(self, run: Run, team: str) -> bool:
        told = {"agent": run.agent, "run": run.id, "team": rows.plain(team)}
        return self._file.db.execute(_TEAMED, told).fetchone() is not None

    # -- looking -----------------------------------------------------------------------------

    def agent(self, name: str) -> Agent | None:
        with self._file.reading() as db:
            found = db.execute(rows.AGENTS + " WHERE name = ?", [rows.plain(name)]).fetchone()
            return rows.agent_from(found) if found else None

    def agents(self) -> list[Agent]:
        """In the order in which they were first heard of."""
        with self._file.reading() as db:
            return [rows.agent_from(row) for row in db.execute(rows.AGENTS + " ORDER BY rowid")]

    def run(self, run: str) -> Run | None:
        with self._file.reading() as db:
            found = db.execute(rows.RUN, [rows.plain(run)]).fetchone()
            return rows.run_from(found) if found else None

    def live_runs(self) -> list[Run]:
        """The longest-lived first."""
        with self._file.reading() as db:
            return [rows.run_from(row) for row in db.execute(rows.LIVE_RUNS)]

    def last_runs(self) -> dict[str, Run]:
        """Every agent's newest run, live or ended."""
        with self._file.reading() as db:
            runs = [rows.run_from(row) for row in db.execute(rows.LAST_RUNS)]
        return {run.agent: run for run in runs}

    def runs_of(self, agent: str) -> list[Run]:
        """The newest first."""
        with self._file.reading() as db:
            return [rows.run_from(row) for row in db.execute(rows.RUNS_OF, [rows.plain(agent)])]

    def receipt(self, run: str) -> Receipt | None:
        """The newest, when earlier attempts failed."""
        with self._file.reading() as db:
            row = db.execute(
                "SELECT data FROM receipts WHERE run = ? ORDER BY id DESC LIMIT 1",
                [rows.plain(run)],
            ).fetchone()
            return receipt_from_json(json.loads(row[0])) if row else None

    def orphans(self) -> list[Orphan]:
        """In the order in which they were tracked."""
        with self._file.reading() as db:
            found = db.execute(
                "SELECT pid, start, boot, inode, run, agent, tag, command, why"
                " FROM orphans ORDER BY rowid"
            )
            return [rows.orphan_from(row) for row in found]

    # -- small notes -------------------------------------------------------------------------

    def set_conversation(self, agent: str, conversation: str) -> None:
        with self._file.writing(FULL) as db:
            changed = db.execute(
                "UPDATE agents SET conversation = ? WHERE name = ?",
                [rows.plain(conversation), rows.plain(agent)],
            )
            if not changed.rowcount:
                raise NoSuchAgent(agent)

    def track(self, orphans: Sequence[Orphan]) -> None:
        """One that is tracked already is described anew."""
        if orphans:
            with self._file.writing(NORMAL):
                self._track(orphans)

    def untrack(self, processes: Sequence[ProcessId]) -> None:
        if not processes:
            return
        with self._file.writing(NORMAL) as db:
            db.executemany(
                "DELETE FROM orphans WHERE pid = ? AND start = ? AND boot = ?",
                [(process.pid, process.start, process.boot) for process in processes],
            )

    # -- inside a transaction ----------------------------------------------------------------

    def _known(self, run: str) -> Run:
        found = self.run(run)
        if found is None:
            raise StoreFailed(f"no run {run} is on record", "quell list --all shows every agent")
        return found

    def _keep(self, run: str, receipt: Receipt) -> None:
        self._file.db.execute(
            "INSERT INTO receipts (run, at, data) VALUES (?, ?, ?)",
            [run, self._now(), rows.json_text(receipt.to_json())],
        )

    def _track(self, orphans: Sequence[Orphan]) -> None:
        at = self._now()
        self._file.db.executemany(rows.TRACK, [rows.orphan_row(orphan, at) for orphan in orphans])

    def _tell(self, type: str, run: Run, data: Mapping[str, Any]) -> None:
        self._write_event(type, run.agent, run.id, data)


def _with_wishes(ending: Ending, asked: Ending | None) -> Ending:
    """What was asked for its tasks and its worktree holds until somebody asks otherwise."""
    if asked is None:
        return ending
    return ending._replace(
        tasks=ending.tasks or asked.tasks, cleanup=ending.cleanup or asked.cleanup
    )


def _farewell(run: Run, ending: Ending, agent: Agent | None) -> dict[str, Any]:
    return {
        "action": "stopped",
        "by": ending.by,
        "reason": ending.reason,
        "outcome": ending.outcome,
        "detail": ending.detail,
        "snapshot": rows.snapshot(agent, run) if agent else {},
    }
