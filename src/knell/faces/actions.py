"""What people and agents can do, and how each face offers it: docs/faces.md is printed from here.

Every verb, key and tool stands in this table, or in `WITHOUT` with the reason; what of it reaches
agents of other hosts stands in `FAR`. Tests compare both with the faces themselves.
"""

from typing import NamedTuple

from knell.faces.deeds import DEEDS
from knell.faces.far.deeds import NOT_FAR


class Action(NamedTuple):
    what: str
    verb: str = ""  # of the command line
    key: str = ""  # of top
    tool: str = ""  # of the MCP server
    web: str = "shown"  # on its pages, or the deed of a button
    why_not: str = ""  # why a face does not have it


ROOM = "top and web show agents; texts and settings are for the command line"
SHELL = "an agent has a shell for it"
PLAIN_WEB = ("", "shown", "filter")  # what is no deed of a button
PLAIN = (*PLAIN_WEB, "button")

ACTIONS = (
    Action("see all agents", "list", "shown", "list-agents"),
    Action("see all agents, orphans and the watch", "status", "shown", "list-agents"),
    Action(
        "see agents of all hosts, by host", "list --fleet", "g", "", "shown",
        "an agent sees its own host: --fleet is the operator's",
    ),
    Action("only some of them", "list TARGET", "/", "list-agents", "filter"),
    Action("see everything about one", "show", "shown", "agent-status"),
    Action("why it counts as working or stalled", "explain", "e", "explain-agent"),
    Action("its processes", "tree", "t", why_not=SHELL),
    Action("what it printed", "logs", "l", why_not=SHELL),
    Action("what its pane shows", "screen", "shown", why_not=SHELL),
    Action("go to its pane", "attach", "enter", "", "", "only a person has a terminal"),
    Action("the proof of its end", "receipt", "p", "agent-status"),
    Action("what happened", "events", "shown", why_not=SHELL),
    Action("what happened while you slept", "night", why_not=f"top shows what is now; {SHELL}"),
    Action("start one", "spawn", "", "spawn-agent", "", "top and web act on agents that are there"),
    Action("stop politely", "stop", "s", "stop-agent", "stop"),
    Action("kill", "kill", "X", "kill-agent", "kill"),
    Action("ask to leave", "ask", "a", "kill-agent", "ask"),
    Action("bring back", "resume", "r", "resume-agent", "resume"),
    Action("start again", "restart", "R", "resume-agent", "restart"),
    Action("clean up after it", "kill --cleanup", "c", "", "cleanup", SHELL),
    Action(
        "watch over all", "watch", "w", "", "",
        "only the operator starts the watch; the page says when it is off, and the command",
    ),
)  # fmt: skip


class FarAction(NamedTuple):
    """The same for agents of other hosts, in `top --fleet` and `web --fleet`."""

    how: str  # "order": its own host does it; "published": the database has it; empty: not at all
    verb: str = ""
    top: str = ""  # key, or shown
    web: str = ""
    why_not: str = ""


NO_DEED = {one.name: one.why_not_far for one in DEEDS if not one.order}
OF_HERE = "top and web show the events of this host"
FAR = {
    "see all agents": FarAction("published", "list --fleet", "shown", "shown"),
    "see all agents, orphans and the watch": FarAction(
        "published", "status --fleet", "shown", "shown", "a host publishes its agents only"
    ),
    "see agents of all hosts, by host": FarAction("published", "list --fleet", "g", "shown"),
    "only some of them": FarAction("published", "list tag:X@*", "/", "filter"),
    "see everything about one": FarAction(
        "order", "show NAME@HOST", "shown", "shown", "top and web show what its host has published"
    ),
    "why it counts as working or stalled": FarAction("order", "explain NAME@HOST", "e", "button"),
    "its processes": FarAction("order", "tree NAME@HOST", "t", "button"),
    "what it printed": FarAction("", why_not=NOT_FAR),
    "what its pane shows": FarAction("", why_not=NOT_FAR),
    "go to its pane": FarAction("", why_not=NOT_FAR),
    "the proof of its end": FarAction("published", "receipt NAME@HOST", "p", "shown"),
    "what happened": FarAction("published", "events --fleet", why_not=OF_HERE),
    "what happened while you slept": FarAction("", why_not="each host tells its own night"),
    "start one": FarAction(
        "order", "spawn --host HOST", why_not="top and web act on agents that are there"
    ),
    "stop politely": FarAction("order", "stop NAME@HOST", "s", "stop"),
    "kill": FarAction("order", "kill NAME@HOST", "X", "kill"),
    "ask to leave": FarAction("", why_not=NO_DEED["ask"]),
    "bring back": FarAction("order", "resume NAME@HOST", "r", "resume"),
    "start again": FarAction("order", "restart NAME@HOST", "R", "restart"),
    "clean up after it": FarAction("order", "kill NAME@HOST --cleanup", "c", "cleanup"),
    "watch over all": FarAction("", why_not="each host has its own watch, which runs its link"),
}

# Verbs that are on the command line alone, by the reason.
WITHOUT = {
    "they begin or take over a terminal, a session or a process": ("run", "create", "adopt"),
    ROOM: (
        *("path", "verify", "doctor", "bug-report", "hooks", "skills", "completion", "man"),
        *("help", "demo", "mcp", "top", "web", "prune", "uninstall", "fork"),
    ),
    "they end or compare what is left, and ask for options": (
        *("reap", "delete", "stalled", "monitor"),
    ),
    "they join many hosts, which only their operator does": ("fleet", "orders"),
    "they are for teams and for agents, which have tools of their own": (
        *("team", "task", "send", "inbox", "approve", "confirm", "reject", "beat", "invoke"),
    ),
}


def table() -> list[tuple[str, ...]]:
    """For the documents; the first row has the headings."""
    return [
        ("", "command line", "`top`", "`web`", "MCP", "not there because"),
        *(
            (one.what, *map(quoted, (one.verb, one.key, one.web, one.tool)), one.why_not)
            for one in ACTIONS
        ),
    ]


def quoted(word: str) -> str:
    """As the documents write what a person or a program types."""
    return word if word in PLAIN else f"`{word}`"


def far_table() -> list[tuple[str, ...]]:
    """The same for agents of other hosts."""
    how = {"order": "an order to its host", "published": "what its host has published", "": ""}
    return [
        ("", "command line", "`top --fleet`", "`web --fleet`", "by", "not there because"),
        *(
            (what, *map(quoted, (one.verb, one.top, one.web)), how[one.how], one.why_not)
            for what, one in FAR.items()
        ),
    ]
