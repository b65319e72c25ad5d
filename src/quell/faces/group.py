"""The command line as click knows it: for help, completion, and whatever is not plain."""

import importlib
from typing import Any

import click

from quell.core.errors import BadRequest
from quell.faces import exits, say
from quell.faces.cli import ALIASES, VERBS


class LazyGroup(click.Group):
    def list_commands(self, ctx: click.Context) -> list[str]:
        return list(VERBS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        name = ALIASES.get(cmd_name, cmd_name)
        if name not in VERBS:
            return None
        return importlib.import_module(f"quell.faces.cli.{VERBS[name][0]}").command

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        try:
            return super().resolve_command(ctx, args)
        except click.UsageError:
            import difflib

            close = difflib.get_close_matches(args[0], [*VERBS, *ALIASES], 2)
            hint = f"did you mean {' or '.join(close)}?" if close else "quell --help lists them"
            raise BadRequest(f"there is no verb '{args[0]}'", hint) from None

    def invoke(self, ctx: click.Context) -> Any:
        try:
            return super().invoke(ctx)
        except BrokenPipeError:  # the reader has left; click would call that a failure
            say.nothing_more()
            return exits.Exit.DONE

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        with formatter.section("Verbs"):
            formatter.write_dl([(verb, told) for verb, (_, told) in VERBS.items()])


@click.group(cls=LazyGroup, context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(package_name="quell")
def cli() -> None:
    """End AI coding agents surely, and lose nothing.

    \b
    quell spawn --name luna claude     start one in a new pane
    quell kill luna                    end it, with everything it started
    quell resume luna                  go on where it was
    """


class Misuse(Exception):
    """Words that click could not make sense of."""

    def __init__(self, error: click.ClickException) -> None:
        super().__init__(error.format_message())
        self.show = error.show
        ctx = error.ctx if isinstance(error, click.UsageError) else None
        hint = f"{ctx.command_path if ctx else 'quell'} --help"
        self.told = BadRequest(" ".join(error.format_message().split()), hint)


def run() -> int:
    """The exit code; an interruption and a mistake are raised, in words that need no click."""
    try:
        code: Any = cli(prog_name="quell", standalone_mode=False)
    except click.ClickException as error:
        raise Misuse(error) from error
    except click.Abort:
        raise KeyboardInterrupt from None
    return int(code or 0)
