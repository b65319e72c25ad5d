"""Whose process is at the other end of a connection: an agent's, or one that may be an agent's."""

from __future__ import annotations

from typing import TYPE_CHECKING

from knell.core.process import KEEPER
from knell.life.base.caller import orphaned
from knell.life.base.elsewhere import ELSEWHERE
from knell.life.base.terminals import opened_by_command

if TYPE_CHECKING:
    from collections.abc import Sequence

    from knell.core.ports.world import World
    from knell.core.process import Ancestor


def agent_behind(world: World, port: int, to: int) -> str:
    """The agent whose process connected from that local port, in words; empty if it is no agent's,
    or if that cannot be seen, as for a program on another machine."""
    for pid in world.processes.connected_from(port, to):
        found = _agent_of(world, pid)
        if found:
            return found
    return ""


def _agent_of(world: World, pid: int) -> str:
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
    doubt = _doubt_about(world, chain)
    return f"a process that may be an agent's ({doubt})" if doubt else ""


def _doubt_about(world: World, chain: Sequence[Ancestor]) -> str:
    """Whether an agent may have had a terminal start it, as it may a command of knell."""
    here = [run for run in world.store.runs.live() if run.host == world.host]
    return opened_by_command(world, here, chain) or orphaned(world, here, chain)
