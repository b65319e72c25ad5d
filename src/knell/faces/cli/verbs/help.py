"""The verbs that print texts about knell: help and man, the same as --help; completion."""

import click

from knell.core.errors import BadRequest
from knell.faces.cli import output

SHELLS = ("bash", "zsh", "fish")


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


@click.command("completion")
@click.argument("shell", type=click.Choice(SHELLS))
def completion(shell: str) -> None:
    """Print the completion script of a shell.

    \b
    knell completion bash >> ~/.bashrc
    knell completion zsh >> ~/.zshrc
    knell completion fish > ~/.config/fish/completions/knell.fish
    """
    click.echo(script(shell), nl=False)


def script(shell: str) -> str:
    """The same file that the wheel brings for this shell."""
    from click.shell_completion import get_completion_class

    from knell.faces.cli.group import cli

    made = get_completion_class(shell)
    if made is None:
        raise click.UsageError(f"no completion for {shell}")
    # bash would take the colon of tag:X for the end of a word
    before = 'COMP_WORDBREAKS="${COMP_WORDBREAKS//:}"\n' if shell == "bash" else ""
    return f"{before}{made(cli, {}, 'knell', '_KNELL_COMPLETE').source()}\n"
