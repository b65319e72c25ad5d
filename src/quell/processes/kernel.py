"""The kernel port on Linux: the only way the verbs touch processes."""

from __future__ import annotations  # its types are not worth their import time

import os
import select
from typing import TYPE_CHECKING

from quell.processes import identity, launching

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from quell.core.climbing import Cradle, Fall, Journal, Order, Target
    from quell.core.process import Alive, Gone, Member, ProcessId, Unknown
    from quell.core.run import Run
    from quell.core.serving import Call, Reply
    from quell.core.signs import Vital
    from quell.core.worktree import Holding
    from quell.processes.arrivals import Arrivals


class LinuxKernel:
    def __init__(self) -> None:
        self._arrivals: dict[str, Arrivals] = {}
        self._me: ProcessId | None = None

    def me(self) -> ProcessId:
        """Looked up once: nobody changes who he is, except by a fork."""
        if self._me is None or self._me.pid != os.getpid():
            self._me = identity.identify(os.getpid())
        if self._me is None:  # cannot be: we are running
            raise ProcessLookupError(os.getpid())
        return self._me

    def identify(self, pid: int) -> ProcessId | None:
        return identity.identify(pid)

    def look(self, process: ProcessId) -> Alive | Gone | Unknown:
        return identity.look(process)

    def command(self, pid: int) -> str:
        return identity.command_of(pid)

    def argv(self, pid: int) -> tuple[str, ...]:
        return identity.argv_of(pid)

    def parent(self, pid: int) -> int:
        stat = identity.read_stat(pid)
        return stat.ppid if stat else 0

    def above(self, pid: int) -> tuple[int, ...]:
        """Parent, grandparent, … of a process, up to init."""
        chain: list[int] = []
        while (pid := self.parent(pid)) > 1 and pid not in chain:
            chain.append(pid)
        return tuple(chain)

    def ancestors(self) -> tuple[int, ...]:
        """Parent, grandparent, … of this process, up to init."""
        return self.above(os.getpid())

    def cwd(self, pid: int) -> str:
        try:
            return os.readlink(f"/proc/{pid}/cwd")
        except OSError:
            return ""

    def abilities(self) -> list[tuple[str, bool, str, str]]:
        from quell.processes.abilities import abilities

        return abilities()

    def foreign(self) -> list[Member]:
        from quell.processes.foreign import leftovers
        from quell.processes.table import Table

        return leftovers(Table())

    def stamp(self, pid: int) -> str | None:
        return identity.stamp_of(pid)

    def stamps(self) -> dict[str, list[Member]]:
        """Every stamped process of the machine that we may look into, by run id."""
        from quell.processes.table import Table, member

        table = Table()
        return {
            run: [member(table.rows[pid], "stamp") for pid in pids]
            for run, pids in table.stamps.items()
        }

    def everybody(self) -> list[Member]:
        """Every process of the machine with its command line."""
        from quell.processes.table import Table, member

        return [member(row, "table") for row in Table().rows.values()]

    def holders(self, paths: Sequence[str]) -> Holding:
        from quell.processes.holders import holders

        return holders(paths)

    def vitals(self, runs: Sequence[Run]) -> dict[str, Vital]:
        from quell.processes.vitals import vitals

        return vitals(runs)

    def members(self, target: Target, protected: Sequence[ProcessId] = ()) -> list[Member]:
        from quell.processes.members import members_of
        from quell.processes.table import Table

        return members_of(target, Table(), protected)

    def leaf_for(self, process: ProcessId, run: str) -> str:
        from quell.processes import cgroup

        return cgroup.leaf_for(process.pid, run)

    def hold(self, target: Target, protected: Sequence[ProcessId]) -> bool:
        from quell.processes.holding import hold

        return hold(target, protected)

    def release(self, leaf: str) -> None:
        from quell.processes import cgroup

        cgroup.release(leaf)

    def journal(self, rundir: str) -> Journal:
        from quell.processes.journal import read_journal

        return read_journal(rundir)

    def front(self, pid: int) -> tuple[int, ...]:
        """Who may read what is typed on its terminal: the group in front, oldest first."""
        from quell.processes.table import Table

        stat = identity.read_stat(pid)
        if stat is None or stat.front <= 0:
            return ()
        rows = [row for row in Table().rows.values() if row.pgid == stat.front]
        return tuple(row.pid for row in sorted(rows, key=lambda row: (row.start, row.pid)))

    def cancel(self, rundir: str) -> Journal:
        """Calls an order off. The journal is read after that, and a keeper gives its name before it
        looks whether it was called off: so one of the two sees the other, however they meet."""
        from quell.processes.journal import ask_end, read_journal

        try:
            ask_end(rundir, 0.0)
        except OSError:
            pass  # never prepared, so no keeper can start there; or a full disk, where none can
        return read_journal(rundir)

    def detach(self, command: Sequence[str], env: Mapping[str, str]) -> None:
        launching.detach(command, env)

    def wait(self, processes: Sequence[ProcessId], seconds: float, folder: str = "") -> None:
        """Returns when one of them ends, something new is in the folder, or after `seconds`."""
        poll = select.poll()
        news = self._news_of(folder) if folder else None
        if news and news.fd >= 0:
            poll.register(news.fd, select.POLLIN)
        fds = [fd for process in processes if (fd := identity.open_verified(process)) is not None]
        if processes and len(fds) < len(processes):
            seconds = 0.0
        for fd in fds:
            poll.register(fd, select.POLLIN)
        woken = {fd for fd, _ in poll.poll(seconds * 1000)}
        if news and news.fd in woken:
            news.take()
        for fd in fds:
            os.close(fd)

    def _news_of(self, folder: str) -> Arrivals:
        from quell.processes.arrivals import Arrivals

        known = self._arrivals.get(folder)
        if known is None or known.fd < 0:
            known = self._arrivals[folder] = Arrivals(folder)
        return known

    def lease(self, path: str) -> bool:
        """Takes what only one process may hold; it is given back by this process's end."""
        import fcntl

        fd = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
        try:
            fcntl.flock(fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            os.close(fd)
            return False
        return True  # kept open on purpose

    def call(self, call: Call, seconds: float) -> Reply | None:
        """What a program that listens on the loopback answers; None if it does not, in time."""
        from quell.processes import loopback

        return loopback.call(call, seconds)

    def is_free(self, port: int) -> bool:
        from quell.processes import loopback

        return loopback.is_free(port)

    def prepare(self, rundir: str, order: Order) -> Cradle:
        return launching.prepare(rundir, order)

    def kept_environment(self, rundir: str) -> dict[str, str] | None:
        return launching.kept_environment(rundir)

    def forget_environment(self, rundir: str) -> None:
        launching.forget_environment(rundir)

    def keeper_argv(self, rundir: str, *, detach: bool) -> tuple[str, ...]:
        return launching.keeper_argv(rundir, detach=detach)

    def await_birth(self, cradle: Cradle, seconds: float) -> Journal:
        return launching.await_birth(cradle, seconds)

    def become_keeper(self, rundir: str) -> None:
        launching.become_keeper(rundir)

    def discard(self, rundir: str) -> None:
        launching.discard(rundir)

    def climb(
        self,
        targets: Sequence[Target],
        protected: Sequence[ProcessId],
        record: Callable[[Sequence[tuple[str, str]]], None],
        ask: Callable[[str], str],
    ) -> dict[str, Fall]:
        from quell.processes.climb import climb

        return climb(targets, protected, record, ask)
