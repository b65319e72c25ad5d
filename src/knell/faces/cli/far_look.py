"""Looks at other hosts, through the fleet's database: list, status, events, receipts."""

import json
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from knell.api import Knell
from knell.core.errors import NoSuchAgent
from knell.core.fleet.target import FarTarget
from knell.core.receipt import Receipt, receipt_from_json
from knell.faces.cli import output
from knell.faces.exits import Exit

if TYPE_CHECKING:
    from knell.core.ports.fleet import HostView


def list_fleet(targets: Sequence[str], *, names: bool, with_ended: bool) -> int:
    """`list --fleet`: the agents of all hosts, each with when its host was heard."""
    fleet = Knell().fleet
    wanted = targets or [""]
    words = [word if "@" in word or not word else f"{word}@*" for word in wanted]
    if output.json_wanted():
        told = (fleet.agents_text(word, with_ended=with_ended) for word in words)
        lines = [line for array in told for line in _lines(array)]
        output.print_line(_document(lines, fleet.hosts()))
        return Exit.DONE
    found = [row for word in words for row in fleet.agents(word, with_ended=with_ended)]
    if names:
        from knell.faces.text.terminal import printable

        named = (printable(f"{row.get('name')}@{row['host']}") for row in found)
        output.print_result(None, "\n".join(named))
        return Exit.DONE
    from knell.faces.text.fleet import fleet_agents_table, silence

    hosts = fleet.hosts()
    text = fleet_agents_table(found, hosts) if found else ""
    output.print_result(None, text, if_empty="no agents on any host of the fleet")
    for line in silence(hosts):
        output.print_error(line)
    return Exit.DONE


def _lines(array: str) -> list[str]:
    """The text of each row. Inside of one there is no line break, as JSON writes it."""
    return array[1:-1].split(",\n") if array != "[]" else []


def _document(rows: Sequence[str], hosts: "Sequence[HostView]") -> str:
    """One document for all, a line for each agent: of 20,000 rows, each is only passed on."""
    more = {json.dumps(host.name): json.dumps(_heard(host))[1:] for host in hosts}
    parts = (row[:-1].rpartition('"host": ') for row in rows)
    agents = [row + more[name] for row, _, name in parts]
    told = [json.dumps(host._asdict()) for host in hosts]
    return f'{{\n  "agents": [{_indented(agents)}],\n  "hosts": [{_indented(told)}]\n}}'


def _heard(host: "HostView") -> dict[str, Any]:
    return {"host": host.name, "host_state": host.state, "host_seen_s": host.seen}


def _indented(lines: Sequence[str]) -> str:
    return "\n    " + ",\n    ".join(lines) + "\n  " if lines else ""


def status_fleet() -> int:
    """`status --fleet`: hosts, agents, and the orders that wait."""
    from knell.faces.text.fleet import fleet_agents_table, hosts_table, orders_text

    fleet = Knell().fleet
    hosts, agents, orders = fleet.hosts(), fleet.agents(), fleet.orders()
    document: dict[str, Any] = {"hosts": [host._asdict() for host in hosts], "agents": agents}
    document["orders"] = [one._asdict() for one in orders]
    text = hosts_table(hosts)
    text += "\n\n" + fleet_agents_table(agents, hosts) if agents else "\n\nno agents"
    text += "\n\n" + orders_text(orders) if orders else ""
    output.print_result(document, text)
    return Exit.DONE


def print_events(agent: str, *, follow: bool, limit: int) -> None:
    """`events --fleet`: of all hosts, in the order in which the database got them."""
    from knell.faces.text.fleet import fleet_event_line

    fleet = Knell().fleet
    found = fleet.events(limit=limit, agent=agent)
    more = fleet.follow(found[-1] if found else None, agent=agent) if follow else None
    output.print_trail(found, fleet_event_line, more)


def far_receipt(target: FarTarget) -> Receipt:
    """The newest one that the host has published: it need not be up for that."""
    found = Knell().fleet.receipt(target.host, target.what)
    if found is None:
        raise NoSuchAgent(str(target))
    return receipt_from_json(found)
