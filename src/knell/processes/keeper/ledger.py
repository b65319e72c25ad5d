"""The descendants of a keeper that adopts no orphans: whom it has seen once it knows for good.

Part of the keeper: standard library only, no import of knell.

A process is the run's if it is below the keeper, was seen there before, bears the run's stamp, is
in a session or group that one of these has made or, on macOS, was started by one of these, also by
a dead one. Who forks twice, leaves the session and empties its environment between two looks is not
found, so the end of the run is never proven.
"""

import os
import time

from descendants import CALM_LOOKS, Descendants
from machine import proc
from proc import Process, signal

FIRST_LOOK, SLOWEST_LOOK = 0.01, 2.0  # seconds between two looks while the agent works
SHARE = 20  # a look takes at most one part in so many of a processor's time
PEEKS = 60  # short looks for one that hops from pid to pid


class Ledger(Descendants):
    def __init__(self, keeper: int, rundir: str, rules: list[str], mark: str) -> None:
        super().__init__(keeper, rundir, rules, mark)
        self.known: dict[int, int] = {}  # pid → start of members
        self.led: set[int] = set()  # sessions and groups that members have made
        self.wait = FIRST_LOOK
        self.look_at = 0.0  # when the next look is due
        self.stamps = True  # whether environments are read
        self.rows: dict[int, Process] = {}
        self.below: dict[int, list[int]] = {}
        me = proc.stat_of(keeper)
        self.since = proc.since(me) if me else 0  # who began earlier is none of ours
        # Unique numbers of members, also of dead ones: a child keeps its parent's.
        self.lineage = {me.unique} - {0} if me else set[int]()
        # Made by the shell or the terminal: others are in them too.
        self.shells = {os.getpgrp(), os.getsid(0), 0}
        self.strange = {os.getsid(0), 0}  # sessions of others, not to be looked into again

    # -- looking ------------------------------------------------------------------------------

    def children(self, pid: int) -> list[int]:
        return self.below.get(pid, [])

    def process(self, pid: int) -> Process | None:
        """As this look has it: who took the number meanwhile is a stranger."""
        return self.rows.get(pid)

    def look(self) -> None:
        """One scan for everything that follows."""
        self.rows = {process.pid: process for process in proc.everybody(self.since)}
        self.below = {}
        for process in self.rows.values():
            self.below.setdefault(process.ppid, []).append(process.pid)
        self.known = {
            pid: start
            for pid, start in self.known.items()
            if pid in self.rows and self.rows[pid].start == start
        }
        self.led = {number for number in self.led if self.is_still_ours(number)}

    def is_still_ours(self, number: int) -> bool:
        """A number that is in use as a group or session is not given to a new process. So it is
        still the run's if it was in use at each look, and no stranger has it as its own."""
        leader = self.rows.get(number)
        if leader and self.known.get(number) != leader.start:
            return False
        return any(number in (p.pgid, p.sid) for p in self.rows.values()) or has_members(number)

    def walk(self) -> list[Process]:
        """Every process that is this run's to end, to a fixed point."""
        self.look()
        super().walk()
        helpers: list[Process] = []
        self.remember()
        while strays := self.strays(helpers):
            for process in strays:
                self.take_in(process, helpers)
            self.remember()
        self.decide(helpers)
        return self.found

    def take_in(self, stray: Process, helpers: list[Process]) -> None:
        server = self.rows.get(stray.ppid)
        shared = server.pid if server and self.serves_others(server) else 0
        for pid, panes_of in self.sort(stray, shared, helpers):
            self.collect(pid, helpers, panes_of)

    def remember(self) -> None:
        for process, _ in self.spared:
            self.known.pop(process.pid, None)
            self.lineage.discard(process.unique)
        for process in self.found:
            self.known[process.pid] = process.start
            self.lineage |= {process.unique} - {0}
            self.led |= {process.pgid, process.sid, process.pid} - self.shells

    def strays(self, helpers: list[Process]) -> list[Process]:
        """Members that are below no process of ours, each before what is below it."""
        sorted_ones = {p.pid for p in (*self.found, *helpers)} | {p.pid for p, _ in self.spared}
        strays = [
            process
            for process in self.rows.values()
            if process.pid not in sorted_ones
            and process.pid not in (1, self.keeper)
            and self.is_member(process)
            and not self.is_below(process, sorted_ones)
        ]
        tops = {process.pid for process in strays}
        return [process for process in strays if not self.is_below(process, tops)]

    def is_member(self, process: Process) -> bool:
        if process.pid in self.known or process.parent_unique in self.lineage:
            return True
        if {process.pgid, process.sid} & self.led:
            return True
        return self.stamps and proc.environment_of(process.pid).get("KNELL_RUN") == self.run

    def is_below(self, process: Process, roots: set[int]) -> bool:
        """Whether one of these is above it: then it was judged with that one."""
        seen: set[int] = set()
        above = self.rows.get(process.ppid)
        while above and above.pid not in seen:
            if above.pid in roots:
                return True
            seen.add(above.pid)
            above = self.rows.get(above.ppid)
        return False

    # -- while the agent works ------------------------------------------------------------------

    def note(self) -> None:
        """Remembers who lives. A stamp stays, so it need not be read before the end."""
        began = time.monotonic()
        if began < self.look_at:
            return
        before, self.stamps = len(self.known), False
        self.walk()
        self.stamps = True
        cost = time.monotonic() - began
        self.wait = FIRST_LOOK if len(self.known) > before else min(self.wait * 2, SLOWEST_LOOK)
        self.look_at = began + cost + max(self.wait, cost * SHARE)

    def next_note(self) -> int | None:
        return max(0, int((self.look_at - time.monotonic()) * 1000)) + 1

    # -- ending -------------------------------------------------------------------------------

    def others_left(self) -> bool:
        """Whether the last looks found something of the run."""
        found = bool(self.walk()) or self.peek()
        self.calm = 0 if found else self.calm + 1
        return self.calm < CALM_LOOKS

    def only_spared_left(self) -> bool:
        """Asked while children are left: whether all that is left is spared."""
        return bool(self.spared) and not self.others_left()

    def peek(self) -> bool:
        """Short looks for one that hops from pid to pid faster than a scan of the whole machine.
        A session is asked for by one call each, and stays the same from hop to hop."""
        return any(
            self.learn(pid)
            for _ in range(PEEKS)
            for pid in sorted(proc.pids(), reverse=True)
            if pid not in self.rows and session_of(pid) not in self.strange
        )

    def learn(self, pid: int) -> bool:
        """Whether it bears our stamp; then the group that it has made is known from now on. But a
        pane that others opened in the run's tmux server bears it too."""
        env = proc.environment_of(pid)
        if env.get("KNELL_RUN") != self.run:
            self.strange |= {session_of(pid)} if env else set()
            return False
        try:
            made = {os.getpgid(pid), os.getsid(pid)} - self.shells
            above = {process.pid for process in proc.line_of(pid)}
        except OSError:
            return False
        if not made or above & {process.pid for process, _ in self.spared}:
            return False
        self.led |= made
        return True

    def kill_groups(self) -> None:
        """In one call for each group of which all are ours: there no fork slips through."""
        found = {process.pid for process in self.found}
        others = {row.pgid for pid, row in self.rows.items() if pid not in found}
        for group in self.led - others - self.shells:
            try:
                os.killpg(group, signal.SIGKILL)
            except OSError:
                continue  # it is empty, or a session only


def session_of(pid: int) -> int:
    """0 if it has gone."""
    try:
        return os.getsid(pid)
    except OSError:
        return 0


def has_members(number: int) -> bool:
    """Whether some process is in this group, also one that hops too fast to be listed."""
    try:
        os.killpg(number, 0)
    except PermissionError:
        return True
    except OSError:
        return False
    return True
