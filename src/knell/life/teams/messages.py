"""Messages between agents: sent, and read once."""

from collections.abc import Sequence

from knell.core.codes import Code
from knell.core.errors import BadRequest, NoSuchAgent, Refused
from knell.core.ports.world import World
from knell.core.shutdown import answer_from
from knell.core.teams import EVERYBODY, LONGEST_POLL, Message, MessageType, checked_message
from knell.life.base.caller import Caller, asker, refuse
from knell.life.base.take_in import take_in_journals
from knell.life.teams.answer import answer
from knell.life.teams.team import known_team

POLL = 0.25  # seconds between two looks at an inbox


def send(
    world: World,
    to: Sequence[str],
    body: str,
    team: str = "",
    type: str = MessageType.PLAIN.value,
    summary: str = "",
) -> list[Message]:
    """Puts a message into each recipient's inbox; `*` means all members of the team but the sender.
    An answer to a shutdown request is recorded."""
    take_in_journals(world)
    checked_message(body, type)
    if type in (MessageType.SHUTDOWN_APPROVED, MessageType.SHUTDOWN_REJECTED):
        return list(answer(world, answer_from(type, body)).messages)
    if type == MessageType.SHUTDOWN_REQUEST:
        raise Refused("a shutdown is not asked for by message", "knell ask NAME")
    who = asker(world)
    team, recipients = _recipients(world, who, team, to)
    return world.store.messages.send(team, who.agent or who.by, recipients, type, body, summary)


def _recipients(
    world: World, who: Caller, team: str, to: Sequence[str]
) -> tuple[str, Sequence[str]]:
    """The team and the recipients; an unknown name is an error, so that no message is lost."""
    seats = world.store.runs.seats()
    own = seats.get(who.agent)
    team = team or (own.team if own else "")
    if team:
        known_team(world, team)
    if who.runs and team and (own is None or own.team != team):
        refuse(world, who, f"'{who.agent}' is not in team '{team}'", "write to its members by name")
    if EVERYBODY in to:
        if not team:
            raise BadRequest("a broadcast needs a team", "knell send --team NAME '*' …")
        found = [name for name, seat in seats.items() if seat.team == team and name != who.agent]
        if not found:
            why, hint = f"no other agent is in team '{team}'", f"knell team show {team}"
            raise Refused(why, hint, code=Code.TEAM_IS_EMPTY)
        return team, found
    if not to:
        raise BadRequest("no recipient given", "knell send NAME -- TEXT")
    known = {agent.name for agent in world.store.runs.agents()}
    unknown = [name for name in to if name not in known]
    if unknown:
        import difflib

        raise NoSuchAgent(unknown[0], tuple(difflib.get_close_matches(unknown[0], known, 3)))
    return team, to


def read_inbox(
    world: World, agent: str = "", *, wait: float = 0.0, limit: int = 50, peek: bool = False
) -> list[Message]:
    """The unread messages of the calling agent, each given once; waits for the first. The operator
    reads those of every agent."""
    who = asker(world)
    if agent and who.runs and agent != who.agent:
        why = f"the messages of '{agent}' are not yours"
        refuse(world, who, why, "knell inbox shows your own")
    name = agent or who.agent
    if not name:
        hint = "knell inbox NAME; inside an agent it is the agent's own"
        raise BadRequest("no agent given", hint)
    if world.store.runs.agent(name) is None:
        raise NoSuchAgent(name)
    if not 0 <= wait <= LONGEST_POLL:
        raise BadRequest(f"a wait of {wait} s is not between 0 and {LONGEST_POLL:.0f}", "ask again")
    look = world.store.messages.peek if peek else world.store.messages.take
    waited = 0.0
    while True:
        found = look(name, limit)
        if found or waited >= wait:
            return found
        step = min(POLL, wait - waited)
        world.wait([], step)
        waited += step
