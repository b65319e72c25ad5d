"""Ends, or names in a warning, what a vendor's own programs still do for an agent after its end:
work inside a shared daemon, and a conversation that a supervisor has started again.

Daemons and supervisors serve other sessions too, so they stay. A daemon's children bear the id of
their session in the variable that the kind names (`session_env`), so that those of a conversation
which is surely known are told from those of others.
"""

from collections.abc import Sequence
from fnmatch import fnmatchcase

from knell.core import ladder as ladders
from knell.core.agent import Agent
from knell.core.codes import Code, Notice
from knell.core.conversation import UNSURE, conversation_root
from knell.core.ending_steps import Case
from knell.core.kind import Helper, Kind
from knell.core.ports.endings import Callbacks
from knell.core.ports.processes import Target
from knell.core.ports.world import World
from knell.core.process import FoundProcess
from knell.life.base.conversation_users import same_conversation
from knell.life.base.members import protected_now, running_helpers

NAMED = 5  # processes that a warning names
STEP = 0.25
Work = Sequence[tuple[FoundProcess, str]]  # each with the id of its session


def _end_all(
    world: World, key: str, its: Sequence[FoundProcess]
) -> tuple[list[FoundProcess], list[FoundProcess]]:
    """Those that were ended, and those that could not be."""
    # Each alone: its parent, the daemon or supervisor, is no part of the run.
    targets = {f"{key}/{one.process.pid}": one for one in its}
    asked = [
        Target(name, "", None, one.process, "", ladders.KILL, alone=True)
        for name, one in targets.items()
    ]
    reports = world.endings.end(asked, Callbacks(lambda: protected_now(world)))
    left = [one for name, one in targets.items() if reports[name].survivors]
    return [one for one in its if one not in left], left


# -- in a shared daemon ------------------------------------------------------------------------


def end_daemon_work(world: World, cases: list[Case]) -> list[Case]:
    """A step of endings (start_end_steps.py): each case, with what its agent left in a daemon."""
    processes = world.processes.all_processes()
    return [_end_work(world, case, processes) for case in cases]


def _end_work(world: World, case: Case, processes: Sequence[FoundProcess]) -> Case:
    kind = case.kind
    patterns = [helper.pattern for helper in kind.helpers]
    daemons = [p for p in processes if any(fnmatchcase(p.command, one) for one in patterns)]
    if not daemons or case.receipt is None:
        return case
    told = case.receipt.conversation
    session = told.id if told.source != UNSURE else ""
    everywhere = _daemon_work(world, kind, daemons, processes)
    its = [process for process, of in everywhere if session and of == session]
    parts = _end_all(world, f"{case.run.id}/daemon", its)
    notices = [
        Notice(Code.DAEMON_WORK, f"of its work in the shared daemon knell {word} {_listed(part)}")
        for word, part in zip(("ended", "could not end"), parts, strict=True)
        if part
    ]
    near = [one for one in daemons if _serves_this_home(world, kind, one)]
    if near and _uses_daemon(case):
        # What the daemons of other homes run is other people's work and is not shown.
        notices.append(_may_go_on(kind, near, _daemon_work(world, kind, near, processes), its))
    return case.warn(*notices)


def _daemon_work(
    world: World, kind: Kind, daemons: Sequence[FoundProcess], processes: Sequence[FoundProcess]
) -> Work:
    """What runs below these daemons for some session."""
    below = {one.process.pid for one in daemons}
    found: list[FoundProcess] = []
    while fresh := [p for p in processes if p.parent in below and p.process.pid not in below]:
        found += fresh
        below |= {one.process.pid for one in fresh}
    sessions = [(one, world.processes.variable(one.process.pid, kind.session_env)) for one in found]
    return [(one, its) for one, its in sessions if its]


def _uses_daemon(case: Case) -> bool:
    """Whether its work is in the daemon. Knell starts agents with the flags that keep it out."""
    return case.run.keeper is None and not set(case.kind.alone) <= set(case.agent.args)


