"""The `kill-agent` tool: asks a member to leave, or ends it, for the leader of its team alone."""

from collections.abc import Sequence
from typing import NamedTuple

from quell.core.errors import AskerError, NoSuchAgent, WorldError
from quell.core.ports import World
from quell.core.receipt import Receipt, Result
from quell.core.run import Run
from quell.core.team import Team
from quell.core.teamtask import Status
from quell.core.teamwork import NoSuchTeam, NotLive
from quell.life.caller import Caller, asker, note_refusal
from quell.life.settle import settle
from quell.life.together.ask import AskWish, InShutdown, ask, forced

ONLY_LEADERS = "Only the team leader can kill agents"


class KillAgentWish(NamedTuple):
    team: str
    agent: str  # its name, or the id of its run
    force: bool = False
    reason: str = ""
    deadline: float | None = None  # seconds for the answer; 0: for ever; None: as configured


class KillAgentAnswer(NamedTuple):
    """What the tool says; every key is always there."""

    success: bool
    method: str  # graceful, force
    phase: str  # requested, approved, rejected, confirmed, force_killed
    reassigned: tuple[str, ...] = ()
    error: str = ""
    warnings: tuple[str, ...] = ()
    receipt: Receipt | None = None


def kill_agent(
    world: World, wish: KillAgentWish, who: Caller | None = None, *, operator: bool = False
) -> KillAgentAnswer:
    """`operator`: a person answers for the caller. Nobody's say-so alone makes a leader."""
    settle(world)
    who = who or asker(world)
    method = "force" if wish.force else "graceful"
    phase = "force_killed" if wish.force else "requested"
    try:
        agent = checked(world, wish, who, operator=operator and not who.runs)
        if wish.force:
            return ended(forced(world, who, agent, wish.reason))
        ask(world, AskWish(agent, wish.team, wish.reason, wish.deadline), who)
    except AskerError as error:
        note_refusal(world, who, str(error), target=wish.agent, team=wish.team)
        return KillAgentAnswer(success=False, method=method, phase=phase, error=str(error))
    except WorldError as error:
        return KillAgentAnswer(success=False, method=method, phase=phase, error=str(error))
    return KillAgentAnswer(success=True, method=method, phase=phase)


def checked(world: World, wish: KillAgentWish, who: Caller, *, operator: bool) -> str:
    """The agent's name, if the caller may end it: leader first, so that strangers learn nothing."""
    team = world.store.teamwork.team(wish.team)
    if team is None or team.dissolved_at:
        raise NoSuchTeam(wish.team)
    if not operator and (not who.agent or who.agent != team.leader):
        raise NotTheLeader
    run = newest_run(world, wish.agent)
    if run is None or not belongs(world, team, run.agent):
        raise NoSuchAgent(wish.agent)
    if run.agent == team.leader:
        raise LeaderStays(run.agent, team.name)
    if not run.live:
        raise NotLive(wish.agent)
    open_one = world.store.teamwork.open_of(run.id)
    if open_one is not None and not wish.force:
        raise InShutdown(open_one)
    return run.agent


class NotTheLeader(AskerError):
    def __init__(self) -> None:
        super().__init__(ONLY_LEADERS, "ask the leader of the team")


class LeaderStays(AskerError):
    def __init__(self, agent: str, team: str) -> None:
        super().__init__(
            f"Agent '{agent}' leads team '{team}': the leader is not killed by this tool",
            f"the operator may: quell team dissolve {team}, then quell kill {agent}",
        )


def newest_run(world: World, agent: str) -> Run | None:
    runs = world.store.runs_of(agent)
    if runs:
        return runs[0]
    return world.store.run(agent)


def belongs(world: World, team: Team, agent: str) -> bool:
    """A member now, or one until its end: then it is terminated, not unknown."""
    record = world.store.agent(agent)
    member = world.store.teamwork.membership(agent)
    return (member.team if member else record.team if record else "") == team.name


def ended(receipts: Sequence[Receipt]) -> KillAgentAnswer:
    """Of an agent, whose own receipt is the last, and of those that it had started."""
    left = [one for receipt in receipts for one in receipt.survivors]
    own = receipts[-1]
    gone = not left and own.result in (Result.ENDED, Result.ALREADY_ENDED)
    told = ", ".join(f"PID {one.pid} ({one.why})" for one in left) or own.result.value
    return KillAgentAnswer(
        success=gone,
        method="force",
        phase="force_killed",
        reassigned=reassigned(receipts),
        error="" if gone else f"not all of it could be ended: {told}",
        warnings=tuple(text for receipt in receipts for text in receipt.warnings),
        receipt=own,
    )


def reassigned(receipts: Sequence[Receipt]) -> tuple[str, ...]:
    """The tasks that were under way and wait for somebody else now. Those that were only meant
    for it are told in the receipts."""
    tasks = [task for receipt in receipts for task in receipt.tasks]
    found = [t["id"] for t in tasks if t.get("kind") == "team" and t["was"] == Status.IN_PROGRESS]
    return tuple(found)
