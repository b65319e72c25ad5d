"""Which agent is behind a connection to a server that acts for the operator."""

from knell.core.ports.world import World
from knell.core.process import KEEPER
from knell.life.base.elsewhere import ELSEWHERE
from knell.life.base.members import processes_of


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
        above = any(process.pid in line for process in processes_of(run))
        if run.host == world.host and (above or stamp == run.id or run.id in cgroup):
            return f"'{run.agent}'"
    if KEEPER in (one.name for one in world.processes.lineage()):
        return ""  # an agent serves itself, in a KNELL_HOME of its own
    names = [one.name for above in line if (one := world.processes.describe(above))]
    return ELSEWHERE if KEEPER in names else ""
