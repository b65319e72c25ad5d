"""The verb that copies a conversation into a new agent: fork."""

from typing import Any

import click

from knell.api import Knell
from knell.faces.cli import options, output, progress
from knell.faces.cli.started import spawned_result


@options.verb("fork")
@options.one_name
@options.text("--name", "new_name", help="Of the new agent; default: NAME-fork.")
@options.place("tmux, kitty, wezterm or headless; default: where you are, else headless.")
@options.tmux_server
@options.tmux_session
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
    document, text = spawned_result(spawned)
    output.print_result(document, f"{text}, and goes on from the conversation of '{name}'")
