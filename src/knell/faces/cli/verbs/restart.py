"""`knell restart`: starts agents again, in fresh runs."""

from contextlib import ExitStack
from typing import Any

import click

from knell.api import Knell
from knell.faces.cli import complete, options, output, progress, started
from knell.faces.cli.confirm import MANY
from knell.faces.cli.fastpath import has_far
from knell.faces.exits import Exit
from knell.faces.text.agents import whereabouts


@options.verb("restart")
@click.argument("names", nargs=-1, required=True, shell_complete=complete.agents)
@options.flag("--resume", help="Continue its conversation instead of a new one.")
@options.grace
@options.yes
@options.wait
def restart(names: tuple[str, ...], *, wait: float | None, **given: Any) -> int:
    """Start agents again, in fresh runs. Those that still run are stopped first.

    NAMES are agents, or groups of agents that run: tag:X, team:X, a glob, all.

    An agent that was `run` in a terminal comes up in this terminal. One that works without a
    terminal (claude -p, codex exec) works through its prompt again, in a new conversation.

    \b
    knell restart luna
    knell restart --resume tag:night
    """
    if has_far(names):
        from knell.faces.cli.far import ask_one, is_said

        said = {key: value for key, value in given.items() if is_said(value)}
        return max(ask_one("restart", name, said, wait) for name in names)
    knell = Knell()
    if len(names) == 1 and not started.is_group(names[0]):
        here = not output.json_wanted() and output.has_terminal()
        document, text = restart_one(knell, names[0], given, here=here)
        output.print_result({"ok": True, **document}, text)
        return Exit.DONE
    meant = [view.name for view in knell.list(*names)]
    question = f"Restart these {len(meant)} agents: {', '.join(meant)}?"
    wide = output.can_ask() and ("all" in names or len(meant) > MANY)
    if wide and not given["yes"] and not output.ask_person(question):
        output.print_error("nothing was restarted")
        return Exit.FAILED
    return started.start_each(meant, lambda one: restart_one(knell, one, given, here=False))


def restart_one(knell: Knell, name: str, given: dict[str, Any], *, here: bool) -> started.Started:
    from knell.faces.text import endings as endings_text

    with ExitStack() as talk:
        talk.enter_context(progress.waiting(f"{name}  waiting for its program"))
        free = talk.close if here else None
        (agent, run, warnings), receipt, resumed = knell.restart(name, **given, here=free)
    started.print_warnings(warnings)
    if receipt and not output.json_wanted():
        output.print_lines(endings_text.receipt_lines(receipt))
    document = {**started.started_json(agent, run), "restarted_from": run.restarted_from}
    document |= {"resumed": resumed, "receipt": receipt.to_json() if receipt else None}
    how = "goes on with its conversation" if resumed else "runs afresh"
    found = whereabouts(run.place.name, run.place.pane)
    return document, f"{agent.name}: {how} as PID {started.pid_of(run)}{found}"
