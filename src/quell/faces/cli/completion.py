"""quell completion."""

import click


@click.command("completion")
@click.argument("shell", type=click.Choice(["bash", "zsh", "fish"]))
def command(shell: str) -> None:
    """Print the completion script: quell completion bash >> ~/.bashrc"""
    from click.shell_completion import get_completion_class

    from quell.faces.group import cli

    made = get_completion_class(shell)
    if made is None:
        raise click.UsageError(f"no completion for {shell}")
    click.echo(made(cli, {}, "quell", "_QUELL_COMPLETE").source())
