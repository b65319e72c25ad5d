"""Which processes descend from the keeper, and which of them it must spare."""

import os

import panes
import tmux_client
from machine import proc, tmux_servers
from proc import Process

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping

CALM_LOOKS = 3  # scans in a row that must find nothing when ECHILD cannot be had
OTHER_RUN = "the keeper of another run"
OTHER_PANE = "another's pane"
SHARED = "shared with another session"


class Descendants:
    """The descendants of one keeper."""

    def __init__(self, keeper: int, rundir: str, rules: list[str], mark: str) -> None:
        self.keeper = keeper
        self.mark = mark  # the WINDOWID of the run
        self.rundir = rundir
        self.run = os.path.basename(rundir)
        split = [rule.split(":", 2) for rule in rules]
        self.keep = [pattern for word, _, pattern in split if word == "keep"]
        self.shared = [(programs, pattern) for word, programs, pattern in split if word != "keep"]
        self.agent = 0  # its pid: no rule spares the agent itself
        self.found: list[Process] = []
        self.spared: list[tuple[Process, str]] = []
        self.calm = 0
        self.servers: list[int] | None = None  # tmux servers, asked for once
        self.environments = tmux_client.PaneEnvironments(proc.environment_of, panes.TOLD)
        self.openers = panes.Openers()
        self.own_servers: dict[int, dict[str, str]] = {}  # their environments, also of dead ones
        self.open_panes = tmux_client.OpenPanes(self.environments)
        if rules:
            matches("", "*")  # loads fnmatch now

    def walk(self) -> list[Process]:
        """Every descendant that is this run's to end."""
        self.found, self.spared = [], []
        helpers: list[Process] = []
        self.collect(self.keeper, helpers)
        for process in (*self.panes_elsewhere(), *self.daemons_elsewhere()):
            if process.pid not in {one.pid for one in self.found}:
                self.found.append(process)
                self.collect(process.pid, helpers)
        self.decide(helpers)
        return self.found

    def decide(self, helpers: list[Process]) -> None:
        """Judges helpers that others may use, last: only now it is known which are our own."""
        mine = {process.pid for process in (*self.found, *helpers)}
        while helpers:
            helper = helpers.pop()
            if self.in_use(helper, mine):
                self.spared.append((helper, SHARED))
            else:
                self.found.append(helper)
                self.collect(helper.pid, helpers)

    def collect(self, root: int, helpers: list[Process], server: int = 0) -> None:
        """Sorts everything below `root`; a helper that others may use is left undecided."""
        todo = [(root, server)]  # what to look below, and the tmux server whose panes these are
        while todo:
            parent, server = todo.pop()
            for pid in self.children(parent):
                process = self.process(pid)
                if process:
                    todo += self.sort(process, server, helpers)

    def sort(self, process: Process, server: int, helpers: list[Process]) -> list[tuple[int, int]]:
        """Whose it is. Returns it if what is below it is to be sorted too."""
        why = self.spare_reason(process, server)
        if why:
            self.spared.append((process, why))
            return []
        if self.patterns_shared(process) and process.pid != self.agent:
            helpers.append(process)
            return []
        if self.serves_others(process):
            self.spared.append((process, panes.SERVES_OTHERS))
            return [(process.pid, process.pid)]
        if server:
            self.open_panes.note(server, process.pid)
        self.found.append(process)
        return [(process.pid, 0)]

    def children(self, pid: int) -> list[int]:
        return proc.children(pid)

    def process(self, pid: int) -> Process | None:
        return proc.live_process(pid)

    def spare_reason(self, process: Process, server: int) -> str:
        if process.pid == self.agent:
            return ""
        if is_other_keeper(process, self.rundir):
            return OTHER_RUN
        if server and not self.owns_pane(server, process.pid):
            return OTHER_PANE
        if process.ppid == self.keeper and self.is_from_others(process):
            return panes.FROM_OTHERS
        kept = (f"kept: {one}" for one in self.keep if matches(process.command(), one))
        return next(kept, "")

    def patterns_shared(self, process: Process) -> list[tuple[str, str]]:
        """The rules under which this may be a vendor's helper that serves several sessions."""
        return [rule for rule in self.shared if matches(process.command(), rule[1])]

    def in_use(self, helper: Process, mine: set[int]) -> bool:
        """Whether a process outside `mine` runs a program that the helper serves."""
        rules = self.patterns_shared(helper)
        programs = {program for names, _ in rules for program in names.split(",")}
        for pid in set(proc.pids()) - mine:
            if any(os.path.basename(part) in programs for part in proc.argv_of(pid)[:2]):
                user = proc.live_process(pid)
                if user and not self.patterns_shared(user):  # a helper does not need a helper
                    return True
        return False

    # -- tmux -----------------------------------------------------------------------------------

    def serves_others(self, process: Process) -> bool:
        """Whether it is a tmux server with panes that are not this run's. A pane whose opener is
        not known belongs to whoever has the other panes."""
        if not panes.is_tmux_server(process):
            return False
        server, own = process.pid, proc.environment_of(process.pid)
        if own and server not in self.own_servers and self.is_own(process):
            self.own_servers[server] = own
        return any(
            self.spare_reason(pane, 0) or self.owns_pane(server, pane.pid) is False
            for pane in self.held(server)
        ) or not all(
            panes.owns_pane(self.run, self.mark, own, dead, is_own_server=True)
            for dead in self.dead_panes(server)
        )

    def held(self, server: int) -> list[Process]:
        return [pane for pid in self.children(server) if (pane := self.process(pid))]

    def dead_panes(self, server: int) -> "list[Mapping[str, str]]":
        return self.environments.of_dead(server)

    def owns_pane(self, server: int, pane: int) -> bool | None:
        """Whether the run opened this pane in a server that it started; None if that is unknown."""
        env, own = self.environments.of(server, pane), proc.environment_of(server)
        if env is None:
            return None
        return all(
            panes.owns_pane(self.run, self.mark, own, one, is_own_server=True)
            for one in (env, self.opener(server, env))
        )

    def opener(self, server: int, pane: "Mapping[str, str]") -> "Mapping[str, str]":
        """The environment of the first pane of its session."""
        return self.openers.of(
            (server, 0),
            pane,
            lambda: [(one.start, proc.environment_of(one.pid)) for one in self.held(server)],
        )

    def is_from_others(self, orphan: Process) -> bool:
        """Whether a process that we inherited was started in a pane that another opened in a tmux
        server of the run's: it is then ours only because of that server."""
        env = proc.environment_of(orphan.pid)
        number = panes.server_of(env)
        env = self.opener(number, env)
        if not panes.may_be_from_others(self.mark, env):
            return False
        if number and number == panes.server_of(os.environ):  # it was there before the run
            return False
        server = self.process(number) if number not in self.own_servers else None
        if server and panes.is_tmux_server(server):
            if self.is_own(server):
                self.own_servers[number] = proc.environment_of(number)
            elif proc.live_process(number):  # else it has ended since, and may have been the run's
                return False
        return panes.is_from_others(self.run, self.mark, self.own_servers.get(number), env)

    def is_own(self, server: Process) -> bool:
        """Whether the run has started this tmux server."""
        return self.keeper in [process.pid for process in proc.line_of(server.pid)]

    def panes_elsewhere(self) -> list[Process]:
        """Panes that the run opened in tmux servers of others, where none is a child of ours."""
        if self.servers is None:  # a thousand keepers that end at once would be too many clients
            self.servers = tmux_servers()
        below = {process.pid for process, _ in self.spared} | {p.pid for p in self.found}
        found: list[Process] = []
        for server in self.servers:
            for pid in self.children(server) if server not in below else ():
                pane = self.process(pid) if self.opened(server, pid) else None
                if pane and not self.spare_reason(pane, 0):
                    self.open_panes.note(server, pid)
                    found.append(pane)
        return found

    def opened(self, server: int, pane: int) -> bool:
        """Whether the run opened this pane in a tmux server of another."""
        env = proc.environment_of(pane)
        if "TMUX" not in env:  # it was replaced
            env = self.environments.of(server, pane) or {}
        return self.is_marked(env) and self.is_marked(self.opener(server, env))

    def is_marked(self, pane: "Mapping[str, str]") -> bool:
        return panes.owns_pane(self.run, self.mark, {}, pane, is_own_server=False)

    def daemons_elsewhere(self) -> list[Process]:
        """Processes that lost their parent in the run's panes in servers of others: one above the
        server has inherited them, and they bear the run's mark."""
        above = {one.pid for server in self.open_panes.servers for one in proc.line_of(server)[1:]}
        found = [self.process(pid) for one in above - {self.keeper} for pid in self.children(one)]
        return [p for p in found if p and self.bears_mark(p.pid) and not self.spare_reason(p, 0)]

    def bears_mark(self, pid: int) -> bool:
        env = proc.environment_of(pid)
        if not env.get("WINDOWID") == self.mark != "":
            return False
        return self.is_marked(self.opener(panes.server_of(env), env))

    def settle(self) -> None:
        """Closes the run's panes in known servers, and waits until no client can open another."""
        self.open_panes.settle(self.servers or ())

    def other_keepers(self, session: int) -> list[Process]:
        """Keepers of other runs that share this session, and so the terminal."""
        return [p for p, why in self.spared if why == OTHER_RUN and p.sid == session]

    def others_left(self) -> bool:
        """Whether something of the run lives that is no child of ours, once no child is left."""
        self.settle()
        return bool(self.panes_elsewhere() or self.daemons_elsewhere())

    def note(self) -> None:
        """Nothing to do here: the kernel gives this keeper its orphans. See ledger.py."""

    def next_note(self) -> int | None:
        """Milliseconds until the next `note`; None: never."""

    def kill_groups(self) -> None:
        """Ends whole groups at once, where a process may hop away from a signal of its own."""

    def only_spared_left(self) -> bool:
        """True once several looks in a row found spared processes and nothing else."""
        if not self.spared:
            self.calm = 0
            return False
        self.calm = 0 if self.walk() else self.calm + 1
        if self.calm == CALM_LOOKS - 1:
            self.settle()
        return self.calm >= CALM_LOOKS


def is_other_keeper(process: Process, rundir: str) -> bool:
    """Whether this is the keeper of another run, by its own journal, not by its name."""
    argv = proc.argv_of(process.pid)
    for at, script in enumerate(argv[:-1]):
        directory = argv[at + 1]
        if script.endswith("/keeper.py") and directory != rundir:
            first = proc.read(directory + "/journal").split(b"\n", 1)[0].split(b"\t")
            return first[:3] == [b"keeper", str(process.pid).encode(), str(process.start).encode()]
    return False


def matches(command: str, pattern: str) -> bool:
    import fnmatch  # only when a rule exists: it costs more than the rest of this file

    return fnmatch.fnmatchcase(command, pattern)
