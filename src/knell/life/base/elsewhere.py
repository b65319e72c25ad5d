"""Agents that ask in another KNELL_HOME than their own, as anything can set that variable."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

from knell.core.authority import OPERATOR, UNPROVEN, Caller
from knell.core.process import KEEPER

if TYPE_CHECKING:
    from collections.abc import Sequence

    from knell.core.ports.world import World
    from knell.core.process import Ancestor
    from knell.core.run import Run

ELSEWHERE = "an agent of another KNELL_HOME"


def run_elsewhere(world: World, chain: Sequence[Ancestor]) -> str:
    """The run in whose keeper, cgroup or stamp this process is, though no live run of this
    KNELL_HOME is it; empty for a person."""
    keeper = next((one.pid for one in chain if one.name == KEEPER), 0)
    if not keeper:
        return world.processes.cgroup_run() or world.env.get("KNELL_RUN", "")
    words = world.processes.argv(keeper)
    rundir = next((word for word in words if os.path.dirname(word).endswith("/runs")), "")
    return os.path.basename(rundir) or UNPROVEN


def caller_elsewhere(world: World, run: str) -> Caller:
    """No operator, unless it started every agent of this KNELL_HOME itself, as one does that tries
    knell out."""
    for one in world.store.runs.newest().values():
        if not _descends(world, one, run):
            doubt = f"this is {ELSEWHERE}, and '{one.agent}' is not its own"
            return Caller(UNPROVEN, doubt=doubt)
    return Caller(OPERATOR, elsewhere=run)


def _descends(world: World, run: Run, elsewhere: str) -> bool:
    passed: set[str] = set()
    above: Run | None = run
    while above and above.parent not in ("", *passed):
        if above.parent == elsewhere:
            return True
        passed.add(above.parent)
        above = world.store.runs.run(above.parent)
    return False


def is_below_keeper(world: World, pid: int) -> bool:
    """Whether that process was started below the keeper that this one is below."""
    own = [one.pid for one in world.processes.lineage() if one.name == KEEPER]
    return bool(own) and own[0] in world.processes.ancestors_of(pid)


def older_agent(world: World, than: Ancestor) -> str:
    """An agent, of whatever KNELL_HOME, that is older than that process; in words."""
    seen = (world.processes.describe(one.process.pid) for one in world.processes.all_processes())
    keepers = (one for one in seen if one and one.name == KEEPER and one.start <= than.start)
    return ELSEWHERE if any(keepers) else ""
