"""Teams as others look them up, and their tasks. Each claim of a task gets a number; an older
number can no longer finish it."""

import json
from collections.abc import Sequence

from knell.core.codes import Code
from knell.core.errors import AskerError, BadRequest
from knell.core.orchestrator_task import Fate, ReturnedTask
from knell.core.ports.store import NotLive
from knell.core.ports.teams import NoSuchTask, NoSuchTeam, NotPending, NotYours
from knell.core.run import Ending, Run
from knell.core.teams import TaskDeed, TaskStatus, Team, TeamTask, checked_task, next_status
from knell.stores import records
from knell.stores.sqlite import FULL, Part, Transactions

TEAMS = "SELECT name, leader, created_at, topology, description, dissolved_at FROM teams"
TEAM = TEAMS + " WHERE name = ?"
_TASKS = """
    SELECT id, team, title, description, priority, status, owner, owner_run, token, created_at,
           updated_at, claimed_at, completed_at, warning,
           (SELECT json_group_array(needs) FROM
               (SELECT needs FROM team_needs WHERE task = id ORDER BY rowid)),
           (SELECT json_group_array(task) FROM
               (SELECT task FROM team_needs WHERE needs = id ORDER BY rowid))
    FROM team_tasks"""
_CHOSEN = """
    WHERE (:team = '' OR team = :team) AND (:status = '' OR status = :status)
        AND (:owner = '' OR owner = :owner)
    ORDER BY CASE priority WHEN 'high' THEN 0 WHEN 'normal' THEN 1 ELSE 2 END, seq"""

_CHANGING = (
    *("status", "owner", "owner_run", "token"),
    *("updated_at", "claimed_at", "completed_at", "warning"),
)


class SqliteTeamTasks(Part):
    def add(self, task: TeamTask) -> TeamTask:
        """The task is pending, whatever status it was given; with an owner, only that agent may
        claim it. Without an id, it gets one that no task had before."""
        checked_task(task)
        with self._file.writing(FULL):
            live_team(self._file, task.team)
            if task.id and self.task(task.id):
                taken = f"there is a task '{task.id}' already"
                raise AskerError(taken, "give it another id", code=Code.TASK_EXISTS)
            seq = None if task.id else self._next_task()
            task = task._replace(id=records.plain(task.id) or f"TASK-{seq}")
            run = self._run_to_hold(task.owner, "") if task.owner else ""
            at = task.created_at or self._file.now()
            parts = {"owner": task.owner, "owner_run": run, "created_at": at, "updated_at": at}
            columns = TeamTask(*task[:5])._asdict() | parts
            del columns["needs"], columns["blocks"]  # they are rows of `team_needs`
            self._file.insert("team_tasks", seq=seq, **columns)
            self._add_needs(task.id, task.team, task.needs)
            added = self._known_task(task.id)
            _tell(self._file, "task.added", added, task.owner, needs=added.needs)
            return added

    def task(self, task: str) -> TeamTask | None:
        return self._file.one(_TASKS + " WHERE id = ?", _task_from, task)

    def tasks(self, team: str = "", status: str = "", owner: str = "") -> list[TeamTask]:
        """The most urgent first, and of those the oldest."""
        chosen = {"team": team, "status": status, "owner": owner}
        return self._file.all(_TASKS + _CHOSEN, _task_from, **chosen)

    def claim(self, task: str, agent: str, run: str = "") -> TeamTask:
        """Of any number of agents that claim it at once, one gets it. `token` proves that later.

        A task that it needs and that is not finished is only a warning. An ended run gets nothing.
        """
        with self._file.writing(FULL):
            known = self._known_task(task)
            live_team(self._file, known.team)
            if known.status != TaskStatus.PENDING:
                raise NotPending(known, "claimed")
            if known.owner and known.owner != agent:
                raise NotYours(known, agent)
            claimed = known._replace(
                status=next_status(TaskStatus.PENDING, TaskDeed.CLAIM).value,
                owner=agent,
                owner_run=self._run_to_hold(agent, run),
                token=known.token + 1,
                claimed_at=self._file.now(),
                warning=f"Unfinished: {', '.join(known.needs)}" if known.needs else "",
            )
            claimed = _put(self._file, claimed)
            _tell(self._file, "task.claimed", claimed, agent, warning=claimed.warning)
            return claimed

    def complete(self, task: str, agent: str, token: int) -> TeamTask:
        """No task waits for it any more. To complete it twice changes nothing."""
        with self._file.writing(FULL):
            known = self._held(task, agent, token)
            if known.status == TaskStatus.COMPLETED:
                return known
            status = next_status(TaskStatus(known.status), TaskDeed.COMPLETE).value
            done = _put(self._file, known._replace(status=status, completed_at=self._file.now()))
            self._file.execute("DELETE FROM team_needs WHERE needs = ? OR task = ?", task, task)
            _tell(self._file, "task.completed", done, agent, freed=done.blocks)
            return done._replace(needs=(), blocks=())

    def release(self, task: str, agent: str, token: int) -> TeamTask:
        """Its owner gives it back, and any agent may claim it."""
        with self._file.writing(FULL):
            known = self._held(task, agent, token)
            if known.status == TaskStatus.COMPLETED:
                raise NotPending(known, "released")
            return _give_back(self._file, known, "task.released", agent)

    def take_back(self, task: str, token: int) -> bool:
        """The agent of another host that held it has ended: it is free. False if the claim is not
        that one any more."""
        with self._file.writing(FULL):
            known = self._known_task(task)
            if known.status != TaskStatus.IN_PROGRESS or known.token != token:
                return False
            _reassign(self._file, known, known.owner)
            return True

    def delete(self, task: str) -> None:
        """Not while an agent works on it, nor while another task needs it."""
        with self._file.writing(FULL):
            known = self._known_task(task)
            if known.status == TaskStatus.IN_PROGRESS:
                raise NotPending(known, "deleted")
            if known.blocks:
                needed = f"task '{task}' is needed by {', '.join(known.blocks)}"
                raise AskerError(needed, "change their needs first", code=Code.TASK_NEEDED)
            self._file.execute("DELETE FROM team_tasks WHERE id = ?", task)
            _tell(self._file, "task.deleted", known, known.owner)

    # -- inside a transaction ----------------------------------------------------------------

    def _known_task(self, task: str) -> TeamTask:
        known = self.task(task)
        if known is None:
            raise NoSuchTask(task)
        return known

    def _next_task(self) -> int:
        """A number that no task ever had, neither as its sequence number nor in its id."""
        found = self._file.execute("SELECT seq FROM sqlite_sequence WHERE name = 'team_tasks'")
        number = (found.fetchone() or [0])[0] + 1
        while self.task(f"TASK-{number}"):
            number += 1
        return number

    def _add_needs(self, task: str, team: str, needs: Sequence[str]) -> None:
        of_team = {one.id: one for one in self.tasks(team)}
        for need in needs:
            if need not in of_team:
                raise NoSuchTask(need, team)
        if task in needs:  # the only cycle there can be: needs name tasks that were added before
            raise BadRequest(f"task '{task}' would wait for itself", code=Code.TASK_CYCLE)
        for need in needs:
            if of_team[need].status != TaskStatus.COMPLETED:  # no task waits for a completed one
                self._file.execute("INSERT OR IGNORE INTO team_needs VALUES (?, ?)", task, need)

    def _run_to_hold(self, agent: str, run: str) -> str:
        """The live run of the task's holder; empty only for an agent that knell never ran. Of an
        agent of another host, the run that its host names."""
        if "@" in agent:
            if not run:
                raise AskerError(
                    f"'{agent}' claims by itself", "on its host: knell task claim TASK@HOST"
                )
            return run
        now = self._file.live_run_of(agent)
        if now and run in ("", now):
            return now
        ran = self._file.execute("SELECT 1 FROM runs WHERE agent = ?", agent)
        if now or run or ran.fetchone():
            raise NotLive(agent)
        return ""

    def _held(self, task: str, agent: str, token: int) -> TeamTask:
        known = self._known_task(task)
        if known.status == TaskStatus.PENDING or (known.owner, known.token) != (agent, token):
            raise NotYours(known, agent)
        return known


