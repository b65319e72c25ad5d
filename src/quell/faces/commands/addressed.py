"""Which run an AGENT_ID means: the ids of the table agent_lifecycle."""

from typing import TYPE_CHECKING, NamedTuple

from quell.core.agent import Agent
from quell.core.run import Run
from quell.faces.commands.answers import Failed

if TYPE_CHECKING:
    from quell.api import Quell


class Addressed(NamedTuple):
    id: str
    agent: Agent
    run: Run

    @property
    def task(self) -> str | None:
        return self.run.task or None

    @property
    def pid(self) -> int | None:
        return self.run.process.pid if self.run.process else None


def addressed(quell: "Quell", agent_id: str) -> Addressed:
    """The newest run of the agent of that name; `name#run` is one of its earlier ones.

    It is an id and no pattern: `all` and `tag:x` are agents that nobody has ever heard of."""
    name, mark, run_id = agent_id.partition("#")
    store = quell.world.store
    agent = store.agent(name)
    runs = store.runs_of(name) if agent else []
    found = [run for run in runs if not mark or run.id == run_id][:1]
    if agent is None or not found:
        raise Failed("agent_not_found", "Agent ID not found in database", agent_id=agent_id)
    return Addressed(agent_id, agent, found[0])
