"""What a shell offers when a person presses TAB: agents, teams, kinds, places and programs."""

from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import click
from click.shell_completion import CompletionItem

if TYPE_CHECKING:
    from knell.api import Knell
    from knell.api.results import AgentView

Completer = Callable[[click.Context, click.Parameter, str], list[Any]]


def completer(words: "Callable[[Knell], Mapping[str, str] | Sequence[str]]") -> Completer:
    """Offers those of the words that start as typed so far; a broken store completes nothing.

    A mapping has a text for each word, which some shells show."""

    def complete(_: click.Context, __: click.Parameter, incomplete: str) -> list[Any]:
        from knell.api import Knell
        from knell.core.errors import KnellError

        try:
            found = words(Knell())
            texts = found if isinstance(found, Mapping) else dict.fromkeys(found, "")
        except KnellError:
            return []
        return [
            CompletionItem(w, help=text) for w, text in texts.items() if w.startswith(incomplete)
        ]

    return complete


def _words(views: "Sequence[AgentView]") -> dict[str, str]:
    return {view.name: f"{view.kind}, {view.outcome or view.state}" for view in views}


def _with_groups(views: "Sequence[AgentView]") -> dict[str, str]:
    words = _words(views) | {f"tag:{view.tag}": "tag" for view in views if view.tag}
    words |= {f"team:{view.team}": "team" for view in views if view.team}
    return words | {"all": "every agent"}


def _over(knell: "Knell") -> "list[AgentView]":
    return [view for view in knell.list(with_ended=True) if view.state == "ended"]


def kinds(context: click.Context, parameter: click.Parameter, incomplete: str) -> list[Any]:
    """For the first word only; what follows it is the agent's own."""
    return [] if context.params.get("words") else _kinds(context, parameter, incomplete)


_kinds = completer(lambda knell: knell.kinds.names())
agents = completer(lambda knell: _with_groups(knell.list(with_ended=True)))
live = completer(lambda knell: _with_groups(knell.list()))  # for kill, stop
one_live = completer(lambda knell: _words(knell.list()))  # for attach, explain
ended = completer(lambda knell: _with_groups(_over(knell)))  # for resume
one_ended = completer(lambda knell: _words(_over(knell)))  # for receipt
any_agent = completer(lambda knell: _words(knell.list(with_ended=True)))  # for show, logs
tags = completer(lambda knell: sorted({v.tag for v in knell.list(with_ended=True) if v.tag}))
teams = completer(lambda knell: [view.team.name for view in knell.teams()])
tasks = completer(lambda knell: [task.id for task in knell.tasks()])
places = completer(lambda knell: knell.place_names())
mcp_clients = completer(lambda knell: knell.mcp_programs())
skills = completer(lambda knell: [one.skill for one in knell.skills.status(folder=".")])
with_skills = completer(lambda knell: [k.name for k in knell.kinds.everything()[0] if k.skills])
with_hooks = completer(lambda knell: [k.name for k in knell.kinds.everything()[0] if k.hooks])
