"""The ends of runs: which process may end a run, how far it has come, and what is kept of it.

Each method is one transaction, for one run or for many, because every commit waits for the disk.
"""

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

from knell.core.agent import Agent
from knell.core.ports.ending_store import (
    Claim,
    ClaimRequest,
    End,
    HeldByOther,
    Over,
    Owed,
    ReceiptQuery,
    StoredReceipt,
    Won,
)
from knell.core.ports.store import RunRecord
from knell.core.process import ProcessId
from knell.core.run import Ending, Happening, Orphan, Outcome, Run, next_state
from knell.stores import records
from knell.stores.runs import AT_END, IN_A_TEAM, WORDS, put_orphans, put_receipt, receipt_columns
from knell.stores.sqlite import FULL, NORMAL, Part

if TYPE_CHECKING:
    from knell.core.codes import Notice
    from knell.core.receipt import Receipt

# May find one that another agent has taken over: orchestrator.py looks again.
_HAS_TASKS = "SELECT 1 FROM orchestrator_task WHERE assigned_agent = :agent OR task_id = :task"
# Whether the end of a run concerns tasks and a team, what a search looks at, and the agent.
_CONCERNED = f"""
    SELECT EXISTS ({_HAS_TASKS}), EXISTS ({IN_A_TEAM}), ({WORDS}), {", ".join(Agent._fields)}
    FROM (SELECT 1) LEFT JOIN agents ON name = :agent"""
_TOLD_AT_END = ("by", "reason", "outcome", "detail")
_SEARCH = "SELECT id, at, data FROM receipts"


class SqliteEndings(Part):
    def claim(self, asked: Sequence[ClaimRequest], owner: ProcessId) -> list[Claim]:
        """Of any number of processes that claim a run at once, one wins. The claim of an owner
        that is known to be dead passes on to one of them."""
        if not asked:
            return []
        with self._file.writing(FULL):
            return [self._claim(one, owner) for one in asked]

    def _claim(self, asked: ClaimRequest, owner: ProcessId) -> Claim:
        known, ending = self._file.known_run(asked.run), asked.ending
        if not known.live:
            return Over(known)
        mine = known.owner is not None and known.owner.same_as(owner)
        if known.owner and not mine and not (asked.dead and known.owner.same_as(asked.dead)):
            return HeldByOther(known)
        state = next_state(known.state, Happening.END_ASKED)
        # The first claim decided what the ending is called; only a kill overrules it.
        if known.ending and not mine and ending.outcome is not Outcome.KILLED:
            ending = known.ending
        ending = _with_wishes(ending, known.ending)
        process = records.process_text(owner)
        now = {"owner": process, "ending": ending._asdict()}
        self._file.update("instances", {"run": known.id}, state=state, **now)
        told = {"by": ending.by, "reason": ending.reason, "outcome": ending.outcome}
        self._file.write_event("life.stopping", known.agent, known.id, told | {"owner": process})
        return Won(known._replace(state=state, owner=owner, ending=ending))

    def record_rungs(self, rungs: Sequence[tuple[Run, str]]) -> None:
        """Records each rung before it is taken. A run that has ended meanwhile is skipped."""
        if not rungs:
            return
        with self._file.writing(NORMAL):
            for run, rung in rungs:
                if self._file.update("instances", {"run": run.id}, rung=rung):
                    self._file.write_event("life.rung", run.agent, run.id, {"rung": rung})

    def spare(self, run: str, receipt: "Receipt") -> None:
        """The ending failed: the run goes on, and any process may claim it again."""
        with self._file.writing(FULL):
            known = self._file.known_run(run)
            state = next_state(known.state, Happening.SPARED)
            self._file.update("instances", {"run": run}, state=state, owner="", ending="", rung="")
            self._file.changed_runs[run] = None
            put_receipt(self._file, run, receipt, self._file.now())
            told = {"receipt": receipt.to_json()}
            self._file.write_event("life.spared", known.agent, known.id, told)

    def end(self, run: Run, receipt: "Receipt", orphans: Sequence[Orphan]) -> "Receipt":
        """The receipt as it is kept, with the tasks that were handed back.

        Final: ending an ended run changes nothing.
        """
        return self.end_all([End(run, receipt, orphans)])[0]

    def end_all(self, ends: Sequence[End]) -> list["Receipt"]:
        """Ends each of many runs, in one transaction."""
        if not ends:
            return []
        with self._file.writing(FULL):
            return [self._end(one) for one in ends]

    def _end(self, one: End) -> "Receipt":
        run, receipt = one.run, one.receipt
        known = self._file.known_run(run.id)
        if not known.live:
            return self.receipt(run.id) or receipt
        ending = run.ending or known.ending
        if ending is None:
            raise ValueError(f"run {run.id} cannot end without an ending")
        ending = _with_wishes(ending, known.ending)
        ended = _ended(known, run, ending, self._file.now)
        self._file.update(
            "runs",
            {"id": run.id},
            **records.whereabouts(ended),
            rung=ended.rung,
            ended_at=ended.ended_at,
            ended_by=ending.by,
            **{key: getattr(ending, key) for key in AT_END},
        )
        self._file.db.execute("DELETE FROM instances WHERE run = ?", [run.id])
        facts = {"agent": run.agent, "run": run.id, "task": ended.task, "team": ""}
        [(has_tasks, in_a_team, words, agent)] = self._file.all(_CONCERNED, _concerned, **facts)
        tasks, troubles = (), ()
        if has_tasks or in_a_team:
            tasks, troubles = self._hand_back(ended, ending, agent, in_a_team=in_a_team)
        receipt = receipt._replace(
            tasks=(*receipt.tasks, *tasks), warnings=(*receipt.warnings, *troubles)
        )
        told = records.receipt_columns(receipt, words)
        self._file.insert("receipts", run=run.id, at=self._file.now(), **told)
        over = ended._replace(owner=None, ending=ending)
        self._file.changed_runs[run.id] = RunRecord(agent, over, receipt) if agent else None
        self._note_left(one)
        told = {"action": "stopped"} | {key: getattr(ending, key) for key in _TOLD_AT_END}
        told["snapshot"] = records.snapshot(agent, ended) if agent else {}
        told |= {"tasks": tasks, "death": receipt.death.sentence}
        self._file.write_event("life.stopped", ended.agent, ended.id, told)
        return receipt

    def _note_left(self, one: End) -> None:
        """What is still to be done after it."""
        if one.orphans:
            put_orphans(self._file, one.orphans)
        if one.owed:
            self._file.insert("owed", run=one.run.id)

    def _hand_back(
        self, run: Run, ending: Ending, agent: "Agent | None", *, in_a_team: bool
    ) -> tuple[tuple[dict[str, str], ...], tuple["Notice", ...]]:
        """Gives the run's tasks and its seat in a team back; the tasks, and what went wrong."""
        from knell.stores.orchestrator import hand_back_tasks

        tasks = hand_back_tasks(self._file, run, ending, agent)
        if not in_a_team:
            return tasks, ()
        from knell.stores.teams import end_in_team

        given, troubles = end_in_team(self._file, run, ending)
        return (*tasks, *given), troubles

    def amend(self, receipts: Sequence["Receipt"], settled: Sequence[str] = ()) -> None:
        """Replaces the newest receipt of each run, with what was learned after it was stored."""
        newest = "SELECT id FROM receipts WHERE run = ? ORDER BY id DESC LIMIT 1"
        with self._file.writing(NORMAL):
            for receipt in receipts:
                for (id,) in self._file.execute(newest, receipt.run).fetchall():
                    told = receipt_columns(self._file, receipt)
                    self._file.update("receipts", {"id": id}, **told)
                self._file.changed_runs[receipt.run] = None
            for run in settled:
                self._file.execute("DELETE FROM owed WHERE run = ?", run)

    def owed(self) -> list[Owed]:
        """The oldest first."""
        return self._file.all("SELECT run, taker FROM owed ORDER BY rowid", _owed_from)

    def claim_owed(self, owed: Sequence[Owed], taker: ProcessId) -> list[str]:
        """Of any number of processes that read the same claim and want to follow it, one wins."""
        if not owed:
            return []
        now = records.process_text(taker)
        with self._file.writing(FULL):
            return [
                one.run
                for one in owed
                if self._file.update(
                    "owed", {"run": one.run, "taker": records.process_text(one.taker)}, taker=now
                )
            ]

    def receipt(self, run: str) -> "Receipt | None":
        """The newest one, as an ending that failed leaves a receipt too."""
        return self._file.one(records.RECEIPT, records.receipt_from, run)

    def newest_receipt(self, agent: str) -> "Receipt | None":
        """The receipt of the agent's newest run that has one."""
        query = (
            "SELECT p.data FROM runs r JOIN receipts p ON p.run = r.id"
            " WHERE r.agent = ? ORDER BY r.seq DESC, p.id DESC LIMIT 1"
        )
        return self._file.one(query, records.receipt_from, agent)

    def search(self, query: ReceiptQuery) -> list[StoredReceipt]:
        """The newest first. Words may stand in any of what people know of an ending."""
        wanted = {f"word{n}": _pattern(word) for n, word in enumerate(query.words)}
        tests = [f"words LIKE :{name} ESCAPE '\\'" for name in wanted]
        tests += ["id < :before"] if query.before else []
        tests += ["worktree != ''"] if query.with_worktree else []
        where = f"WHERE {' AND '.join(tests)}" if tests else ""
        found = f"{_SEARCH} {where} ORDER BY id DESC LIMIT :limit"
        limits = {"before": query.before, "limit": query.limit}
        return self._file.all(found, _stored_receipt, **wanted, **limits)


