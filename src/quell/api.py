"""The Python API: every verb as a method with typed results. The command line uses nothing else."""

from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING

from quell.wiring import RealWorld

if TYPE_CHECKING:  # each verb loads only what it needs, when it is called
    from quell.core.process import Member
    from quell.core.receipt import Receipt
    from quell.core.stall import Patience
    from quell.core.store import Happened
    from quell.core.watched import Drift, Told
    from quell.life.adopt import AdoptWish
    from quell.life.doctor import Diagnosis
    from quell.life.hooks import HookReport, HookWish
    from quell.life.kill import KillWish, Slain
    from quell.life.orchestrated import Orchestrated
    from quell.life.orphans import OrphanEnd
    from quell.life.reap import Reaped
    from quell.life.restart import Restarted, RestartWish
    from quell.life.resume import Resumed, ResumeWish
    from quell.life.served import Served
    from quell.life.service import Service
    from quell.life.show import Story
    from quell.life.spawn import Spawned, Wish
    from quell.life.stalled import Judged, StalledWish
    from quell.life.status import Status
    from quell.life.stop import StopWish
    from quell.life.together.teams import Teams
    from quell.life.view import AgentView
    from quell.life.watch import Round, WatchWish


class Quell:
    """Agents on this machine. `home` is where the state lives; by default as for the command."""

    def __init__(
        self, home: str = "", env: Mapping[str, str] | None = None, registry: str = ""
    ) -> None:
        self.world = RealWorld(env, home)
        self.world.registry_path = registry

    def __enter__(self) -> "Quell":
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        self.world.close()

    # -- starting -----------------------------------------------------------------------------

    def spawn(self, wish: "Wish") -> "Spawned":
        """Starts an agent in a place of its own; returns once it was seen alive."""
        from quell.life.spawn import spawn

        place = wish.place or self.world.default_place()
        server = wish.server or (self.world.settings.tmux_server if place == "tmux" else "")
        return spawn(self.world, wish._replace(place=place, server=server))

    def run(self, wish: "Wish") -> None:
        """Becomes the keeper of the agent in this terminal; never returns."""
        from quell.life.spawn import run_here
        from quell.places.terminal import here

        run_here(self.world, wish, here(self.world.env))

    def adopt(self, wish: "AdoptWish") -> "Spawned":
        """Takes charge of a running process or pane."""
        from quell.life.adopt import adopt

        return adopt(self.world, wish)

    def resume(self, wish: "ResumeWish") -> "Resumed":
        """The same conversation in a new run."""
        from quell.life.resume import resume

        return resume(self.world, wish)

    def restart(self, wish: "RestartWish") -> "Restarted":
        """A fresh run of an agent; one that lives is stopped first."""
        from quell.life.restart import restart

        return restart(self.world, wish)

    # -- looking ------------------------------------------------------------------------------

    def list(self, *, everybody: bool = False) -> "list[AgentView]":
        from quell.life.view import list_agents

        return list_agents(self.world, everybody=everybody)

    def status(self) -> "Status":
        from quell.life.status import status

        return status(self.world)

    def show(self, name: str) -> "Story":
        from quell.life.show import show

        return show(self.world, name)

    def events(self, *, after: int = 0, agent: str = "", limit: int = 50) -> "list[Happened]":
        """The last `limit`, oldest first; of one agent, if it is known. After `after`: the next."""
        from quell.core.errors import NoSuchAgent
        from quell.life.settle import settle

        settle(self.world)
        found = self.world.store.events(after, agent, limit)
        if agent and not found and self.world.store.agent(agent) is None:
            raise NoSuchAgent(agent)
        return found

    def follow(
        self, *, agent: str = "", every: float = 0.2, after: int = 0
    ) -> "Iterator[Happened]":
        """Every event after number `after`, or from now on, as it is written."""
        last = after or max((event.id for event in self.events(limit=1)), default=0)
        while True:
            for event in self.events(after=last, agent=agent, limit=1000):
                last = event.id
                yield event
            self.world.kernel.wait([], every)

    def receipt(self, name: str) -> "Receipt":
        """The newest proof of an ending of this agent, or of the run with this id."""
        from quell.life.proof import newest_receipt

        return newest_receipt(self.world, name)

    def doctor(self) -> "Diagnosis":
        from quell.life.doctor import examine

        return examine(self.world)

    # -- ending -------------------------------------------------------------------------------

    def kill(self, wish: "KillWish") -> "list[Slain]":
        """Ends agents surely; one entry per target."""
        from quell.life.kill import kill

        return kill(self.world, wish)

    def stop(self, wish: "StopWish") -> "list[Slain]":
        """Ends agents politely, or with `soft` lets go of them."""
        from quell.life.stop import stop

        return stop(self.world, wish)

    def stop_session(
        self, name: str, wish: "StopWish", *, verb: str = "stop", unlisted: bool = False
    ) -> "list[Slain]":
        """Ends a session of the registry file, whoever started it."""
        from quell.life.session import stop_session

        return stop_session(self.world, name, wish, verb=verb, unlisted=unlisted)

    def end_stalled(self, wish: "StalledWish") -> "list[tuple[Judged, Receipt | None]]":
        """Ends who has stalled; everybody who was looked at, with a receipt if it was ended."""
        from quell.life.stalled import end_stalled

        return end_stalled(self.world, wish)

    def reap(
        self,
        *names: str,
        end: bool = False,
        grace: float | None = None,
        dry_run: bool = False,
    ) -> "Reaped":
        """Lists, or ends, what outlived its run."""
        from quell.life.reap import reap

        return reap(self.world, end=end, names=names, grace=grace, dry_run=dry_run)

    def foreign(self) -> "list[Member]":
        """Leftovers of agents that quell did not start."""
        return self.world.kernel.foreign()

    def reap_foreign(self, pids: Sequence[int], *, dry_run: bool = False) -> "list[OrphanEnd]":
        """Ends leftovers of agents that quell did not start: only those listed, only by PID."""
        from quell.life.reap import reap_foreign

        return reap_foreign(self.world, pids, dry_run=dry_run)

    # -- watching -----------------------------------------------------------------------------

    def beat(self, name: str = "") -> str:
        """One sign of life, of the agent that asks or of a named one; the file that was touched."""
        from quell.life.beat import beat

        return beat(self.world, name)

    def judged(
        self, *targets: str, older_than: float | None = None, patience: "Patience | None" = None
    ) -> "list[Judged]":
        """A verdict on every live run, or on those that the targets mean. Ends nothing."""
        from quell.life.stalled import judged, patience_of

        return judged(self.world, patience or patience_of(self.world, older_than), targets)

    def explain(self, name: str) -> "Judged":
        """The verdict on one agent, with its evidence."""
        from quell.life.stalled import explain, patience_of

        return explain(self.world, name, patience_of(self.world))

    def reconcile(self, *, dry_run: bool = False) -> "list[Drift]":
        """Where registry file, store and machine drifted apart, and what was done about it."""
        from quell.life.reconcile import reconcile

        return reconcile(self.world, dry_run=dry_run)

    def watch(self, wish: "WatchWish") -> "Iterator[Told]":
        """Watches for ever; yields what happens, whoever did it."""
        from quell.life.watch import watch

        return watch(self.world, wish)

    def watch_once(self, wish: "WatchWish", *, dry_run: bool = False) -> "Round":
        """One round of the watch."""
        from quell.life.watch import watch_once

        return watch_once(self.world, wish, dry_run=dry_run)

    def watch_service(
        self, wish: "WatchWish", *, install: bool, dry_run: bool = False
    ) -> "Service":
        """Writes or removes the file by which the machine starts the watch at login."""
        from quell.life.service import service

        return service(self.world, wish, install=install, dry_run=dry_run)

    @property
    def orchestrated(self) -> "Orchestrated":
        """What the orchestrator's commands need beyond the verbs."""
        from quell.life.orchestrated import Orchestrated

        return Orchestrated(self.world)

    # -- teams --------------------------------------------------------------------------------

    @property
    def served(self) -> "Served":
        """What a server that acts for many callers needs beyond the verbs."""
        from quell.life.served import Served

        return Served(self.world)

    @property
    def team(self) -> "Teams":
        """Teams, their tasks and letters."""
        from quell.life.together.teams import Teams

        return Teams(self.world)

    # -- hooks --------------------------------------------------------------------------------

    def hooks(self, wish: "HookWish") -> "list[HookReport]":
        """Whether the heartbeat hooks are in each program's settings, and would run."""
        from quell.life.hooks import status

        return status(self.world, wish)

    def install_hooks(self, wish: "HookWish") -> "list[HookReport]":
        from quell.life.hooks import install

        return install(self.world, wish)

    def uninstall_hooks(self, wish: "HookWish") -> "list[HookReport]":
        from quell.life.hooks import uninstall

        return uninstall(self.world, wish)
