"""The verbs that judge agents and records: watch, monitor, stalled, explain, beat."""

import json
from typing import TYPE_CHECKING, Any

import click

from knell.api import Knell
from knell.core.errors import BadRequest
from knell.core.ports.store import Event
from knell.core.watch_report import Drift, Trouble, WatchReport
from knell.faces.cli import options, output
from knell.faces.exits import Exit, of_receipts
from knell.faces.text import endings as endings_text
from knell.faces.text import tables

if TYPE_CHECKING:
    from knell.api.results import Round

FOREVER = "watching every {:g} s; stalled agents: {}; Ctrl-C ends the watch and nothing else"
COMPARING = "comparing again and again; Ctrl-C ends the monitor and nothing else"
NO_DRIFT = "no drift: registry file, store and machine agree"


older_than = options.seconds(
    "--older-than", "Stalled after so long without a sign of life; default 120."
)


@options.verb("watch")
@options.flag("--once", help="One round, then exit.")
@options.choice(
    "--stalled", "policy", words=("report", "stop", "kill"),
    help="What to do about a stalled agent; default: report.",
)  # fmt: skip
@click.option(
    "--policy", "rules", multiple=True, metavar="tag:X=kill",
    help="An exception for a tag or team; may be given several times.",
)  # fmt: skip
@older_than
@options.seconds("--interval", "Time between two rounds; default 15.")
@options.registry
@options.flag("--install", help="Write a service file, so that the watch starts at login.")
@options.flag("--uninstall", help="Remove that file.")
@options.dry_run
def watch(*, once: bool, dry_run: bool, registry: str, **given: Any) -> int:
    """Watch over all agents: record what happens, judge which have stalled, restart some of them.

    Each round copies the keepers' journals into the store, finishes endings that were interrupted,
    and makes the registry file, the store and the machine agree. Stalled agents are reported, or
    ended by policy; agents spawned with --restart are started again after an unplanned end.

    \b
    knell watch --once --dry-run
    knell watch --policy tag:night=kill --policy team:red=stop
    knell watch --policy tag:night=kill --install
    """
    install, uninstall = given.pop("install"), given.pop("uninstall")
    knell = Knell(registry=registry)
    if install and uninstall:
        raise BadRequest("--install and --uninstall exclude each other", "give one of them")
    if install or uninstall:
        _service(knell, given, install=install, dry_run=dry_run)
        return Exit.DONE
    if once or dry_run:
        return _print_round(knell.watch_once(**given, dry_run=dry_run))
    settings = knell.settings
    interval = given["interval"] or settings.watch_interval
    reports = knell.watch(**given)
    click.echo(FOREVER.format(interval, given["policy"] or settings.watch_stalled), err=True)
    for one in reports:
        _say(one)
    return Exit.DONE


def _say(one: WatchReport) -> None:
    if output.json_wanted():
        click.echo(json.dumps({"type": type(one).__name__.lower(), **one._asdict()}))
    elif isinstance(one, Event):
        click.echo(tables.event_line(one))
    elif isinstance(one, Drift):
        click.echo(tables.drift_line(one))
    else:
        output.print_error(f"trouble: {one.text}")


def _print_round(done: "Round") -> int:
    """Prints one round; it has failed if something in it could not be done."""
    troubles = [one.text for one in done.reports if isinstance(one, Trouble)]
    code = Exit.FAILED if troubles else Exit.DONE
    if output.json_wanted():
        drifts = [tables.drift_json(drift) for drift in done.drifts]
        agents = [tables.verdict_json(one) for one in done.judged]
        output.print_json({"drift": drifts, "agents": agents, "troubles": troubles})
        return code
    for drift in done.drifts:
        click.echo(tables.drift_line(drift))
    stalled = [one for one in done.judged if one.verdict.activity == "stalled"]
    if stalled:
        click.echo(tables.verdicts_table(stalled))
    for one in done.reports:
        if not isinstance(one, Drift):
            _say(one)
    if not done.drifts and not troubles:
        output.print_error(NO_DRIFT)
    return code


