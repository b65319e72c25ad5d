"""Whether an ended conversation is alive again under another process, and whose doing that is.

Claude Code and Codex have supervisors of their own that start a killed session again. They serve
other sessions too, so they are named, not killed.
"""

import fnmatch
from typing import NamedTuple

from quell.core import ladder as ladders
from quell.core.climbing import Target
from quell.core.kind import Helper, Kind
from quell.core.ports import World
from quell.core.process import Member
from quell.core.receipt import Receipt, Result
from quell.core.run import Run
from quell.life.before import others_alive

STEP = 0.25


class Resurrected(NamedTuple):
    agent: str
    conversation: str
    member: Member


def watch_after(world: World, receipts: list[Receipt]) -> list[Receipt]:
    """While a vendor's supervisor lives: watches for a while, and ends what comes back."""
    watched = [r for r in receipts if r.result is Result.ENDED and r.conversation.id]
    helpers = {r.run: running_helpers(world, world.kind(r.kind)) for r in watched}
    watched = [r for r in watched if helpers[r.run]]
    if not watched:
        return receipts
    told: dict[str, Receipt] = {}
    waited = 0.0
    while waited < world.settings.watch_after and len(told) < len(watched):
        world.kernel.wait([], STEP)
        waited += STEP
        for receipt in watched:
            member = same_conversation(world, receipt.kind, receipt.conversation.id)
            if member and receipt.run not in told:
                told[receipt.run] = ended_again(world, receipt, member, helpers[receipt.run])
    return [told.get(receipt.run, receipt) for receipt in receipts]


def running_helpers(world: World, kind: Kind) -> list[Helper]:
    """The vendor's supervisors that are alive on this machine."""
    if not kind.helpers:
        return []
    commands = [member.command for member in world.kernel.everybody()]
    return [
        helper
        for helper in kind.helpers
        if any(fnmatch.fnmatchcase(command, helper.pattern) for command in commands)
    ]


def same_conversation(
    world: World, kind: str, conversation: str, everybody: list[Member] | None = None
) -> Member | None:
    """A live process of that kind whose own command line names that conversation."""
    for member in world.kernel.everybody() if everybody is None else everybody:
        if conversation in member.command:
            argv = world.kernel.argv(member.process.pid)
            if conversation in argv and world.recognise(argv) == kind:
                return member
    return None


def ended_again(world: World, receipt: Receipt, member: Member, helpers: list[Helper]) -> Receipt:
    target = Target(f"{receipt.run}/again", "", None, member.process, "", ladders.KILL, alone=True)
    fall = world.kernel.climb([target], others_alive(world), lambda _: None, lambda _: "")[
        target.run
    ]
    world.store.note("life.resurrected", receipt.agent, receipt.run, {"pid": member.process.pid})
    outcome = "could not be ended" if fall.survivors else "was ended too"
    warning = (
        f"its conversation was alive again as PID {member.process.pid} and {outcome}; "
        f"the vendor's supervisor starts it: {helpers[0].off} turns that off"
    )
    return receipt._replace(warnings=(*receipt.warnings, warning))


def resurrections(world: World) -> list[Resurrected]:
    """Ended agents whose conversation lives now, outside of any run of ours."""
    ended = {name for name, run in world.store.last_runs().items() if _over(run, world)}
    watched = [a for a in world.store.agents() if a.name in ended and a.conversation]
    if not watched:
        return []
    owned = {p.pid for run in world.store.live_runs() for p in (run.keeper, run.process) if p}
    everybody = world.kernel.everybody()  # once: there may be hundreds of ended agents
    found: list[Resurrected] = []
    for agent in watched:
        member = same_conversation(world, agent.kind, agent.conversation, everybody)
        if member and member.process.pid not in owned:
            found.append(Resurrected(agent.name, agent.conversation, member))
    return found


def _over(run: Run, world: World) -> bool:
    return not run.live and run.host == world.host
