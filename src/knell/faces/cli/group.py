"""The command line as click reads it: every verb, its help, completion, rare options."""

import importlib
import sys
from typing import Any

import click

from knell.core.errors import BadRequest
from knell.core.systems import PROMISE
from knell.faces import exits
from knell.faces.cli import output

# verb → (its file in verbs/, what it does). The text is here so that --help imports no verb.
VERBS = {
    "run": ("start", "Run an agent in this terminal, under a keeper."),
    "spawn": ("start", "Start an agent in a new pane, or headless."),
    "create": ("start", "Start an agent in a session of its own, with a row in the registry."),
    "adopt": ("start", "Take charge of an agent that something else started."),
    "list": ("look", "List the agents that run."),
    "top": ("screens", "Show every agent live, and act on them by keys."),
    "web": ("screens", "Show every agent in a browser, live, and act on them there."),
    "status": ("look", "Show all agents and all orphaned processes."),
    "show": ("look", "Show everything about one agent."),
    "tree": ("look", "Show the live processes of an agent."),
    "logs": ("live", "Print what an agent printed; -f goes on."),
    "screen": ("live", "Print what an agent's pane shows now."),
    "attach": ("live", "Go to an agent's pane."),
    "path": ("live", "Print the directory in which an agent works."),
    "stop": ("end", "End agents politely; the conversation is kept."),
    "delete": ("end", "The older name of stop --mode hard."),
    "stalled": ("watch", "List agents that have stalled, and why; --kill ends them."),
    "explain": ("watch", "Show the evidence for what an agent is doing."),
    "beat": ("watch", "Give a sign of life, for an agent without hooks."),
    "kill": ("end", "End agents surely, with all their processes."),
    "ask": ("messages", "Ask an agent to leave."),
    "approve": ("messages", "Agree to leave, inside an agent that was asked to."),
    "confirm": ("messages", "Say that your work is finished, after knell approve."),
    "reject": ("messages", "Refuse to leave, inside an agent that was asked to."),
    "reap": ("end", "List processes that outlived their agent; --yes ends them."),
    "resume": ("resume", "Continue an ended agent's conversation in a new run."),
    "restart": ("resume", "Start an agent again, in a fresh run."),
    "fork": ("resume", "Start another agent that goes on from an agent's conversation."),
    "team": ("teams", "Manage teams: their leader and their members."),
    "task": ("teams", "Manage the tasks of teams: add, claim, done."),
    "send": ("messages", "Send a message to agents, or to all members of a team."),
    "inbox": ("messages", "Read the unread messages of an agent."),
    "fleet": ("fleet", "Make or join a fleet of hosts, and show its state."),
    "orders": ("fleet", "List the orders to other hosts, or call one off."),
    "watch": ("watch", "Watch over all agents: stalls, restarts, interrupted endings, drift."),
    "monitor": ("watch", "Compare the registry file with tmux and the store, and mend it."),
    "invoke": ("invoke", "Carry out one of the orchestrator's JSON commands."),
    "mcp": ("mcp", "Serve knell's tools to agents, over MCP."),
    "events": ("look", "Print the audit trail."),
    "receipt": ("look", "Print the proof that an agent has ended."),
    "night": ("look", "Tell what happened while you slept."),
    "verify": ("look", "Check again that an agent or a session is gone, and say by which facts."),
    "doctor": ("look", "Check this machine, and list what agents left behind."),
    "hooks": ("installed", "Install heartbeat hooks for Claude Code, Codex and Gemini."),
    "bug-report": ("bug_report", "Write one text file to attach to an issue, without secrets."),
    "skills": ("installed", "Install skills for agents: how to end agents, how to lead a team."),
    "demo": ("demo", "Start and end agents with bad habits, as a demonstration."),
    "completion": ("help", "Print the completion script for bash, zsh or fish."),
    "prune": ("remove", "Remove ended runs that are older than you keep them."),
    "uninstall": ("remove", "Take back what knell put outside its package."),
    "man": ("help", "Print the manual page, of knell or of a verb."),
    "help": ("help", "Show the help of a verb."),
}
# title → verbs, in the order in which --help shows them
GROUPS = {
    "Start": ("spawn", "run", "resume", "restart", "fork", "create", "adopt"),
    "Look": (
        *("top", "web", "list", "status", "show", "tree", "logs", "screen", "attach", "path"),
        *("events", "receipt", "night", "verify"),
    ),
    "End": ("kill", "stop", "ask", "reap", "delete"),
    "Watch": ("watch", "stalled", "explain", "monitor"),
    "Teams": ("team", "task", "send"),
    "Many hosts": ("fleet", "orders"),
    "Set up": (
        *("doctor", "hooks", "skills", "mcp", "completion", "man", "prune", "uninstall", "demo"),
        *("bug-report", "help"),
    ),
    "For agents and programs": ("approve", "confirm", "reject", "inbox", "beat", "invoke"),
}
ALIASES = {"ls": "list", "r": "resume", "f": "fork", "ps": "list"}
# What people type who know it from elsewhere → the verb that does it here.
MISTAKES = {
    "rm": "delete", "remove": "delete", "start": "spawn", "new": "spawn", "launch": "spawn",
    "log": "logs", "tail": "logs", "term": "screen", "show-screen": "screen", "end": "kill",
    "quit": "stop", "exit": "stop", "terminate": "kill", "cd": "path", "pwd": "path",
    "history": "events", "continue": "resume", "focus": "attach", "teams": "team",
    "tasks": "task", "kills": "kill", "info": "show", "inspect": "show", "why": "explain",
}  # fmt: skip


