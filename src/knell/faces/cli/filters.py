"""What `list` shows of all agents: targets, filters, order and a format of one's own."""

import re
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from knell.api import Knell
from knell.core.errors import BadRequest

if TYPE_CHECKING:
    from knell.api.results import AgentView

LOWEST = -1.0  # of a figure that is not known: it comes last
ORDERS: "dict[str, Callable[[AgentView], Any]]" = {
    "name": lambda view: view.name,
    "kind": lambda view: (view.kind, view.name),
    "activity": lambda view: (view.activity, view.name),
    "quiet": lambda view: -(LOWEST if view.quiet_s is None else view.quiet_s),
    "cpu": lambda view: -(LOWEST if view.cpu_percent is None else view.cpu_percent),
    "memory": lambda view: -(LOWEST if view.memory_mb is None else view.memory_mb),
    "started": lambda view: view.started_at,
    "ended": lambda view: view.ended_at,
    "tag": lambda view: (view.tag, view.name),
    "place": lambda view: (view.place, view.server, view.pane),
}
LOOKED_FOR = ("quiet", "cpu", "memory", "activity")
FIELD = re.compile(r"\{(\w*)\}")


def filtered_agents(
    targets: tuple[str, ...], *, with_ended: bool, stalled: bool, ended: int | None, sort: str
) -> "list[AgentView]":
    """The agents that the targets and filters leave, in the order that was asked for."""
    knell = Knell()
    everybody = with_ended or ended is not None
    if sort == "cpu":  # a share of a processor needs two looks
        wanted = {view.name for view in knell.list(*targets, with_ended=everybody)}
        views = [view for view in knell.status().agents if view.name in wanted]
    else:
        look = stalled or sort in LOOKED_FOR
        views = knell.list(*targets, with_ended=everybody, look=look)
    if stalled:
        views = [view for view in views if view.activity == "stalled"]
    if ended is not None:
        over = sorted((v for v in views if v.state == "ended"), key=lambda v: v.ended_at)
        views = over[-ended:] if ended else over
    return sorted(views, key=ORDERS[sort]) if sort else views


def formatted(view: "AgentView", form: str) -> str:
    """The format with each {field} replaced; a field that does not exist is an error."""
    from knell.faces.text.terminal import printable

    facts = view.to_json()

    def value(found: re.Match[str]) -> str:
        if found[1] not in facts:
            raise BadRequest(f"no field is called '{found[1]}'", f"one of: {', '.join(facts)}")
        fact = facts[found[1]]
        return "" if fact is None else str(fact)

    lines = FIELD.sub(value, form.replace("\\t", "\t").replace("\\n", "\n"))
    return "\n".join("\t".join(map(printable, line.split("\t"))) for line in lines.split("\n"))
