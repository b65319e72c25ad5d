"""The work of teams. Who claims a task gets a number; an older number finishes nothing."""

import json
from collections.abc import Sequence

from quell.core.run import Ending, Run
from quell.core.task import Fate, Returned
from quell.core.teamtask import (
    Deed,
    Status,
    TeamTask,
    checked_task,
    cycle,
    next_status,
    reassigned,
    unmet,
)
from quell.core.teamwork import (
    NeedsCycle,
    NoSuchTask,
    NotLive,
    NotPending,
    NotYours,
    StillNeeded,
    TaskExists,
)
from quell.stores import rows
from quell.stores.sharing import Sharing
from quell.stores.transactions import FULL

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
_ADD = """
    INSERT INTO team_tasks (seq, id, team, title, description, priority, status, owner, owner_run,
                            token, created_at, updated_at, claimed_at, completed_at, warning)
    VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, 0, ?, ?, '', '', '')"""
_PUT = """
    UPDATE team_tasks SET status = ?, owner = ?, owner_run = ?, token = ?, updated_at = ?,
                          claimed_at = ?, completed_at = ?, warning = ?
    WHERE id = ?"""


class TeamTasks(Sharing):
    def add_task(self, task: TeamTask) -> TeamTask:
        """Pending, whatever it says of itself; with an owner, it is meant for that one. Without
        an id, it gets one that no task had before."""
        checked_task(task)
        with self._file.writing(FULL) as db:
            self._live_team(task.team)
            if task.id and self.task(task.id):
                raise TaskExists(task.id)
            seq = None if task.id else self._next_task()
            task = task._replace(id=rows.plain(task.id) or f"TASK-{seq}")
            at = task.created_at or self._now()
            texts = (task.id, task.team, task.title, task.description, task.priority)
            run = self._run_to_hold(task.owner, "") if task.owner else ""
            row = [*(rows.plain(text) for text in texts), Status.PENDING.value, task.owner, run]
            db.execute(_ADD, [seq, *row, at, at])
            self._need(task.id, task.team, task.needs)
            added = self._known_task(task.id)
            self._tell_task("task.added", added, task.owner, needs=added.needs)
            return added

    def set_needs(self, task: str, needs: Sequence[str]) -> TeamTask:
        """These and no others from now on. Of a completed task they cannot be changed."""
        with self._file.writing(FULL) as db:
            known = self._known_task(task)
            if known.status == Status.COMPLETED:
                raise NotPending(known, "changed")
            db.execute("DELETE FROM team_needs WHERE task = ?", [task])
            self._need(task, known.team, needs)
            db.execute("UPDATE team_tasks SET updated_at = ? WHERE id = ?", [self._now(), task])
            changed = self._known_task(task)
            self._tell_task("task.edited", changed, changed.owner, needs=changed.needs)
            return changed

    def assign_task(self, task: str, agent: str) -> TeamTask:
        """A pending task is meant for that one, who alone may claim it; empty: for anybody."""
        with self._file.writing(FULL):
            known = self._known_task(task)
            self._live_team(known.team)
            if known.status != Status.PENDING:
                raise NotPending(known, "assigned")
            run = self._run_to_hold(agent, "") if agent else ""
            assigned = self._put(known._replace(owner=agent, owner_run=run))
            self._tell_task("task.assigned", assigned, agent, was=known.owner)
            return assigned

    def task(self, task: str) -> TeamTask | None:
        with self._file.reading() as db:
            row = db.execute(_TASKS + " WHERE id = ?", [rows.plain(task)]).fetchone()
            return _task_from(row) if row else None

    def tasks(self, team: str = "", status: str = "", owner: str = "") -> list[TeamTask]:
        """The most urgent first, and of those the oldest."""
        told = {"team": team, "status": status, "owner": owner}
        with self._file.reading() as db:
            values = {key: rows.plain(value) for key, value in told.items()}
            return [_task_from(row) for row in db.execute(_TASKS + _CHOSEN, values)]

    def claim_task(self, task: str, agent: str, run: str = "") -> TeamTask:
        """Of any number who claim it at once, one gets it. `token` is what proves it later.

        What it should have waited for is only a warning. An ended run gets nothing.
        """
        with self._file.writing(FULL):
            known = self._known_task(task)
            self._live_team(known.team)
            if known.status != Status.PENDING:
                raise NotPending(known, "claimed")
            if known.owner and known.owner != agent:
                raise NotYours(known, agent)
            claimed = known._replace(
                status=next_status(Status.PENDING, Deed.CLAIM).value,
                owner=agent,
                owner_run=self._run_to_hold(agent, run),
                token=known.token + 1,
                claimed_at=self._now(),
                warning=unmet(known.needs),
            )
            claimed = self._put(claimed)
            self._tell_task("task.claimed", claimed, agent, warning=claimed.warning)
            return claimed

    def complete_task(self, task: str, agent: str, token: int) -> TeamTask:
        """Nobody waits for it any more. Told twice by the same owner, nothing changes."""
        with self._file.writing(FULL) as db:
            known = self._held(task, agent, token)
            if known.status == Status.COMPLETED:
                return known
            status = next_status(Status(known.status), Deed.COMPLETE).value
            done = self._put(known._replace(status=status, completed_at=self._now()))
            db.execute("DELETE FROM team_needs WHERE needs = ? OR task = ?", [task, task])
            self._tell_task("task.completed", done, agent, freed=done.blocks)
            return done._replace(needs=(), blocks=())

    def release_task(self, task: str, agent: str, token: int) -> TeamTask:
        """Its owner gives it back, and anybody may claim it."""
        with self._file.writing(FULL):
            known = self._held(task, agent, token)
            if known.status == Status.COMPLETED:
                raise NotPending(known, "released")
            free = self._put(_free(known, ""))
            self._tell_task("task.released", free, agent)
            return free

    def delete_task(self, task: str) -> None:
        """Not while somebody works on it, nor while another task needs it."""
        with self._file.writing(FULL) as db:
            known = self._known_task(task)
            if known.status == Status.IN_PROGRESS:
                raise NotPending(known, "deleted")
            if known.blocks:
                raise StillNeeded(known)
            db.execute("DELETE FROM team_tasks WHERE id = ?", [task])
            self._tell_task("task.deleted", known, known.owner)

    # -- inside a transaction ----------------------------------------------------------------

    def _known_task(self, task: str) -> TeamTask:
        known = self.task(task)
        if known is None:
            raise NoSuchTask(task)
        return known

    def _next_task(self) -> int:
        """A number that no task ever had, neither as its place in line nor in its id."""
        found = self._file.db.execute("SELECT seq FROM sqlite_sequence WHERE name = 'team_tasks'")
        number = (found.fetchone() or [0])[0] + 1
        while self.task(f"TASK-{number}"):
            number += 1
        return number

    def _need(self, task: str, team: str, needs: Sequence[str]) -> None:
        of_team = {one.id: one for one in self.tasks(team)}
        for need in needs:
            if need not in of_team:
                raise NoSuchTask(need, team)
        way = cycle(task, needs, {id: one.needs for id, one in of_team.items()})
        if way:
            raise NeedsCycle(way)
        pairs = [
            (task, need) for need in needs if of_team[need].status != Status.COMPLETED
        ]  # what is done is waited for by nobody
        self._file.db.executemany("INSERT OR IGNORE INTO team_needs VALUES (?, ?)", pairs)

    def _run_to_hold(self, agent: str, run: str) -> str:
        """The live run of a holder; empty only for one whom quell never ran."""
        now = self._live_run_of(agent)
        if now and run in ("", now):
            return now
        ran = self._file.db.execute("SELECT 1 FROM runs WHERE agent = ?", [rows.plain(agent)])
        if now or run or ran.fetchone():
            raise NotLive(agent)
        return ""

    def _held(self, task: str, agent: str, token: int) -> TeamTask:
        known = self._known_task(task)
        if known.status == Status.PENDING or (known.owner, known.token) != (agent, token):
            raise NotYours(known, agent)
        return known

    def _put(self, task: TeamTask) -> TeamTask:
        put = task._replace(updated_at=self._now(), owner=rows.plain(task.owner))
        row = (put.status, put.owner, put.owner_run, put.token, put.updated_at)
        self._file.db.execute(_PUT, [*row, put.claimed_at, put.completed_at, put.warning, put.id])
        return put

    def _tell_task(self, type: str, task: TeamTask, agent: str, **more: object) -> None:
        told = {"task": task.id, "team": task.team, "now": task.status, "token": task.token}
        self._write_event(type, agent, task.owner_run, told | more)

    def _release(self, agent: str, team: str) -> None:
        """Whoever leaves a team holds nothing of it."""
        for task in self.tasks(team, owner=agent):
            if task.status != Status.COMPLETED:
                free = self._put(_free(task, ""))
                self._tell_task("task.released", free, agent, was=task.status)

    def _take_up(self, run: Run) -> None:
        """What the agent's former run was left with is the new one's."""
        self._file.db.execute(
            "UPDATE team_tasks SET owner_run = ? WHERE owner = ? AND status != ?",
            [run.id, run.agent, Status.COMPLETED.value],
        )

    def _reassign(self, run: Run, ending: Ending) -> list[Returned]:
        """What the ended run held: first what it was doing, then what was only meant for it."""
        if ending.tasks == Fate.LEAVE:
            return []
        held = self.tasks(owner=run.agent)
        doing = [task for task in held if task.status == Status.IN_PROGRESS]
        meant = [task for task in held if task.status == Status.PENDING]
        for task in doing:
            free = self._put(_free(task, reassigned(run.agent)))
            self._tell_task("task.reassigned", free, run.agent, was=task.status)
        for task in meant:
            free = self._put(_free(task, task.warning))
            self._tell_task("task.released", free, run.agent, was=task.status)
        return [Returned(task.id, Status.PENDING.value, task.status) for task in (*doing, *meant)]


def _free(task: TeamTask, warning: str) -> TeamTask:
    """Nobody's; the number of the last claim is good for nothing from now on."""
    status = task.status
    if status == Status.IN_PROGRESS:
        status = next_status(Status.IN_PROGRESS, Deed.RELEASE).value
    return task._replace(
        status=status, owner="", owner_run="", claimed_at="", token=task.token + 1, warning=warning
    )


def _task_from(row: rows.Row) -> TeamTask:
    return TeamTask(*row)._replace(
        needs=tuple(json.loads(row[14])), blocks=tuple(json.loads(row[15]))
    )
