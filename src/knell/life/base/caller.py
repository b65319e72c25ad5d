"""Proves who asks: the operator at a shell, or the agent whose process this is.

What the kernel says comes first: the processes above this one, its cgroup, its terminal. Then comes
the token, which only one run was given. A name in the environment proves nothing. Where a process
may be an agent's and nothing proves it, the caller has a `doubt`, and every deed is refused.
"""

from __future__ import annotations

from contextlib import suppress
from itertools import pairwise
from typing import TYPE_CHECKING, NoReturn

from knell.core.authority import OPERATOR, PROVE, UNPROVEN, Caller
from knell.core.codes import Code
from knell.core.environment import TOKEN
from knell.core.errors import Refused, StoreFailed
from knell.core.process import KEEPER, MULTIPLEXERS, Gone, Unknown
from knell.core.run import digest_of, token_of

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from knell.core.ports.world import World
    from knell.core.process import Alive, Ancestor, ProcessId
    from knell.core.run import Run

    Seen = Mapping[ProcessId, Alive | Gone | Unknown]

REAPERS = ("systemd", "init")  # to whom the kernel gives processes that lost their parent
UNITS = (".service", ".scope")
# What a person does about a doubt.
TYPE_FIRST = "type sh, and then the command in the shell that this starts"
SHOWN_ALL = "type it where all processes of this machine are shown, in no sandbox or container"


def caller(world: World, live: Sequence[Run] | None = None, seen: Seen | None = None) -> Caller:
    """Who asks. `live` and `seen`: the live runs and the looks at them, where they were just read.

    A server that acts for others has proven its caller by a token before (`World.acting_as`)."""
    if world.acting_as is not None:
        return world.acting_as
    live = world.store.runs.live() if live is None else live
    # Any program can set KNELL_HOST: a run under another host's name may still be of this boot.
    here = [run for run in live if run.host == world.host or _began_in_this_boot(world, run)]
    chain, inside = world.processes.lineage(), world.processes.cgroup_run()
    if above := _runs_above(world, chain, here):
        return _agent(above, live)
    # A cgroup also holds processes whose parents have ended.
    around = [run for run in here if run.id == inside] or _run_of_pane(world, chain, here)
    if around:
        return _agent(around, live)._replace(outside=True)
    holder = holder_of(world, world.env.get(TOKEN, ""), live)
    if holder:
        return holder
    doubt, way_out = _claimed(world, inside), ""
    if not doubt and (doubt := _hidden(world, here, chain, seen)):
        way_out = SHOWN_ALL
    if not doubt and any(one.name in MULTIPLEXERS for one in chain):
        # Most commands are not in one.
        from knell.life.base.caller_doubts import opened_by_command

        doubt = opened_by_command(world, here, chain)
        way_out = TYPE_FIRST if doubt else ""
    doubt = doubt or orphaned(world, here, chain, seen)
    if not doubt and (
        inside or world.env.get("KNELL_RUN") or KEEPER in (one.name for one in chain)
    ):
        from knell.life.base.caller_doubts import caller_elsewhere, run_elsewhere

        return caller_elsewhere(world, run_elsewhere(world, chain))
    return Caller(UNPROVEN, doubt=doubt, way_out=way_out) if doubt else Caller(OPERATOR)


def _began_in_this_boot(world: World, run: Run) -> bool:
    known = run.keeper or run.process or run.owner
    boot = world.processes.me().boot.partition("/")[0]
    return known is not None and known.boot.partition("/")[0] == boot


def asker(world: World) -> Caller:
    """The caller, for what is done in an agent's name; refused if it is not proven. So a process of
    an ended run finishes no task and reads no message that is its successor's by now."""
    who = caller(world)
    if who.doubt:
        why = f"it is not proven who asks: {who.doubt}"
        refuse(world, who, why, who.way_out or PROVE, code=Code.CALLER_UNPROVEN)
    return who