# -- inside a transaction --------------------------------------------------------------------------


def live_team(file: Transactions, name: str) -> Team:
    """NoSuchTeam if it never existed or was dissolved."""
    team = file.one(TEAM, Team._make, name)
    if team is None or team.dissolved_at:
        raise NoSuchTeam(name)
    return team


def release_tasks(file: Transactions, agent: str, team: str) -> None:
    """An agent that leaves a team gives back all its tasks there."""
    for task in SqliteTeamTasks(file).tasks(team, owner=agent):
        if task.status != TaskStatus.COMPLETED:
            _give_back(file, task, "task.released", agent, was=task.status)


def hand_over_tasks(file: Transactions, run: Run) -> None:
    """Tasks that the agent's former run was left with belong to the new run."""
    statement = "UPDATE team_tasks SET owner_run = ? WHERE owner = ? AND status != ?"
    file.execute(statement, run.id, run.agent, TaskStatus.COMPLETED)


def reassign_tasks(file: Transactions, run: Run, ending: Ending) -> list[ReturnedTask]:
    """What the ended run held: first what it worked on, then what was only meant for it."""
    if ending.tasks == Fate.LEAVE:
        return []
    held = SqliteTeamTasks(file).tasks(owner=run.agent)
    doing = [task for task in held if task.status == TaskStatus.IN_PROGRESS]
    meant = [task for task in held if task.status == TaskStatus.PENDING]
    for task in doing:
        _reassign(file, task, run.agent)
    for task in meant:
        _give_back(file, task, "task.released", run.agent, warning=task.warning, was=task.status)
    pending = TaskStatus.PENDING.value
    return [ReturnedTask(task.id, pending, task.status) for task in (*doing, *meant)]


def _put(file: Transactions, task: TeamTask) -> TeamTask:
    put = task._replace(updated_at=file.now(), owner=records.plain(task.owner))
    file.update("team_tasks", {"id": put.id}, **{key: getattr(put, key) for key in _CHANGING})
    return put


def _tell(file: Transactions, type: str, task: TeamTask, agent: str, **more: object) -> None:
    told = {"task": task.id, "team": task.team, "now": task.status, "token": task.token}
    file.write_event(type, agent, task.owner_run, told | more)


def _reassign(file: Transactions, task: TeamTask, owner: str) -> None:
    """The task of an agent that has ended."""
    warning = f"Reassigned: previous owner {owner} terminated"
    _give_back(file, task, "task.reassigned", owner, warning=warning, was=task.status)


def _give_back(
    file: Transactions, task: TeamTask, event: str, agent: str, *, warning: str = "", **more: str
) -> TeamTask:
    """The task without an owner; the token of its last claim is no longer valid."""
    status = task.status
    if status == TaskStatus.IN_PROGRESS:
        status = next_status(TaskStatus.IN_PROGRESS, TaskDeed.RELEASE).value
    free = {"status": status, "owner": "", "owner_run": "", "claimed_at": "", "warning": warning}
    free = _put(file, task._replace(**free, token=task.token + 1))
    _tell(file, event, free, agent, **more)
    return free


def _task_from(row: records.Row) -> TeamTask:
    return TeamTask(*row)._replace(
        needs=tuple(json.loads(row[14])), blocks=tuple(json.loads(row[15]))
    )
