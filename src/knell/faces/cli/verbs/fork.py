"""The verb that copies a conversation into a new agent: fork. And what `resume ID` starts."""

from typing import TYPE_CHECKING, Any

import click

from knell.api import Knell
from knell.faces.cli import complete, options, output, progress
from knell.faces.cli.started import pid_of, print_warnings, started_json
from knell.faces.text.agents import whereabouts

if TYPE_CHECKING:
    from knell.api.results import Spawned


@click.command("fork", context_settings={"ignore_unknown_options": True})
@options.agent_argument(offered=complete.agents)
@options.text("--name", "new_name", help="Of the new agent; default: NAME-fork.")
@options.place("tmux, kitty, wezterm or headless; default: where you are, else headless.")
@options.tmux_server
@options.tmux_session
@options.as_json
@click.argument("args", nargs=-1, type=click.UNPROCESSED)
def fork(*, name: str, **given: Any) -> None:
    """Start another agent that goes on from NAME's conversation; NAME may run on.

    It begins with all that was said there, and neither sees what the other says from then on. It
    works in the same directory. ARGS are given to its program: fork NAME -- "try it another way".

    \b
    knell fork luna
    knell f luna --name luna-b -- "try it with a queue instead"
    """
    knell = Knell()
    with progress.waiting(f"{name}  forking its conversation"):
        spawned = knell.fork(name, **given)
    print_spawned(spawned, f"goes on from the conversation of '{name}'")


def print_spawned(spawned: "Spawned", told: str) -> None:
    agent, run, warnings = spawned
    print_warnings(warnings)
    where = {"place": run.place._asdict(), "conversation": agent.conversation}
    found = whereabouts(run.place.name, run.place.pane)
    text = f"{agent.name}: {agent.kind} runs as PID {pid_of(run)}{found}, and {told}"
    output.print_result(started_json(agent, run) | where, text)
