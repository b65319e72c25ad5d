"""Looks at an agent before its ending: pane, screen, conversation; or previews the ending."""

from typing import TYPE_CHECKING

from knell.core.agent import Agent
from knell.core.codes import Code, Notice
from knell.core.death import UNSEEN
from knell.core.ending_steps import Case, Way
from knell.core.errors import PlaceFailed, StoreFailed
from knell.core.kind import KEEPS_NONE
from knell.core.ladder import Rung
from knell.core.ports.processes import Target
from knell.core.ports.terminal import Absent, PaneSighting, Present
from knell.core.process import Unknown
from knell.core.receipt import Conversation, Pane, Proof, Receipt, Result
from knell.core.run import Ending, Run
from knell.life.base.members import protected_now, target_of
from knell.life.base.receipts import run_receipt, unrecorded, would_end
from knell.life.base.take_in import born

if TYPE_CHECKING:
    from knell.core.ports.terminal import Terminal
    from knell.core.ports.world import World


def prepare(
    world: "World", run: Run, way: Way, ending: Ending, warnings: tuple[Notice, ...]
) -> Case:
    """The case of a run that is ours to end. Without a process it comes with its receipt."""
    agent = way.agents.get(run.agent) or world.store.runs.agent(run.agent)
    agent = agent or Agent(run.agent, "command", "/")
    kind = world.kinds.kind_or_command(agent.kind)
    if run.process is None:
        run = born(run, world.keepers.journal(world.rundir(run.id)))
    if run.process is None and run.keeper is None:
        run = _find_in_pane(world, run)
    if run.process is None and run.keeper is None:
        run = born(run, world.keepers.cancel(world.rundir(run.id)))
    rundir, conversation = world.rundir(run.id), Conversation(agent.conversation)
    target = Target(run.id, rundir, run.keeper, run.process, run.cgroup, (), seal=run.seal)
    case = Case(run, agent, kind, way, run.ending or ending, target, conversation)
    if run.process is None and run.keeper is None:
        return case._replace(receipt=_write_off(world, case))
    terminal = world.place(run.place.name)
    seen = terminal.look(run.place, run.id) if terminal.has_panes else Absent()
    screen, trouble = last_screen(terminal, run, seen)
    ladder = way.ladder
    reachable = isinstance(seen, Present) or run.place.name == "terminal"  # typing says why not
    if not reachable or not kind.exit_keys:
        ladder = tuple(step for step in ladder if step.rung is not Rung.EXIT_KEYS)
    return case._replace(
        target=case.target._replace(ladder=ladder), screen=screen, warnings=(*warnings, *trouble)
    )


def last_screen(
    terminal: "Terminal", run: Run, seen: PaneSighting
) -> tuple[str, tuple[Notice, ...]]:
    """What its pane or log shows last, and what went wrong with looking."""
    if isinstance(seen, Unknown):
        return "", (Notice(Code.PLACE_FAILED, f"{run.place.name} did not answer: {seen.why}"),)
    if not isinstance(seen, Present) and not run.place.log:
        return "", ()
    try:
        screen = terminal.screen(run.place)
    except PlaceFailed as error:
        return "", (Notice(Code.SCREEN_UNREAD, f"the last screen could not be read: {error}"),)
    if not screen:
        return "", ()
    from knell.core.redact import kept_screen

    return kept_screen(screen), ()


def record_conversation(world: "World", case: Case) -> Case:
    """The case with the conversation that its agent is in now, recorded for a resume."""
    agent, kind = case.agent, case.kind
    if not kind.resume and kind.name == agent.kind:
        return case._replace(conversation=Conversation(why=KEEPS_NONE.format(kind.name)))
    from knell.core.conversation import UNSURE
    from knell.life.base.conversation import find_conversation

    if kind.resume:
        from knell.life.base.known_conversation import learn_conversation

        agent = learn_conversation(world, agent, case.run)
    if kind.may_vanish:
        from knell.life.base.conversation_copy import keep_copy

        keep_copy(world, agent, case.run.id)
    conversation = find_conversation(world, agent)
    if case.row and case.way.capture_id and conversation.source == UNSURE:
        from knell.life.base.candidates import guessed_conversation

        conversation = guessed_conversation(world, agent, case.run, *case.row)
    return case._replace(agent=agent, conversation=conversation)


def _find_in_pane(world: "World", run: Run) -> Run:
    """The run with the process of the pane that carries its tag, though none is on record."""
    terminal = world.place(run.place.name)
    seen = terminal.look(run.place, run.id) if run.place.pane else Absent()
    pid = seen.pid if isinstance(seen, Present) else 0
    process = world.processes.identify(pid) if pid else None
    if process is None or terminal.look(run.place, run.id) != seen:
        return run  # it ended while we looked, so its PID may be another process's by now
    return run._replace(process=process)


def _write_off(world: "World", case: Case) -> Receipt:
    """Records the end of a run that never started, as far as is known; or that it has no PID."""
    run, way, ending = case.run, case.way, case.asked
    receipt = run_receipt(run, case.agent, ending, Result.NO_PID, world.now())._replace(
        outcome="",
        proof=Proof.NONE_FOUND,
        pane=Pane(run.place.name, run.place.pane),
        conversation=case.conversation,
    )
    try:
        if not way.deregister:
            world.store.endings.spare(run.id, receipt)
            return receipt
        world.keepers.discard(world.rundir(run.id))  # the order holds the caller's environment
        outcome = ending.outcome.value
        receipt = receipt._replace(result=Result.ENDED, outcome=outcome, death=UNSEEN)
        over = run._replace(ending=ending, ended_at=world.now())
        return world.store.endings.end(over, receipt, ())
    except StoreFailed as error:  # the endings of other runs must not wait for this
        return receipt._replace(warnings=(unrecorded(error),))


def preview(world: "World", run: Run, ending: Ending) -> Receipt:
    """A receipt that names every process, the pane and the conversation, and ended nothing."""
    agent = world.store.runs.agent(run.agent)
    members = world.processes.members(target_of(world, run), protected_now(world))
    receipt = run_receipt(run, agent, ending, Result.WOULD_END, world.now())._replace(
        processes=would_end(members), pane=Pane(run.place.name, run.place.pane)
    )
    if agent is None:
        return receipt
    from knell.life.base.conversation import find_conversation

    if ending.cleanup:
        from knell.core.worktree import Cleanup
        from knell.life.end.cleanup import preview_cleaning

        cleaning = preview_cleaning(world, run, agent, Cleanup(ending.cleanup))
        receipt = receipt._replace(worktree=cleaning.worktree, cleaning=cleaning)
    return receipt._replace(conversation=find_conversation(world, agent))
