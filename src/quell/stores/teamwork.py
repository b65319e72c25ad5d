"""The part of the SQLite store that teams need, in the same file and the same transactions."""

import sqlite3

from quell.core.agent import Agent
from quell.core.errors import StoreFailed
from quell.core.lifecycle import Outcome
from quell.core.run import Ending, Run
from quell.stores.letters import Letters
from quell.stores.servers import Servers
from quell.stores.shutdowns import Shutdowns
from quell.stores.teams import Teams


class Teamwork(Teams, Letters, Shutdowns, Servers):
    """core.teamwork.TeamStore, on the connection of another part of the store."""

    def begin(self, agent: Agent, run: Run) -> None:
        """Inside the transaction that adds `run`."""
        self._join_at_birth(agent, run)
        self._take_up(run)

    def end(self, run: Run, ending: Ending) -> tuple[list[dict[str, str]], tuple[str, ...]]:
        """Inside the transaction that ends `run`: the tasks that it had to give back, and what
        went wrong with that.

        Its team, its colour and its place in the shutdown that it was asked for go with it. What
        it used of servers went with its instance.
        """
        tasks, trouble = self._given_back(run, ending)
        self._close_request(run, ending)
        member = self.membership(run.agent)
        if member:
            self._part(member, {"why": ending.reason, "proven": ending.outcome != Outcome.ARCHIVED})
        return tasks, trouble

    def _given_back(self, run: Run, ending: Ending) -> tuple[list[dict[str, str]], tuple[str, ...]]:
        """All of them or none. Tasks that nobody can take back must not keep a dead run alive."""
        db = self._file.db
        db.execute("SAVEPOINT given_back")
        try:
            tasks = [task._asdict() | {"kind": "team"} for task in self._reassign(run, ending)]
        except (sqlite3.IntegrityError, StoreFailed) as error:
            db.execute("ROLLBACK TO given_back")
            db.execute("RELEASE given_back")
            told = {"why": str(error)}
            self._write_event("task.orphaned", run.agent, run.id, told)
            return [], (f"its tasks could not be handed back ({error})",)
        db.execute("RELEASE given_back")
        return tasks, ()