def check_not_agent(world: World, what: str) -> None:
    """Refuses, for an agent, what only a person may; here no other agent is its target."""
    who = asker(world)
    if who.runs:
        refuse(world, who, f"'{who.agent}' is an agent: it may not {what}", "ask the operator")


# -- proofs ------------------------------------------------------------------------------------


def _runs_above(world: World, chain: Sequence[Ancestor], here: Sequence[Run]) -> list[Run]:
    """The runs whose keeper or agent is above this process, the nearest first. A PID that was
    reused has another start."""
    known = {(p.pid, p.start): run for run in here for p in (run.keeper, run.process) if p}
    starting = {world.rundir(run.id): run for run in here if not run.keeper and not run.process}
    found: list[Run] = []
    unborn: list[Run] = []
    for one in chain:
        if run := known.get((one.pid, one.start)):
            found.append(run)
        elif starting and not found:
            # Its spawner has not recorded it yet, but its keeper is there, and names its directory.
            words = world.processes.argv(one.pid)
            unborn += [starting[word] for word in words if word in starting]
    if found:  # any program can name a directory: below a run, only its own child runs count
        unborn = [run for run in unborn if run.parent == found[0].id]
    return list({run.id: run for run in (*unborn, *found)}.values())


def _run_of_pane(world: World, chain: Sequence[Ancestor], here: Sequence[Run]) -> list[Run]:
    """The adopted agent on whose pane's terminal this process is."""
    terminal = chain[0].terminal if chain else 0
    adopted = [run for run in here if terminal and run.place.pane and run.keeper is None]
    return [
        run for run in adopted if (it := _agents_process(world, run)) and it.terminal == terminal
    ]


def _agents_process(world: World, run: Run) -> Ancestor | None:
    found = world.processes.describe(run.process.pid) if run.process else None
    return found if found and run.process and found.start == run.process.start else None


# -- doubts ------------------------------------------------------------------------------------


def _claimed(world: World, inside: str) -> str:
    """The doubt about a process that claims by a stamp or a token to be a run's and cannot prove
    it, or that is in the cgroup of an ended run. A run not on record is another KNELL_HOME's."""
    stamped = world.env.get("KNELL_RUN", "")
    known = [run for one in (inside, stamped) if one and (run := world.store.runs.run(one))]
    if not known:
        unknown = world.env.get(TOKEN) and not stamped
        return f"its {TOKEN} is of no live run" if unknown else ""
    if known[0].live:
        return f"KNELL_RUN names a run of '{known[0].agent}', and anything can set that"
    return f"this belongs to a run of '{known[0].agent}' that has ended"


def _hidden(world: World, here: Sequence[Run], chain: Sequence[Ancestor], seen: Seen | None) -> str:
    """Why agents cannot be told from strangers here: another PID namespace, or a hiding /proc."""
    if not chain:
        return "what is above this process cannot be seen: other files lie over those of /proc"
    for run in here:
        watched = run.keeper or run.process
        look = _look(world, watched, seen) if watched else None
        if isinstance(look, Unknown):
            return f"the processes of '{run.agent}' cannot be seen from here ({look.why})"
    return ""


def _look(world: World, process: ProcessId, seen: Seen | None) -> Alive | Gone | Unknown:
    return seen[process] if seen and process in seen else world.processes.look(process)


def orphaned(
    world: World, here: Sequence[Run], chain: Sequence[Ancestor], seen: Seen | None = None
) -> str:
    """Whether this process lost its parents and may be an agent's that no keeper holds together."""
    top = _cut_off(chain)
    if top is None:
        return ""
    for run in here:
        if run.keeper and not isinstance(_look(world, run.keeper, seen), Gone):
            continue  # a keeper stays above everything that its agent starts
        its = _agents_process(world, run)
        if its is None or top.start < its.start:
            continue
        cgroup, own = (world.processes.cgroup(pid) for pid in (its.pid, chain[0].pid))
        # A service or a session has a cgroup that the system made; into others, anything can move.
        if top.session == its.session or cgroup == own or not (own or "").endswith(UNITS):
            return f"its parents are gone, and '{run.agent}' may have started it"
    older = [run for run in here if run.process and run.process.start <= top.start]
    if not older:
        return ""
    # Most branches are older than the agents.
    from knell.life.base.caller_doubts import left_by_tmux

    return left_by_tmux(world, older[0], chain, top)


