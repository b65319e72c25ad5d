"""The default store: one SQLite file that any number of processes share."""

from collections.abc import Sequence
from typing import TYPE_CHECKING

from quell.core.agent import Agent
from quell.core.errors import IllegalTransition, NoSuchAgent, StillRunning
from quell.core.lifecycle import Happening, State, step
from quell.core.process import ProcessId, process_text
from quell.core.run import Orphan, Run
from quell.stores import rows
from quell.stores.endings import Endings
from quell.stores.transactions import FULL, NORMAL

if TYPE_CHECKING:
    from quell.core.receipt import Receipt


class SqliteStore(Endings):
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
        """Told twice of the same process, nothing changes; nor when its end was told first."""
        with self._file.writing(NORMAL) as db:
            known = self._known(run.id)
            settled = known.state is not State.SPAWNING
            if settled and known.process and run.process and known.process.same_as(run.process):
                return
            if known.state is State.ENDED and known.process is None:
                return  # whoever ended it had not seen it
            state = step(known.state, Happening.BORN)
            owner = None if known.state is State.SPAWNING else known.owner
            db.execute(rows.MOVE_RUN, [*rows.whereabouts(run), run.id])
            db.execute(
                "UPDATE instances SET state = ?, owner = ? WHERE run = ?",
                [str(state), process_text(owner), run.id],
            )
            pid = run.process.pid if run.process else None
            self._tell("life.started", run, {"pid": pid, "place": run.place.name})

    # -- looking -----------------------------------------------------------------------------

    def agents(self) -> list[Agent]:
        """In the order in which they were first heard of."""
        with self._file.reading() as db:
            return [rows.agent_from(row) for row in db.execute(rows.AGENTS + " ORDER BY rowid")]

    def live_agents(self) -> list[Agent]:
        """Those who have a live run, in the same order."""
        with self._file.reading() as db:
            return [rows.agent_from(row) for row in db.execute(rows.LIVE_AGENTS)]

    def names(self) -> frozenset[str]:
        """Of every agent ever heard of."""
        with self._file.reading() as db:
            return frozenset(name for (name,) in db.execute("SELECT name FROM agents"))

    def live_runs(self) -> list[Run]:
        """The longest-lived first."""
        with self._file.reading() as db:
            return [rows.run_from(row) for row in db.execute(rows.LIVE_RUNS)]

    def last_runs(self) -> dict[str, Run]:
        """Every agent's newest run, live or ended."""
        with self._file.reading() as db:
            runs = [rows.run_from(row) for row in db.execute(rows.LAST_RUNS)]
        return {run.agent: run for run in runs}

    def last_run(self, agent: str) -> Run | None:
        """Its newest, live or ended."""
        with self._file.reading() as db:
            found = db.execute(rows.LAST_RUN, [rows.plain(agent)]).fetchone()
            return rows.run_from(found) if found else None

    def outcomes(self) -> dict[str, int]:
        """How many agents' newest run came to what, of those who have ended."""
        with self._file.reading() as db:
            return dict(db.execute(rows.OUTCOMES))

    def last_receipt(self, agent: str) -> "Receipt | None":
        """Of its newest run that has one."""
        with self._file.reading() as db:
            found = db.execute(rows.LAST_RECEIPT, [rows.plain(agent)]).fetchone()
            return rows.receipt_from(found) if found else None

    def runs_of(self, agent: str) -> list[Run]:
        """The newest first."""
        with self._file.reading() as db:
            return [rows.run_from(row) for row in db.execute(rows.RUNS_OF, [rows.plain(agent)])]

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
