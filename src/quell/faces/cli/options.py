"""Options that several verbs share, and how they answer."""

import os
from collections.abc import Callable
from typing import Any, TypeVar

import click

from quell.core.errors import BadRequest
from quell.core.restart import MOST
from quell.faces import killing, say

F = TypeVar("F", bound=Callable[..., Any])

as_json = click.option("--json", "json_wanted", is_flag=True, help="Print one JSON document.")
dry_run = click.option(
    "--dry-run", "-n", is_flag=True, help="Show what would be done to whom, and do nothing."
)
yes = click.option("--yes", "-y", "--go", is_flag=True, help="Do not ask; I mean it.")
grace = click.option(
    "--grace", type=float, metavar="SECONDS", help="Wait this long between TERM and KILL."
)
children = click.option(
    "--no-children", "children", is_flag=True, default=True, flag_value=False,
    help="Spare the agents that this agent started through quell.",
)  # fmt: skip

_cleanup = click.option(
    "--cleanup", type=click.Choice(["safe", "force"]), default=None, metavar="[=force]",
    help="Then clean up: its session directory, a stale lock, and its worktree if that is clean,"
    " merged and unused; force: removed in any case, with its work saved under refs/quell/rescue.",
)  # fmt: skip
_tasks = click.option(
    "--tasks", type=click.Choice(["fail", "retry", "requeue", "leave"]), default=None,
    help="What becomes of its open tasks; default: by how it ended.",
)  # fmt: skip


def aftermath(function: F) -> F:
    """What an ending may do besides; the command must be an `Ending`."""
    return _cleanup(_tasks(function))


class Ending(click.Command):
    """Knows `--cleanup` without a value, so that it never takes the next word for one."""

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        spelt = ["--cleanup=safe" if word == "--cleanup" else word for word in args]
        rest = super().parse_args(ctx, spelt)
        for name in ("cleanup", "tasks"):  # not given is not a wish
            ctx.params[name] = ctx.params.get(name) or ""
        return rest


def names_complete(_: click.Context, __: click.Parameter, incomplete: str) -> list[Any]:
    """Names, tags and teams that start like this; a broken store completes nothing."""
    from click.shell_completion import CompletionItem

    from quell.api import Quell
    from quell.core.errors import QuellError

    try:
        views = Quell().list(everybody=True)
    except QuellError:
        return []
    words = {view.name: f"{view.kind}, {view.outcome or view.state}" for view in views}
    words |= {f"tag:{view.tag}": "tag" for view in views if view.tag}
    words |= {f"team:{view.team}": "team" for view in views if view.team}
    words["all"] = "everybody"
    return [CompletionItem(w, help=told) for w, told in words.items() if w.startswith(incomplete)]


targets = click.argument("targets", nargs=-1, shell_complete=names_complete)
one_name = click.argument("name", shell_complete=names_complete)


SPAWN = (
    click.option("--name", default="", help="What to call it; default KIND-N."),
    click.option("--tag", default="", help="A tag to select it by."),
    click.option("--team", default="", help="The team it belongs to."),
    click.option("--role", default="", help="Its role in the team."),
    click.option("--task", default="", help="The task it works on."),
    click.option("--cwd", default="", metavar="DIR", help="Where to start it."),
    click.option("--env", multiple=True, metavar="NAME=VALUE", help="Set a variable."),
    click.option(
        "--keep", multiple=True, metavar="GLOB",
        help="Children whose command line matches may outlive it.",
    ),
    click.option("--grace", type=float, help="Seconds for what it leaves behind when it exits."),
    click.option(
        "--restart", is_flag=True, flag_value=MOST, default=0, type=int,
        help=f"Let quell watch start it again after an unplanned end, {MOST} times in a row.",
    ),
    click.option(
        "--max-restarts", "restart", type=click.IntRange(0, 1000), metavar="N",
        help="The same, N times.",
    ),
    click.option(
        "--worktree", default="", metavar="BRANCH",
        help="Let it work in a git worktree of its own, made for a new branch.",
    ),
    click.option(
        "--shared", is_flag=True,
        help="Use one backend server per project, shared with other agents.",
    ),
    click.option(
        "--mcp", is_flag=True, help="Give it quell's tools: claude, codex, opencode; see quell mcp."
    ),
)  # fmt: skip


def spawn_options(function: F) -> F:
    """What `run` and `spawn` have in common."""
    for option in reversed(SPAWN):
        function = option(function)
    return function


def wish_from(words: tuple[str, ...], options: dict[str, Any]) -> Any:
    """KIND ARGS…, or -- COMMAND ARGS…, with the options, as one Wish."""
    from quell.core.ladder import checked_wait
    from quell.kinds import NAMES
    from quell.life.spawn import Wish

    if not words:
        raise BadRequest(
            "nothing to start", f"name a kind ({', '.join(NAMES)}) or write -- COMMAND ARGS…"
        )
    known = words[0] in NAMES and words[0] != "command"
    if known and words[1:2] == ("--",):
        words = (words[0], *words[2:])
    env = tuple(_assignment(text) for text in options.pop("env", ()))
    if options.pop("mcp", False):
        from quell.faces.mcp.attach import attached

        tools = attached(words[0] if known else "command")
        end = words.index("--") if "--" in words else len(words)  # behind it nothing is an option
        words, env = (*words[:end], *tools.args, *words[end:]), (*tools.env, *env)
    keep = tuple(options.pop("keep", ()))
    if options.get("grace") is not None:
        checked_wait(options["grace"])
    return Wish(
        kind=words[0] if known else "command",
        args=words[1:] if known else words,
        env=env,
        keep=keep,
        **options,
    )


def check_order(words: tuple[str, ...], ours: set[str]) -> None:
    """An option of ours behind the kind would silently go to the agent; -- says it should."""
    after = words[1 : words.index("--")] if "--" in words else words[1:]
    strayed = [word for word in after if word.split("=")[0] in ours]
    if strayed and words[0] in _kind_names():
        raise BadRequest(
            f"{strayed[0]} stands after {words[0]} and would go to it",
            f"put quell's options before {words[0]}, or write {words[0]} -- {strayed[0]} …",
        )


def _kind_names() -> tuple[str, ...]:
    from quell.kinds import NAMES

    return NAMES


def _assignment(text: str) -> tuple[str, str]:
    name, equals, value = text.partition("=")
    if not equals:  # --env NAME passes the caller's value on
        value = os.environ.get(name, "")
    if not name or "\0" in text:
        raise BadRequest(f"--env {text!r} is not NAME=VALUE", "for example --env LANG=C")
    return name, value


def confirmed(question: str) -> bool:
    """Asks a person; nobody at the other end means no."""
    import sys

    return sys.stdin.isatty() and sys.stderr.isatty() and click.confirm(question, err=True)


print_json = say.document
spelled_out = killing.spelled_out
