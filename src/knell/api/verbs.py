"""The verbs of the API that start agents, judge them and watch over them."""

from __future__ import annotations  # the records of the results are not worth their import time

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence

    from knell.api import results as r
    from knell.core.receipt import Receipt
    from knell.core.stall.verdict import StallLimits
    from knell.wiring import RealWorld


def check_packages(what: str, names: Sequence[str], extra: str) -> None:
    """BadRequest if the plain install does not have all of them."""
    from importlib.util import find_spec

    found = map(find_spec, names)
    if not all(one and one.origin for one in found):  # a folder of that name is no package
        from knell.core.errors import missing_extra

        raise missing_extra(what, names, extra)


def check_mcp_package() -> None:
    """Without it, knell's MCP server does not start, and an agent would look for it in vain."""
    check_packages("knell mcp", ["mcp"], "mcp")


class StartAndWatchVerbs:
    """A part of `Knell`."""

    _world: RealWorld

    def spawn(
        self, kind: str = "command", *, command: Sequence[str] = (), args: Sequence[str] = (),
        name: str = "", place: str = "", server: str = "", session: str = "", cwd: str = "",
        env: Mapping[str, str] | None = None, team: str = "", tag: str = "", role: str = "",
        task: str = "", keep: Sequence[str] = (), grace: float | None = None, restart: int = 0,
        worktree: str = "", shared: bool = False, mcp: bool = False,
        startup: float | None = None, stay: float = 0.0, cut_off_after: int = 0,
    ) -> r.Spawned:  # fmt: skip
        """Starts an agent in a place of its own; returns once it was seen alive.

        `kind` is a known program (claude, codex, …) with its `args`; without one, `command` is any
        program with its arguments. `place` is tmux, kitty, wezterm or headless (default: where you
        are); `server` and `session` choose the tmux server or kitty socket and the session.
        `keep`: patterns of children that may outlive it. `restart`: how often `watch` may start it
        again after an unplanned end. `worktree`: a branch, for a git worktree of its own. `mcp`:
        give it knell's tools for this start. `startup`: seconds until it must have been seen alive
        (default: the setting spawn.timeout). `stay`: seconds that it must then stay up; if it
        ends in that time with another exit code than 0, the start has failed. `cut_off_after`:
        seconds without the fleet's database after which `watch` stops it; 0: it goes on.
        """
        from knell.core.agent import Agent
        from knell.life.start.spawn import StartOptions, Wish, spawn

        if mcp:
            args, env = self._with_mcp_server(kind, args, env or {})
        if not place:
            from knell.life.start.start_place import check_has_terminal

            place = self._world.default_place()
            check_has_terminal(self._world, kind, (*command, *args), place)
        server = server or (self._world.settings.tmux_server if place == "tmux" else "")
        agent = Agent(
            name, kind, cwd, (*command, *args), tuple((env or {}).items()), place, server, team,
            tag, role, task, tuple(keep), restart=restart, cut_off_after=cut_off_after,
        )  # fmt: skip
        return spawn(
            self._world,
            Wish(agent, worktree, shared, StartOptions(session, grace, startup, stay=stay)),
        )

    def run(
        self, kind: str = "command", *, command: Sequence[str] = (), args: Sequence[str] = (),
        name: str = "", cwd: str = "", env: Mapping[str, str] | None = None, team: str = "",
        tag: str = "", role: str = "", task: str = "", keep: Sequence[str] = (),
        grace: float | None = None, restart: int = 0, worktree: str = "", shared: bool = False,
        mcp: bool = False, cut_off_after: int = 0,
    ) -> None:  # fmt: skip
        """Becomes the keeper of the agent in this terminal; never returns. Options as for spawn."""
        from knell.core.agent import Agent
        from knell.life.start.spawn import StartOptions, Wish, run_here

        if mcp:
            args, env = self._with_mcp_server(kind, args, env or {})
        agent = Agent(
            name, kind, cwd, (*command, *args), tuple((env or {}).items()), team=team, tag=tag,
            role=role, task=task, keep=tuple(keep), restart=restart, cut_off_after=cut_off_after,
        )  # fmt: skip
        wish = Wish(agent, worktree, shared, StartOptions(grace=grace))
        run_here(self._world, wish, self._world.here())

    def _with_mcp_server(
        self, kind: str, args: Sequence[str], env: Mapping[str, str]
    ) -> tuple[tuple[str, ...], dict[str, str]]:
        from knell.life.start.mcp_config import with_mcp_server

        check_mcp_package()
        return with_mcp_server(self._world.kinds, kind, args, env)

    def mcp_snippet(self, program: str, address: str = "") -> r.McpSnippet:
        """What goes into the settings of a program, so that it always has knell's tools.

        `address`: that of the server for all agents; without one, the program starts its own."""
        from knell.life.start.mcp_config import mcp_snippet

        check_mcp_package()
        return mcp_snippet(self._world.kinds, program, address)

    def mcp_programs(self) -> list[str]:
        """The programs that `mcp_snippet` knows."""
        from knell.life.start.mcp_config import mcp_programs

        return mcp_programs(self._world.kinds)

    def adopt(
        self, target: str | int, *, name: str = "", kind: str = "", server: str = "",
        tag: str = "", team: str = "", conversation: str = "",
    ) -> r.Spawned:  # fmt: skip
        """Takes charge of a running PID, tmux %pane, or tmux session with one pane."""
        from knell.life.start.adopt import AdoptWish, adopt

        wish = AdoptWish(str(target), name, kind, server, tag, team, conversation)
        return adopt(self._world, wish)

    def resume(
        self, name: str, *, place: str = "", server: str = "", session: str = "", cwd: str = "",
        args: Sequence[str] = (), conversation: str = "", here: Callable[[], None] | None = None,
    ) -> r.Resumed:  # fmt: skip
        """Continues an ended agent's conversation in a new run, as it was and where it was.

        `args`: further arguments for its program; an agent that works without a terminal needs
        its next prompt there. `here`: an agent that was `run` in a terminal may take the one of
        this process, which then calls `here`, becomes its keeper and never returns.
        """
        from knell.life.start.resume import ResumeWish, resume

        wish = ResumeWish(name, place, server, session, cwd, tuple(args), conversation, here)
        return resume(self._world, wish)

    def fork(
        self, name: str, *, new_name: str = "", place: str = "", server: str = "",
        session: str = "", args: Sequence[str] = (),
    ) -> r.Spawned:  # fmt: skip
        """Starts another agent, whose conversation begins with all that this one's has.

        The first may run on, and neither sees what the other says from now on. `new_name`: of the
        new one (default: NAME-fork). It works in the same directory and has the same tag.
        """
        from knell.life.start.fork import prepare_fork

        start = prepare_fork(self._world, name, args)
        return self.spawn(
            start.kind, args=start.args, name=new_name or start.name, place=place, server=server,
            session=session, cwd=start.cwd, env=dict(start.env), tag=start.tag,
            stay=self._world.settings.spawn_stay,
        )  # fmt: skip

    def open_conversation(
        self, id: str, *, name: str = "", place: str = "", server: str = "", session: str = "",
        cwd: str = "", args: Sequence[str] = (),
    ) -> r.Spawned:  # fmt: skip
        """Starts an agent that continues a conversation of a program that knell did not start.

        Which program has it is found by its files; it starts in the directory where the
        conversation was held, or in `cwd`.
        """
        from knell.life.start.fork import found_conversation

        start = found_conversation(self._world, id, cwd, args)
        return self.spawn(
            start.kind, args=start.args, name=name, place=place, server=server, session=session,
            cwd=start.cwd, stay=self._world.settings.spawn_stay,
        )  # fmt: skip

    def restart(
        self, name: str, *, resume: bool = False, grace: float | None = None, yes: bool = False,
        here: Callable[[], None] | None = None,
    ) -> r.Restarted:  # fmt: skip
        """Starts a fresh run of an agent; one that still runs is stopped first.

        `resume`: go on with its conversation. `yes`: also if it leads a team. `here`: as in resume.
        """
        from knell.life.start.restart import RestartWish, restart

        return restart(self._world, RestartWish(name, resume, grace, yes, here))

    # -- judging and watching -----------------------------------------------------------------

    def beat(self, name: str = "") -> str:
        """Gives one sign of life of an agent, by default of the caller; the file it touched."""
        from knell.life.base.touch_heartbeat import beat

        return beat(self._world, name)

    def verdicts(
        self, *targets: str, older_than: float | None = None, patience: StallLimits | None = None
    ) -> list[r.Judgement]:
        """How every live agent, or those that the targets mean, is doing. Ends nothing."""
        from knell.life.watch.stalled import judge_runs, stall_limits

        return judge_runs(self._world, patience or stall_limits(self._world, older_than), targets)

    def explain(self, name: str) -> r.Judgement:
        """The verdict on one agent, with its evidence."""
        from knell.life.watch.stalled import explain, stall_limits

        return explain(self._world, name, stall_limits(self._world))

    def end_stalled(
        self, *targets: str, older_than: float | None = None, grace: float | None = None,
        force: bool = False, tasks: str = "", cleanup: str = "", yes: bool = False,
        dry_run: bool = False,
    ) -> list[tuple[r.Judgement, Receipt | None]]:  # fmt: skip
        """Ends agents that have stalled; gives every verdict, with the receipts of what ended."""
        from knell.life.watch.stalled import StalledWish, end_stalled

        wish = StalledWish(older_than, targets, grace, force, tasks, cleanup, yes, dry_run)
        return end_stalled(self._world, wish)

    def reconcile(self, *, dry_run: bool = False) -> list[r.Drift]:
        """Where registry file, store and machine disagreed, and what was done about it."""
        from knell.life.registry.reconcile import reconcile

        return reconcile(self._world, dry_run=dry_run)

    def monitor(
        self, *, once: bool = False, interval: float | None = None, dry_run: bool = False
    ) -> Iterator[list[r.Drift]]:
        """Reconciles every `interval` seconds (default 30), or `once`; yields what drifted anew."""
        from knell.life.registry.reconcile import monitor

        return monitor(self._world, once=once, interval=interval, dry_run=dry_run)

    def create(
        self, agent: str = "", *, session: str = "", workspace: str = "", server: str = "",
        role: str = "", args: Sequence[str] = (),
    ) -> r.Spawned:  # fmt: skip
        """Starts an agent in a tmux session of its own, with a row in the registry file.

        `agent` is its kind. Without `session`, its name is derived from `workspace` and `agent`. If
        the session has a row that has ended, what is not given is as there."""
        from knell.life.registry.create import CreateWish, create

        wish = CreateWish(agent, session, workspace, server, role, tuple(args))
        return create(self._world, wish)

    def watch(
        self, *, policy: str = "", rules: Sequence[str] = (), interval: float | None = None,
        older_than: float | None = None,
    ) -> Iterator[r.WatchReport]:  # fmt: skip
        """Watches for ever, and yields what happens, also what others do.

        `policy`: report, stop or kill what has stalled. `rules`: exceptions, as "tag:night=kill".
        `interval`: seconds between rounds. `older_than`: seconds without a sign of life.
        """
        from knell.life.watch.loop import WatchWish, watch

        reports = watch(self._world, WatchWish(policy, tuple(rules), interval, older_than))
        from knell.life.base.caller import caller

        who = caller(self._world)
        if not (who.runs or who.doubt):  # the link carries out orders in the names of operators
            from knell.fleet.child import keep_link

            keep_link(self._world.fleet_files.link, self._world.env)
        return reports

    def watch_once(
        self, *, policy: str = "", rules: Sequence[str] = (), interval: float | None = None,
        older_than: float | None = None, dry_run: bool = False,
    ) -> r.Round:  # fmt: skip
        """One round of the watch; with `dry_run`, only its looks. Options as for `watch`."""
        from knell.life.watch.loop import WatchWish, watch_once

        wish = WatchWish(policy, tuple(rules), interval, older_than)
        return watch_once(self._world, wish, dry_run=dry_run)

    def switch_watch(self, *, on: bool) -> r.WatchSwitch:
        """Starts the watch in the background, or ends the one that runs on this host."""
        from knell.life.watch.autostart import switch_watch

        return switch_watch(self._world, on=on)

    def watch_service(
        self, *, install: bool, policy: str = "", rules: Sequence[str] = (),
        interval: float | None = None, older_than: float | None = None, dry_run: bool = False,
    ) -> r.Service:  # fmt: skip
        """Writes or removes the file by which the machine starts the watch at login."""
        from knell.life.watch.autostart import set_autostart
        from knell.life.watch.loop import WatchWish

        wish = WatchWish(policy, tuple(rules), interval, older_than)
        return set_autostart(self._world, wish, install=install, dry_run=dry_run)
