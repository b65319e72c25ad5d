"""Who is asking: the operator at a shell, or an agent."""

from typing import TYPE_CHECKING, NamedTuple, NoReturn

from quell.core.errors import Refused, StoreFailed
from quell.core.process import Gone
from quell.core.run import Run

if TYPE_CHECKING:
    from quell.core.ports import World

OPERATOR = "operator"


class Caller(NamedTuple):
    by: str  # "operator", or "agent:luna"
    runs: tuple[str, ...] = ()  # the run it is in, and the runs around that one
    agent: str = ""  # its name, if it is an agent

    @property
    def run(self) -> str:
        return self.runs[0] if self.runs else ""


def caller(world: "World") -> Caller:
    """Judged by ancestry first, so that a scrubbed environment promotes nobody; then by the token
    that only one run was given; then by the stamp, which anybody can copy."""
    live = world.store.live_runs()
    above = world.kernel.ancestors()
    found = {run.id: _above(world, run, above) for run in live}
    mine = sorted((run for run in live if found[run.id]), key=lambda run: min(found[run.id]))
    if mine:
        return _agent(mine, live)
    holder = holder_of(world, world.env.get("QUELL_TOKEN", ""))
    if holder:
        return holder
    stamped = world.env.get("QUELL_RUN", "")
    mine = [run for run in live if stamped and run.id == stamped]
    if mine:
        return _agent(mine, live)
    return Caller(world.env.get("QUELL_ON_BEHALF") or OPERATOR)  # set by selfend.py


def asker(world: "World") -> Caller:
    """The caller, for what is done in an agent's name. What is left of an ended run is nobody: it
    must not finish tasks or read letters that are its successor's by now."""
    who = caller(world)
    stamped = world.env.get("QUELL_RUN", "")
    if who.runs or not stamped or "QUELL_ON_BEHALF" in world.env:
        return who
    former = world.store.run(stamped)
    if former is not None:
        was = Caller(f"agent:{former.agent}", (former.id,), former.agent)
        why = f"this belongs to a run of '{former.agent}' that has ended"
        refuse(world, was, why, "a person unsets QUELL_RUN and QUELL_TOKEN first")
    return who


def given_token(world: "World", run: Run) -> str:
    """A new secret that proves to be this run, as long as it lives; only its digest is kept."""
    token = world.new_token()
    world.store.teamwork.set_token(run.id, _digest(token))
    return token


def holder_of(world: "World", token: str) -> Caller | None:
    """Whoever was given this token at its start; None for one that is forged, or died with its run.

    Only its digest is on record, so that equal time for every guess comes by itself."""
    run = world.store.teamwork.run_of_token(_digest(token)) if token else None
    return _agent([run], world.store.live_runs()) if run else None


def _digest(token: str) -> str:
    import hashlib

    return hashlib.sha256(token.encode(errors="surrogateescape")).hexdigest()


def _agent(mine: list[Run], live: list[Run]) -> Caller:
    return Caller(f"agent:{mine[0].agent}", _with_parents(mine, live), mine[0].agent)


def refuse(world: "World", who: Caller, why: str, hint: str) -> NoReturn:
    """Says no, and writes down who was told so."""
    note_refusal(world, who, why)
    raise Refused(why, hint)


def note_refusal(world: "World", who: Caller, why: str, **more: str) -> None:
    try:
        told = {"by": who.by, "why": why, **more}
        world.store.note("authority.refused", who.agent, who.run, told)
    except StoreFailed:
        return  # a no stays a no, though nobody can write it down


def _above(world: "World", run: Run, above: tuple[int, ...]) -> list[int]:
    """How far above us the run's processes are; a number that is another's by now is not its."""
    known = [process for process in (run.keeper, run.process) if process and process.pid in above]
    return [above.index(p.pid) for p in known if not isinstance(world.kernel.look(p), Gone)]


def _with_parents(mine: list[Run], live: list[Run]) -> tuple[str, ...]:
    by_id = {run.id: run for run in live}
    chain = [run.id for run in mine]
    for run_id in chain:  # grows while we walk
        parent = by_id[run_id].parent if run_id in by_id else ""
        if parent and parent not in chain:
            chain.append(parent)
    return tuple(chain)
