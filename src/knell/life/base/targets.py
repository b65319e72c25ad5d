"""What the targets of a verb mean among live runs, ended ones and orphans; and what came of it."""

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, NamedTuple

from knell.core.codes import Code
from knell.core.errors import Ambiguous, BadRequest, KnellError, NoSuchAgent, Refused
from knell.core.process import Gone
from knell.core.receipt import Receipt, TargetResult
from knell.core.run import Orphan, Run
from knell.core.selector import Candidate, Chosen, choose, is_number
from knell.life.base.receipts import already_ended, refused_receipt
from knell.life.base.take_in import Seen, take_in_journals

if TYPE_CHECKING:
    from knell.core.agent import Agent
    from knell.core.ports.world import World

ByOrphan = Mapping[tuple[str, int], Receipt]  # by run and PID


class Meant(NamedTuple):
    """What the targets of a verb mean."""

    chosen: list[Chosen]
    failed: list[TargetResult]  # of targets that mean nothing
    runs: list[Run]  # live ones of this host, children before parents, each once
    orphans: list[Orphan]
    over: list[Run]  # ended before


class Picture:
    """What one verb knows of runs and agents: read once at its start, and passed down.

    What must be true at the moment of a signal is read again there."""

    def __init__(self, world: "World") -> None:
        self.world = world
        self.seen: Seen = {}  # looks at keepers and agents, taken on the way
        records = world.store.runs.live_records()
        self.live: list[Run] = take_in_journals(world, self.seen, records.runs)
        if self.live != records.runs:  # an end that was taken in may have left orphans
            records = world.store.runs.live_records()
        # By name: those of live runs, and those that were asked for.
        self.agents: dict[str, Agent] = {agent.name: agent for agent in records.agents}
        self.seats, self.leaving = records.seats, records.leaving
        self.orphans = records.orphans

    def agent(self, name: str) -> "Agent | None":
        """Also one that has no live run."""
        if name not in self.agents and (found := self.world.store.runs.agent(name)):
            self.agents[name] = found
        return self.agents.get(name)


