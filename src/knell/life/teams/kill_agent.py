"""The `kill-agent` tool: the leader of a team asks a member to leave, or ends it."""

from collections.abc import Sequence
from typing import NamedTuple

from knell.core.codes import Code, Notice
from knell.core.errors import AskerError, NoSuchAgent, Refused, WorldError
from knell.core.ports.store import NotLive
from knell.core.ports.world import World
from knell.core.receipt import Receipt, Result
from knell.core.shutdown import Phase
from knell.core.teams import reassigned_tasks
from knell.life.base.caller import Caller, caller, note_refusal
from knell.life.base.take_in import take_in_journals
from knell.life.teams.ask import InShutdown, ask, force_end
from knell.life.teams.team import known_team, leads, newest_run, team_of


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
    phase: str  # requested, or force_killed once that is proven
    reassigned: tuple[str, ...] = ()
    error: str = ""
    warnings: tuple[Notice, ...] = ()
    receipt: Receipt | None = None


def kill_agent(world: World, wish: KillAgentWish, *, operator: bool = False) -> KillAgentAnswer:
    """`operator`: a person answers for the caller, which need not be the leader then."""
    take_in_journals(world)
    who = caller(world)
    answer = KillAgentAnswer(
        success=False, method="force" if wish.force else "graceful", phase=Phase.REQUESTED.value
    )
    try:
        agent = check_target(world, wish, who, operator=operator and not (who.runs or who.doubt))
        if wish.force:
            return _forced_answer(answer, force_end(world, who, agent, wish.reason))
        ask(world, agent, wish.reason, wish.deadline)
    except (AskerError, WorldError) as error:
        if isinstance(error, AskerError):
            note_refusal(world, who, str(error), target=wish.agent, team=wish.team)
        return answer._replace(error=str(error))
    return answer._replace(success=True)


def check_target(world: World, wish: KillAgentWish, who: Caller, *, operator: bool) -> str:
    """The agent's name, if the caller may end it; checks the leader first, so that other callers
    learn nothing about the team."""
    team = known_team(world, wish.team)
    if not operator and not leads(who, team):
        why, hint = "Only the team leader can kill agents", "ask the leader of the team"
        raise Refused(why, hint, code=Code.ONLY_THE_LEADER)
    run = newest_run(world, wish.agent)
    # Also one that was a member until its end: it is terminated, not unknown.
    if run is None or team_of(world, run.agent) != team.name:
        raise NoSuchAgent(wish.agent)
    if run.agent == team.leader:
        raise Refused(
            f"Agent '{run.agent}' leads team '{team.name}': the leader is not killed by this tool",
            f"the operator may: knell team dissolve {team.name}, then knell kill {run.agent}",
            code=Code.LEADER_STAYS,
        )
    if not run.live:
        raise NotLive(wish.agent)
    open_one = world.store.shutdowns.open_of(run.id)
    if open_one is not None and not wish.force:
        raise InShutdown(open_one)
    return run.agent


def _forced_answer(answer: KillAgentAnswer, receipts: Sequence[Receipt]) -> KillAgentAnswer:
    """The answer for an agent, whose own receipt is the last, and for the runs it had started. It
    says force_killed only if nothing of them is left."""
    left = [one for receipt in receipts for one in receipt.survivors]
    own = receipts[-1]
    gone = not left and own.result in (Result.ENDED, Result.ALREADY_ENDED)
    left_over = ", ".join(f"PID {one.pid} ({one.why})" for one in left) or own.result.value
    return answer._replace(
        success=gone,
        phase=Phase.FORCE_KILLED.value if gone else answer.phase,
        reassigned=tuple(reassigned_tasks(receipts)),
        error="" if gone else f"not all of it could be ended: {left_over}",
        warnings=tuple(one for receipt in receipts for one in receipt.warnings),
        receipt=own,
    )
