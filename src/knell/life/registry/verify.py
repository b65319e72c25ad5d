"""Checks again that an agent, or a session of the registry file, is as its ending left it."""

from collections.abc import Iterator
from typing import NamedTuple

from knell.core.codes import Code
from knell.core.errors import BadRequest, Refused
from knell.core.ports.registry import Row
from knell.core.ports.terminal import Absent
from knell.core.ports.world import World
from knell.core.process import Gone, Unknown
from knell.core.receipt import Receipt, Result
from knell.core.run import Outcome, Run
from knell.life.base.members import living_orphans, protected_now, target_of
from knell.life.base.take_in import take_in_journals
from knell.life.look.output import agent_and_run
from knell.life.registry.agent_of_row import ENDED, newest_run_of, sessions_on
from knell.life.registry.mirror import session_of, speaks_of

# The status that belongs to each way of ending (C18); every other way leaves `terminated`.
ROW_STATUS = {Outcome.STOPPED: "stopped", Outcome.ARCHIVED: "archived"}
CHILDREN = ("kept", "archived")  # orphans that were left alive on purpose


class CheckedFact(NamedTuple):
    what: str
    good: bool = True


class Verification(NamedTuple):
    target: str
    facts: tuple[CheckedFact, ...]

    @property
    def verified(self) -> bool:
        return all(fact.good for fact in self.facts)


def verify(world: World, name: str, session: str) -> Verification:
    """The facts by which the target is over, each looked at now. Changes and ends nothing."""
    if bool(name) == bool(session):
        raise BadRequest("name an agent, or a session of the registry file", "knell verify NAME")
    if session:
        take_in_journals(world)
        return Verification(session, tuple(_facts_of_session(world, session)))
    agent, run = agent_and_run(world, name)
    registry = world.registry(world.cwd)
    rows = [row for row in registry.rows() if speaks_of(row, run)] if registry else []
    row_facts = [fact for row in rows for fact in _facts_of_row(row, run)]
    return Verification(agent.name, (*_facts_of_run(world, run), *row_facts))


def _facts_of_session(world: World, name: str) -> Iterator[CheckedFact]:
    registry = world.registry(world.cwd)
    row = registry.row(name) if registry else None
    if row is None:
        hint = "knell verify NAME checks an agent that knell knows"
        raise Refused(
            f"there is no session '{name}' in a registry file", hint, code=Code.NOT_IN_REGISTRY
        )
    run = newest_run_of(world, row)
    there = sessions_on(world, row.tmux_server)
    if there is None:
        yield CheckedFact(f"tmux did not say whether it has the session {name}", good=False)
    elif session_of(row) in there:
        yield CheckedFact(f"the tmux session {name} is there", good=row.status == "archived")
    else:
        yield CheckedFact(f"the tmux session {name} is gone")
    yield from _facts_of_row(row, run)
    if run is not None:
        yield from _facts_of_run(world, run)


def _facts_of_row(row: Row, run: Run | None) -> Iterator[CheckedFact]:
    ending = run.ending if run else None
    wanted = (ROW_STATUS.get(ending.outcome, "terminated"),) if ending else ENDED
    expected = "" if row.status in wanted else f", not {' or '.join(wanted)}"
    yield CheckedFact(f"its row says {row.status}{expected}", good=not expected)
    if row.status in ("stopped", "terminated"):
        at = row.stopped_at if row.status == "stopped" else row.terminated_at
        yield CheckedFact(
            f"its row has {row.status}_at{': ' + at if at else ' missing'}", good=bool(at)
        )
    if row.pane_pid:
        yield CheckedFact(f"its row still knows the pane: PID {row.pane_pid}, {row.cwd}")


# -- a run ---------------------------------------------------------------------------------------


def _facts_of_run(world: World, run: Run) -> Iterator[CheckedFact]:
    if run.ending is None or run.live:
        yield CheckedFact(f"it is {run.state.value} by the record", good=False)
    else:
        yield CheckedFact(f"it ended: {run.ending.outcome.value}, {run.ended_at}")
    if run.host != world.host:
        yield CheckedFact(
            f"it ran on {run.host}: its processes cannot be looked at from here", good=False
        )
        return
    let_go = run.ending is not None and run.ending.outcome is Outcome.ARCHIVED
    yield _processes(world, run, let_go=let_go)
    yield from _pane(world, run, let_go=let_go)
    yield from _receipt(world, world.store.endings.receipt(run.id))


def _processes(world: World, run: Run, *, let_go: bool) -> CheckedFact:
    orphans = [one for one in living_orphans(world) if one.run == run.id]
    spared = {one.process.pid for one in orphans if one.why in CHILDREN}
    found = world.processes.members(target_of(world, run), protected_now(world))
    left = [one for one in found if not isinstance(world.processes.look(one.process), Gone)]
    pids = [str(one.process.pid) for one in left if one.process.pid not in spared]
    if let_go:
        return CheckedFact("it was let go: its processes were left alone")
    if pids:
        return CheckedFact(f"processes are left: {', '.join(pids)}", good=False)
    kept = f"; left alive on purpose: {', '.join(map(str, sorted(spared)))}" if spared else ""
    return CheckedFact(f"no process of it is left{kept}")


def _pane(world: World, run: Run, *, let_go: bool) -> Iterator[CheckedFact]:
    terminal = world.place(run.place.name)
    if not terminal.has_panes or not run.place.pane or let_go:
        return
    seen = terminal.look(run.place, run.id)
    where = f"its {run.place.name} pane {run.place.pane}"
    if isinstance(seen, Unknown):
        yield CheckedFact(f"{where} could not be looked at: {seen.why}", good=False)
    else:
        gone = isinstance(seen, Absent)
        yield CheckedFact(f"{where} is {'gone' if gone else 'there'}", good=gone)


def _receipt(world: World, receipt: Receipt | None) -> Iterator[CheckedFact]:
    if receipt is None:
        yield CheckedFact("there is no receipt of its end", good=False)
        return
    said = (receipt.proof or receipt.result).value
    over = receipt.proof is not None or receipt.result is Result.LET_GO
    yield CheckedFact(f"its receipt says {said}", good=over)
    paths = receipt.conversation.purged
    left = [path for path in paths if (file := world.disk.seen(path)) and file.what != "nothing"]
    if paths:
        what = f"still there: {', '.join(left)}" if left else "deleted, as asked"
        yield CheckedFact(f"its conversation is {what}", good=not left)
