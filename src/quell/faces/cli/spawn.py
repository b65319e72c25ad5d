"""quell spawn."""

from typing import Any

import click

from quell.api import Quell
from quell.core.errors import BadRequest
from quell.faces.cli import options


@click.command("spawn", context_settings={"allow_interspersed_args": False})
@click.option(
    "--in",
    "place",
    type=click.Choice(["tmux", "kitty", "wezterm", "headless"]),
    help="Where; default: where you are (tmux, kitty, wezterm), else headless.",
)
@click.option("--tmux-server", "-L", "server", default="", help="tmux server name or socket path.")
@click.option("--kitty-socket", default="", help="The socket kitty listens on.")
@click.option("--session", default="", help="The tmux session to start in.")
@click.option("--count", default=1, show_default=True, help="Start this many.")
@options.spawn_options
@options.as_json
@click.argument("words", nargs=-1, type=click.UNPROCESSED)
def command(words: tuple[str, ...], **given: Any) -> None:
    """Start an agent in a new pane: spawn [options] KIND ARGS… or spawn [options] -- COMMAND ARGS…

    Everything after KIND is the agent's own.
    """
    options.check_order(words, {name for p in command.params for name in p.opts})
    json_wanted, count = given.pop("json_wanted"), given.pop("count")
    given["server"] = given["server"] or given.pop("kitty_socket", "")
    given.pop("kitty_socket", None)
    given["place"] = given["place"] or ("tmux" if given["server"] or given["session"] else "")
    if not 1 <= count <= 1000:  # noqa: PLR2004 - a typing error, not a fleet
        raise BadRequest(f"--count {count} is not between 1 and 1000", "for example --count 3")
    name = given.pop("name")
    wish = options.wish_from(words, given)
    quell = Quell()
    started: list[dict[str, Any]] = []
    for number in range(count):
        called = f"{name}-{number + 1}" if name and count > 1 else name
        branch = wish.worktree and (f"{wish.worktree}-{number + 1}" if count > 1 else wish.worktree)
        agent, run = quell.spawn(wish._replace(name=called, worktree=branch))
        pid = run.process.pid if run.process else None
        place = f"{run.place.name} {run.place.pane}".strip()
        started.append(
            {
                "name": agent.name,
                "kind": agent.kind,
                "run": run.id,
                "pid": pid,
                "place": run.place._asdict(),
                "conversation": agent.conversation,
            }
        )
        if not json_wanted:
            click.echo(f"{agent.name}: {agent.kind} runs as PID {pid} in {place}")
    if json_wanted:
        options.print_json({"agents": started})
