"""Every process of the machine in one scan, and what one scan answers."""

from collections.abc import Collection, Mapping, Sequence
from functools import cached_property

from knell.core.environment import window_mark
from knell.core.process import FoundProcess, ProcessId
from knell.core.redact import redacted
from knell.processes.os import panes, system
from knell.processes.os.tmux_client import PaneEnvironments

# The runs' tmux servers, by run and pid: when each began, and its environment. An ending needs both
# after it has ended them, also where a scan still shows one that has just left its cgroup.
own_servers: dict[tuple[str, int], tuple[int, dict[str, str]]] = {}
# By run: environments of adopted agents, whose tmux servers may have gone before anybody looked.
adopted_agents: dict[str, dict[str, str]] = {}
sessions = panes.Openers()
environments = PaneEnvironments(system.environment_of, panes.TOLD)


class Table:
    """A snapshot. It can show that something lives, never that nothing does."""

    def __init__(self) -> None:
        self.rows: dict[int, system.Process] = {}
        self.children: dict[int, list[int]] = {}
        self._commands: dict[int, str] = {}
        for pid in system.pids():
            try:
                row = system.stat_of(pid)
            except (OSError, ValueError):
                continue
            if row:
                self.rows[row.pid] = row
                self.children.setdefault(row.ppid, []).append(row.pid)

    @cached_property
    def stamps(self) -> dict[str, list[int]]:
        """Pids by the run id that they inherited; read only when it is asked for."""
        runs = {pid: run for pid in self.rows if (run := system.stamp_of(pid))}
        for server in self.tmux_servers():
            self._forget_brand(server, runs)
        self._forget_orphans(runs)
        stamps: dict[str, list[int]] = {}
        for pid, run in runs.items():
            stamps.setdefault(run, []).append(pid)
        return stamps

    def command(self, pid: int) -> str:
        """Its command line; read once, since an ending asks for that of every process twice."""
        if pid not in self._commands:
            self._commands[pid] = self.rows[pid].command()
        return self._commands[pid]

    def tmux_servers(self) -> list[int]:
        return [row.pid for row in self.rows.values() if panes.is_tmux_server(row)]

    def _forget_brand(self, server: int, runs: dict[int, str]) -> None:
        """Ignores the stamps that a run's tmux server gave to panes which others opened in it."""
        brand = runs.get(server)
        below = self.children.get(server, ()) if brand else ()
        own = system.environment_of(server) if below else {}
        openers = self.openers(server) if below else {}
        others = [
            pid
            for pid, envs in openers.items()
            if not all(panes.has_same_client(own, env) for env in envs)
        ]
        for pid in (server, *self.family(others, set())) if others else ():
            if runs.get(pid) == brand:
                del runs[pid]

    def openers(self, server: int) -> dict[int, tuple[Mapping[str, str], ...]]:
        """The environments that tell who opened each pane of this tmux server: its own, and that of
        the first pane of its session. Panes whose environment is not known are left out."""
        below = self.children.get(server, ())
        given = {pid: env for pid in below if (env := environments.of(server, pid)) is not None}
        held: panes.Held = [(self.rows[pid].start, env) for pid, env in given.items()]
        key = server, self.rows[server].start
        return {pid: (env, sessions.of(key, env, lambda: held)) for pid, env in given.items()}

    def opener(self, env: Mapping[str, str], began: int | None = None) -> Mapping[str, str]:
        """What tmux gave to the first pane of the session in which a process was started that has
        this environment; the server may have begun then, and be gone."""
        number = panes.server_of(env)
        start = self.start(number) if began is None else began
        if start is None:
            return env
        below = self.children.get(number, ())
        return sessions.of(
            (number, start),
            env,
            lambda: [(self.rows[pid].start, system.environment_of(pid)) for pid in below],
        )

    def remember_own(self, server: int, run: str) -> None:
        if env := system.environment_of(server):  # else it has ended since the scan
            own_servers[run, server] = self.rows[server].start, env

    def remember_adopted(self, agent: ProcessId, run: str) -> None:
        env = system.environment_of(agent.pid) if self.row(agent) else {}
        if env and run not in adopted_agents:
            adopted_agents[run] = env

    def _forget_orphans(self, runs: dict[int, str]) -> None:
        """Does the same for what was started in such a pane and has lost its parent."""
        tops = [pid for pid, run in runs.items() if runs.get(self.rows[pid].ppid) != run]
        stamps = {pid: system.stamp_of(pid) for pid in self.tmux_servers()}
        for top in tops:
            run = runs[top]
            own = [server for server, stamp in stamps.items() if stamp == run]
            family = self.family([top], set()) if self.is_from_others(top, run, own) else []
            for pid in [pid for pid in family if runs.get(pid) == run]:
                del runs[pid]

    def is_from_others(self, orphan: int, run: str, own: Collection[int]) -> bool:
        """Whether it was started in a pane that others opened in a tmux server of this run's."""
        env, mark = system.environment_of(orphan), window_mark(run)
        number = panes.server_of(env)
        row = self.rows.get(number)
        began, server = own_servers.get((run, number), (None, None))
        env = self.opener(env, began)
        if not panes.may_be_from_others(mark, env):
            return False
        if row and row.state not in "ZX" and row.start != began and panes.is_tmux_server(row):
            if number not in own:
                return False
            self.remember_own(number, run)
            server = own_servers.get((run, number), (None, None))[1]
        if server is None:  # an agent's tmux has its variables, if no stamp
            server = adopted_agents.get(run)
        return panes.is_from_others(run, mark, server, env)

    def row(self, process: ProcessId) -> system.Process | None:
        """Exactly that process, also if it is dead and not reaped; None if it is not listed."""
        row = self.rows.get(process.pid)
        return row if row and process.same_as(identity_of(row)) else None

    def start(self, pid: int) -> int | None:
        """When the process that has this number began; None if there is none."""
        return self.rows[pid].start if pid in self.rows else None

    def still_led(self, led: dict[int, int]) -> dict[int, int]:
        """Numbers of dead members that have been in use as a session or group ever since.

        Once one is free, a process that uses it later is a stranger."""
        used = {n for row in self.rows.values() for n in (row.sid, row.pgid)} if led else ()
        return {pid: at for pid, at in led.items() if pid in used and self.start(pid) in (None, at)}

    def ancestors(self, pid: int) -> list[int]:
        """Parent, grandparent, … up to init."""
        chain: list[int] = []
        while (row := self.rows.get(pid)) and row.ppid and row.ppid not in chain:
            chain.append(row.ppid)
            pid = row.ppid
        return chain

    def family(self, roots: Sequence[int], without: set[int]) -> list[int]:
        """These processes and all below them; `without` others and all below those."""
        found = list(dict.fromkeys(roots))
        seen = {*found, *without}
        for pid in found:  # grows while it is walked
            fresh = [child for child in self.children.get(pid, ()) if child not in seen]
            seen.update(fresh)
            found += fresh
        return found


def identity_of(row: system.Process) -> ProcessId:
    return ProcessId(row.pid, row.start, system.here())


def member(row: system.Process, via: str, known: ProcessId | None = None) -> FoundProcess:
    """One line of the table as a process that was found; `known` has more than a scan can tell."""
    command = redacted(row.command())
    return FoundProcess(known or identity_of(row), command, via, row.ppid, row.state)


def stamped() -> dict[str, list[ProcessId]]:
    """Every stamped process of the machine that we may look into, by run id."""
    table = Table()
    return {
        run: [identity_of(table.rows[pid]) for pid in pids] for run, pids in table.stamps.items()
    }


def all_processes() -> list[FoundProcess]:
    return [member(row, "table") for row in Table().rows.values()]


def foreground(pid: int) -> tuple[int, ...]:
    """The processes that may read what is typed on this one's terminal, oldest first."""
    stat = system.stat_of(pid)
    if stat is None or stat.front <= 0:
        return ()
    rows = [row for row in Table().rows.values() if row.pgid == stat.front]
    return tuple(row.pid for row in sorted(rows, key=lambda row: (row.start, row.pid)))