def _cut_off(chain: Sequence[Ancestor]) -> Ancestor | None:
    """The oldest process of this branch, where the kernel gave the branch to another parent: a
    child has its parent's session, or one of its own."""
    for child, parent in pairwise(chain):
        if child.session not in (parent.session, child.pid):
            return child
        if child.session == child.pid and (parent.pid == 1 or parent.name in REAPERS):
            return child
    return None


# -- tokens ------------------------------------------------------------------------------------


def give_token(world: World, run: Run) -> tuple[str, str]:
    """A seal for the run's keeper, and a token by which the agent proves its run while it lives.

    The token is the digest of the seal, and only the digest of the token is stored. So the store
    can tell both, and an agent that knows its token cannot make the seal."""
    seal = world.new_token()
    token = token_of(seal)
    world.store.runs.set_token(run.id, digest_of(token))
    return seal, token


def holder_of(world: World, token: str, live: Sequence[Run] | None = None) -> Caller | None:
    """The agent that got this token at its start; None for a forged one, and once its run is over.

    Only its digest is on record, so every wrong guess takes the same time."""
    run = world.store.runs.run_of_token(digest_of(token)) if token else None
    if run is None:
        return None
    holder = _agent([run], world.store.runs.live() if live is None else live)
    return holder._replace(outside=True)


def _agent(mine: list[Run], live: Sequence[Run]) -> Caller:
    """With the runs around: those above it, and those that started it."""
    by_id = {run.id: run for run in live}
    chain = [run.id for run in mine]
    for run_id in chain:  # grows while we walk
        parent = by_id[run_id].parent if run_id in by_id else ""
        if parent and parent not in chain:
            chain.append(parent)
    return Caller(f"agent:{mine[0].agent}", tuple(chain), mine[0].agent)


# -- the other end of a connection ---------------------------------------------------------------


def agent_behind(world: World, port: int, to: int) -> str:
    """The agent whose process connected from that local port, in words; empty if it is no agent's,
    or if that cannot be seen, as for a program on another machine."""
    for pid in world.processes.connected_from(port, to):
        found = _agent_of(world, pid)
        if found:
            return found
    return ""


def _agent_of(world: World, pid: int) -> str:
    from knell.life.base.caller_doubts import ELSEWHERE, opened_by_command

    line = (pid, *world.processes.ancestors_of(pid))
    stamp, cgroup = world.processes.stamp(pid), world.processes.cgroup(pid) or ""
    for run in world.store.runs.live():
        above = any(process.pid in line for process in run.processes)
        if run.host == world.host and (above or stamp == run.id or run.id in cgroup):
            return f"'{run.agent}'"
    if KEEPER in (one.name for one in world.processes.lineage()):
        return ""  # an agent serves itself, in a KNELL_HOME of its own
    chain = [one for above in line if (one := world.processes.describe(above))]
    if KEEPER in (one.name for one in chain):
        return ELSEWHERE
    # An agent may have had a terminal program start this process, as it may a command of knell.
    here = [run for run in world.store.runs.live() if run.host == world.host]
    doubt = opened_by_command(world, here, chain) or orphaned(world, here, chain)
    return f"a process that may be an agent's ({doubt})" if doubt else ""


# -- refusals ----------------------------------------------------------------------------------


def refuse(
    world: World, who: Caller, why: str, hint: str, *, code: Code = Code.NOT_ALLOWED
) -> NoReturn:
    """Refuses, and records who was refused."""
    note_refusal(world, who, why)
    raise Refused(why, hint, code=code)


def note_refusal(world: World, who: Caller, why: str, **more: str) -> None:
    facts = {"by": who.by, "why": why, **more}
    with suppress(StoreFailed):  # it is refused all the same
        world.store.events.record("authority.refused", who.agent, who.run, facts)
