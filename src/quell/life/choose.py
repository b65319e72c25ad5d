"""Whom the given targets mean, among the live, the ended and the orphaned."""

from collections.abc import Sequence
from typing import TYPE_CHECKING

from quell.core.agent import Agent
from quell.core.errors import Ambiguous, NoSuchAgent, Refused
from quell.core.process import Gone
from quell.core.run import Orphan, Run
from quell.core.selector import Candidate, Chosen, choose, is_number

if TYPE_CHECKING:
    from quell.core.ports import World


class Crowd:
    """Everybody who can be meant, looked up once for all targets of a command."""

    def __init__(
        self,
        world: "World",
        orphans: Sequence[Orphan] | None = None,
        targets: Sequence[str] = (),
    ) -> None:
        """Where every one of `targets` is an agent's name, the ended of other names stay unread:
        there may be a hundred thousand."""
        self.world = world
        named = [world.store.agent(target) for target in targets]
        narrow = [agent for agent in named if agent]
        if targets and len(narrow) == len(named):
            self._know([*world.store.live_agents(), *narrow])
            last = [world.store.last_run(agent.name) for agent in narrow]
        else:
            self._know(world.store.agents())
            last = list(world.store.last_runs().values())
        self.runs: dict[str, Run] = {run.id: run for run in last if run}
        self.runs |= {run.id: run for run in world.store.live_runs()}
        self.children: dict[str, list[Run]] = {}
        for run in self.runs.values():
            if run.parent and run.live:
                self.children.setdefault(run.parent, []).append(run)
        self.orphans = world.store.orphans() if orphans is None else list(orphans)
        oldest_first = sorted(self.runs.values(), key=lambda run: run.started_at)
        self.candidates = [self._of_run(run) for run in oldest_first]
        self.candidates += [self._of_orphan(orphan) for orphan in self.orphans]

    def _know(self, agents: Sequence[Agent]) -> None:
        self.agents = {agent.name: agent for agent in agents}

    def choose(self, target: str) -> Chosen:
        pid = target.removeprefix("pid:")
        if is_number(pid) and self._is_anothers(int(pid)):
            return self._by_member(target, int(pid))
        try:
            return choose(target, self.candidates)
        except NoSuchAgent:
            if is_number(pid):
                return self._by_member(target, int(pid))
            raise

    def only(self, target: str) -> Candidate:
        """The one agent that is meant, for verbs that take no more than one."""
        found = self.choose(target).candidates
        if not found:
            raise NoSuchAgent(target)
        if len(agents := {candidate.agent for candidate in found}) > 1:
            raise Ambiguous(target, tuple(sorted(agents)))
        return found[0]

    def _is_anothers(self, pid: int) -> bool:
        """Whether somebody else has a number by now that was a process's of a live run."""
        live = [run for run in self.runs.values() if run.live and run.host == self.world.host]
        known = [process for run in live for process in (run.keeper, run.process) if process]
        looks = [self.world.kernel.look(process) for process in known if process.pid == pid]
        return bool(looks) and all(seen == Gone("reused") for seen in looks)

    def _by_member(self, target: str, pid: int) -> Chosen:
        """A PID that we did not write down may still carry the stamp of a run."""
        if pid in (self.world.kernel.me().pid, *self.world.kernel.ancestors()):
            raise Refused(
                f"PID {pid} runs this command: it is never a target", "name an agent: quell list"
            )
        stamp = self.world.kernel.stamp(pid)
        if stamp in self.runs and self.runs[stamp].live:
            return Chosen(target, "", (self._of_run(self.runs[stamp]),))
        if self.world.kernel.identify(pid) is None:
            raise NoSuchAgent(target)
        raise Refused(
            f"PID {pid} is not an agent's: {self.world.kernel.command(pid)}",
            f"quell never signals what is not proven to be ours; take charge first: "
            f"quell adopt {pid}",
        )

    def _of_run(self, run: Run) -> Candidate:
        agent = self.agents.get(run.agent)
        return Candidate(
            agent=run.agent,
            run=run.id,
            live=run.live,
            tag=agent.tag if agent else "",
            team=agent.team if agent else "",
            session=run.place.session if run.place.name == "tmux" else "",
            pane=run.place.pane,
            pids=tuple(process.pid for process in (run.keeper, run.process) if process),
        )

    def _of_orphan(self, orphan: Orphan) -> Candidate:
        agent = self.agents.get(orphan.agent)
        return Candidate(
            agent=orphan.agent,
            run=orphan.run,
            live=False,
            orphan=True,
            tag=orphan.tag,
            team=agent.team if agent else "",
            pids=(orphan.process.pid,),
        )
