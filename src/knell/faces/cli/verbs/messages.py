"""The verbs by which agents talk and are asked to leave: send, inbox, ask, approve, confirm."""

import sys
from typing import TYPE_CHECKING, Any

import click

from knell.api import Knell
from knell.core.errors import BadRequest
from knell.core.teams import LONGEST
from knell.faces import exits
from knell.faces.cli import complete, options, output
from knell.faces.text import endings as endings_text
from knell.faces.text import teams as team_text

if TYPE_CHECKING:
    from knell.api.results import ShutdownResult

TYPES = ("plain", "idle", "task_assignment", "shutdown_approved", "shutdown_rejected")


class Sending(options.Verb):
    """Keeps what follows `--` apart: it is the text, even if it looks like an option."""

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        at = args.index("--") if "--" in args else len(args)
        ctx.meta["text"] = args[at + 1 :] if at < len(args) else None
        return super().parse_args(ctx, args[:at])


@click.command("send", cls=Sending)
@click.argument("names", nargs=-1, shell_complete=complete.agents, metavar="NAME… -- TEXT")
@options.text("--team", shell_complete=complete.teams, help="The team that the message is about.")
@options.choice("--type", words=TYPES, default="plain", help="What kind of message it is.")
@options.text("--summary", help="The text in a few words.")
@click.pass_context
def send(ctx: click.Context, names: tuple[str, ...], **given: Any) -> None:
    """Send a message into agents' inboxes: send NAME… -- TEXT, or send NAME… - < FILE.

    '*' means every other member of the team. A message of type shutdown_approved answers
    the request to leave; its text may be {"approved": false, "reason": "…"}.

    \b
    knell send luna -- "The tests are green again"
    knell send --team red '*' - < news.txt
    """
    text: list[str] | None = ctx.meta["text"]
    if text is None and names[-1:] == ("-",):
        names, body = names[:-1], sys.stdin.read(LONGEST + 1)
    elif text is None:
        raise BadRequest(
            "no text given",
            "write knell send NAME… -- TEXT, or knell send NAME… - to read it from stdin",
        )
    else:
        body = " ".join(text)
    sent = Knell().messages.send(*names, text=body, **given)
    answered = given["type"].startswith("shutdown_")
    output.print_result(
        {"ok": True, "messages": [one._asdict() for one in sent]},
        "your answer was recorded" if answered else f"sent to {', '.join(one.to for one in sent)}",
    )


@options.verb("inbox")
@options.agent_argument()
@options.seconds("--wait", "Wait for the first message, 30 s at most.", 0.0)
@options.number("--limit", least=1, most=1000, default=50, help="How many messages at most.")
@options.flag("--peek", help="Leave them unread.")
@options.flag("--take", help="With NAME: mark its messages as read.")
def inbox(name: str, *, peek: bool, take: bool, **given: Any) -> None:
    """Print the unread messages of the agent that runs this command, and mark them as read.

    Outside an agent, name one; its messages stay unread unless you --take them.

    \b
    knell inbox --wait 30
    knell inbox luna
    """
    found = Knell().messages.inbox(name, peek=peek or bool(name and not take), **given)
    document = {"messages": [message._asdict() for message in found]}
    text, nothing = team_text.messages_text(found), "no unread messages"
    output.print_result(document, text, if_empty=nothing)


# -- leaving -----------------------------------------------------------------------------------


@options.verb("ask")
@options.one_live
@options.text("--reason", help="The reason; the agent reads it.")
@options.seconds("--deadline", "How long it may take to answer; default 60, 0: no limit.")
@options.choice(
    "--overdue", words=("force", "report"), default="force",
    help="What knell watch does if it does not answer in time.",
)  # fmt: skip
@options.seconds("--wait", "How long to wait for the answer.", 0.0)
@options.flag("--withdraw", help="Take the request back.")
def ask(name: str, *, wait: float, withdraw: bool, **given: Any) -> None:
    """Ask an agent to leave. The agent finds the request in its inbox and answers with knell
    approve, or knell reject --reason WHY. It is ended once it has finished its work.

    \b
    knell ask luna --reason "the sprint is over"
    knell ask luna --wait 60
    knell ask luna --withdraw
    """
    if withdraw and (given["reason"] or wait):
        raise BadRequest("--withdraw takes a request back", "leave out --reason and --wait")
    knell = Knell()
    if withdraw:
        request = knell.shutdowns.withdraw(name)
    else:
        request = knell.shutdowns.ask(name, **given)
        request = knell.shutdowns.wait(request.id, wait) if wait else request
    if not output.json_wanted():
        click.echo(team_text.request_text(request))
        return
    over = request.phase in ("confirmed", "force_killed")
    receipt = knell.receipt(request.run) if over else None
    output.print_json(team_text.asked_json(request, receipt))


@options.verb("approve")
@options.agent_argument("request")
@options.text("--reason", help="What the asker should know.")
@options.seconds("--needs", "How long you need to finish; default 60, 0: nothing is left.")
@options.flag("--finish", hidden=True, help="Wait, and end the run.")
def approve(request: str, *, finish: bool, **given: Any) -> int:
    """Agree to leave, as an agent that was asked to: finish your work, then knell confirm, or exit.

    After the time that you need you are ended all the same. Your tasks are handed back. Outside
    an agent, name the REQUEST: its id, or the agent's name.

    \b
    knell approve --needs 120 --reason "one test is left"
    """
    shutdowns = Knell().shutdowns
    answered = shutdowns.finish(request) if finish else shutdowns.approve(request, **given)
    return print_answer(answered)


@options.verb("confirm")
@options.agent_argument("request")
def confirm(request: str) -> int:
    """Say that your work is finished, as an agent that has approved: it is ended now.

    Outside an agent, name the REQUEST: its id, or the agent's name.

    \b
    knell confirm
    """
    return print_answer(Knell().shutdowns.confirm(request))


@options.verb("reject")
@options.agent_argument("request")
@options.text("--reason", help="Why not; the asker reads it.")
def reject(request: str, *, reason: str) -> int:
    """Refuse to leave, as an agent that was asked to: it goes on, and may be asked again.

    Outside an agent, name the REQUEST: its id, or the agent's name.

    \b
    knell reject --reason "the migration is half done"
    """
    answered = Knell().shutdowns.reject(request, reason=reason)
    return print_answer(answered)


def print_answer(answered: "ShutdownResult") -> int:
    code = exits.of_receipts([answered.receipt] if answered.receipt else [])
    if output.json_wanted():
        document = team_text.answered_json(answered)
        output.print_json({**document, "ok": code == 0, "success": code == 0})
        return code
    click.echo(team_text.request_text(answered.request))
    if answered.receipt:
        output.print_lines(endings_text.receipt_lines(answered.receipt))
    return code
