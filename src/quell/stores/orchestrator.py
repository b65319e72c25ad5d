"""The orchestrator's part of the store: its tasks, what they wait for, and their worktrees."""

from __future__ import annotations  # every verb loads this, and few have to do with tasks

from typing import TYPE_CHECKING

from quell.core.store import WorktreeRow
from quell.stores import rows
from quell.stores.trail import Trail
from quell.stores.transactions import FULL

if TYPE_CHECKING:
    from quell.core.agent import Agent
    from quell.core.run import Ending, Run
    from quell.core.task import Returned, Task
_TASKS = """
    SELECT task_id, status, ifnull(assigned_agent, ''), ifnull(retry_count, 0),
           ifnull(error_message, '')
    FROM orchestrator_task"""
# What it was started for too, unless somebody else who lives has taken that over.
_TASKS_OF = (
    _TASKS  # noqa: S608 - constants only
    + """
    WHERE assigned_agent = :agent
        OR (task_id = :task AND NOT EXISTS (
            SELECT 1 FROM instances WHERE agent = assigned_agent AND agent != :agent))
    ORDER BY rowid"""
)
_FAIL = """
    UPDATE orchestrator_task
    SET status = :now, completed_at = datetime(:at), error_message = :why
    WHERE task_id = :task"""
_READY = """
    UPDATE orchestrator_task
    SET status = :now, assigned_agent = NULL, started_at = NULL,
        retry_count = ifnull(retry_count, 0) + :more
    WHERE task_id = :task"""
_TAKE = """
    UPDATE orchestrator_task
    SET status = 'running', assigned_agent = :agent, started_at = datetime(:at),
        orchestrator_instance_id = coalesce(nullif(:orchestrator, ''), orchestrator_instance_id)
    WHERE task_id = :task AND status = :ready"""
# Who comes back takes up its task where it lies, also where it had failed with that very agent.
_TAKE_AGAIN = """
    UPDATE orchestrator_task
    SET status = 'running', assigned_agent = :agent, started_at = datetime(:at),
        completed_at = NULL
    WHERE task_id = :task
        AND (status = :ready OR (status = 'failed' AND assigned_agent = :agent))"""
_GIVE_BACK = """
    UPDATE orchestrator_task SET status = :ready, assigned_agent = NULL, started_at = NULL
    WHERE task_id = :task AND assigned_agent = :agent AND status = 'running'"""
# A dependency whose kind or state is not understood counts: waiting is the safer mistake.
_WAITS_FOR = """
    SELECT DISTINCT d.dependency_id_ref FROM specs_task_dependency d
    LEFT JOIN orchestrator_task t ON t.task_id = d.dependency_id_ref
    WHERE d.task_id = ? AND d.dependency_type IS NOT 'soft'
        AND d.dependency_status IS NOT 'completed'
        AND ifnull(t.status, '') NOT IN ('completed', 'merged')
    ORDER BY d.rowid"""
_ADD_WORKTREE = """
    INSERT INTO orchestrator_state (task_id, branch_name, status, git_commit_ref,
                                    orchestrator_instance_id, created_at, worktree_path)
    VALUES (nullif(?, ''), ?, ?, nullif(?, ''), nullif(?, ''), datetime(?), ?)"""
_WORKTREES = """
    SELECT ifnull(task_id, ''), worktree_path, ifnull(branch_name, ''), status,
           ifnull(git_commit_ref, ''), ifnull(orchestrator_instance_id, ''),
           ifnull(created_at, '')
    FROM orchestrator_state ORDER BY rowid"""
_SET_WORKTREE = """
    UPDATE orchestrator_state
    SET status = :status,
        merged_at = CASE :status WHEN 'merged' THEN datetime(:at) ELSE merged_at END,
        cleaned_at = CASE :status WHEN 'cleaned' THEN datetime(:at) ELSE cleaned_at END
    WHERE worktree_path = :path AND status NOT IN ('cleaned', :status)"""


