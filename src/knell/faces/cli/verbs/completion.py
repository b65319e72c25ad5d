"""`knell completion` prints the completion script of a shell."""

import click

SHELLS = ("bash", "zsh", "fish")


@click.command("completion")
@click.argument("shell", type=click.Choice(SHELLS))
def command(shell: str) -> None:
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
