"""Finds ended conversations that are alive again under another process, and ends that process.

Claude Code and Codex have supervisors of their own that start a killed session again. They serve
other sessions too, so they are named, not killed.
"""

from typing import NamedTuple

from knell.core import ladder as ladders
from knell.core.codes import Code, Notice
from knell.core.ending_steps import Case
from knell.core.kind import Helper
from knell.core.ports.endings import Callbacks
from knell.core.ports.processes import Target
from knell.core.ports.world import World
from knell.core.process import FoundProcess
from knell.core.run import Run
from knell.life.base.conversation_users import same_conversation
from knell.life.base.members import protected_now, running_helpers

STEP = 0.25


class Revived(NamedTuple):
    agent: str
    conversation: str
    member: FoundProcess


def end_revived(world: World, cases: list[Case]) -> list[Case]:
    """A step of endings (start_end_steps.py): while a vendor's supervisor lives, watches for a
    while, and ends what it starts again."""
    helpers = {
        case.run.id: running_helpers(world, world.kinds.kind_or_command(case.agent.kind))
        for case in cases
    }
    watched = [case for case in cases if helpers[case.run.id]]
    done: dict[str, Case] = {}
    waited = 0.0
    while waited < world.settings.stop_watch_after and len(done) < len(watched):
        world.wait([], STEP)
        waited += STEP
        for case in watched:
            member = same_conversation(world, case.agent.kind, case.conversation.id)
            if member and case.run.id not in done:
                done[case.run.id] = end_again(world, case, member, helpers[case.run.id])
    return [done.get(case.run.id, case) for case in cases]


def end_again(world: World, case: Case, member: FoundProcess, helpers: list[Helper]) -> Case:
    """Ends the process; the case, with a warning that names the supervisor."""
    run = case.run
    target = Target(f"{run.id}/again", "", None, member.process, "", ladders.KILL, alone=True)
    reports = world.endings.end([target], Callbacks(lambda: protected_now(world)))
    world.store.events.record("life.resurrected", run.agent, run.id, {"pid": member.process.pid})
    outcome = "could not be ended" if reports[target.run].survivors else "was ended too"
    why = (
        f"its conversation was alive again as PID {member.process.pid} and {outcome}; "
        f"the vendor's supervisor starts it: {helpers[0].off} turns that off"
    )
    return case.warn(Notice(Code.REVIVED, why))


def find_revived(world: World) -> list[Revived]:
    """Ended agents whose conversation lives now, outside of every run of knell."""
    ended = {name for name, run in world.store.runs.newest().items() if _over(run, world)}
    watched = [a for a in world.store.runs.agents() if a.name in ended and a.conversation]
    if not watched:
        return []
    owned = {p.pid for run in world.store.runs.live() for p in run.processes}
    let_go = [orphan.process for orphan in world.store.runs.orphans()]  # they never ended
    processes = world.processes.all_processes()  # once: there may be hundreds of ended agents
    found: list[Revived] = []
    for agent in watched:
        member = same_conversation(world, agent.kind, agent.conversation, processes)
        if (
            member
            and member.process.pid not in owned
            and not any(map(member.process.same_as, let_go))
        ):
            found.append(Revived(agent.name, agent.conversation, member))
    return found


def _over(run: Run, world: World) -> bool:
    return not run.live and run.host == world.host
