"""The orchestrator's JSON commands: what there is, what each takes, and carrying one out."""

from collections.abc import Mapping
from typing import Any

from knell.api import Knell
from knell.life.orchestrator.invoke import AGENT, COMMANDS, describe, full_name, suggestion

__all__ = ["AGENT", "COMMANDS", "describe", "full_name", "invoke_command", "suggestion"]


def invoke_command(name: str, params: Mapping[str, Any] | None = None) -> dict[str, Any]:
    """Carries out one command in the state that the command line would use."""
    with Knell() as knell:
        return knell.invoke(name, {} if params is None else params)
