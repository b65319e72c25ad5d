"""`knell help VERB` and `knell man`: the same texts as --help, on a page of their own."""

import click

from knell.core.errors import BadRequest
from knell.faces.cli import output


def _verbs(ctx: click.Context, _: click.Parameter, typed: str) -> list[str]:
    """The verbs that begin so, or the commands of the verb that stands before."""
    try:
        command, context = _found(ctx, ctx.params.get("verb") or ())
    except BadRequest:
        return []
    known = command.list_commands(context) if isinstance(command, click.Group) else []
    return [one for one in known if one.startswith(typed)]


@click.command("help")
@click.argument("verb", nargs=-1, shell_complete=_verbs)
@click.pass_context
def show_help(ctx: click.Context, verb: tuple[str, ...]) -> None:
    """Show the help of VERB, or of knell.

    \b
    knell help kill
    knell help team add
    """
    command, context = _found(ctx, verb)
    output.print_line(command.get_help(context))


@click.command("man")
@click.argument("verb", nargs=-1, shell_complete=_verbs)
@click.pass_context
def man(ctx: click.Context, verb: tuple[str, ...]) -> None:
    """Print the manual page of knell, or of VERB, as man reads it.

    \b
    knell man | man -l -
    knell man kill | man -l -
    knell man > ~/.local/share/man/man1/knell.1
    """
    from knell.faces.text.manual import manual_page

    command, context = _found(ctx, verb)
    output.print_line(manual_page(command, context).rstrip())


def _found(ctx: click.Context, words: tuple[str, ...]) -> tuple[click.Command, click.Context]:
    """The command that these words name, with a context in which its usage line is right."""
    context = ctx.parent or ctx
    command = context.command
    for word in words:
        below = command.get_command(context, word) if isinstance(command, click.Group) else None
        if below is None:
            raise BadRequest(f"there is no verb '{' '.join(words)}'", "knell --help lists them")
        context = click.Context(below, info_name=word, parent=context)
        command = below
    return command, context
