"""Ends what an ended agent still has running inside of its vendor's shared daemon, or names it.

The daemon itself stays: other sessions work in it. Its children bear the id of their session in
the variable that the kind names (`session_env`), so that those of a conversation which is surely
known are told from those of others.
"""

from collections.abc import Mapping, Sequence
from fnmatch import fnmatchcase
from typing import NamedTuple

from knell.core import ladder as ladders
from knell.core.codes import Code, Notice
from knell.core.conversation import UNSURE, conversation_root
from knell.core.ending_steps import Case
from knell.core.kind import Kind
from knell.core.ports.endings import Callbacks
from knell.core.ports.processes import Target
from knell.core.ports.world import World
from knell.core.process import FoundProcess
from knell.life.base.members import protected_now

NAMED = 5  # processes that a warning names


class DaemonWork(NamedTuple):
    """Daemons of a vendor, and what runs below them for some session."""

    daemons: tuple[FoundProcess, ...]
    work: tuple[tuple[FoundProcess, str], ...]  # each with the id of its session

    def of(self, session: str) -> list[FoundProcess]:
        return [process for process, its in self.work if session and its == session]


def end_daemon_work(world: World, cases: list[Case]) -> list[Case]:
    """A step of endings (start_end_steps.py): each case, with what its agent left in a daemon."""
    processes = world.processes.all_processes()
    return [_end_work(world, case, processes) for case in cases]


def _end_work(world: World, case: Case, processes: Sequence[FoundProcess]) -> Case:
    kind = world.kinds.kind_or_command(case.agent.kind)
    daemons = running_daemons(kind, processes)
    if not daemons or case.receipt is None:
        return case
    told = case.receipt.conversation
    everywhere = daemon_work(world, kind, daemons, processes)
    its = everywhere.of(told.id if told.source != UNSURE else "")
    notices: list[Notice] = []
    if its:
        ended, left = _end_all(world, case, its)
        notices += _told("ended", ended) + _told("could not end", left)
    near = [one for one in daemons if serves_this_home(world, kind, one)]
    if near and uses_daemon(case, kind):
        # What the daemons of other homes run is other people's work and is not shown.
        notices.append(_may_go_on(kind, daemon_work(world, kind, near, processes), its))
    return case.warn(*notices)


def running_daemons(kind: Kind, processes: Sequence[FoundProcess]) -> list[FoundProcess]:
    patterns = [helper.pattern for helper in kind.helpers]
    return [p for p in processes if any(fnmatchcase(p.command, one) for one in patterns)]


def daemon_work(
    world: World, kind: Kind, daemons: Sequence[FoundProcess], processes: Sequence[FoundProcess]
) -> DaemonWork:
    """What runs below these daemons for some session."""
    below = {one.process.pid for one in daemons}
    found: list[FoundProcess] = []
    grown = True
    while grown:
        fresh = [p for p in processes if p.parent in below and p.process.pid not in below]
        found += fresh
        below |= {one.process.pid for one in fresh}
        grown = bool(fresh)
    sessions = [(one, world.processes.variable(one.process.pid, kind.session_env)) for one in found]
    return DaemonWork(tuple(daemons), tuple((one, its) for one, its in sessions if its))


def uses_daemon(case: Case, kind: Kind) -> bool:
    """Whether its work is in the daemon. Knell starts agents with the flags that keep it out."""
    asked_alone = set(kind.alone) <= set(case.agent.args)
    return bool(kind.alone) and case.run.keeper is None and not asked_alone


def serves_this_home(world: World, kind: Kind, daemon: FoundProcess) -> bool:
    """Whether its sessions lie where this person's lie: each home has a daemon of its own."""
    names = ("HOME", *(variable for variable, _ in kind.root_env))
    pairs = [(name, world.processes.variable(daemon.process.pid, name)) for name in names]
    theirs = {name: value for name, value in pairs if value}
    return _root(kind, theirs) == _root(kind, world.env)


def _root(kind: Kind, env: Mapping[str, str]) -> str:
    return conversation_root(kind, env, lambda: ())


def _end_all(
    world: World, case: Case, its: Sequence[FoundProcess]
) -> tuple[list[FoundProcess], list[FoundProcess]]:
    """Those that were ended, and those that could not be."""
    # Each alone: its parent, the daemon, is no part of the run.
    targets = {f"{case.run.id}/daemon/{one.process.pid}": one for one in its}
    asked = [
        Target(name, "", None, one.process, "", ladders.KILL, alone=True)
        for name, one in targets.items()
    ]
    reports = world.endings.end(asked, Callbacks(lambda: protected_now(world)))
    left = [one for name, one in targets.items() if reports[name].survivors]
    return [one for one in its if one not in left], left


def _told(word: str, processes: Sequence[FoundProcess]) -> list[Notice]:
    if not processes:
        return []
    why = f"of its work in the shared daemon knell {word} {_listed(processes)}"
    return [Notice(Code.DAEMON_WORK, why)]


def _may_go_on(kind: Kind, found: DaemonWork, its: Sequence[FoundProcess]) -> Notice:
    pids = ", ".join(str(one.process.pid) for one in found.daemons)
    strange = [one for one, _ in found.work if one not in its]
    shown = f"; in it run {_listed(strange)}" if strange and not its else ""
    why = (
        f"the daemon of {kind.name} (PID {pids}) goes on for other sessions, and may still have a "
        f"turn or MCP servers of this one{shown}; `{kind.helpers[0].off}` ends it with all sessions"
    )
    return Notice(Code.DAEMON_WORK, why)


def _listed(processes: Sequence[FoundProcess]) -> str:
    shown = [f"{one.command[:60]} (PID {one.process.pid})" for one in processes[:NAMED]]
    more = len(processes) - len(shown)
    return ", ".join(shown) + (f" and {more} more" if more else "")
