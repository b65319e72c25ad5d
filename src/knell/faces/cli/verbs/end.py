"""The verbs that end agents and what they left: kill, stop, delete, reap."""

from typing import TYPE_CHECKING, Any

import click

from knell.api import Knell
from knell.core.codes import Code
from knell.core.errors import BadRequest, Refused
from knell.core.selector import is_number
from knell.faces import exits
from knell.faces.cli import complete, fastpath, options, output
from knell.faces.text import endings as endings_text
from knell.faces.text import tables

if TYPE_CHECKING:
    from knell.core.receipt import Endings

PURGE = "Delete the conversation for good? It can never be resumed."
REFRESH = "Re-running will just refresh the timestamp. Continue? (--yes to skip)"
MODES = ("graceful", "soft", "hard")


@click.command("kill", cls=options.CleanupCommand)
@options.targets
@options.grace
@options.flag("--force", "-f", help="KILL at once, without TERM.")
@options.text("--reason", help="The reason; it is kept in the receipt and the events.")
@options.flag("--strict-pane", help="Exit 1 if a pane could not be closed.")
@options.flag("--dissolve", help="If it leads a team: dissolve the team as well.")
@options.children
@options.cleanup_options
@options.wait
@options.json_given
def kill(targets: tuple[str, ...], **given: Any) -> int:
    """End agents surely, with every process they ever started.

    TARGETS are names, PIDs, pid:N, tag:X, team:X, session:X, %pane, globs, all, or - to read them
    from standard input. knell sends TERM, waits 2 seconds, sends KILL, and closes the pane last.

    \b
    knell kill luna
    knell kill --dry-run tag:night
    knell kill --force 'luna-*'
    """
    return fastpath.kill_agents(targets, **given)


# -- stop, and its older name delete -----------------------------------------------------------

stop_options = options.together(
    options.flag("--graceful", help="Type its exit command first."),
    options.flag("--capture-id", help="Record the conversation's id first."),
    options.text("--reason", help="Why: user_request, api_error, timeout, …"),
    options.flag(
        "--purge-conversation", "purge",
        help="DANGEROUS: also delete the conversation, so that it can never be resumed.",
    ),
    options.text("--session", help="A session in the registry file."),
    options.flag("--force-no-yaml", help="Also if the session has no row in that file."),
    options.registry,
    options.grace,
    options.children,
    options.yes,
    options.dry_run,
    options.wait,
    options.as_json,
)  # fmt: skip


@click.command("stop")
@options.targets
@options.choice(
    "--mode", words=MODES,
    help="graceful (the default): type its exit command first. soft: leave the process"
    " running and list it as an orphan. hard: send signals at once; the outcome is terminated.",
)  # fmt: skip
@options.flag("--disconnect", help="The same as --mode soft.")
@stop_options
def stop(targets: tuple[str, ...], *, disconnect: bool, **given: Any) -> int:
    """End agents politely; their conversations are kept.

    knell types the program's own exit command, waits 3 s, sends TERM, waits 5 s, and sends KILL.
    Inside an agent, without a target, that agent stops itself.

    \b
    knell stop luna
    knell stop team:red --reason "the sprint is over"
    knell stop all --dry-run
    """
    if disconnect and given["mode"] not in ("", "soft"):
        message = f"--disconnect means --mode soft, not --mode {given['mode']}"
        raise BadRequest(message, "give one of them")
    given["mode"] = "soft" if disconnect else given["mode"]
    return stop_agents(targets, "stop", given)


@click.command("delete")
@options.targets
@options.choice("--mode", words=MODES, default="hard", help="As for knell stop.")
@stop_options
def delete(targets: tuple[str, ...], **given: Any) -> int:
    """The older name of stop --mode hard: signals at once, outcome terminated.

    \b
    knell delete luna
    """
    return stop_agents(targets, "delete", given)


def stop_agents(targets: tuple[str, ...], verb: str, given: dict[str, Any]) -> int:
    wait, knell = given.pop("wait"), Knell(registry=given.pop("registry"))
    if fastpath.has_far(targets):
        from knell.faces.cli.far import end_agents

        return end_agents(knell, "stop", targets, given, wait)
    return _stop_here(knell, targets, verb, given)


