"""What the verbs that start agents say about those that were started: one, or several.

Of several, the failure of one stops no other."""

from collections.abc import Callable, Iterable, Sequence
from typing import TYPE_CHECKING, Any

from knell.core.agent import Agent
from knell.core.codes import Notice
from knell.core.errors import KnellError
from knell.core.run import Run
from knell.faces import exits
from knell.faces.cli import output
from knell.faces.text.agents import whereabouts

if TYPE_CHECKING:
    from knell.api.results import Spawned

Started = tuple[dict[str, Any], str]  # as a document, and as a line for people


def started_json(agent: Agent, run: Run) -> dict[str, Any]:
    return {"name": agent.name, "kind": agent.kind, "run": run.id, "pid": run.pid}


def report_spawned(spawned: "Spawned") -> Started:
    """Prints its warnings; gives what was started."""
    agent, run, warnings = spawned
    print_warnings(warnings)
    where = {"place": run.place._asdict(), "conversation": agent.conversation}
    found = whereabouts(run.place.name, run.place.pane)
    text = f"{agent.name}: {agent.kind} runs as PID {run.pid}{found}"
    return started_json(agent, run) | where, text


def print_warnings(warnings: Iterable[Notice]) -> None:
    for warning in warnings:
        output.print_error(f"warning: {warning.text}")


def is_group(word: str) -> bool:
    return word == "all" or word.startswith(("tag:", "team:")) or any(m in word for m in "*?[")


def start_each(names: Sequence[str], start: Callable[[str], Started]) -> exits.Exit:
    """Starts each and says what came of it; the worst exit code wins."""
    documents: list[dict[str, Any]] = []
    worst = exits.Exit.DONE
    for name in names:
        try:
            document, text = start(name)
        except KnellError as error:
            worst = max(worst, exits.of_error(error))
            document = {"name": name, "ok": False, "code": error.code, "message": str(error)}
            output.print_trouble(str(error), error.hint)
        else:
            document = {**document, "ok": True}
            if not output.json_wanted():
                output.print_line(text)
        documents.append(document)
    if output.json_wanted():
        output.print_json({"ok": worst == exits.Exit.DONE, "agents": documents})
    return worst
