"""The texts that `top` opens about one agent, by the key that opens them."""

from collections.abc import Callable

from knell.api import Knell
from knell.api.results import AgentView
from knell.faces.text import receipt as receipt_text
from knell.faces.text.tables import tree_text, verdict_text

MOST_LINES = 1000


def _why(knell: Knell, view: AgentView) -> list[str]:
    return verdict_text(knell.explain(view.name)).splitlines()


def _tree(knell: Knell, view: AgentView) -> list[str]:
    return tree_text(knell.show(view.name).members).splitlines()


def _receipt(knell: Knell, view: AgentView) -> list[str]:
    return receipt_text.text(knell.receipt(view.name)).splitlines()


def _log(knell: Knell, view: AgentView) -> list[str]:
    return list(knell.logs(view.name, lines=MOST_LINES))


# key → title, and what it says
PAGES: dict[str, tuple[str, Callable[[Knell, AgentView], list[str]]]] = {
    "l": ("log", _log),
    "e": ("why", _why),
    "t": ("processes", _tree),
    "p": ("receipt", _receipt),
}
