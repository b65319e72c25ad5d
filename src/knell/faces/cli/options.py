"""What verbs share: options, the classes that read them, and that a host does a verb of its own."""

import functools
from collections.abc import Callable, Sequence
from typing import Any, TypeVar

import click

from knell.core.errors import BadRequest
from knell.core.fleet.target import is_far
from knell.core.restart import MOST
from knell.core.selector import is_number
from knell.faces.cli import complete, output

F = TypeVar("F", bound=Callable[..., Any])
PLACES = ("tmux", "kitty", "wezterm", "headless")


def seconds(name: str, help: str, default: float | None = None) -> Callable[[F], F]:
    return click.option(name, type=float, default=default, metavar="SECONDS", help=help)


def flag(*names: str, help: str, **more: Any) -> Callable[[F], F]:
    return click.option(*names, is_flag=True, help=help, **more)


def text(*names: str, help: str, **more: Any) -> Callable[[F], F]:
    """A word or more; empty if it is not given."""
    return click.option(*names, default="", help=help, **more)


class NumberOption(click.Option):
    """Its help tells in words which numbers it takes; click writes 0<=x<=9."""

    def get_help_extra(self, ctx: click.Context) -> Any:
        extra = super().get_help_extra(ctx)
        if isinstance(self.type, click.IntRange):
            least, most = self.type.min, self.type.max
            extra["range"] = f"{least} or more" if most is None else f"{least} to {most}"
        return extra


def number(*names: str, least: int, most: int | None = None, **more: Any) -> Callable[[F], F]:
    """A whole number; the help shows its default."""
    more = {"metavar": "N", "show_default": True, **more}
    return click.option(*names, type=click.IntRange(least, most), cls=NumberOption, **more)


def port(default: int, help: str) -> Callable[[F], F]:
    return number("--port", least=0, most=65535, default=default, metavar="PORT", help=help)


def choice(
    *names: str, words: Sequence[str], help: str, default: str | None = None, **more: Any
) -> Callable[[F], F]:
    """One of the words; empty if it is not given and has no default."""
    return click.option(
        *names, type=click.Choice(words), default=default, show_default=True, help=help,
        callback=_or_empty, **more,
    )  # fmt: skip


def _or_empty(_: click.Context, __: click.Parameter, word: str | None) -> str:
    return word or ""


def together(*options: Callable[..., Any]) -> Callable[[F], F]:
    """Several options as one decorator, in the order in which the help shows them."""

    def decorate(function: F) -> F:
        for option in reversed(options):
            function = option(function)
        return function

    return decorate


def _as_json(_: click.Context, __: click.Parameter, wanted: bool) -> None:
    if wanted:  # `team --json` has said so before `list`, which it calls, is asked
        output.choose_json(wanted=True)


_JSON: dict[str, Any] = {"is_flag": True, "help": "Print one JSON document."}
_JSON_SEEN: dict[str, Any] = {**_JSON, "expose_value": False, "callback": _as_json}
as_json = click.option("--json", **_JSON_SEEN)
# For the verbs that are also read without click, and are given it as a parameter.
json_given = click.option("--json", "json_wanted", **_JSON)


def _utc(_: click.Context, __: click.Parameter, wanted: bool) -> None:
    if wanted:
        from knell.faces.text.terminal import show_utc

        show_utc()


utc = flag("--utc", expose_value=False, callback=_utc, help="Show times in UTC and in full.")
dry_run = flag("--dry-run", "-n", help="Show what would be done, and do nothing.")
wait = seconds("--wait", "How long to wait for the answer of another host; default 10.")
fleet = flag("--fleet", help="For all hosts of the fleet.")
yes = flag("--yes", "-y", "--go", help="Do it without asking.")
grace = seconds("--grace", "How long to wait between TERM and KILL.")
children = click.option(
    "--no-children", "children", is_flag=True, default=True, flag_value=False,
    help="Spare the agents that this agent started through knell.",
)  # fmt: skip

cleanup_options = together(
    choice(
        "--cleanup", words=("safe", "force"), metavar="[=force]",
        help="Afterwards remove its session directory, its stale lock, and its worktree if that is"
        " clean, merged and unused. force: remove the worktree in any case, and save its work under"
        " refs/knell/rescue.",
    ),
    choice(
        "--tasks", words=("fail", "retry", "requeue", "leave"),
        help="What happens to its open tasks; by default that depends on how it ended.",
    ),
    yes,
    dry_run,
)  # fmt: skip


class Verb(click.Command):
    """A verb with `--json`, as nearly every one is."""

    def __init__(self, *args: Any, params: list[click.Parameter], **more: Any) -> None:
        super().__init__(*args, params=[*params, click.Option(["--json"], **_JSON_SEEN)], **more)


def verb(name: str, **more: Any) -> Callable[[Callable[..., Any]], Verb]:
    return click.command(name, cls=Verb, **more)


