"""quell invoke."""

import json
import sys
from typing import TYPE_CHECKING, Any

import click

from quell.core.errors import BadRequest
from quell.faces import exits
from quell.faces.cli import options

if TYPE_CHECKING:
    from click.shell_completion import CompletionItem

EXAMPLE = """for example '{"AGENT_ID": "luna"}', @FILE, - for standard input, or AGENT_ID=luna"""


def _commands(_: click.Context, __: click.Parameter, incomplete: str) -> "list[CompletionItem]":
    from click.shell_completion import CompletionItem

    from quell.faces.commands import AGENT, COMMANDS

    names = {f"{AGENT}.{short}": told for short, told in COMMANDS.items()} | COMMANDS
    return [CompletionItem(n, help=told) for n, told in names.items() if n.startswith(incomplete)]


@click.command("invoke")
@click.option("--list", "wanted", is_flag=True, help="The commands, and what each may be given.")
@options.dry_run
@options.yes
@options.as_json
@click.argument("command_name", metavar="COMMAND", default="", shell_complete=_commands)
@click.argument("words", metavar="[JSON | @FILE | - | KEY=VALUE…]", nargs=-1)
def command(command_name: str, words: tuple[str, ...], **given: bool) -> int:
    """Carry out one of the orchestrator's JSON commands, and print its answer as JSON.

    Without JSON it is given nothing. The value of KEY=VALUE is JSON, or else plain text.
    """
    if given["wanted"]:
        _list(command_name, json_wanted=given["json_wanted"])
        return exits.Exit.DONE
    if not command_name:
        raise BadRequest("no command given", "quell invoke --list shows them")
    from quell.api import Quell
    from quell.faces.commands import invoke

    params = _parameters(words)
    flags = {"DRY_RUN": given["dry_run"], "YES": given["yes"]}
    params |= {name: True for name, wished in flags.items() if wished}
    with Quell() as quell:
        answer = invoke(quell, command_name, params)
    options.print_json(answer)
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
        raise BadRequest(f"the parameters are no object but {_kind(document)}", EXAMPLE)
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
    """A name that is given twice: nobody knows which one was meant."""
    names = [name for name, _ in pairs]
    twice = next((name for name in names if names.count(name) > 1), None)
    if twice is not None:
        raise ValueError(f"{twice} is given twice")
    return dict(pairs)


def _kind(document: object) -> str:
    match document:
        case list():
            return "a list"
        case str():
            return "a text"
        case bool() | None:
            return "true, false or null"
        case _:
            return "a number"


# -- the list --------------------------------------------------------------------------------------


def _list(name: str, *, json_wanted: bool) -> None:
    from quell.faces.commands import AGENT, COMMANDS, described, full_name, unknown

    if name and not full_name(name):
        raise BadRequest(f"there is no command '{name}'", unknown(name))
    names = [full_name(name)] if name else [f"{AGENT}.{short}" for short in COMMANDS]
    documents = [described(one) for one in names]
    if json_wanted:
        options.print_json({"commands": documents})
        return
    for document in documents:
        click.echo(f"{document['command']}\n    {document['description']}.")
        for one in document["parameters"]:
            click.echo(f"    {one['name']:<26} {_explained(one)}")
        click.echo()


def _explained(one: dict[str, Any]) -> str:
    default = "required" if one["required"] else f"default {json.dumps(one['default'])}"
    if not one["required"] and one["default"] is None:
        default = "optional"
    return f"{one['meaning']} ({one['must_be']}; {default})"