def _stop_here(knell: Knell, targets: tuple[str, ...], verb: str, given: dict[str, Any]) -> int:
    session = given["session"]
    given |= {"verb": verb, "unlisted": given.pop("force_no_yaml")}
    given["yes"] = given["yes"] or (given["purge"] and output.ask_person(PURGE))
    words = fastpath.all_targets(targets, verb) if targets else ()
    if words and session:
        raise BadRequest("--session already names what to end", f"leave out {', '.join(words)}")
    asked = given["yes"] or given["dry_run"] or output.json_wanted() or not words
    dry: dict[str, Any] = {**given, **fastpath.DRY}
    if not asked and fastpath.ask_declined(words, verb, lambda: knell.stop(*words, **dry), given):
        return exits.Exit.FAILED
    try:
        with fastpath.show_endings(knell, given["grace"], "stop"):
            receipts = knell.stop(*words, **given)
    except Refused as error:
        if error.code is not Code.NOT_IN_REGISTRY or output.json_wanted():
            raise
        click.echo(str(error))  # on stdout, as the script that this verb replaces
        return exits.Exit.FAILED
    if not session:
        return print_stopped(receipts)
    if not output.json_wanted() and receipts.needs_refresh:
        output.print_lines(endings_text.target_lines(receipts.targets, "Stopped"))
        if not output.ask_person(REFRESH):
            click.echo(REFRESH)
            return exits.Exit.DONE
        given["yes"] = True
        receipts = knell.stop(**given)
    code = print_stopped(receipts)
    # The receipt of a row that was left alone names no asker: then nothing was done.
    changed = any(r.by or r.conversation.purged for r in receipts) and not given["dry_run"]
    if not output.json_wanted() and code == exits.Exit.DONE and changed:
        click.echo(f"{verb} complete")
    return code


def print_stopped(receipts: "Endings") -> int:
    """Prints what came of it; a row or a conversation that stayed as it was is a failure."""
    code = exits.of_receipts(receipts)
    if code == exits.Exit.DONE and receipts.incomplete:
        code = exits.Exit.FAILED
    fastpath.print_endings(receipts, "Stopped", code)
    return code


# -- reap --------------------------------------------------------------------------------------


@options.verb("reap")
@click.argument("names", nargs=-1, shell_complete=complete.agents)
@options.flag("--foreign", help="Also list what agents left behind that knell did not start.")
@options.grace
@options.yes
@options.dry_run
def reap(names: tuple[str, ...], *, foreign: bool, yes: bool, **given: Any) -> int:
    """List processes that outlived their agent; with --yes, end them. NAMES: only of these agents.

    With --foreign, what agents left that knell did not start is listed too. Those processes are
    ended only if you name their PIDs: knell reap --foreign PID… --yes

    \b
    knell reap
    knell reap --yes
    knell reap --foreign 41207 --yes
    """
    knell = Knell()
    if foreign and names:
        if not yes and not given["dry_run"]:
            raise BadRequest("ending foreign processes needs --yes", "add --yes if you mean it")
        return _end_foreign(knell, names, dry_run=given["dry_run"])
    reaped = knell.reap(*names, end=yes, **given)
    strangers = knell.foreign() if foreign else []
    receipts = [end.receipt for end in reaped.ends]
    code = exits.of_receipts(receipts)
    if output.json_wanted():
        document: dict[str, Any] = {
            "ok": code == 0,
            "orphans": tables.processes_json(reaped.orphans),
            "receipts": [receipt.to_json() for receipt in receipts],
            "foreign": tables.processes_json(strangers),
        }
        output.print_json(document)
        return code
    if receipts:
        output.print_lines(endings_text.receipts_lines(receipts))
    else:
        click.echo(tables.orphans_text(reaped.orphans))
        if reaped.orphans:
            click.echo("hint: end them with knell reap --yes", err=True)
    if foreign:
        click.echo(tables.foreign_text(strangers))
    return code


def _end_foreign(knell: Knell, names: tuple[str, ...], *, dry_run: bool) -> int:
    if not all(is_number(name) for name in names):
        raise BadRequest("with --foreign, name PIDs", "knell reap --foreign lists them")
    receipts = [one.receipt for one in knell.reap_foreign(*map(int, names), dry_run=dry_run)]
    code = exits.of_receipts(receipts)
    if output.json_wanted():
        output.print_json({"ok": code == 0, "receipts": [one.to_json() for one in receipts]})
    else:
        output.print_lines(endings_text.receipts_lines(receipts))
    return code
