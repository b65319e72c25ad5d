"""The verbs that look: list, status, show, tree, events, receipt, verify, doctor, night."""

import re
from datetime import UTC, datetime, timedelta
from functools import partial
from typing import Any

import click

from knell.api import Knell
from knell.core.errors import BadRequest
from knell.core.fleet.target import far_target, is_far
from knell.core.selector import is_number
from knell.faces import exits
from knell.faces.cli import options, output, progress
from knell.faces.cli.fastpath import list_agents
from knell.faces.cli.filters import ORDERS
from knell.faces.text import tables
from knell.faces.text.terminal import printable

UNITS = {"m": "minutes", "h": "hours", "d": "days"}
NIGHT_HINT = "for example 22:00, 8h, or 2026-11-15T22:00"


class ListCommand(click.Command):
    """Takes `--ended` with or without a number, and never takes a target for one."""

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        spelt: list[str] = []
        for word in args:
            if spelt and spelt[-1] == "--ended=0" and is_number(word):
                spelt[-1] = f"--ended={word}"
            else:
                spelt.append("--ended=0" if word == "--ended" else word)
        return super().parse_args(ctx, spelt)


@click.command("list", cls=ListCommand)
@options.any_targets
@options.flag("--all", "-a", "with_ended", help="Also agents that have ended.")
@options.flag("--stalled", help="Only those that have stalled; looks at each now.")
@options.number("--ended", least=0, metavar="[N]", help="Only ended ones: the last N, or all.")
@options.choice("--sort", words=tuple(ORDERS), help="The order; default: oldest first.")
@options.text(
    "--format", "form", metavar="TEXT",
    help="Print this for each, with {name}, {pid}, … as --json names them.",
)  # fmt: skip
@options.flag("--names", "-q", help="Print names only.")
@options.flag("--utc", help="Show times in UTC and in full.")
@options.fleet
@options.json_given
def list_verb(targets: tuple[str, ...], **given: Any) -> int:
    """List the agents that run, or those that TARGETS mean (as for kill).

    What an agent does is shown with the age of the look that found it; knell status looks now.

    \b
    knell list tag:night --sort quiet
    knell list --ended 5
    knell list --format '{name} {pid}'
    """
    return list_agents(targets, **given)


@options.verb("status")
@options.agent_argument()
@options.utc
@options.fleet
@click.pass_context
def status(ctx: click.Context, name: str, *, fleet: bool) -> int | None:
    """Show all agents and all orphaned processes. With NAME: the same as knell show NAME.

    \b
    knell status
    """
    if fleet:
        from knell.faces.cli.far_look import status_fleet

        return status_fleet()
    if name:
        ctx.invoke(show, name=name)
        return None
    with progress.show_wait("looking at all agents"):
        found = Knell().status()
    document = found.to_json()
    document["orphans"] = tables.processes_json(found.orphans)
    document["drifts"] = [tables.drift_json(drift) for drift in found.drifts]
    output.print_result(document, tables.status_text(found))
    return None


@options.verb("show")
@options.one_name
@options.utc
@options.on_its_host("show")
def show(name: str) -> None:
    """Show one agent: its runs, its processes, its last receipt, and how to resume it.

    \b
    knell show luna
    """
    story = Knell().show(name)
    output.print_result(tables.story_json(story), tables.story_text(story))


@options.verb("tree")
@options.one_live
@options.on_its_host("tree")
def tree(name: str) -> None:
    """Show the live processes of an agent, and how knell knows that each belongs to it.

    \b
    knell tree luna
    """
    story = Knell().show(name)
    output.print_result(
        {"agent": story.agent.name, "processes": tables.processes_json(story.members)},
        tables.tree_text(story.members),
        if_empty=tables.no_processes_text(story),
    )


@options.verb("events")
@options.agent_argument("agent")
@options.flag("--follow", "-f", help="Go on printing events as they happen.")
@options.number("--last", "limit", least=1, default=50, help="How many events to print.")
@options.utc
@options.fleet
def events(agent: str, *, follow: bool, limit: int, fleet: bool) -> None:
    """Print the audit trail: who did what to which agent, when and why.

    With --follow --json, each event is one line of JSON.

    \b
    knell events luna
    knell events --last 200
    knell events --follow --json
    """
    if fleet:
        from knell.faces.cli.far_look import print_events

        print_events(agent, follow=follow, limit=limit)
        return
    knell = Knell()
    found = knell.events(agent=agent, limit=limit)
    line = partial(tables.event_line, widths=tables.event_widths(found))
    after = found[-1].id if found else 0
    more = knell.follow(agent=agent, after=after) if follow else None
    output.print_trail(found, line, more)


