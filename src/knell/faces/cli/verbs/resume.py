"""The verbs that go on from an earlier run: resume, restart, fork."""

from contextlib import ExitStack
from typing import TYPE_CHECKING, Any

import click

from knell.api import Knell
from knell.core.errors import BadRequest, NoSuchAgent, UnsureConversation
from knell.faces.cli import complete, options, output, progress, started
from knell.faces.cli.confirm import MANY
from knell.faces.cli.fastpath import has_far
from knell.faces.exits import Exit
from knell.faces.text.agents import whereabouts

if TYPE_CHECKING:
    from knell.api.results import Resumed

RESUMED = {
    "resumed": "resumed: the program names its earlier conversation",
    "started": "started, not seen to have loaded its conversation",
    "fresh": "NOT resumed: the program came up with another conversation",
    "restarted": "started again",
}
ENDED = "knell list --ended shows what can be resumed"
ALL_BACK = "nothing to resume: all that the last kill or stop ended runs again"


@options.verb("resume")
@options.agent_argument(offered=complete.ended)
@options.flag("--last", help="Everything that the last kill or stop ended.")
@options.place("tmux, kitty, wezterm, headless, or terminal: this one.", terminal=True)
@options.tmux_server
@options.tmux_session
@options.text("--cwd", metavar="DIR", help="The directory to start in; default: where it was.")
@options.text(
    "--conversation", metavar="ID", help="The conversation's id; default: the one on record."
)
@options.registry
@click.argument("args", nargs=-1, type=click.UNPROCESSED)
@options.on_its_host("resume")
def resume(*, last: bool, registry: str, **given: Any) -> Exit:
    """Continue the conversation of an ended agent in a new run, in the place where it ran.

    NAME is an agent, the id of its conversation, or a group: tag:X, team:X, a glob, all. The id of
    a conversation that no agent has had starts a new agent, which continues it.

    An agent that was `run` in a terminal comes back in this terminal; from a script, in a tmux
    pane. ARGS are given to its program: resume NAME -- "next prompt". An agent that works without
    a terminal (claude -p, codex exec) needs that prompt. Without a conversation, its command is
    started again.

    \b
    knell resume luna
    knell resume tag:night
    knell resume --last
    """
    knell = Knell(registry=registry)
    name = given["name"]
    if bool(name) == last:
        raise BadRequest("name one agent or group, or write --last", ENDED)
    if last or started.is_group(name):
        names = knell.last_ended() if last else knell.ended_agents(name)
        if not names:
            output.print_error(ALL_BACK)
        return started.start_each(
            names, lambda one: resume_one(knell, {**given, "name": one}, here=False, asks=False)[:2]
        )
    given["name"] = knell.agent_of_conversation(name) or name
    try:
        asks = not output.json_wanted()
        document, text, fresh = resume_one(
            knell, given, here=asks and output.has_terminal(), asks=asks
        )
    except NoSuchAgent as error:
        return open_strange(knell, given, error)
    output.print_result(document, text)
    return Exit.FAILED if fresh else Exit.DONE


def open_strange(knell: Knell, given: dict[str, Any], missing: NoSuchAgent) -> Exit:
    """A new agent, if what names no agent is the id of a conversation; else the error itself."""
    id, wanted = given["name"], ("place", "server", "session", "cwd", "args")
    try:
        with progress.show_wait(f"{id}  looking for its program"):
            spawned = knell.open_conversation(id, **{word: given[word] for word in wanted})
    except NoSuchAgent:
        raise missing from None
    document, text = started.report_spawned(spawned)
    output.print_result(document, f"{text}, and continues conversation {id}")
    return Exit.DONE


def resume_one(
    knell: Knell, given: dict[str, Any], *, here: bool, asks: bool
) -> tuple[dict[str, Any], str, bool]:
    """What came of it, as a document and as a line; and whether it came up without its past.
    `asks`: a person may be asked which conversation it is."""

    def go_on() -> "Resumed":
        with ExitStack() as talk:
            talk.enter_context(progress.show_wait(f"{given['name']}  waiting for its program"))
            return knell.resume(**given, here=talk.close if here else None)

    try:
        (agent, run, _), verdict, warnings = go_on()
    except UnsureConversation as error:
        given["conversation"] = ask_conversation(error, asks=asks)
        (agent, run, _), verdict, warnings = go_on()
    started.print_warnings(warnings)
    document = started.started_json(agent, run)
    document |= {"conversation": agent.conversation, "verdict": verdict.value}
    document["warnings"] = [one._asdict() for one in warnings]
    found = whereabouts(run.place.name)
    text = f"{agent.name}: PID {run.pid}{found}, {RESUMED[verdict.value]}"
    return document, text, verdict.value == "fresh"


def ask_conversation(error: UnsureConversation, *, asks: bool) -> str:
    """Asks the person at the terminal; raises the error itself if there is no person, or none of
    the candidates is chosen."""
    if not asks or not error.choices or not output.can_ask():
        raise error
    output.print_error(f"{error}. Which one is it?")
    for number, choice in enumerate(error.choices, 1):
        output.print_error(f"  {number}  {choice}")
    numbers = click.IntRange(0, len(error.choices))
    number = click.prompt("number, or 0 for none", type=numbers, default=0, err=True)
    if not number:
        raise error
    return error.choices[number - 1].id


# -- restart and fork --------------------------------------------------------------------------


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
        talk.enter_context(progress.show_wait(f"{name}  waiting for its program"))
        free = talk.close if here else None
        (agent, run, warnings), receipt, resumed = knell.restart(name, **given, here=free)
    started.print_warnings(warnings)
    if receipt and not output.json_wanted():
        output.print_lines(endings_text.receipt_lines(receipt))
    document = {**started.started_json(agent, run), "restarted_from": run.restarted_from}
    document |= {"resumed": resumed, "receipt": receipt.to_json() if receipt else None}
    how = "goes on with its conversation" if resumed else "runs afresh"
    found = whereabouts(run.place.name, run.place.pane)
    return document, f"{agent.name}: {how} as PID {run.pid}{found}"


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
    with progress.show_wait(f"{name}  forking its conversation"):
        spawned = knell.fork(name, **given)
    document, text = started.report_spawned(spawned)
    output.print_result(document, f"{text}, and goes on from the conversation of '{name}'")