def _service(knell: Knell, given: dict[str, Any], *, install: bool, dry_run: bool) -> None:
    done = knell.watch_service(**given, install=install, dry_run=dry_run)
    would, did = ("Would write", "Wrote") if install else ("Would remove", "Removed")
    lines = [f"{would if dry_run else did} {done.path}"]
    lines += done.text.splitlines() if dry_run and install else []
    lines.append("To start it now and at each login:" if install else "To stop it now:")
    lines += [f"  {line}" for line in done.next]
    output.print_result(done._asdict(), "\n".join(lines))


@options.verb("monitor")
@options.flag("--once", help="One look, then exit.")
@options.seconds("--interval", "Time between two looks; default 30.")
@options.registry
@options.dry_run
def monitor(*, once: bool, interval: float | None, registry: str, dry_run: bool) -> None:
    """Compare the registry file with tmux and the store, and mend the rows that are wrong.

    A part of knell watch, which does this in every round: no agent is judged, ended or restarted.

    \b
    knell monitor --once --dry-run
    """
    knell = Knell(registry=registry)
    looks = knell.monitor(once=once, interval=interval, dry_run=dry_run)
    if not once:
        output.print_error(COMPARING)
    for drifts in looks:
        document = {"drift": [tables.drift_json(drift) for drift in drifts]}
        output.print_result(document, "\n".join(map(tables.drift_line, drifts)))
        if once and not drifts:
            output.print_error(NO_DRIFT)


@click.command("stalled", cls=options.CleanupCommand)
@options.targets
@options.flag("--kill", help="End the agents that have stalled: TERM, 10 s, KILL.")
@older_than
@options.flag("--all", "show_all", help="List the verdict on every agent.")
@options.grace
@options.cleanup_options
@options.as_json
def stalled(*, kill: bool, show_all: bool, **given: Any) -> int:
    """List the agents that have stalled, and why; with --kill, end them.

    An agent counts as stalled only if all signs of life have stopped: see knell explain NAME.
    An agent that is idle, waits for a person or a quota, or cannot be judged is never ended.
    Agents that were started by a stalled one live on.

    \b
    knell stalled
    knell stalled --kill --dry-run tag:night
    """
    knell, targets = Knell(), given.pop("targets")
    if kill or given["dry_run"]:
        found = knell.end_stalled(*targets, **given)
    else:
        looked = knell.verdicts(*targets, older_than=given["older_than"])
        found = [(one, None) for one in looked]
    receipts = [receipt for _, receipt in found if receipt]
    code = of_receipts(receipts)
    if output.json_wanted():
        agents = [tables.verdict_json(one) for one, _ in found]
        ended = [receipt.to_json() for receipt in receipts]
        output.print_json({"ok": code == 0, "agents": agents, "receipts": ended})
        return code
    shown = [one for one, _ in found if show_all or one.verdict.activity == "stalled"]
    if shown:
        click.echo(tables.verdicts_table(shown))
    else:
        click.echo(f"no agent has stalled ({len(found)} looked at)", err=True)
    output.print_lines(endings_text.receipts_lines(receipts))
    return code


@options.verb("explain")
@options.one_live
@options.on_its_host("explain")
def explain(name: str) -> None:
    """Show why an agent counts as working, idle, waiting, stalled or unknown.

    Each line is one sign and what it says: alive, stalled, neither, or unseen (not readable).

    \b
    knell explain luna
    """
    one = Knell().explain(name)
    output.print_result(tables.verdict_json(one), tables.verdict_text(one))


@options.verb("beat")
@options.agent_argument()
def beat(name: str) -> None:
    """Give one sign of life of the agent that runs this command, or of NAME.

    touch "$KNELL_HEARTBEAT" does the same faster. An agent that has done this once must go on
    doing it: after 2 minutes without it, it counts as stalled.

    \b
    knell beat
    """
    path = Knell().beat(name)
    output.print_result({"ok": True, "heartbeat": path}, "")
