"""The texts that `top` opens about one agent, by the key that opens them."""

from collections.abc import Callable

from knell.api import Knell
from knell.api.results import AgentView
from knell.core.errors import BadRequest, NoSuchAgent
from knell.core.receipt import receipt_from_json
from knell.faces.far.deeds import NOT_FAR, ask_host
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


def _far_receipt(knell: Knell, view: AgentView) -> list[str]:
    """The newest one that its host has published: the host need not be up for that."""
    found = knell.fleet.receipt(view.host, view.name)
    if found is None:
        raise NoSuchAgent(f"{view.name}@{view.host}")
    try:
        return receipt_text.text(receipt_from_json(found)).splitlines()
    except (KeyError, TypeError, ValueError):
        return ["its host published a receipt that cannot be read"]


def far_page(key: str, knell: Knell, view: AgentView, *, readonly: bool) -> list[str]:
    """The same of an agent of another host."""
    if key == "p":
        return _far_receipt(knell, view)
    if key == "l":
        raise BadRequest(NOT_FAR, f"on {view.host}: knell logs {view.name}")
    if readonly:
        raise BadRequest(f"read-only: no order is sent, and only {view.host} itself can say it")
    return ask_host(knell, "explain" if key == "e" else "tree", view)