class CommandGroup(click.Group):
    """Its help tells whole sentences of its commands, which click would cut at the margin."""

    command_class = Verb

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        typing = ctx.resilient_parsing  # a shell completes the line: nothing may be said
        if args and not typing and self.get_command(ctx, args[0]) is None:
            known = self.list_commands(ctx)
            why = f"there is no {ctx.command_path} {args[0]}"
            raise BadRequest(why, f"one of: {', '.join(known)}")
        return super().resolve_command(ctx, args)

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        told = {name: one.get_short_help_str(limit=1000) for name, one in self.commands.items()}
        with formatter.section("Commands"):
            formatter.write_dl(sorted(told.items()))


class CleanupCommand(click.Command):
    """Takes `--cleanup` without a value, and then never takes the next word for one."""

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        spelt = ["--cleanup=safe" if word == "--cleanup" else word for word in args]
        return super().parse_args(ctx, spelt)


def place(help: str, *, terminal: bool = False) -> Callable[[F], F]:
    """`--in PLACE`; a place may come from another package, so that the list is not closed.

    `terminal`: the caller's own may be meant as well."""
    own = (*PLACES, "terminal") if terminal else PLACES

    def check(_: click.Context, __: click.Parameter, name: str | None) -> str:
        from knell.api import Knell

        if name is not None and name not in own and name not in (known := Knell().place_names()):
            raise BadRequest(f"no place is called '{name}'", f"one of: {', '.join(known)}")
        return name or ""

    return click.option(
        "--in", "place", metavar="PLACE", shell_complete=complete.places, help=help, callback=check
    )


words = click.argument("words", nargs=-1, type=click.UNPROCESSED, shell_complete=complete.kinds)
targets = click.argument("targets", nargs=-1, shell_complete=complete.live)
any_targets = click.argument("targets", nargs=-1, shell_complete=complete.agents)
one_name = click.argument("name", shell_complete=complete.any_agent)
one_live = click.argument("name", shell_complete=complete.one_live)
one_ended = click.argument("name", shell_complete=complete.one_ended)
tmux_server = text("--tmux-server", "-L", "server", help="tmux server name or socket path.")
tmux_session = text("--session", help="The tmux session to start in.")
registry = text("--registry", metavar="FILE", help="The registry file.")
new_name = text("--name", help="The agent's name; default KIND-N.")
tag = text(
    "--tag", shell_complete=complete.tags, help="A tag, to select agents by: knell kill tag:X."
)
team = text("--team", shell_complete=complete.teams, help="The team it belongs to.")


def agent_argument(
    word: str = "name", offered: complete.Completer = complete.any_agent
) -> Callable[[F], F]:
    """The name of an agent, which may be left out."""
    return click.argument(word, required=False, default="", shell_complete=offered)


def _cut_off(_: click.Context, __: click.Parameter, word: str) -> int:
    """Seconds after which it is stopped; 0: it goes on."""
    kind, number = (*word.replace(" ", "=").split("=", 1), "")[:2]
    if kind == "continue" and not number:
        return 0
    if kind == "stop-after" and is_number(number) and int(number) > 0:
        return int(number)
    why = f"--when-cut-off {word!r:.60} is neither continue nor stop-after=SECONDS"
    raise BadRequest(why, "for example --when-cut-off stop-after=600")


spawn_options = together(  # what `run` and `spawn` have in common
    new_name,
    tag,
    team,
    text("--role", help="Its role in the team."),
    text("--task", help="The task it works on."),
    text("--cwd", metavar="DIR", help="The directory to start in."),
    click.option(
        "--env", multiple=True, metavar="NAME=VALUE",
        help="Set a variable for it; NAME alone passes yours on.",
    ),
    click.option(
        "--keep", multiple=True, metavar="GLOB",
        help="Children whose command line matches may outlive it.",
    ),
    seconds("--grace", "When it exits, how long its children get between TERM and KILL."),
    click.option(
        "--restart", is_flag=True, flag_value=MOST, default=0, type=int,
        help=f"Let knell watch start it again after an unplanned end, {MOST} times in a row.",
    ),
    number(
        "--max-restarts", "restart", least=0, most=1000, show_default=False,
        help="Like --restart, but N times in a row.",
    ),
    text(
        "--worktree", metavar="BRANCH",
        help="Make a new branch and a git worktree, and start it there.",
    ),
    flag("--shared", help="Use one backend server per project, shared with other agents."),
    flag("--mcp", help="Give it knell's tools (see knell mcp) for this run."),
    click.option(
        "--when-cut-off", "cut_off_after", default="continue", callback=_cut_off,
        metavar="continue|stop-after=SECONDS",
        help="What the watch does if its host loses the fleet; default: continue.",
    ),
)  # fmt: skip


def on_its_host(
    verb: str, word: str = "name", only: Sequence[str] | None = None, **always: Any
) -> Callable[[F], F]:
    """A verb of one `word`, which the host of `word@host` carries out, with its option --wait.

    `only`: the options that the order carries, all that are said if not given."""

    def decorate(function: F) -> F:
        @functools.wraps(function)
        def called(*args: Any, wait: float | None = None, **given: Any) -> Any:
            if not is_far(given[word]):
                return function(*args, **given)
            from knell.faces.cli.far import ask_one, is_said

            names = given if only is None else only
            said = {name: given[name] for name in names if name != word and is_said(given[name])}
            return ask_one(verb, given[word], always | said, wait)

        return wait(called)  # pyright: ignore[reportReturnType]

    return decorate
