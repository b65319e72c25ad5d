"""The ends of runs: who may end one, how far it has come, and what is kept of it.

Each of these is one transaction, for one run or for many: a commit waits for the disk.
"""

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from quell.core.agent import Agent
from quell.core.errors import StoreFailed
from quell.core.lifecycle import Happening, Outcome, step
from quell.core.process import ProcessId, process_text
from quell.core.run import Ending, Orphan, Run
from quell.core.store import Asked, Claim, End, Held, Over, Won
from quell.stores import rows
from quell.stores.orchestrator import Orchestrator
from quell.stores.transactions import FULL, NORMAL
from quell.stores.watching import Watching

if TYPE_CHECKING:
    from quell.core.receipt import Receipt
    from quell.stores.teamwork import Teamwork

# Whether a run's beginning or end means anything to a team; most are in none.
_TEAMED = """
    SELECT 1 FROM members WHERE agent = :agent
    UNION ALL SELECT 1 FROM team_tasks WHERE owner = :agent AND status != 'completed'
    UNION ALL SELECT 1 FROM shutdowns WHERE run = :run AND phase IN ('requested', 'approved')
    UNION ALL SELECT 1 FROM teams WHERE name = :team AND dissolved_at = ''"""


class Endings(Watching, Orchestrator):
    def claim(self, run: str, ending: Ending, owner: ProcessId, dead: ProcessId | None) -> Claim:
        """Of any number who ask at once, one wins; a dead owner's claim passes on to one."""
        return self.claim_all([Asked(run, ending, dead)], owner)[0]

    def claim_all(self, asked: Sequence[Asked], owner: ProcessId) -> list[Claim]:
        """The same for each of many, in one transaction."""
        if not asked:
            return []
        with self._file.writing(FULL):
            return [self._claim(one, owner) for one in asked]

    def _claim(self, asked: Asked, owner: ProcessId) -> Claim:
        known, ending = self._known(asked.run), asked.ending
        if not known.live:
            return Over(known)
        mine = known.owner is not None and known.owner.same_as(owner)
        if known.owner and not mine and not (asked.dead and known.owner.same_as(asked.dead)):
            return Held(known)
        state = step(known.state, Happening.END_ASKED)
        # Whoever asked first decided what the ending is called; only a kill overrules it.
        if known.ending and not mine and ending.outcome is not Outcome.KILLED:
            ending = known.ending
        text = rows.ending_text(_with_wishes(ending, known.ending))
        self._file.db.execute(
            "UPDATE instances SET state = ?, owner = ?, ending = ? WHERE run = ?",
            [str(state), process_text(owner), text, known.id],
        )
        told = {"by": ending.by, "reason": ending.reason, "outcome": ending.outcome}
        self._tell("life.stopping", known, told | {"owner": process_text(owner)})
        return Won(known._replace(state=state, owner=owner, ending=rows.ending_from(text)))

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

    def spare(self, run: str, receipt: "Receipt") -> None:
        """The ending failed: it runs on, and anyone may claim it again."""
        with self._file.writing(FULL) as db:
            known = self._known(run)
            db.execute(
                "UPDATE instances SET state = ?, owner = '', ending = '', rung = '' WHERE run = ?",
                [str(step(known.state, Happening.SPARED)), run],
            )
            self._keep(run, receipt)
            self._tell("life.spared", known, {"receipt": receipt.to_json()})

    def end(self, run: Run, receipt: "Receipt", orphans: Sequence[Orphan]) -> "Receipt":
        """The receipt as it is kept, with the tasks that were handed back.

        Final: ending an ended run changes nothing.
        """
        return self.end_all([End(run, receipt, orphans)])[0]

    def end_all(self, ends: Sequence[End]) -> list["Receipt"]:
        """The same for each of many, in one transaction."""
        if not ends:
            return []
        with self._file.writing(FULL):
            return [self._end(*one) for one in ends]

    def _end(self, run: Run, receipt: "Receipt", orphans: Sequence[Orphan]) -> "Receipt":
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
        self._file.db.execute(rows.END_RUN, rows.end_row(ended, ending))
        self._file.db.execute("DELETE FROM instances WHERE run = ?", [run.id])
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

    # -- one of each -------------------------------------------------------------------------

    def agent(self, name: str) -> Agent | None:
        with self._file.reading() as db:
            found = db.execute(rows.AGENTS + " WHERE name = ?", [rows.plain(name)]).fetchone()
            return rows.agent_from(found) if found else None

    def run(self, run: str) -> Run | None:
        with self._file.reading() as db:
            found = db.execute(rows.RUN, [rows.plain(run)]).fetchone()
            return rows.run_from(found) if found else None

    def receipt(self, run: str) -> "Receipt | None":
        """The newest, when earlier attempts failed."""
        with self._file.reading() as db:
            row = db.execute(
                "SELECT data FROM receipts WHERE run = ? ORDER BY id DESC LIMIT 1",
                [rows.plain(run)],
            ).fetchone()
            return rows.receipt_from(row) if row else None

    # -- inside a transaction ----------------------------------------------------------------

    def _known(self, run: str) -> Run:
        found = self.run(run)
        if found is None:
            raise StoreFailed(f"no run {run} is on record", "quell list --all shows every agent")
        return found

    def _keep(self, run: str, receipt: "Receipt") -> None:
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
