"""The command line: one file a verb, each imported only when it is called."""

import importlib
import io
import os
import sys
from typing import Any

import click

from quell.core.errors import BadRequest, QuellError
from quell.faces import exits

# verb → (module, what it does). The text is here so that --help imports no verb.
VERBS = {
    "run": ("run", "Run an agent in this terminal, under a keeper."),
    "spawn": ("spawn", "Start an agent in a new pane, or headless."),
    "adopt": ("adopt", "Take charge of an agent that something else started."),
    "list": ("list", "Who is there."),
    "status": ("status", "How everybody is, and which processes were orphaned."),
    "show": ("show", "Everything about one agent."),
    "tree": ("tree", "The live processes of an agent."),
    "stop": ("stop", "End agents politely; the conversation is kept."),
    "delete": ("delete", "The older name of stop --mode hard."),
    "stalled": ("stalled", "Who has stalled and why; end them with --kill."),
    "explain": ("explain", "The evidence behind the verdict on an agent."),
    "beat": ("beat", "One sign of life, for an agent without hooks."),
    "kill": ("kill", "End agents surely, with all their processes."),
    "ask": ("ask", "Ask an agent to leave."),
    "approve": ("approve", "Agree to leave, inside an agent that was asked to."),
    "reject": ("reject", "Refuse to leave, inside an agent that was asked to."),
    "reap": ("reap", "List what outlived its agent; end it with --yes."),
    "resume": ("resume", "Continue an ended agent's conversation in a new run."),
    "restart": ("restart", "A fresh run of an agent."),
    "team": ("team", "Teams: who leads, and who belongs to them."),
    "task": ("task", "The work of teams: add, claim, complete."),
    "send": ("send", "Send a message to agents, or to everybody in a team."),
    "inbox": ("inbox", "The unread messages of an agent."),
    "watch": ("watch", "Watch over everybody: stalls, restarts, interrupted endings, drift."),
    "invoke": ("invoke", "The orchestrator's JSON commands."),
    "mcp": ("mcp", "Serve agents that manage agents, over MCP."),
    "events": ("events", "The audit trail."),
    "receipt": ("receipt", "The proof of an ending."),
    "doctor": ("doctor", "What this machine has, and what lies around on it."),
    "hooks": ("hooks", "Heartbeat hooks for Claude Code, Codex and Gemini."),
    "demo": ("demo", "Show the promise on agents with bad habits."),
    "completion": ("completion", "Print the completion script for bash, zsh or fish."),
}
ALIASES = {"ls": "list", "r": "resume", "ps": "list"}


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
            os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
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


def main() -> None:
    """Runs the command line; every ending has one of the documented exit codes."""
    json_wanted = "--json" in sys.argv
    if isinstance(sys.__stdout__, io.TextIOWrapper):  # a name may hold half a character
        sys.__stdout__.reconfigure(errors="backslashreplace")
    try:
        code: Any = cli(prog_name="quell", standalone_mode=False)
    except QuellError as error:
        code = exits.of_error(error)
        _tell(error, code, json_wanted=json_wanted)
    except click.ClickException as error:
        code = exits.Exit.USAGE
        _tell_usage(error, code, json_wanted=json_wanted)
    except (click.Abort, KeyboardInterrupt):
        click.echo("interrupted", err=True)
        code = exits.Exit.INTERRUPTED
    sys.exit(int(code or 0))


def _tell_usage(error: click.ClickException, code: int, *, json_wanted: bool) -> None:
    """In one line and one hint, like every other error; without any argument, the help."""
    if len(sys.argv) == 1:
        error.show()
        return
    ctx = error.ctx if isinstance(error, click.UsageError) else None
    hint = f"{ctx.command_path if ctx else 'quell'} --help"
    _tell(BadRequest(" ".join(error.format_message().split()), hint), code, json_wanted=json_wanted)


def _tell(error: QuellError, code: int, *, json_wanted: bool) -> None:
    if json_wanted:
        import json

        told = {"ok": False, "error": type(error).__name__, "message": str(error)}
        click.echo(json.dumps({**told, "hint": error.hint, "exit": int(code)}))
    from quell.faces.render import printable

    click.echo(f"error: {printable(str(error))}", err=True)
    if error.hint:
        click.echo(f"hint: {printable(error.hint)}", err=True)
