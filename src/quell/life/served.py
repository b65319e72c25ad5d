"""What a server that acts for many callers needs beyond the verbs: who they are, what they may."""

from quell.core.errors import NoSuchAgent
from quell.core.ports import World
from quell.core.receipt import Receipt
from quell.core.run import Run
from quell.life.caller import Caller, caller, holder_of, note_refusal, refuse
from quell.life.settle import settle
from quell.life.stop import StopWish, stop
from quell.life.together.killagent import newest_run
from quell.life.together.teams import Teams
from quell.life.view import AgentView, list_agents


class Served:
    def __init__(self, world: World) -> None:
        self._world = world

    # -- who ----------------------------------------------------------------------------------

    def around(self) -> Caller:
        """Whoever started this process."""
        return caller(self._world)

    def holder_of(self, token: str) -> Caller | None:
        """The agent that was given this token, while its run lives."""
        return holder_of(self._world, token)

    def note_refusal(self, who: Caller, why: str, through: str) -> None:
        note_refusal(self._world, who, why, through=through)

    # -- what ---------------------------------------------------------------------------------

    def team(self, who: Caller) -> Teams:
        return Teams(self._world, who)

    def known(self, agent: str) -> Run | None:
        """The newest run of an agent, by its name or a run's id, as it was last seen."""
        return newest_run(self._world, agent)

    def run(self, agent: str) -> Run:
        """The same as it is now; an error if there never was one."""
        settle(self._world)
        found = self.known(agent)
        if found is None:
            raise NoSuchAgent(agent)
        return found

    def view(self, run: Run) -> AgentView:
        """That run's line of `list`."""
        views = list_agents(self._world, everybody=not run.live)
        found = next((view for view in views if view.run == run.id), None)
        if found is None:
            raise NoSuchAgent(run.agent)
        return found

    def stop(self, wish: StopWish, who: Caller) -> list[Receipt]:
        return [receipt for slain in stop(self._world, wish, who) for receipt in slain.receipts]

    # -- whom ---------------------------------------------------------------------------------

    def check_kin(self, who: Caller, run: Run, what: str) -> None:
        """Only itself, what it started, at any depth, and, as leader, the members of its team."""
        if run.id in who.runs[1:]:
            why = f"'{run.agent}' runs this agent: no agent may {what} its ancestors"
            refuse(self._world, who, why, "ask the operator")
        if run.agent == who.agent or self.leads(who, run.agent) or self.started(who, run):
            return
        why = f"'{who.agent}' neither started '{run.agent}' nor leads its team"
        refuse(self._world, who, why, "ask the operator")

    def leads(self, who: Caller, agent: str) -> bool:
        """Whether the asker leads the team of that agent, or the one it was in until its end."""
        store = self._world.store
        member, record = store.teamwork.membership(agent), store.agent(agent)
        name = member.team if member else record.team if record else ""
        team = store.teamwork.team(name) if name else None
        return bool(team and not team.dissolved_at and who.agent and team.leader == who.agent)

    def started(self, who: Caller, run: Run) -> bool:
        """Whether that run, or one that started it, was started in some life of the asker."""
        seen: set[str] = set()
        above: Run | None = run
        while above and above.parent and above.parent not in seen:
            seen.add(above.parent)
            above = self._world.store.run(above.parent)
            if above and above.agent == who.agent:
                return True
        return False
