"""Agents of other hosts as the API's fleet gives them; loads nothing of the extra `fleet`."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from knell.api.results import AgentView
    from knell.core.fleet.order import FleetOrder
    from knell.core.ports.fleet import HostView, OrderView


class FarAnswer(NamedTuple):
    """What one host said to an order; `order` is None while it is pending."""

    asked: FleetOrder
    order: OrderView | None


class FleetPicture(NamedTuple):
    """All hosts with their agents, as the database had them at one moment."""

    hosts: tuple[HostView, ...]
    agents: tuple[AgentView, ...]  # of other hosts than this one
    orders: tuple[OrderView, ...]  # that are open


def words_for(view: AgentView) -> tuple[str, ...]:
    """The targets that mean this agent on its host."""
    return (view.name, "all", f"tag:{view.tag}", f"team:{view.team}")
