"""The texts that `top` opens about one agent, by the key that opens them."""

from collections.abc import Callable, Sequence

from knell.api import Knell
from knell.api.results import AgentView
from knell.core.errors import BadRequest, NoSuchAgent
from knell.core.receipt import receipt_from_json
from knell.faces.far.deeds import NOT_FAR, ask_host
from knell.faces.text import receipt as receipt_text
from knell.faces.text.tables import tree_text, verdict_text

MOST_LINES = 1000


# key → title, and what it says of the agent of that name
PAGES: dict[str, tuple[str, Callable[[Knell, str], Sequence[str]]]] = {
    "l": ("log", lambda knell, name: [*knell.logs(name, lines=MOST_LINES)]),
    "e": ("why", lambda knell, name: verdict_text(knell.explain(name)).splitlines()),
    "t": ("processes", lambda knell, name: tree_text(knell.show(name).members).splitlines()),
    "p": ("receipt", lambda knell, name: receipt_text.text(knell.receipt(name)).splitlines()),
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
