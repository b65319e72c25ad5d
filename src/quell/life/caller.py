"""Who is asking: the operator at a shell, or an agent."""

from collections.abc import Sequence
from typing import NamedTuple, NoReturn

from quell.core.errors import Refused
from quell.core.ports import World
from quell.core.run import Run

OPERATOR = "operator"


class Caller(NamedTuple):
    by: str  # "operator", or "agent:luna"
    runs: tuple[str, ...] = ()  # the run it is in, and the runs around that one
    agent: str = ""  # its name, if it is an agent

    @property
    def run(self) -> str:
        return self.runs[0] if self.runs else ""


def caller(world: World) -> Caller:
    """Judged by ancestry first, so that a scrubbed environment promotes nobody."""
    live = world.store.live_runs()
    above = world.kernel.ancestors()
    mine = [run for run in live if any(_is_among(run, pid) for pid in above)]
    mine.sort(key=lambda run: min(above.index(p) for p in _pids(run) if p in above))
    if not mine:
        stamped = world.env.get("QUELL_RUN", "")
        mine = [run for run in live if stamped and run.id == stamped]
    if mine:
        return _agent(mine, live)
    return Caller(world.env.get("QUELL_ON_BEHALF") or OPERATOR)  # set by selfend.py


def holder_of(world: World, token: str) -> Caller | None:
    """Whoever was given this token at its start; None for one that is forged, or died with its run.

    Only its digest is on record, so that equal time for every guess comes by itself."""
    import hashlib

    run = world.store.teamwork.run_of_token(hashlib.sha256(token.encode()).hexdigest())
    return _agent([run], world.store.live_runs()) if run else None


def _agent(mine: list[Run], live: list[Run]) -> Caller:
    return Caller(f"agent:{mine[0].agent}", _with_parents(mine, live), mine[0].agent)


def refuse(world: World, who: Caller, why: str, hint: str) -> NoReturn:
    """Says no, and writes down who was told so."""
    world.store.note("authority.refused", who.agent, who.run, {"by": who.by, "why": why})
    raise Refused(why, hint)


def _pids(run: Run) -> list[int]:
    return [process.pid for process in (run.keeper, run.process) if process]


def _is_among(run: Run, pid: int) -> bool:
    return pid in _pids(run)


def _with_parents(mine: list[Run], live: list[Run]) -> tuple[str, ...]:
    by_id = {run.id: run for run in live}
    chain = [run.id for run in mine]
    for run_id in chain:  # grows while we walk
        parent = by_id[run_id].parent if run_id in by_id else ""
        if parent and parent not in chain:
            chain.append(parent)
    return tuple(chain)


def check_authority(
    who: Caller, runs: Sequence[Run], groups: Sequence[str], *, told_twice: bool
) -> None:
    """No agent ends what it runs in, or, without --yes, more than one run, or a whole group."""
    if not who.runs:
        return
    around = [run for run in runs if run.id in who.runs[1:]]
    if around:
        raise Refused(
            f"'{around[0].agent}' runs this agent: no agent ends its own ancestors",
            "ask the operator to end it",
        )
    if len(runs) > 1 and not told_twice:
        names = ", ".join(run.agent for run in runs)
        raise Refused(f"an agent may not end {len(runs)} runs unasked: {names}", "add --yes")
    if groups and not told_twice:
        raise Refused(f"an agent may not end {', '.join(groups)} unasked", "add --yes")
