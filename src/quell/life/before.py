"""What must be seen while the agent still lives: its pane, screen, conversation, row."""

from collections.abc import Mapping
from typing import TYPE_CHECKING, NamedTuple

from quell.core.agent import Agent
from quell.core.climbing import Target
from quell.core.death import UNSEEN
from quell.core.errors import PlaceFailed, StoreFailed
from quell.core.ladder import Ladder, Rung
from quell.core.panes import Absent, PaneSighting, Present
from quell.core.process import Gone, ProcessId, Unknown
from quell.core.receipt import Conversation, Receipt, Result
from quell.core.run import Ending, Run
from quell.life.capture import capture
from quell.life.conversation import find_conversation
from quell.life.mirror import Mirrored, announce, find_row
from quell.life.receipts import no_pid_receipt
from quell.life.settle import born, ended, survivors_of

if TYPE_CHECKING:
    from quell.core.ports import World


class Way(NamedTuple):
    """How to end runs, and what to call it."""

    ladder: Ladder
    ending: Ending
    deregister: bool = False  # a run without any process is written off instead of refused
    capture_id: bool = True  # write the conversation's id into the row as well
    details: Mapping[str, str] = {}  # run → why that one in particular

    def ending_of(self, run: str) -> Ending:
        return self.ending._replace(detail=self.details.get(run, self.ending.detail))


class Doomed(NamedTuple):
    """A run whose ending this process has claimed, and what was seen before the first signal."""

    run: Run
    agent: Agent
    target: Target
    conversation: Conversation
    screen: str
    warnings: tuple[str, ...]
    mirrored: Mirrored | None = None  # its row in the registry file


def looked_at(world: "World", run: Run, way: Way, warnings: tuple[str, ...]) -> Doomed | Receipt:
    """The run with all that its ending needs to know; a receipt if there is no process to end."""
    agent = world.store.agent(run.agent) or Agent(run.agent, "command", "/")
    if run.process is None:
        run = born(run, world.kernel.journal(world.rundir(run.id)))
    if run.process is None and run.keeper is None:
        run = seen_in_pane(world, run)
    if run.process is None and run.keeper is None:
        run = born(run, world.kernel.cancel(world.rundir(run.id)))
    if run.process is None and run.keeper is None:
        return no_process(world, run, agent, way)
    terminal = world.place(run.place.name)
    seen = terminal.look(run.place, run.id) if terminal.has_panes else Absent()
    screen, trouble = last_screen(world, run, seen)
    mirrored, row_trouble = find_row(world, agent, run)
    agent, conversation = with_conversation(world, agent, run, mirrored)
    if mirrored:
        row_trouble += announce(mirrored)
    ladder = way.ladder
    if not isinstance(seen, Present) or not world.kind(agent.kind).exit_keys:
        ladder = tuple(step for step in ladder if step.rung is not Rung.EXIT_KEYS)
    target = target_of(world, run)._replace(ladder=ladder)
    warnings = (*warnings, *trouble, *row_trouble)
    return Doomed(run, agent, target, conversation, screen, warnings, mirrored)


def last_screen(world: "World", run: Run, seen: PaneSighting) -> tuple[str, tuple[str, ...]]:
    """What its pane or log shows last, and what went wrong with looking."""
    if isinstance(seen, Unknown):
        return "", (f"{run.place.name} did not answer: {seen.why}",)
    if not isinstance(seen, Present) and not run.place.log:
        return "", ()
    try:
        screen = world.place(run.place.name).screen(run.place)
    except PlaceFailed as error:
        return "", (f"the last screen could not be read: {error}",)
    if not screen:
        return "", ()
    from quell.core.redact import kept_screen

    return kept_screen(screen), ()


def with_conversation(
    world: "World", agent: Agent, run: Run, mirrored: Mirrored | None
) -> tuple[Agent, Conversation]:
    """The agent with the conversation that it is in now, written down for its resume."""
    registry, row = (mirrored.registry, mirrored.row) if mirrored else (None, None)
    captured = capture(world, agent, run, registry, row)
    if captured.conversation and captured.conversation != agent.conversation:
        agent = agent._replace(conversation=captured.conversation)
        try:
            world.store.set_conversation(agent.name, captured.conversation)
        except StoreFailed:
            pass  # said with the ending, which cannot be written either
    return agent, find_conversation(world, agent, captured.found_by)


def seen_in_pane(world: "World", run: Run) -> Run:
    """A pane that carries the run's tag tells its process, though nobody wrote it down."""
    terminal = world.place(run.place.name)
    seen = terminal.look(run.place, run.id) if run.place.pane else Absent()
    pid = seen.pid if isinstance(seen, Present) else 0
    process = world.kernel.identify(pid) if pid else None
    if process is None or terminal.look(run.place, run.id) != seen:
        return run  # it ended while we looked, so that its number may be another's by now
    return run._replace(process=process)


def no_process(world: "World", run: Run, agent: Agent, way: Way) -> Receipt:
    """A run that was written down and never started, as far as anybody knows."""
    receipt = no_pid_receipt(run, agent, way.ending_of(run.id), world.now())
    try:
        if way.deregister:
            world.kernel.discard(world.rundir(run.id))  # the order holds the caller's environment
            outcome = way.ending.outcome.value
            receipt = receipt._replace(result=Result.ENDED, outcome=outcome, death=UNSEEN)
            receipt = world.store.end(ended(run, way.ending_of(run.id), world.now()), receipt, ())
        else:
            world.store.spare(run.id, receipt)
    except StoreFailed as error:  # the others' endings must not wait for this
        return receipt._replace(warnings=(f"the store could not be written ({error})",))
    return receipt


def target_of(world: "World", run: Run) -> Target:
    return Target(
        run=run.id,
        rundir=world.rundir(run.id),
        keeper=run.keeper,
        process=run.process,
        cgroup=run.cgroup,
        ladder=(),
        known=survivors_of(world, run) if _unkept(world, run) else (),
    )


def _unkept(world: "World", run: Run) -> bool:
    return run.keeper is None or isinstance(world.kernel.look(run.keeper), Gone)


def others_alive(world: "World") -> list[ProcessId]:
    """What no ending may touch: every live run, for the sake of every other."""
    return [
        process
        for run in world.store.live_runs()
        for process in (run.keeper, run.process)
        if process and run.host == world.host
    ]
