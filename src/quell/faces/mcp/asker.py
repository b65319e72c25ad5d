"""Who calls a tool. Proven by ancestry or by a run's token; nobody is a leader by saying so."""

from collections.abc import Mapping
from typing import NamedTuple, NoReturn

from quell.api import Quell
from quell.core.environment import OF_ONE_RUN
from quell.core.errors import Refused
from quell.core.run import Run
from quell.life.caller import Caller

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
        who = quell.served.around()
        if who.runs:
            return Asker(who)  # an agent stays one, whatever options it was given
        token = means.env.get(TOKEN, "")
        held = quell.served.holder_of(token) if token else None
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


def check_kin(quell: Quell, asker: Asker, run: Run, what: str) -> None:
    """An agent acts on itself, on what it started, and, as leader, on the members of its team."""
    if not asker.operator:
        quell.served.check_kin(asker.who, run, what)


def refuse(quell: Quell, asker: Asker, why: str, hint: str = "ask the operator") -> NoReturn:
    """Says no, and writes down who was told so."""
    note_refusal(quell, asker.who, why)
    raise Refused(why, hint)


def note_refusal(quell: Quell, who: Caller, why: str) -> None:
    """As the verbs do, and that it came through this server."""
    quell.served.note_refusal(who, why, "mcp")