class LazyGroup(click.Group):
    def list_commands(self, ctx: click.Context) -> list[str]:
        return list(VERBS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        name = ALIASES.get(cmd_name, cmd_name)
        if name not in VERBS:
            return None
        module = importlib.import_module(f"knell.faces.cli.verbs.{VERBS[name][0]}")
        commands = [one for one in vars(module).values() if isinstance(one, click.Command)]
        return next(command for command in commands if command.name == name)

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        if args[0].isdigit() and len(args) > 1:  # knell 3 claude
            args = ["spawn", "--count", *args]
        try:
            return super().resolve_command(ctx, args)
        except click.UsageError:
            import difflib

            close = difflib.get_close_matches(args[0], [*VERBS, *ALIASES], 2)
            close = [MISTAKES[args[0]]] if args[0] in MISTAKES else close
            hint = f"did you mean {' or '.join(close)}?" if close else "knell --help lists them"
            hint = f"knell {args[0]} claude starts {args[0]}" if args[0].isdigit() else hint
            raise BadRequest(f"there is no verb '{args[0]}'", hint) from None

    def invoke(self, ctx: click.Context) -> Any:
        try:
            return super().invoke(ctx)
        except BrokenPipeError:  # the reader has left; click would call that a failure
            output.discard_output()
            return exits.Exit.DONE

    def format_epilog(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        formatter.write_paragraph()
        formatter.write_text(PROMISE)

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        for title, verbs in GROUPS.items():
            with formatter.section(title):
                formatter.write_dl([(with_aliases(verb), VERBS[verb][1]) for verb in verbs])


def with_aliases(verb: str) -> str:
    others = [alias for alias, meant in ALIASES.items() if meant == verb]
    return f"{verb} ({', '.join(others)})" if others else verb


@click.group(cls=LazyGroup, context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(None, "--version", "-V", package_name="knell")
def cli() -> None:
    """End AI coding agents surely, and lose nothing.

    \b
    knell spawn --name luna claude     start one in a new pane
    knell kill luna                    end it, with everything it started
    knell resume luna                  go on where it was
    knell 3 claude                     start three

    knell help VERB, or knell VERB -h, has the options and examples of a verb.
    """


# What click says of a value → the same in plain words.
PLAINLY = {
    "is not a valid float": "is not a number",
    "is not a valid integer range": "is not a whole number",
    "is not a valid integer": "is not a whole number",
}


class Misuse(Exception):
    """A command line that click cannot understand."""

    def __init__(self, error: click.ClickException) -> None:
        super().__init__(error.format_message())
        self.show = error.show
        ctx = error.ctx if isinstance(error, click.UsageError) else None
        # click does not always say where it stopped reading
        typed = [word for word in sys.argv[1:2] if word in VERBS or word in ALIASES]
        path = ctx.command_path if ctx else " ".join(["knell", *typed])
        why = " ".join(error.format_message().split())
        for click_says, plainly in PLAINLY.items():
            why = why.replace(click_says, plainly)
        bare = getattr(click.exceptions, "NoArgsIsHelpError", ())  # click before 8.2 has none
        if isinstance(error, bare) and ctx and isinstance(ctx.command, click.Group):
            why = f"{path} needs one of: {', '.join(ctx.command.list_commands(ctx))}"
        self.error = BadRequest(why, f"see {path} --help")


def run() -> int:
    """Runs the verb and gives its exit code; raises KeyboardInterrupt and Misuse, which callers
    can catch without click."""
    try:
        code: Any = cli(prog_name="knell", standalone_mode=False)
    except click.ClickException as error:
        raise Misuse(error) from error
    except click.Abort:
        raise KeyboardInterrupt from None
    return int(code or 0)
