"""The descendants of a keeper that adopts no orphans: it remembers every one that it has seen.

A process is the run's if it is below the keeper, was seen there before, bears the run's stamp, is
in a session or group that one of these has made or, on macOS, was started by one of these, also by
a dead one. A process that forks twice, leaves the session and empties its environment between two
looks is not found, so the end of the run is never proven.
"""

import os
import time

import panes
from descendants import CALM_LOOKS, Descendants
from machine import proc
from proc import Process, signal
from sightings import Sightings, marks_of

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping

FIRST_LOOK, SLOWEST_LOOK = 0.01, 2.0  # seconds between two looks while the agent works
SHARE = 20  # a look takes at most one part in so many of a processor's time
PEEKS = 60  # short looks for one that hops from pid to pid
QUIET = 20  # of these in a row without a new pid: then nothing on this machine hops


Birth = tuple[int, int]  # when it began, and on macOS its unique number


class Ledger(Descendants):
    def __init__(self, keeper: int, rundir: str, rules: list[str], mark: str) -> None:
        super().__init__(keeper, rundir, rules, mark)
        self.known: dict[int, Birth] = {}  # members by their pids
        self.led: set[int] = set()  # sessions and groups that members have made
        self.wait = FIRST_LOOK
        self.look_at = 0.0  # when the next look is due
        self.stamps = True  # whether environments are read
        self.ending = False  # whether they have been, for the end of the run
        # Those that bear no stamp of the run, and panes that it has not opened.
        self.unstamped: dict[int, Birth] = {}
        self.unopened: dict[int, Birth] = {}
        me = proc.stat_of(keeper)
        self.sight = Sightings(proc.since(me) if me else 0)
        # Unique numbers of members, also of dead ones: a child keeps its parent's.
        self.lineage = {me.unique} - {0} if me else set[int]()
        # Made by the shell or the terminal: others are in them too.
        self.shells = {os.getpgrp(), os.getsid(0), 0}
        self.strange = {os.getsid(0), 0}  # sessions of others, not to be looked into again

    # -- looking ------------------------------------------------------------------------------

    def children(self, pid: int) -> list[int]:
        return self.sight.children(pid)

    def process(self, pid: int) -> Process | None:
        """The process as this look has it; one that got the pid since is a stranger."""
        return self.sight.rows.get(pid)

    def look(self) -> None:
        """One scan for everything that follows. The first and the last of an ending are whole."""
        first, last = self.stamps and not self.ending, self.calm == CALM_LOOKS - 1
        if first:  # what the agent starts while it leaves may lose its parent at once
            self.wait, self.look_at = FIRST_LOOK, 0.0
        if first or last:
            self.unstamped, self.unopened = {}, {}
        self.ending = self.ending or self.stamps
        self.sight.look(self.known, whole=first or last)
        rows = self.sight.rows
        self.known = {
            pid: birth
            for pid, birth in self.known.items()
            if pid in rows and birth_of(rows[pid]) == birth
        }
        used = {number for pair in self.sight.marks.values() for number in pair}
        self.led = {number for number in self.led if self.is_still_ours(number, used)}

    def is_still_ours(self, number: int, used: set[int]) -> bool:
        """A number that is in use as a group or session is not given to a new process. So it is
        still the run's if it was in use at each look, and no stranger has it as its own."""
        leader = self.sight.rows.get(number)
        if leader and self.known.get(number) != birth_of(leader):
            return False
        return number in used or has_members(number)

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
        if self.is_from_others(stray):
            self.spared.append((stray, panes.FROM_OTHERS))
            return
        server = self.sight.look_again(stray.ppid)
        shared = server.pid if server and self.serves_others(server) else 0
        for pid, panes_of in self.sort(stray, shared, helpers):
            self.collect(pid, helpers, panes_of)

    def remember(self) -> None:
        for process, _ in self.spared:
            self.known.pop(process.pid, None)
            self.lineage.discard(process.unique)
        for process in self.found:
            self.known[process.pid] = birth_of(process)
            self.lineage |= {process.unique} - {0}
            self.led |= {process.pgid, process.sid, process.pid} - self.shells

    def strays(self, helpers: list[Process]) -> list[Process]:
        """Members that are below no process of ours, each before what is below it."""
        sorted_ones = {p.pid for p in (*self.found, *helpers)} | {p.pid for p, _ in self.spared}
        candidates = [
            process
            for process in self.sight.rows.values()
            if process.pid not in sorted_ones
            and process.pid not in (1, self.keeper)
            and self.is_member(process)
        ]
        strays = [now for one in candidates if (now := self.as_it_is_now(one))]
        strays = [process for process in strays if not self.is_below(process, sorted_ones)]
        tops = {process.pid for process in strays}
        return [process for process in strays if not self.is_below(process, tops)]

    def is_member(self, process: Process) -> bool:
        if process.pid in self.known or process.parent_unique in self.lineage:
            return True
        if {process.pgid, process.sid} & self.led:
            return True
        return self.stamps and self.bears_stamp(process)

    def bears_stamp(self, process: Process) -> bool:
        """Read once: a process that gets the stamp later, by a new program, was a member before."""
        if self.unstamped.get(process.pid) == birth_of(process):
            return False
        env = proc.environment_of(process.pid)
        if env.get("KNELL_RUN") == self.run or env.get("WINDOWID") == self.mark:
            return True
        self.unstamped[process.pid] = birth_of(process)
        return False

    def panes_elsewhere(self) -> list[Process]:
        """Only for the end. The run's own server is no child of ours here, but one of the strays:
        it stamps its panes, also those that others have opened in it."""
        rows = self.sight.rows
        ours = {pid for pid in self.sight.servers if pid in rows and self.is_member(rows[pid])}
        self.servers = sorted(self.sight.servers - ours)
        return super().panes_elsewhere() if self.stamps else []

    def is_own(self, server: Process) -> bool:
        return self.is_member(server)

    def dead_panes(self, server: int) -> "list[Mapping[str, str]]":
        """Only for the end."""
        return super().dead_panes(server) if self.stamps else []

    def daemons_elsewhere(self) -> list[Process]:
        """They bear the run's mark, so that they are among the strays."""
        return []

    def opened(self, server: int, pane: int) -> bool:
        row = self.process(pane)
        if row is None or self.unopened.get(pane) == birth_of(row):
            return False
        if super().opened(server, pane):
            return True
        self.unopened[pane] = birth_of(row)
        return False

    def as_it_is_now(self, process: Process) -> Process | None:
        """A member that an earlier look saw, looked at again; None if it is another by now."""
        if process.pid in self.sight.fresh:
            return process
        now = self.sight.look_again(process.pid)
        return now if now and birth_of(now) == birth_of(process) else None

    def is_below(self, process: Process, roots: set[int]) -> bool:
        """Whether one of these is above it: then it was judged with that one."""
        seen: set[int] = set()
        above = self.sight.rows.get(process.ppid)
        while above and above.pid not in seen:
            if above.pid in roots:
                return True
            seen.add(above.pid)
            above = self.sight.rows.get(above.ppid)
        return False

    # -- while the agent works, and while it leaves ---------------------------------------------

    def note(self) -> None:
        """Remembers who lives. A stamp stays, so it need not be read before the end."""
        if self.calm or time.monotonic() < self.look_at:  # the looks before an end see it too
            return
        before, self.stamps, spent = len(self.known), False, time.process_time()
        self.walk()
        self.stamps = True
        cost = time.process_time() - spent
        self.wait = FIRST_LOOK if len(self.known) > before else min(self.wait * 2, SLOWEST_LOOK)
        self.look_at = time.monotonic() + max(self.wait, cost * SHARE)

    def next_note(self) -> int | None:
        return max(0, int((self.look_at - time.monotonic()) * 1000)) + 1

    # -- ending -------------------------------------------------------------------------------

    def others_left(self) -> bool:
        """Whether the last looks found something of the run."""
        found = bool(self.walk()) or self.peek()
        self.calm = 0 if found else self.calm + 1
        if self.calm == CALM_LOOKS - 1:
            self.settle()
        return self.calm < CALM_LOOKS

    def only_spared_left(self) -> bool:
        """Asked while children are left: whether all that is left is spared."""
        return bool(self.spared) and not self.others_left()

    def peek(self) -> bool:
        """Short looks for one that hops from pid to pid faster than a look at the whole machine: a
        number that was not listed before is looked at. A session stays the same from hop to hop."""
        before, quiet = set(self.sight.marks), 0
        for _ in range(PEEKS):
            listed = set(proc.pids())
            new = sorted(listed - before, reverse=True)
            before, quiet = listed, 0 if new else quiet + 1
            if any(marks_of(pid)[1] not in self.strange and self.learn(pid) for pid in new):
                return True
            if quiet == QUIET:
                break
        return False

    def learn(self, pid: int) -> bool:
        """Whether it bears our stamp; then the group that it has made is known from now on. But a
        pane that others opened in the run's tmux server bears it too."""
        env = proc.environment_of(pid)
        if env.get("KNELL_RUN") != self.run:
            self.strange |= {marks_of(pid)[1]} if env else set()
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
        others = {row.pgid for pid, row in self.sight.rows.items() if pid not in found}
        for group in self.led - others - self.shells:
            try:
                os.killpg(group, signal.SIGKILL)
            except OSError:
                continue  # it is empty, or a session only


def birth_of(process: Process) -> Birth:
    return process.start, process.unique


def has_members(number: int) -> bool:
    """Whether some process is in this group, also one that hops too fast to be listed."""
    try:
        os.killpg(number, 0)
    except OSError as error:
        return isinstance(error, PermissionError)
    return True