class Orchestrator(Trail):
    def task(self, task: str) -> Task | None:
        with self._file.reading() as db:
            found = db.execute(_TASKS + " WHERE task_id = ?", [rows.plain(task)]).fetchone()
            if not found:
                return None
            from quell.core.task import Task

            return Task(*found)

    def waits_for(self, task: str) -> list[str]:
        """The tasks that have to be finished before this one may begin, and are not."""
        with self._file.reading() as db:
            return [row[0] for row in db.execute(_WAITS_FOR, [rows.plain(task)])]

    def take_task(self, task: str, agent: str, orchestrator: str) -> bool:
        """False if it waits for no agent. Of any number who take it at once, one gets it."""
        from quell.core.task import READY

        told = {"task": task, "agent": agent, "orchestrator": orchestrator, "ready": READY}
        with self._file.writing(FULL) as db:
            values = {key: rows.plain(value) for key, value in told.items()}
            return db.execute(_TAKE, values | {"at": self._now()}).rowcount > 0

    def give_back(self, task: str, agent: str) -> bool:
        """The task waits for an agent again, if this one has it still: it never began."""
        from quell.core.task import READY

        told = {"task": rows.plain(task), "agent": rows.plain(agent), "ready": READY}
        with self._file.writing(FULL) as db:
            return db.execute(_GIVE_BACK, told).rowcount > 0

    def add_worktree(self, row: WorktreeRow) -> None:
        """One that is on record at the same path, and not cleaned away, is described anew."""
        at = row.created_at or self._now()
        texts = (row.task, row.branch, row.status, row.commit, row.orchestrator, at, row.path)
        path = rows.plain(row.path)
        with self._file.writing(FULL) as db:
            db.execute(
                "DELETE FROM orchestrator_state WHERE worktree_path = ? AND status != 'cleaned'",
                [path],
            )
            db.execute(_ADD_WORKTREE, [rows.plain(text) for text in texts])
            told = {"task": row.task, "path": path, "branch": row.branch, "commit": row.commit}
            self._write_event("worktree.created", "", "", told)

    def worktrees(self) -> list[WorktreeRow]:
        """All that ever were, the oldest first."""
        with self._file.reading() as db:
            return [WorktreeRow(*row) for row in db.execute(_WORKTREES)]

    def set_worktree(self, path: str, status: str) -> None:
        """Cleaned is final: what is made at the same path later is another worktree."""
        told = {"path": rows.plain(path), "status": rows.plain(status)}
        with self._file.writing(FULL) as db:
            db.execute(_SET_WORKTREE, told | {"at": self._now()})

    def _take_again(self, run: Run) -> None:
        """Inside the transaction that adds `run` in the place of an ended one."""
        from quell.core.task import READY

        told = {"task": rows.plain(run.task), "agent": run.agent, "at": self._now()}
        told["ready"] = READY
        self._file.db.execute(_TAKE_AGAIN, told)

    def _hand_back(self, run: Run, ending: Ending, agent: Agent | None) -> list[Returned]:
        """Inside the transaction that ends `run`."""
        db = self._file.db
        found = db.execute(_TASKS_OF, {"agent": run.agent, "task": run.task}).fetchall()
        if not found:
            return []
        from quell.core.restart import planned_end
        from quell.core.task import FAILED, Fate, Task, fate_of, returned

        back = agent is not None and agent.restart > run.attempt and not planned_end(ending)
        fate = fate_of(ending.tasks, ending.outcome, comes_back=back)
        gone = [returned(Task(*row), fate) for row in found]
        tasks = [task for task in gone if task]
        at, why = self._now(), _why(ending)
        for task in tasks:
            told = {"now": task.now, "task": task.id, "at": at, "why": why}
            told["more"] = str(int(fate is Fate.RETRY))
            db.execute(_FAIL if task.now == FAILED else _READY, told)
        return tasks


def _why(ending: Ending) -> str:
    told = ending.detail or ending.reason
    if not told or told == str(ending.outcome):
        told = f"by {ending.by}" if ending.by else "nobody said why"
    return rows.plain(f"Agent {ending.outcome}: {told}")
