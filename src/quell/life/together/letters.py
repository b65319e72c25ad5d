"""Letters between agents: sent, and read once."""

from collections.abc import Sequence
from typing import NamedTuple

from quell.core.errors import BadRequest, NoSuchAgent, Refused
from quell.core.message import EVERYBODY, LONGEST_POLL, Letter, Message, checked_letter
from quell.core.ports import World
from quell.life.caller import Caller, asker, refuse
from quell.life.settle import settle
from quell.life.together.team import shown

GLANCE = 0.25  # seconds between two looks at an inbox


class Letters(NamedTuple):
    to: tuple[str, ...]  # agents; `*`: everybody in the team but the sender
    body: str
    team: str = ""
    type: str = Letter.PLAIN.value
    summary: str = ""


def send(world: World, letter: Letters, who: Caller | None = None) -> list[Message]:
    """Into the inboxes of whoever is meant. An answer to a shutdown request is taken as one."""
    settle(world)
    who = who or asker(world)
    checked_letter(letter.body, letter.type)
    if letter.type in (Letter.SHUTDOWN_APPROVED, Letter.SHUTDOWN_REJECTED):
        from quell.life.together.answering import answered_by_letter

        return list(answered_by_letter(world, who, letter.type, letter.body))
    if letter.type == Letter.SHUTDOWN_REQUEST:
        raise Refused("a shutdown is not asked for by letter", "quell ask NAME")
    team, recipients = _whom(world, who, letter)
    store = world.store.teamwork
    sender = who.agent or who.by
    return store.send(team, sender, recipients, letter.type, letter.body, letter.summary)


def _whom(world: World, who: Caller, letter: Letters) -> tuple[str, Sequence[str]]:
    """The team, and every name checked: a letter to nobody is an error, not a loss."""
    seats = world.store.seats()
    own = seats.get(who.agent)
    team = letter.team or (own.team if own else "")
    if team:
        shown(world, team)
    if who.runs and team and (own is None or own.team != team):
        refuse(world, who, f"'{who.agent}' is not in team '{team}'", "write to its members by name")
    if EVERYBODY in letter.to:
        if not team:
            raise BadRequest("a broadcast needs a team", "quell send --team NAME '*' …")
        found = [name for name, seat in seats.items() if seat.team == team and name != who.agent]
        if not found:
            raise Refused(f"nobody else is in team '{team}'", f"quell team show {team}")
        return team, found
    if not letter.to:
        raise BadRequest("to whom?", "quell send NAME -- TEXT")
    known = {agent.name for agent in world.store.agents()}
    unknown = [name for name in letter.to if name not in known]
    if unknown:
        import difflib

        raise NoSuchAgent(unknown[0], tuple(difflib.get_close_matches(unknown[0], known, 3)))
    return team, letter.to


def inbox(
    world: World,
    agent: str = "",
    who: Caller | None = None,
    *,
    wait: float = 0.0,
    limit: int = 50,
    peek: bool = False,
) -> list[Message]:
    """The unread letters of the agent that asks; each is read once. Waits for the first."""
    who = who or asker(world)
    name = mine_or_named(world, who, agent)
    if world.store.agent(name) is None:
        raise NoSuchAgent(name)
    if not 0 <= wait <= LONGEST_POLL:
        raise BadRequest(f"a wait of {wait} s is not between 0 and {LONGEST_POLL:.0f}", "ask again")
    store, waited = world.store.teamwork, 0.0
    while True:
        found = store.peek(name, limit) if peek else store.take(name, limit)
        if found or waited >= wait:
            return found
        step = min(GLANCE, wait - waited)
        world.kernel.wait([], step)
        waited += step


def mine_or_named(world: World, who: Caller, agent: str) -> str:
    """An agent reads its own letters; the operator anybody's."""
    if agent and who.runs and agent != who.agent:
        refuse(world, who, f"the letters of '{agent}' are not yours", "quell inbox shows your own")
    if not agent and not who.agent:
        raise BadRequest("whose inbox?", "quell inbox NAME; inside an agent it is the agent's own")
    return agent or who.agent
