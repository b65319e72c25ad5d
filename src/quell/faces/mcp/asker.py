"""Who calls a tool. Proven by ancestry or by a run's token; nobody is a leader by saying so."""

from collections.abc import Mapping
from typing import NamedTuple, NoReturn

from quell.api import Quell
from quell.core.environment import OF_ONE_RUN
from quell.core.errors import Refused
from quell.core.ports import World
from quell.core.run import Run
from quell.life.caller import Caller, caller, holder_of
from quell.life.caller import note_refusal as written

OPERATOR = "operator via mcp"
NOBODY = "nobody via mcp"
TOKEN = "QUELL_TOKEN"  # noqa: S105 - the name of a variable
UNKNOWN = "it is not known who calls"
PROVE = "start the server inside an agent that quell started; a person may use quell mcp --operator"


class Asker(NamedTuple):
    who: Caller
    operator: bool = False  # a person answers for this server

    @property
    def known(self) -> bool:
        return bool(self.who.runs) or self.operator


class Means(NamedTuple):
    """What every call needs: where the state is, and in whose name the server was started."""

    env: Mapping[str, str]
    operator: bool = False


def around(means: Means) -> Asker:
    """Whoever started this process. What the environment merely claims counts for nothing."""
    with Quell(env=plain(means.env)) as quell:
        who = caller(quell.world)
        if who.runs:
            return Asker(who)  # an agent stays one, whatever options it was given
        token = means.env.get(TOKEN, "")
        held = holder_of(quell.world, token) if token else None
    if held:
        return Asker(held)
    return Asker(Caller(OPERATOR), operator=True) if means.operator else Asker(Caller(NOBODY))


def plain(env: Mapping[str, str]) -> dict[str, str]:
    """The environment without whatever could say who somebody is."""
    dropped = (*OF_ONE_RUN, "QUELL_ON_BEHALF")
    return {name: value for name, value in env.items() if name not in dropped}


def acting(means: Means, asker: Asker) -> Quell:
    """Quell in the name of the asker, for one thread: its store is opened there and closed there.

    The stamp is what the verbs go by where ancestry says nothing, as in a server for everybody.
    """
    env = plain(means.env)
    if asker.who.runs:
        env |= {"QUELL_RUN": asker.who.run, "QUELL_AGENT": asker.who.agent}
    elif asker.operator:
        env["QUELL_ON_BEHALF"] = asker.who.by
    return Quell(env=env)


# -- what an agent may do to which other one ---------------------------------------------------


def check_kin(world: World, asker: Asker, run: Run, what: str) -> None:
    """Only itself, what it started, directly or not, and, as leader, the members of its team."""
    who = asker.who
    if asker.operator:
        return
    if run.id in who.runs[1:]:
        refuse(world, asker, f"'{run.agent}' runs this agent: no agent may {what} its ancestors")
    if run.agent == who.agent or leads(world, who, run.agent) or started(world, who, run):
        return
    refuse(world, asker, f"'{who.agent}' neither started '{run.agent}' nor leads its team")


def leads(world: World, who: Caller, agent: str) -> bool:
    """Whether the asker leads the team of that agent, or the one it was in until its end."""
    member = world.store.teamwork.membership(agent)
    record = world.store.agent(agent)
    name = member.team if member else record.team if record else ""
    team = world.store.teamwork.team(name) if name else None
    return bool(team and not team.dissolved_at and who.agent and team.leader == who.agent)


def started(world: World, who: Caller, run: Run) -> bool:
    """Whether that run, or one that started it, was started in some life of the asker."""
    seen: set[str] = set()
    parent = run.parent
    while parent and parent not in seen:
        seen.add(parent)
        above = world.store.run(parent)
        if above is None:
            return False
        if above.agent == who.agent:
            return True
        parent = above.parent
    return False


def refuse(world: World, asker: Asker, why: str, hint: str = "ask the operator") -> NoReturn:
    """Says no, and writes down who was told so."""
    note_refusal(world, asker.who, why)
    raise Refused(why, hint)


def note_refusal(world: World, who: Caller, why: str) -> None:
    """As the verbs do, and that it came through this server."""
    written(world, who, why, through="mcp")
