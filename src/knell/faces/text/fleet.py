"""Hosts, orders and agents of the fleet as text for people."""

import time
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from knell.faces.text.columns import Column, table
from knell.faces.text.terminal import printable, since, span

if TYPE_CHECKING:
    from knell.api.fleet import FleetStatus
    from knell.core.ports.fleet import FleetEvent, HostView, OrderView

HOSTS = (
    *(Column("HOST"), Column("SEEN"), Column("AGENTS", right=True), Column("VERSION", drop=2)),
    *(Column("CLOCK", drop=3), Column("NOTE", drop=1)),
)
ORDERS = (
    *(Column("ORDER"), Column("HOST"), Column("VERB"), Column("TARGET"), Column("STATE")),
    *(Column("AGE", right=True), Column("BY", drop=1), Column("UNTIL", drop=2)),
)
AGENTS = (
    *(Column("HOST"), Column("NAME"), Column("KIND", drop=1), Column("STATE")),
    *(Column("ACTIVITY", drop=3), Column("PID", 5, right=True), Column("PLACE", drop=2)),
    *(Column("TAG", drop=4), Column("TEAM", drop=6), Column("SINCE", drop=7), Column("SEEN")),
)
SHOWN = (
    *("host", "name", "kind", "state", "outcome", "activity", "pid", "place", "pane"),
    *("tag", "team"),
)
MANY = 10  # hosts that are named one by one
CLOCK_OFF = 5.0  # seconds by which a host's clock may be off without a word


def seen_words(host: "HostView") -> str:
    """Never "dead": what a silent host runs may be working."""
    if host.seen is None:
        return "never heard"
    if host.state == "silent":
        return f"silent, seen {span(host.seen)} ago"
    unsure = " (the database was away)" if host.state == "unsure" else ""
    return f"seen {span(host.seen)} ago{unsure}"


def silence(hosts: "Sequence[HostView]") -> list[str]:
    """A line for each host that is not heard, of many the first of them and how many more."""
    away = [host for host in hosts if host.state in ("silent", "unsure", "never")]
    lines = [f"{host.name}: {seen_words(host)}; its agents may be working" for host in away[:MANY]]
    if len(away) > MANY:
        lines.append(f"and {len(away) - MANY} more hosts; knell fleet status shows them")
    return lines


def hosts_table(hosts: "Sequence[HostView]") -> str:
    rows = [
        (
            host.name, seen_words(host), str(host.live), host.version,
            f"{host.skew:+.0f} s" if abs(host.skew) > CLOCK_OFF and host.seen is not None else "",
            "has left" if host.state == "left" else host.doubt,
        )
        for host in hosts
    ]  # fmt: skip
    return table(HOSTS, rows)


def status_text(found: "FleetStatus") -> str:
    lines = [found.sentence]
    if found.trouble:
        lines.append(f"the database: {found.trouble}")
    if found.room:
        used, most, hosts = found.room["connections"], found.room["most"], found.room["hosts"]
        lines.append(f"connections: {used} of {most}; each host holds one, and there are {hosts}")
        if used > most * 0.8:
            lines.append("warning: raise max_connections before the next hosts join")
    if found.hosts:
        lines += ["", hosts_table(found.hosts)]
    return "\n".join(lines)


def orders_text(orders: "Sequence[OrderView]") -> str:
    now = time.time()
    rows = [
        (
            one.id[:8], one.host, one.verb, one.target, one.state,
            span(max(0.0, now - one.issued_at)), one.by,
            time.strftime("%H:%M:%S", time.localtime(one.expires_at)),
        )
        for one in orders
    ]  # fmt: skip
    return table(ORDERS, rows) if rows else ""


def fleet_agents_table(agents: Sequence[Mapping[str, Any]], hosts: "Sequence[HostView]") -> str:
    seen = {host.name: seen_words(host) for host in hosts}
    rows = [(*_row(one), seen.get(one["host"], "")) for one in agents]
    return table(AGENTS, rows)


def _row(one: Mapping[str, Any]) -> tuple[str, ...]:
    """What a host has published of an agent, whatever it left out: one bad row hides no other."""
    host, name, kind, state, outcome, activity, pid, place, pane, tag, team = (
        str(one.get(key) or "") for key in SHOWN
    )
    return (
        host, name, kind, f"{state}: {outcome}" if outcome else state,
        activity if state != "ended" else "", pid, f"{place} {pane}".strip(), tag, team,
        since(str(one.get("ended_at") or one.get("started_at") or "")),
    )  # fmt: skip


def fleet_event_line(event: "FleetEvent") -> str:
    said = ((key, value) for key, value in event.data.items() if value not in ("", None))
    data = " ".join(f"{key}={value}" for key, value in said)
    return printable(f"{event.at}  {event.host}  {event.type}  {event.agent}  {data}".rstrip())