def _ended(known: Run, run: Run, ending: Ending, now: Callable[[], str]) -> Run:
    """The run on record, ended, with what its ender found out about it."""
    archived = ending.outcome is Outcome.ARCHIVED
    return known._replace(
        state=next_state(known.state, Happening.LET_GO if archived else Happening.GONE),
        place=run.place,
        keeper=run.keeper or known.keeper,
        process=run.process or known.process,
        cgroup=run.cgroup or known.cgroup,
        rung=known.rung or run.rung,
        ended_at=run.ended_at or now(),
    )


def _concerned(row: records.Row) -> "tuple[bool, bool, str | None, Agent | None]":
    """As _CONCERNED has it. An agent that is not on record has no name."""
    has_tasks, in_a_team, words, *agent = row
    known = records.agent_from(agent) if agent[0] is not None else None
    return bool(has_tasks), bool(in_a_team), words, known


def _with_wishes(ending: Ending, asked: Ending | None) -> Ending:
    """What an earlier claim asked for its tasks and its worktree holds until a later one asks for
    something else."""
    if asked is None:
        return ending
    return ending._replace(
        tasks=ending.tasks or asked.tasks, cleanup=ending.cleanup or asked.cleanup
    )


def _pattern(word: str) -> str:
    """For LIKE: the word anywhere, its own % and _ taken literally."""
    for special in ("\\", "%", "_"):
        word = word.replace(special, "\\" + special)
    return f"%{word}%"


def _owed_from(row: records.Row) -> Owed:
    return Owed(row[0], records.process_from_text(row[1]))


def _stored_receipt(row: records.Row) -> StoredReceipt:
    return StoredReceipt(row[0], row[1], records.receipt_from(row[2:]))
