"""`knell invoke` carries out one of the orchestrator's JSON commands."""

import json
import sys
from typing import TYPE_CHECKING, Any

import click

from knell.core.errors import BadRequest
from knell.core.inputs import short_json
from knell.faces import exits
from knell.faces.cli import options, output
from knell.faces.cli.complete import completer

if TYPE_CHECKING:
    from knell.api import Knell

EXAMPLE = """for example '{"AGENT_ID": "luna"}', @FILE, - for standard input, or AGENT_ID=luna"""


def _commands(_: "Knell") -> dict[str, str]:
    from knell.api.orchestrator import AGENT, COMMANDS

    return {f"{AGENT}.{short}": text for short, text in COMMANDS.items()} | COMMANDS


@options.verb("invoke")
@options.flag("--list", "wanted", help="List the commands and their parameters.")
@options.dry_run
@options.yes
@click.argument("command_name", metavar="COMMAND", default="", shell_complete=completer(_commands))
@click.argument("words", metavar="[JSON | @FILE | - | KEY=VALUE…]", nargs=-1)
def command(command_name: str, words: tuple[str, ...], **given: bool) -> int:
    """Carry out one of the orchestrator's JSON commands, and print its answer as JSON.

    The VALUE of KEY=VALUE is read as JSON, or else as plain text.

    \b
    knell invoke --list
    knell invoke kill-stalled-agent AGENT_ID=luna --dry-run
    knell invoke monitor-agent-lifecycle '{}'
    """
    if given["wanted"]:
        _list(command_name)
        return exits.Exit.DONE
    if not command_name:
        raise BadRequest("no command given", "knell invoke --list shows them")
    from knell.api import Knell

    params = _parameters(words)
    flags = {"DRY_RUN": given["dry_run"], "YES": given["yes"]}
    params |= {name: True for name, wished in flags.items() if wished}
    with Knell() as knell:
        answer = knell.invoke(command_name, params)
    output.print_json(answer)
    return exits.Exit.DONE if answer["success"] else exits.Exit.FAILED


# -- what it is given ------------------------------------------------------------------------------


def _parameters(words: tuple[str, ...]) -> dict[str, Any]:
    if not words:
        return {}
    if all("=" in word and not word.startswith(("{", "[", "@", '"')) for word in words):
        return dict(_pair(word) for word in words)
    first, *more = words
    if more:
        raise BadRequest(f"{len(words)} words are no JSON document", EXAMPLE)
    document = _document(_text(first))
    if not isinstance(document, dict):
        raise BadRequest(f"the parameters are no object but {short_json(document)}", EXAMPLE)
    return document  # pyright: ignore[reportUnknownVariableType]


def _pair(word: str) -> tuple[str, Any]:
    name, _, value = word.partition("=")
    try:
        return name, json.loads(value)
    except (ValueError, RecursionError):
        return name, value


def _text(word: str) -> str:
    if word == "-":
        return sys.stdin.read()
    if not word.startswith("@"):
        return word
    try:
        with open(word[1:], encoding="utf-8") as file:
            return file.read()
    except OSError as error:
        raise BadRequest(f"cannot read {word[1:]}: {error.strerror}", EXAMPLE) from error
    except UnicodeDecodeError as error:
        raise BadRequest(f"{word[1:]} is no text: {error.reason}", EXAMPLE) from error


def _document(text: str) -> object:
    try:
        return json.loads(text, object_pairs_hook=_once)
    except RecursionError:
        raise BadRequest("the parameters are no JSON: nested too deeply", EXAMPLE) from None
    except ValueError as error:
        raise BadRequest(f"the parameters are no JSON: {error}", EXAMPLE) from error


def _once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    """Refuses a name that is given twice, because either value could be meant."""
    names = [name for name, _ in pairs]
    twice = next((name for name in names if names.count(name) > 1), None)
    if twice is not None:
        raise ValueError(f"{twice} is given twice")
    return dict(pairs)


# -- the list --------------------------------------------------------------------------------------


def _list(name: str) -> None:
    from knell.api.orchestrator import AGENT, COMMANDS, describe, full_name, suggestion

    if name and not full_name(name):
        raise BadRequest(f"there is no command '{name}'", suggestion(name))
    names = [full_name(name)] if name else [f"{AGENT}.{short}" for short in COMMANDS]
    documents = [describe(one) for one in names]
    if output.json_wanted():
        output.print_json({"commands": documents})
        return
    for document in documents:
        click.echo(f"{document['command']}\n    {document['description']}.")
        for one in document["parameters"]:
            click.echo(f"    {one['name']:<26} {_explained(one)}")
        click.echo()


def _explained(one: dict[str, Any]) -> str:
    default = "required"
    if not one["required"]:
        given = one["default"]
        default = "optional" if given is None else f"default {json.dumps(given)}"
    return f"{one['meaning']} ({one['must_be']}; {default})"
