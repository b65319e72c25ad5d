"""What the verbs that start agents say about one that was started."""

import sys
from collections.abc import Iterable
from typing import Any

from knell.core.agent import Agent
from knell.core.codes import Notice
from knell.core.run import Run
from knell.faces.cli import output


def pid_of(run: Run) -> int | None:
    return run.process.pid if run.process else None


def started_json(agent: Agent, run: Run) -> dict[str, Any]:
    return {"name": agent.name, "kind": agent.kind, "run": run.id, "pid": pid_of(run)}


def has_terminal() -> bool:
    """Whether an agent could take the terminal of this command."""
    return sys.stdin.isatty() and sys.stdout.isatty()


def print_warnings(warnings: Iterable[Notice]) -> None:
    for warning in warnings:
        output.print_error(f"warning: {warning.text}")