@options.verb("receipt")
@options.one_ended
@options.flag("--html", help="Print a self-contained HTML page.")
@options.flag("--screen", help="Also print the last screen of the pane.")
@options.utc
def receipt(name: str, *, html: bool, screen: bool) -> None:
    """Print the proof of the newest ending of NAME (an agent, or a run's id).

    \b
    knell receipt luna
    knell receipt --html luna > luna.html
    """
    from knell.faces.text import receipt as receipt_text

    if is_far(name):
        from knell.faces.cli.far_look import far_receipt

        found = far_receipt(far_target(name))
    else:
        found = Knell().receipt(name)
    text = receipt_text.page(found) if html else receipt_text.text(found, screen=screen)
    output.print_result(found.to_json(), text)


@options.verb("verify")
@options.agent_argument()
@options.text("--session", help="A session in the registry file.")
def verify(name: str, *, session: str) -> int:
    """Check again that NAME, or a session of the registry file, is as its ending left it.

    Says each fact that it looked at, and exits 1 if one of them is not as it should be. What could
    not be looked at is not verified. Changes nothing.

    \b
    knell verify luna
    """
    found = Knell().verify(name, session=session)
    facts = [fact._asdict() for fact in found.facts]
    document = {"target": found.target, "verified": found.verified, "facts": facts}
    lines = [f"{'ok' if fact.good else 'NO'}  {printable(fact.what)}" for fact in found.facts]
    output.print_result(document, "\n".join(lines))
    return exits.Exit.DONE if found.verified else exits.Exit.FAILED


@options.verb("doctor")
@options.flag("--repair", help="Restore a store that is damaged or behind.")
def doctor(*, repair: bool) -> int:
    """Check what knell needs on this machine, and list what agents left behind.

    Exits 1 if something is broken; a program that is not installed is not.

    Changes nothing without --repair. With it, runs that the store does not know are restored from
    their directories and living processes; a damaged store is moved aside and rebuilt, from the
    newest backup too.

    \b
    knell doctor
    knell doctor --repair
    """
    knell = Knell()
    if repair:
        output.print_error(knell.repair().sentence)
    with progress.show_wait("looking at this machine"):
        diagnosis = knell.doctor()
    document = {
        "findings": [finding._asdict() for finding in diagnosis.findings],
        "orphans": tables.processes_json(diagnosis.orphans),
        "foreign": tables.processes_json(diagnosis.foreign),
    }
    output.print_result(document, tables.diagnosis_text(diagnosis))
    broken = any(finding.broken for finding in diagnosis.findings)
    return exits.Exit.FAILED if broken else exits.Exit.DONE


@options.verb("night")
@click.option(
    "--since", default="22:00", show_default=True, metavar="TIME",
    help="The last time it was so late; or 8h ago; or a date and time.",
)  # fmt: skip
@options.flag("--html", help="Print a self-contained HTML page.")
@options.utc
def night(*, since: str, html: bool) -> None:
    """Tell what happened while you slept: stalls, restarts, kills, tasks handed back, work rescued.

    \b
    knell night
    knell night --since 8h
    knell night --html > night.html
    """
    from knell.faces.text.night import night_page, night_text

    found = Knell().night(begun(since, datetime.now().astimezone()))
    output.print_result(found.to_json(), night_page(found) if html else night_text(found))


def begun(since: str, now: datetime) -> str:
    """The time that was meant, as the store writes times. `now` has the person's own zone."""
    of_day = re.fullmatch(r"(\d{1,2}):(\d\d)", since)
    try:
        if of_day:
            at = now.replace(hour=int(of_day[1]), minute=int(of_day[2]), second=0, microsecond=0)
            at = at if at <= now else at - timedelta(days=1)
        elif found := re.fullmatch(r"(\d{1,5})([mhd])", since):
            at = now - timedelta(**{UNITS[found[2]]: int(found[1])})
        else:
            at = datetime.fromisoformat(since)
            at = at if at.tzinfo else at.replace(tzinfo=now.tzinfo)
        return at.astimezone(UTC).isoformat(timespec="milliseconds")
    except (ValueError, OverflowError) as error:
        why = f"{since} is no time of a day" if of_day else f"{since!r:.60} is no time"
        raise BadRequest(why, NIGHT_HINT) from error
