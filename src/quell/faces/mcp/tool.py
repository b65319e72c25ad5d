"""What a tool is: a name, what it takes and tells, and a function that runs in a thread."""

import threading
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any, NamedTuple

from quell.api import Quell
from quell.core.ports import World
from quell.faces.mcp.asker import Asker
from quell.faces.mcp.fields import Field

if TYPE_CHECKING:
    from quell.api import Teams

Answer = dict[str, Any]
TEXT = {"type": "string"}
FLAG = {"type": "boolean"}
NUMBER = {"type": ["number", "null"]}
FACTS = {"type": "object"}
TEXTS = {"type": "array", "items": TEXT}
ROWS = {"type": "array", "items": FACTS}


class Call(NamedTuple):
    """One call, in the thread that carries it out."""

    quell: Quell
    asker: Asker
    given: Mapping[str, Any]
    gone: threading.Event  # nobody waits for the answer any more

    @property
    def world(self) -> World:
        return self.quell.world

    @property
    def team(self) -> "Teams":
        return self.quell.served.team(self.asker.who)


class Tool(NamedTuple):
    name: str
    told: str
    fields: tuple[Field, ...]
    tells: Mapping[str, Any]  # the answer's properties beside success, error and hint
    act: Callable[[Call], Answer]
    reads: bool = False
    destroys: bool = False
    repeatable: bool = False
    waits: bool = False  # may take long, and doing it is no duty
    climbs: bool = False  # a ladder, of which progress can be told
    failed: Callable[[Mapping[str, Any], str], Answer] | None = None  # the answer to a bad call
    strangers: bool = False  # answers, with a no, also to those whom nobody knows

    def output(self) -> dict[str, Any]:
        """The JSON Schema of the answer."""
        told = {"success": FLAG, **self.tells, "error": TEXT, "hint": TEXT}
        return {"type": "object", "properties": told, "required": ["success"]}


TEAM = Field("teamName", "name", "Name of the team the agent belongs to")
AGENT = Field("agentId", "name", "The agent: its name, or the id of its run")
