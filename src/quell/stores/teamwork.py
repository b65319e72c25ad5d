"""The part of the SQLite store that teams need, in the same file and the same transactions."""

from quell.core.agent import Agent
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

    def end(self, run: Run, ending: Ending) -> list[dict[str, str]]:
        """Inside the transaction that ends `run`: the tasks that it had to give back.

        Its team, its colour and its place in the shutdown that it was asked for go with it. What
        it used of servers went with its instance.
        """
        tasks = [task._asdict() | {"kind": "team"} for task in self._reassign(run, ending)]
        self._close_request(run, ending)
        member = self.membership(run.agent)
        if member:
            self._part(member, {"why": ending.reason, "proven": ending.outcome != Outcome.ARCHIVED})
        return tasks