def _serves_this_home(world: World, kind: Kind, daemon: FoundProcess) -> bool:
    """Whether its sessions lie where this person's lie: each home has a daemon of its own."""
    names = ("HOME", *(variable for variable, _ in kind.root_env))
    pairs = [(name, world.processes.variable(daemon.process.pid, name)) for name in names]
    theirs = {name: value for name, value in pairs if value}
    return len({conversation_root(kind, env, lambda: ()) for env in (theirs, world.env)}) == 1


def _may_go_on(
    kind: Kind, daemons: Sequence[FoundProcess], work: Work, its: Sequence[FoundProcess]
) -> Notice:
    pids = ", ".join(str(one.process.pid) for one in daemons)
    shown = f"; in it run {_listed([one for one, _ in work])}" if work and not its else ""
    why = (
        f"the daemon of {kind.name} (PID {pids}) goes on for other sessions, and may still have a "
        f"turn or MCP servers of this one{shown}; `{kind.helpers[0].off}` ends it with all sessions"
    )
    return Notice(Code.DAEMON_WORK, why)


def _listed(processes: Sequence[FoundProcess]) -> str:
    shown = [f"{one.command[:60]} (PID {one.process.pid})" for one in processes[:NAMED]]
    more = len(processes) - len(shown)
    return ", ".join(shown) + (f" and {more} more" if more else "")


# -- started again by a supervisor -------------------------------------------------------------


def end_revived(world: World, cases: list[Case]) -> list[Case]:
    """A step of endings (start_end_steps.py): while a vendor's supervisor lives, watches for a
    while, and ends what it starts again."""
    helpers = {case.run.id: running_helpers(world, case.kind) for case in cases}
    watched = [case for case in cases if helpers[case.run.id]]
    done: dict[str, Case] = {}
    waited = 0.0
    while waited < world.settings.stop_watch_after and len(done) < len(watched):
        world.wait([], STEP)
        waited += STEP
        for case in watched:
            member = same_conversation(world, case.agent.kind, case.conversation.id)
            if member and case.run.id not in done and not _is_knells(world, case, member):
                done[case.run.id] = _end_again(world, case, member, helpers[case.run.id])
    return [done.get(case.run.id, case) for case in cases]


def _is_knells(world: World, case: Case, member: FoundProcess) -> bool:
    """Whether it is an agent in knell's charge: `knell resume` may have been faster than we."""
    live = world.store.runs.live()
    again = any(run.agent == case.run.agent and run.id != case.run.id for run in live)
    return again or any(one.same_as(member.process) for run in live for one in run.processes)


def _end_again(world: World, case: Case, member: FoundProcess, helpers: list[Helper]) -> Case:
    """Ends the process; the case, with a warning that names the supervisor."""
    run, pid = case.run, member.process.pid
    _, left = _end_all(world, f"{run.id}/again", [member])
    world.store.events.record("life.resurrected", run.agent, run.id, {"pid": pid})
    outcome = "could not be ended" if left else "was ended too"
    why = (
        f"its conversation was alive again as PID {pid} and {outcome}; "
        f"the vendor's supervisor starts it: {helpers[0].off} turns that off"
    )
    return case.warn(Notice(Code.REVIVED, why))


def find_revived(world: World) -> list[tuple[Agent, FoundProcess]]:
    """Ended agents whose conversation lives now, outside of every run of knell; and where."""
    newest = world.store.runs.newest().items()
    ended = {name for name, run in newest if not run.live and run.host == world.host}
    watched = [a for a in world.store.runs.agents() if a.name in ended and a.conversation]
    if not watched:
        return []
    owned = {p.pid for run in world.store.runs.live() for p in run.processes}
    let_go = [orphan.process for orphan in world.store.runs.orphans()]  # they never ended
    processes = world.processes.all_processes()  # once: there may be hundreds of ended agents
    found: list[tuple[Agent, FoundProcess]] = []
    for agent in watched:
        member = same_conversation(world, agent.kind, agent.conversation, processes)
        if (
            member
            and member.process.pid not in owned
            and not any(map(member.process.same_as, let_go))
        ):
            found.append((agent, member))
    return found
