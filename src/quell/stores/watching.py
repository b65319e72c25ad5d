"""What the watch knows of live runs, and what it decided about ended ones."""

from collections.abc import Mapping

from quell.core.errors import StillRunning
from quell.core.process import ProcessId, process_from_text, process_text
from quell.core.run import Run
from quell.core.store import Plan, Seat, Watcher
from quell.stores import rows
from quell.stores.trail import Trail
from quell.stores.transactions import FULL, NORMAL

STARTED = "started"
_RANK = {"planned": 1, "refused": 2, "failed": 2, STARTED: 3}

# A beat that is older than the one we know is no news, unless ours came from a clock ahead of time.
_BEAT = """
    UPDATE runs SET last_heartbeat = :beat
    WHERE id = :run AND outcome IS NULL AND julianday(:beat) IS NOT NULL
        AND (last_heartbeat = '' OR julianday(last_heartbeat) < julianday(:beat)
             OR julianday(last_heartbeat) > julianday(:now))"""
_PLANS = "SELECT run, agent, decision, why, attempt, due_at FROM restarts"
_PUT_PLAN = """
    INSERT INTO restarts (run, agent, decision, why, attempt, due_at, decided_at)
    VALUES (?, ?, ?, ?, ?, ?, ?)
    ON CONFLICT (run) DO UPDATE SET
        decision = excluded.decision, why = excluded.why, due_at = excluded.due_at,
        attempt = max(attempt, excluded.attempt), decided_at = excluded.decided_at"""


class Watching(Trail):
    def memories(self) -> dict[str, str]:
        """What the watch last knew of each live run, as it was told."""
        with self._file.reading() as db:
            return dict(db.execute("SELECT run, memory FROM instances WHERE memory != ''"))

    def remember(self, memories: Mapping[str, str], beats: Mapping[str, str]) -> None:
        """All of a round at once. A run that has ended meanwhile is passed over."""
        if not memories and not beats:
            return
        with self._file.writing(NORMAL) as db:
            db.executemany(
                "UPDATE instances SET memory = ? WHERE run = ?",
                [(rows.plain(memory), rows.plain(run)) for run, memory in memories.items()],
            )
            now = self._now()
            beating = [
                {"run": rows.plain(run), "beat": rows.plain(beat), "now": now}
                for run, beat in beats.items()
            ]
            db.executemany(_BEAT, beating)

    def watching(self, host: str, process: ProcessId | None) -> None:
        """A round was made just now; None says that nobody stays to make the next."""
        with self._file.writing(NORMAL) as db:
            db.execute(
                "INSERT INTO watchers (host, process, round_at) VALUES (?, ?, ?)"
                " ON CONFLICT (host) DO UPDATE SET"
                " process = excluded.process, round_at = excluded.round_at",
                [rows.plain(host), process_text(process), self._now()],
            )

    def watcher(self, host: str) -> Watcher | None:
        with self._file.reading() as db:
            found = db.execute(
                "SELECT process, round_at FROM watchers WHERE host = ?", [rows.plain(host)]
            ).fetchone()
            return Watcher(process_from_text(found[0]), found[1]) if found else None

    def plans(self) -> list[Plan]:
        """Every decision, the oldest run's first."""
        with self._file.reading() as db:
            return [Plan(*row) for row in db.execute(_PLANS + " ORDER BY rowid")]

    def plan(self, plan: Plan) -> bool:
        """True if that is news. Of any number who decide the same at once, one hears True.

        A decision only moves on: planned, then refused or failed, then started, which is final.
        A later attempt begins anew.
        """
        with self._file.writing(FULL) as db:
            known = db.execute(_PLANS + " WHERE run = ?", [rows.plain(plan.run)]).fetchone()
            if known and not _moves_on(Plan(*known), plan):
                return False
            self._decide(plan)
            return True

    # -- what most verbs must know of teams, though few load the rest ------------------------

    def seats(self) -> dict[str, Seat]:
        """Agent → its place in a team, for those who are in one now."""
        with self._file.reading() as db:
            found = db.execute("SELECT agent, team, role FROM members ORDER BY seq")
            return {agent: Seat(team, role) for agent, team, role in found}

    def leaving(self) -> frozenset[str]:
        """The runs that were asked to leave, and are not done with it."""
        with self._file.reading() as db:
            query = "SELECT run FROM shutdowns WHERE phase IN ('requested', 'approved')"
            return frozenset(run for (run,) in db.execute(query))

    # -- inside a transaction ----------------------------------------------------------------

    def _decide(self, plan: Plan) -> None:
        texts = (plan.run, plan.agent, plan.decision, plan.why)
        row = [*(rows.plain(text) for text in texts), plan.attempt, rows.plain(plan.due_at)]
        self._file.db.execute(_PUT_PLAN, [*row, self._now()])
        told = {"why": plan.why, "attempt": plan.attempt, "due_at": plan.due_at}
        self._write_event(f"restart.{plan.decision}", plan.agent, plan.run, told)

    def _restart(self, run: Run) -> None:
        """Inside the transaction that adds `run`: nobody else starts it in the place of the same.

        The unique index says the same; this says it to the asker.
        """
        before, db = rows.plain(run.restarted_from), self._file.db
        again = db.execute("SELECT 1 FROM runs WHERE restarted_from = ?", [before]).fetchone()
        if again:
            raise StillRunning(run.agent, "start it again")
        known = db.execute(_PLANS + " WHERE run = ?", [before]).fetchone()
        why, due_at = (known[3], known[5]) if known else ("asked for", "")
        self._decide(Plan(before, run.agent, STARTED, why, run.attempt, due_at))


def _moves_on(known: Plan, plan: Plan) -> bool:
    if known.decision == STARTED:
        return False
    return _RANK[plan.decision] > _RANK[known.decision] or plan.attempt > known.attempt
