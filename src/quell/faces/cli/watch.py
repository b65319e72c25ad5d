"""quell watch."""

import json
from typing import TYPE_CHECKING, Any

import click

from quell.api import Quell
from quell.core.errors import BadRequest
from quell.core.store import Happened
from quell.core.watched import Drift, Told, Trouble
from quell.faces import render, verdict_text
from quell.faces.cli import options
from quell.faces.exits import Exit

if TYPE_CHECKING:
    from quell.life.watch import Round, WatchWish

FOREVER = "watching every {:g} s; stalled agents: {}; Ctrl-C ends the watch and nothing else"


@click.command("watch")
@click.option("--once", is_flag=True, help="One round, then exit.")
@click.option(
    "--stalled",
    "policy",
    type=click.Choice(["report", "stop", "kill"]),
    help="What to do about a stalled agent; default: report.",
)
@click.option(
    "--policy",
    "rules",
    multiple=True,
    metavar="tag:X=kill",
    help="An exception by tag or team; may be given several times.",
)
@click.option("--older-than", type=float, metavar="SECONDS", help="Stalled after; default 120.")
@click.option("--interval", type=float, metavar="SECONDS", help="Between rounds; default 15.")
@click.option("--registry", default="", metavar="FILE", help="The registry file.")
@click.option("--install", is_flag=True, help="Write a service file that starts it at login.")
@click.option("--uninstall", is_flag=True, help="Remove that file.")
@options.dry_run
@options.as_json
def command(*, once: bool, json_wanted: bool, dry_run: bool, registry: str, **given: Any) -> int:
    """Watch over everybody: keep the books true, notice who stalls, start again what should live.

    Takes in what happened while nobody looked, finishes endings that were interrupted, and brings
    the registry file, the store and reality together. Stalled agents are reported, or ended if
    told so; agents spawned with --restart are started again after an unplanned end.
    """
    from quell.life.watch import WatchWish

    install, uninstall = given.pop("install"), given.pop("uninstall")
    wish = WatchWish(**given)
    quell = Quell(registry=registry)
    if install and uninstall:
        raise BadRequest("--install and --uninstall exclude each other", "give one of them")
    if install or uninstall:
        _service(quell, wish, install=install, dry_run=dry_run, json_wanted=json_wanted)
        return Exit.DONE
    if once or dry_run:
        return _one_round(quell.watch_once(wish, dry_run=dry_run), json_wanted=json_wanted)
    settings = quell.world.settings
    shown = (wish.interval or settings.watch_interval, wish.policy or settings.stall_policy)
    told = quell.watch(wish)
    click.echo(FOREVER.format(*shown), err=True)
    for one in told:
        _say(one, json_wanted=json_wanted)
    return Exit.DONE


def _say(one: Told, *, json_wanted: bool) -> None:
    if json_wanted:
        click.echo(json.dumps({"type": type(one).__name__.lower(), **one._asdict()}))
    elif isinstance(one, Happened):
        click.echo(render.event_line(one))
    elif isinstance(one, Drift):
        click.echo(_drift_line(one))
    else:
        click.echo(f"trouble: {render.printable(one.text)}", err=True)


def _one_round(done: "Round", *, json_wanted: bool) -> int:
    """What could not be done makes the round a failed one."""
    troubles = [one.text for one in done.told if isinstance(one, Trouble)]
    code = Exit.FAILED if troubles else Exit.DONE
    if json_wanted:
        drifts = [
            {"class": d.kind, "session": d.session, "what": d.what, "done": d.done}
            for d in done.drifts
        ]
        agents = [verdict_text.as_json(one) for one in done.judged]
        options.print_json({"drift": drifts, "agents": agents, "troubles": troubles})
        return code
    for drift in done.drifts:
        click.echo(_drift_line(drift))
    stalled = [one for one in done.judged if one.verdict.activity == "stalled"]
    if stalled:
        click.echo(verdict_text.rows(stalled))
    for one in done.told:
        if not isinstance(one, Drift):
            _say(one, json_wanted=False)
    if not done.drifts and not troubles:
        click.echo("no drift", err=True)
    return code


def _drift_line(drift: Drift) -> str:
    done = f" → {drift.done}" if drift.done else ""
    return render.printable(f"{drift.kind:<13} {drift.session}: {drift.what}{done}")


def _service(
    quell: Quell, wish: "WatchWish", *, install: bool, dry_run: bool, json_wanted: bool
) -> None:
    done = quell.watch_service(wish, install=install, dry_run=dry_run)
    if json_wanted:
        options.print_json(done._asdict())
        return
    would, did = ("Would write", "Wrote") if install else ("Would remove", "Removed")
    click.echo(f"{would if dry_run else did} {done.path}")
    if dry_run and install:
        click.echo(done.text, nl=False)
    for line in done.next:
        click.echo(f"  {line}")