class Crowd:
    """Everything that a target can mean, looked up once for all targets of a verb."""

    def __init__(
        self, picture: Picture, orphans: Sequence[Orphan] | None = None, targets: Sequence[str] = ()
    ) -> None:
        """Where every one of `targets` is an agent's name, ended agents of other names stay
        unread: there may be a hundred thousand."""
        self.world = world = picture.world
        narrow = [agent for target in targets if (agent := picture.agent(target))]
        if targets and len(narrow) == len(targets):
            live = {run.agent for run in picture.live}
            last = [world.store.runs.newest_of(one.name) for one in narrow if one.name not in live]
        else:
            last = list(world.store.runs.newest().values())
            picture.agents = {agent.name: agent for agent in world.store.runs.agents()}
        self.agents = picture.agents
        self.runs: dict[str, Run] = {run.id: run for run in last if run}
        self.runs |= {run.id: run for run in picture.live}
        self.children: dict[str, list[Run]] = {}
        for run in self.runs.values():
            if run.parent and run.live:
                self.children.setdefault(run.parent, []).append(run)
        self.orphans = picture.orphans if orphans is None else list(orphans)
        oldest_first = sorted(self.runs.values(), key=lambda run: run.started_at)
        self.candidates = [self._of_run(run) for run in oldest_first]
        self.candidates += [self._of_orphan(orphan) for orphan in self.orphans]

    # -- choosing ------------------------------------------------------------------------------

    def choose(self, target: str) -> Chosen:
        pid = target.removeprefix("pid:")
        if is_number(pid) and self._is_reused(int(pid)):
            return self._by_member(target, int(pid))
        try:
            return choose(target, self.candidates)
        except NoSuchAgent:
            if is_number(pid):
                return self._by_member(target, int(pid))
            raise

    def meaning(self, targets: Sequence[str], *, with_children: bool) -> Meant:
        """What each target means; one that means nothing becomes a receipt that says so.

        One that cannot mean anything is an error of the whole request, before anything is done."""
        chosen: list[Chosen] = []
        failed: list[TargetResult] = []
        for target in targets:
            try:
                chosen.append(self.choose(target))
            except BadRequest:
                raise
            except KnellError as error:
                receipt = refused_receipt(target, error, self.world.now())
                failed.append(TargetResult(target, "", (receipt,)))
        found = [candidate for one in chosen for candidate in one.candidates]
        ended = [candidate for one in chosen for candidate in one.ended]
        orphaned = {(c.run, pid) for c in found if c.orphan for pid in c.pids}
        over = dict.fromkeys(c.run for c in (*found, *ended) if not c.live)
        return Meant(
            chosen,
            failed,
            self._runs_to_end([c.run for c in found if c.live], with_children=with_children),
            [o for o in self.orphans if (o.run, o.process.pid) in orphaned],
            [self.runs[run] for run in over if run in self.runs],
        )

    def only(self, target: str) -> Candidate:
        """The one agent that is meant, for verbs that take no more than one."""
        found = self.choose(target).candidates
        if not found:
            raise NoSuchAgent(target)
        if len(agents := {candidate.agent for candidate in found}) > 1:
            raise Ambiguous(target, tuple(sorted(agents)))
        return found[0]

    def _runs_to_end(self, meant: Sequence[str], *, with_children: bool) -> list[Run]:
        """Children before parents, each once."""
        ordered: dict[str, None] = {}

        def add(run_id: str) -> None:
            if with_children and run_id not in ordered:
                for child in self.children.get(run_id, ()):
                    add(child.id)
            ordered[run_id] = None

        for run_id in meant:
            add(run_id)
        runs = [self.runs[run_id] for run_id in ordered]
        return [run for run in runs if run.host == self.world.host]

    def _is_reused(self, pid: int) -> bool:
        """Whether this PID was a live run's, and is another process's now."""
        live = [run for run in self.runs.values() if run.live and run.host == self.world.host]
        known = [process for run in live for process in run.processes if process.pid == pid]
        looks = [self.world.processes.look(process) for process in known]
        return bool(looks) and all(seen == Gone("reused") for seen in looks)

    def _by_member(self, target: str, pid: int) -> Chosen:
        """A PID that is not on record may still carry the stamp of a run."""
        if pid in (self.world.processes.me().pid, *self.world.processes.ancestors()):
            raise Refused(
                f"PID {pid} runs this command: it is never a target",
                "name an agent: knell list",
                code=Code.RUNS_THIS_COMMAND,
            )
        stamp = self.world.processes.stamp(pid)
        if stamp in self.runs and self.runs[stamp].live:
            return Chosen(target, "", (self._of_run(self.runs[stamp]),))
        if self.world.processes.identify(pid) is None:
            raise NoSuchAgent(target)
        raise Refused(
            f"PID {pid} is not an agent's: {self.world.processes.command(pid)}",
            f"knell never signals what is not proven to be ours; take charge first: "
            f"knell adopt {pid}",
            code=Code.NOT_OURS,
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
            pids=tuple(process.pid for process in run.processes),
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

    # -- what came of it -----------------------------------------------------------------------

    def results(
        self, meant: Meant, ended: Sequence[Receipt], orphans: ByOrphan
    ) -> list[TargetResult]:
        """The receipts by target. `ended`: those of the runs that were meant, in their order."""
        receipts = {run.id: receipt for run, receipt in zip(meant.runs, ended, strict=True)}
        return meant.failed + [self._result(one, receipts, orphans) for one in meant.chosen]

    def _result(
        self, one: Chosen, receipts: Mapping[str, Receipt], orphans: ByOrphan
    ) -> TargetResult:
        """The receipts of one target, by run and by orphan, with those of its child runs."""
        found: list[Receipt] = []
        orphaned: list[str] = []
        for candidate in one.candidates:
            run = self.runs.get(candidate.run)
            if candidate.orphan:
                ends = [orphans.get((candidate.run, pid)) for pid in candidate.pids]
                found += [receipt for receipt in ends if receipt]
                orphaned += [] if all(ends) else [candidate.agent]
            elif candidate.run in receipts:
                found += self._with_children(candidate.run, receipts)
            elif run and candidate.live:
                found.append(self._elsewhere(run))
            elif run:
                found.append(already_ended(self.world, run))
        each = {(receipt.agent, receipt.run, receipt.pid): receipt for receipt in found}
        left = tuple(dict.fromkeys(orphaned))
        return TargetResult(one.target, one.label, tuple(each.values()), left)

    def _with_children(self, run: str, receipts: Mapping[str, Receipt]) -> list[Receipt]:
        below = [
            receipt
            for child in self.children.get(run, ())
            if child.id in receipts
            for receipt in self._with_children(child.id, receipts)
        ]
        return [*below, receipts[run]]

    def _elsewhere(self, run: Run) -> Receipt:
        error = Refused(
            f"'{run.agent}' runs on host {run.host}: it is managed there",
            f"run knell kill {run.agent} on {run.host}",
            code=Code.ON_ANOTHER_HOST,
        )
        return refused_receipt(run.agent, error, self.world.now())._replace(run=run.id)
