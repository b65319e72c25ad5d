"""The Python API: every verb as a method with plain arguments and typed results.

`docs/api.md` shows each method at work. The results are records that `knell.api.results` names.
Every method imports what it needs when it is called, because `knell list` loads this file too.
"""

from __future__ import annotations  # the records of the results are not worth their import time

from typing import TYPE_CHECKING, Any, Self

from knell.api.live import LiveVerbs
from knell.api.verbs import StartAndWatchVerbs
from knell.wiring import RealWorld

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping

    from knell.api import parts
    from knell.api import results as r
    from knell.core.authority import Caller
    from knell.core.ports.kinds import Kinds
    from knell.core.receipt import Endings, Receipt
    from knell.core.settings import Settings


class Knell(StartAndWatchVerbs, LiveVerbs):
    """Agents on this machine. `home` is where the state lives; by default as for the command.

    `env` replaces the environment of this process, `registry` names a registry file. Use it in a
    `with` block, or call `close` when you are done. A program with threads gives each its own.
    """

    def __init__(
        self, home: str = "", env: Mapping[str, str] | None = None, registry: str = ""
    ) -> None:
        self._world = RealWorld(env, home)
        self._world.registry_path = registry

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Closes the store, and the fleet's database; the next call opens them again."""
        if self._fleet:
            self._fleet.close()
        self._world.close()

    @property
    def settings(self) -> Settings:
        """The settings that hold here, from files and environment."""
        return self._world.settings

    # -- looking ------------------------------------------------------------------------------

    def list(
        self, *targets: str, with_ended: bool = False, team: str = "", look: bool = False
    ) -> list[r.AgentView]:
        """The agents that run, oldest first; `with_ended`: also those that have ended.

        Targets as for `kill`: only these. `look`: each is looked at now, as by `snapshot`."""
        if targets:
            from knell.life.look.choose import names_meant, views_of

            meant = names_meant(self._world, targets, with_ended=with_ended)
            if not (team or look):
                return sorted(views_of(self._world, meant), key=lambda view: view.started_at)
            found = self.list(with_ended=True, team=team, look=look)
            return [view for view in found if view.name in meant]
        if look and not team:
            return [*self.snapshot(with_ended=with_ended).agents]
        if team:
            from knell.life.teams.agent_status import agents_of_team

            return agents_of_team(self._world, team, with_ended=with_ended)
        from knell.life.look.list import list_agents

        return list_agents(self._world, with_ended=with_ended)

    def show(self, name: str) -> r.Story:
        """Everything about one agent: runs, live processes, last receipt, how to resume it."""
        from knell.life.look.show import show

        return show(self._world, name)

    def events(self, *, after: int = 0, agent: str = "", limit: int = 50) -> list[r.Event]:
        """The audit trail: the last `limit` events, oldest first, or the next behind `after`."""
        from knell.life.look.events import events

        return events(self._world, after=after, agent=agent, limit=limit)

    def follow(self, *, agent: str = "", every: float = 0.2, after: int = 0) -> Iterator[r.Event]:
        """Yields every event behind number `after`, or from now on, as it is written."""
        from knell.life.look.events import follow

        return follow(self._world, agent=agent, every=every, after=after)

    def receipt(self, name: str) -> Receipt:
        """The newest proof of an ending of this agent, or of the run with this id."""
        from knell.life.look.show import newest_receipt

        return newest_receipt(self._world, name)

    def verify(self, name: str = "", *, session: str = "") -> r.Verification:
        """Whether an agent, or a session of the registry file, is as its ending left it."""
        from knell.life.registry.verify import verify

        return verify(self._world, name, session)

    def doctor(self) -> r.Diagnosis:
        """What this machine has, and what agents have left behind on it. Changes nothing."""
        from knell.life.look.doctor import examine

        return examine(self._world)

    def repair(self) -> r.Restored:
        """Restores what the store lost, from run directories, live processes and the newest backup.
        A damaged store is moved aside first, and kept."""
        from knell.life.base.restore import repair

        return repair(self._world)

    @property
    def kinds(self) -> Kinds:
        """What knell knows of agent programs: `kinds.names()`, `kinds.has("claude")`."""
        return self._world.kinds

    def place_names(self) -> tuple[str, ...]:
        """Where `spawn` can start agents, places of other packages included."""
        return self._world.place_names()

    # -- ending -------------------------------------------------------------------------------

    def kill(
        self, *targets: str, grace: float | None = None, force: bool = False, reason: str = "",
        yes: bool = False, children: bool = True, dry_run: bool = False, dissolve: bool = False,
        tasks: str = "", cleanup: str = "",
    ) -> Endings:  # fmt: skip
        """Ends agents surely, with every process they ever started: TERM, `grace` seconds, KILL.

        Targets are names, PIDs, tag:X, team:X, session:X, %pane, globs, or all. `force`: KILL at
        once. `children=False` spares the agents that they started. `dissolve`: also the team of a
        leader. `tasks`: fail, retry, requeue or leave. `cleanup`: safe or force. A target that is
        not found gives a receipt that says so. `yes`: I mean it, where knell would ask.
        """
        from knell.core.receipt import Endings
        from knell.life.end.kill import KillWish, kill

        wish = KillWish(
            targets, grace, force, reason, yes, children, dry_run, dissolve, tasks, cleanup
        )
        return Endings(kill(self._world, wish))

    def stop(
        self, *targets: str, mode: str = "", graceful: bool = False, capture_id: bool = False,
        reason: str = "", grace: float | None = None, purge: bool = False, yes: bool = False,
        children: bool = True, dry_run: bool = False, session: str = "", unlisted: bool = False,
        verb: str = "stop",
    ) -> Endings:  # fmt: skip
        """Ends agents politely: their own exit, 3 s, TERM, `grace` seconds, KILL.

        Without a target inside an agent, that agent stops itself. `mode`: graceful, hard (signals
        at once), or soft (let go of it, the process lives on). `purge` with `yes` also deletes the
        conversation for good. `session` names one of the registry file instead of targets, with
        `unlisted` also one without a row there; `verb` is the word that a
        refusal uses for it.
        """
        from knell.core.receipt import Endings
        from knell.core.stop_plan import StopOptions
        from knell.life.end.stop import StopWish, stop

        options = StopOptions(mode, graceful, capture_id, reason)
        wish = StopWish(targets, options, grace, purge, yes, children, dry_run)
        if not session:
            return Endings(stop(self._world, wish), purge=purge and not dry_run)
        from knell.life.registry.session import stop_session

        ended = stop_session(self._world, session, wish, verb=verb, unlisted=unlisted)
        return Endings(ended, purge=purge and not dry_run)

    def reap(
        self, *names: str, end: bool = False, grace: float | None = None, dry_run: bool = False
    ) -> r.Reaped:
        """Lists, or with `end` ends, processes that outlived their run."""
        from knell.life.end.reap import reap

        return reap(self._world, end=end, names=names, grace=grace, dry_run=dry_run)

    def foreign(self) -> list[r.FoundProcess]:
        """Processes that agents left behind which knell did not start."""
        return self._world.processes.foreign_leftovers(self._world.kinds.everything()[0])

    def reap_foreign(self, *pids: int, dry_run: bool = False) -> list[r.OrphanEnd]:
        """Ends processes that `foreign` lists, by their PIDs."""
        from knell.life.end.reap import reap_foreign

        return reap_foreign(self._world, pids, dry_run=dry_run)

    def prune(
        self, *, days: float | None = None, export: Callable[[Receipt], None] | None = None,
        dry_run: bool = False,
    ) -> r.Pruned:  # fmt: skip
        """Removes ended runs that are older than `days` (default: the setting retention.days).

        The newest run of each agent stays. `export` gets each receipt before it is removed."""
        from knell.life.end.prune import prune

        return prune(self._world, days, export, dry_run=dry_run)

    def begun_endings(self) -> list[tuple[str, bool]]:
        """The agents whose ending this process has begun and not finished; and whether a keeper
        goes on with it when this process ends."""
        from knell.life.look.progress import begun_endings

        return begun_endings(self._world)

    # -- parts of their own -------------------------------------------------------------------

    def team(self, name: str) -> parts.TeamHandle:
        """One team: its members, its tasks, and its leader's `kill`."""
        from knell.api.parts import TeamHandle

        return TeamHandle(self._world, name)

    def teams(self) -> list[r.TeamView]:
        """Every team."""
        from knell.life.teams.team import teams

        return teams(self._world)

    def task(self, id: str) -> parts.TaskHandle:
        """One task of a team, to claim, complete, release or delete."""
        from knell.api.parts import TaskHandle

        return TaskHandle(self._world, id)

    def tasks(self, team: str = "", *, status: str = "", owner: str = "") -> list[r.TeamTask]:
        """Tasks of one team or all, the most urgent first, and of those the oldest."""
        from knell.life.teams.task import tasks

        return tasks(self._world, team, status, owner)

    @property
    def messages(self) -> parts.MessageVerbs:
        """Messages between agents."""
        from knell.api.parts import MessageVerbs

        return MessageVerbs(self._world)

    @property
    def shutdowns(self) -> parts.ShutdownVerbs:
        """Requests to leave, and their answers."""
        from knell.api.parts import ShutdownVerbs

        return ShutdownVerbs(self._world)

    @property
    def hooks(self) -> parts.HookVerbs:
        """Heartbeat hooks in the settings of the agents' programs."""
        from knell.api.parts import HookVerbs

        return HookVerbs(self._world)

    # -- acting for another -------------------------------------------------------------------

    def caller(self) -> Caller:
        """Who asks: the agent that this process belongs to, or the operator."""
        from knell.life.base.caller import caller

        return caller(self._world)

    def acting_as(self, caller: Caller) -> Knell:
        """Knell for a server: all is done in the name of `caller`. No agent acts in a person's."""
        from knell.core.environment import without_caller

        if not (caller.runs or caller.doubt):
            from knell.life.base.caller import check_not_agent

            with Knell(self._world.home, self._world.env) as asking:  # of this thread
                check_not_agent(asking._world, f"act as '{caller.by}'")
        other = Knell(self._world.home, without_caller(self._world.env), self._world.registry_path)
        other._world.acting_as = caller
        return other

    @property
    def server(self) -> parts.ServerVerbs:
        """What a server that acts for many callers needs beyond the verbs."""
        from knell.api.parts import ServerVerbs

        return ServerVerbs(self._world)

    def invoke(self, name: object, params: object) -> dict[str, Any]:
        """Carries out one of the orchestrator's JSON commands: a dictionary in, a dictionary out.

        It raises nothing: an answer with `"success": false` says why."""
        from knell.life.orchestrator.invoke import invoke

        return invoke(self._world, name, params)
