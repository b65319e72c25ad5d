"""quell send."""

import sys

import click

from quell.api import Quell
from quell.core.errors import BadRequest
from quell.core.message import LONGEST
from quell.faces import team_text
from quell.faces.cli import options
from quell.faces.cli.team_options import teams_complete

TYPES = ("plain", "idle", "task_assignment", "shutdown_approved", "shutdown_rejected")


class Sending(click.Command):
    """Keeps what follows `--` apart: it is the text, whatever it looks like."""

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        at = args.index("--") if "--" in args else len(args)
        ctx.meta["text"] = args[at + 1 :] if at < len(args) else None
        return super().parse_args(ctx, args[:at])


@click.command("send", cls=Sending)
@click.argument("names", nargs=-1, shell_complete=options.names_complete, metavar="NAME… -- TEXT")
@click.option("--team", default="", shell_complete=teams_complete, help="In the name of this team.")
@click.option("--type", "kind", type=click.Choice(TYPES), default="plain", show_default=True)
@click.option("--summary", default="", help="The text in a few words.")
@options.as_json
@click.pass_context
def command(
    ctx: click.Context,
    names: tuple[str, ...],
    *,
    team: str,
    kind: str,
    summary: str,
    json_wanted: bool,
) -> None:
    """Send a message into agents' inboxes: send NAME… -- TEXT, or send NAME… - < FILE.

    '*' means everybody in the team but the sender. A message of type shutdown_approved answers
    the request to leave; its text may be {"approved": false, "reason": "…"}.
    """
    from quell.life.together.letters import Letters

    text: list[str] | None = ctx.meta["text"]
    if text is None and names[-1:] == ("-",):
        names, body = names[:-1], sys.stdin.read(LONGEST + 1)
    elif text is None:
        raise BadRequest("no text given", "quell send NAME… -- TEXT, or - to read it")
    else:
        body = " ".join(text)
    sent = Quell().team.send(Letters(names, body, team, kind, summary))
    if json_wanted:
        options.print_json({"ok": True, "messages": [team_text.letter_json(one) for one in sent]})
    elif kind.startswith("shutdown_"):
        click.echo("your answer was taken")
    else:
        click.echo(f"sent to {', '.join(one.to for one in sent)}")
