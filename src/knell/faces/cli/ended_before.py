"""What `kill` says of agents that it could not end: where they run, or when they had ended."""

import os
from typing import TYPE_CHECKING

from knell.core.errors import KnellError
from knell.core.receipt import Result
from knell.faces.cli import output
from knell.faces.text.terminal import since

if TYPE_CHECKING:
    from knell.api import Knell
    from knell.core.receipt import Endings

DEADLINE = "KNELL_FLEET_DEADLINE"  # seconds, for tests on a busy machine


def print_not_ended(knell: "Knell", receipts: "Endings") -> None:
    """`'luna' ended 4s ago (killed by operator), claude, ~/work`, for each that had ended."""
    suggest_hosts(knell, [one.agent for one in receipts if one.result is Result.NOT_FOUND])
    for receipt in receipts:
        if receipt.result is Result.ALREADY_ENDED and receipt.run and receipt.finished_at:
            how = f"{receipt.outcome} by {receipt.by}" if receipt.by else receipt.outcome
            words = (f"'{receipt.agent}' ended {since(receipt.finished_at)} ({how})", receipt.kind)
            output.print_error(", ".join(filter(None, (*words, _directory(knell, receipt.agent)))))


def suggest_hosts(knell: "Knell", names: list[str]) -> None:
    """Where a name that is not here is known in the fleet. The question has half a second: a local
    verb does not wait for a database."""
    for name in names if names and knell.is_operators_home() else ():
        try:
            hosts = knell.fleet.hosts_of(name, seconds=float(os.environ.get(DEADLINE, "0.5")))
        except KnellError:
            return
        if len(hosts) == 1:
            output.print_error(f"hint: it runs on {hosts[0]}: knell kill {name}@{hosts[0]}")


def _directory(knell: "Knell", agent: str) -> str:
    try:
        path = knell.path(agent)
    except KnellError:
        return ""
    home = os.path.expanduser("~")
    return "~" + path[len(home) :] if path == home or path.startswith(home + "/") else path
