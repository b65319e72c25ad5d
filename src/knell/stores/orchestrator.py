"""The orchestrator's tables: its tasks, what they wait for, and their worktrees."""

from __future__ import annotations

from typing import TYPE_CHECKING

from knell.core.ports.store import WorktreeRow
from knell.stores import records
from knell.stores.sqlite import FULL, Part, Transactions

if TYPE_CHECKING:
    from knell.core.agent import Agent
    from knell.core.orchestrator_task import OrchestratorTask, ReturnedTask
    from knell.core.run import Ending, Run
_TASKS = """
    SELECT task_id, status, ifnull(assigned_agent, ''), ifnull(retry_count, 0),
           ifnull(error_message, '')
    FROM orchestrator_task"""
# Also the task that it was started for, unless another live agent has taken that over.
_TASKS_OF = f"""{_TASKS}
    WHERE assigned_agent = :agent
        OR (task_id = :task AND NOT EXISTS (
            SELECT 1 FROM instances WHERE agent = assigned_agent AND agent != :agent))
    ORDER BY rowid"""
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
# A restarted agent takes up its task again, even if the task had failed with that very agent.
_TAKE_AGAIN = """
    UPDATE orchestrator_task
    SET status = 'running', assigned_agent = :agent, started_at = datetime(:at),
        completed_at = NULL
    WHERE task_id = :task
        AND (status = :ready OR (status = 'failed' AND assigned_agent = :agent))"""
_GIVE_BACK = """
    UPDATE orchestrator_task SET status = :ready, assigned_agent = NULL, started_at = NULL
    WHERE task_id = :task AND assigned_agent = :agent AND status = 'running'"""
# A dependency of unknown kind or state counts: to wait is the safer mistake.
_WAITS_FOR = """
    SELECT DISTINCT d.dependency_id_ref FROM specs_task_dependency d
    LEFT JOIN orchestrator_task t ON t.task_id = d.dependency_id_ref
    WHERE d.task_id = ? AND d.dependency_type IS NOT 'soft'
        AND d.dependency_status IS NOT 'completed'
        AND ifnull(t.status, '') NOT IN ('completed', 'merged')
    ORDER BY d.rowid"""
_ADD_WORKTREE = """
    INSERT INTO orchestrator_state (task_id, worktree_path, branch_name, status, git_commit_ref,
                                    orchestrator_instance_id, created_at)
    VALUES (nullif(:task, ''), :path, :branch, :status, nullif(:commit, ''),
            nullif(:orchestrator, ''), datetime(:created_at))"""
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


class SqliteOrchestrator(Part):
    def task(self, task: str) -> OrchestratorTask | None:
        from knell.core.orchestrator_task import OrchestratorTask

        return self._file.one(_TASKS + " WHERE task_id = ?", OrchestratorTask._make, task)

    def unmet_needs(self, task: str) -> list[str]:
        """The unfinished tasks that must be finished before this one may begin."""
        return self._file.all(_WAITS_FOR, records.first, task)

    def take_task(self, task: str, agent: str, orchestrator: str) -> bool:
        """False if the task is not waiting for an agent. Of any number of agents that take it at
        once, one gets it."""
        with self._file.writing(FULL):
            return _change(self._file, _TAKE, task, agent, orchestrator=orchestrator)

    def give_back_task(self, task: str, agent: str) -> bool:
        """Frees the task of an agent that never began, if that agent still has it."""
        with self._file.writing(FULL):
            return _change(self._file, _GIVE_BACK, task, agent)

    def add_worktree(self, row: WorktreeRow, maker: str = "") -> None:
        """Replaces the record of a worktree at the same path that was not cleaned away. `maker`:
        the agent that asked for it, if one did."""
        row = row._replace(created_at=row.created_at or self._file.now())
        with self._file.writing(FULL):
            self._file.execute(
                "DELETE FROM orchestrator_state WHERE worktree_path = ? AND status != 'cleaned'",
                row.path,
            )
            self._file.execute(_ADD_WORKTREE, **row._asdict())
            told = {"task": row.task, "path": row.path, "branch": row.branch, "commit": row.commit}
            self._file.write_event("worktree.created", maker, "", told)

    def worktrees(self) -> list[WorktreeRow]:
        """All that were ever recorded, the oldest first."""
        return self._file.all(_WORKTREES, WorktreeRow._make)

    def set_worktree_status(self, path: str, status: str) -> None:
        """Cleaned is final: a worktree that is made later at the same path is another one."""
        with self._file.writing(FULL):
            self._file.execute(_SET_WORKTREE, path=path, status=status, at=self._file.now())


def take_task_again(file: Transactions, run: Run) -> None:
    """Inside the transaction that adds `run` in the place of an ended one."""
    _change(file, _TAKE_AGAIN, run.task, run.agent)


def _change(file: Transactions, statement: str, task: str, agent: str, **more: str) -> bool:
    """Inside a transaction; False if the task is not in the state that the statement names."""
    from knell.core.orchestrator_task import READY

    told = {"task": task, "agent": agent, "at": file.now(), "ready": READY}
    return file.execute(statement, **told, **more).rowcount > 0


def hand_back_tasks(
    file: Transactions, run: Run, ending: Ending, agent: Agent | None
) -> tuple[dict[str, str], ...]:
    """Hands back the tasks of `run` in the transaction that ends it; gives what each is now."""
    found = file.execute(_TASKS_OF, agent=run.agent, task=run.task).fetchall()
    if not found:
        return ()
    from knell.core.orchestrator_task import FAILED, Fate, OrchestratorTask, fate_of, returned
    from knell.core.restart import why_on_purpose

    back = agent is not None and agent.restart > run.attempt and not why_on_purpose(ending)
    fate = fate_of(ending.tasks, ending.outcome, comes_back=back)
    gone = [returned(OrchestratorTask(*row), fate) for row in found]
    tasks: list[ReturnedTask] = [task for task in gone if task]
    told = {"at": file.now(), "why": _why(ending), "more": int(fate is Fate.RETRY)}
    for task in tasks:
        statement = _FAIL if task.now == FAILED else _READY
        file.execute(statement, now=task.now, task=task.id, **told)
    return tuple(task._asdict() for task in tasks)


def _why(ending: Ending) -> str:
    told = ending.detail or ending.reason
    if not told or told == str(ending.outcome):
        told = f"by {ending.by}" if ending.by else "no reason was given"
    return f"Agent {ending.outcome}: {told}"
