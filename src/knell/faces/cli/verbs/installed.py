"""The verbs that install what knell brings for other programs: hooks, skills."""

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

import click

from knell.api import Knell
from knell.core.errors import BadRequest
from knell.faces.cli import complete, options, output
from knell.faces.exits import Exit

if TYPE_CHECKING:
    from knell.api.results import HookReport, SkillReport

action_argument = click.argument(
    "action", type=click.Choice(("install", "uninstall", "status")), default="status"
)


@options.verb("hooks")
@action_argument
@click.argument("programs", nargs=-1, shell_complete=complete.with_hooks)
@options.text("--settings", metavar="FILE", help="The settings file; default: the program's own.")
@options.dry_run
def hooks(action: str, programs: tuple[str, ...], *, settings: str, dry_run: bool) -> int:
    """Install or remove heartbeat hooks in the settings of agent programs; default: of all here.

    The hooks touch the heartbeat of agents that knell started, and do nothing for other agents.
    Other settings stay as they are. Uninstalling restores the file byte for byte, unless it was
    edited in the meantime.

    \b
    knell hooks status
    knell hooks install claude --dry-run
    knell hooks uninstall
    """
    where = {"settings": settings}
    return _carry_out("hooks", _print_hooks, action, programs, where, dry_run=dry_run)


def _print_hooks(action: str, reports: "Sequence[HookReport]", *, dry_run: bool) -> None:
    for report in reports:
        if report.error:
            output.print_trouble(f"{report.program}: {report.error}", report.hint)
            continue
        word = _result_word(action, report, dry_run=dry_run)
        click.echo(f"{report.program:<7} {word:<15} {report.path}")
        for note in report.notes:
            click.echo(f"        note: {note}")
        if report.diff:
            click.echo(report.diff)


@options.verb("skills")
@action_argument
@click.argument("skills", nargs=-1, shell_complete=complete.skills)
@click.option(
    "--kind", "kinds", multiple=True, metavar="KIND", shell_complete=complete.with_skills,
    help="claude, codex, gemini or opencode; may be repeated. Default: those that are here.",
)  # fmt: skip
@options.text(
    "--dir", "folder", metavar="DIR",
    help="Another directory of skills, such as .claude/skills of a project.",
)  # fmt: skip
@options.flag(
    "--replace",
    help="Install where something else stands: it is put aside, and uninstall brings it back.",
)
@options.dry_run
def skills_verb(
    action: str, skills: tuple[str, ...], *, replace: bool, dry_run: bool, **where: Any
) -> int:
    """Install or remove the skills that knell brings, where agents look for skills; default: all.

    A folder that knell did not put there, or that you changed, is left alone and named.
    Uninstalling leaves every other byte as it was.

    \b
    knell skills
    knell skills install --kind claude --dry-run
    knell skills install knell-end-agents --dir .claude/skills
    knell skills uninstall
    """
    if where["folder"] and where["kinds"]:
        raise BadRequest("--dir names the directory itself", "leave out --kind")
    if replace and action != "install":
        raise BadRequest("--replace is for install", f"leave it out: knell skills {action}")
    if action == "install":
        where["replace"] = replace
    return _carry_out("skills", _print_skills, action, skills, where, dry_run=dry_run)


def _print_skills(action: str, reports: "Sequence[SkillReport]", *, dry_run: bool) -> None:
    """By directory; then what was left alone, and why."""
    for folder in dict.fromkeys(_folder(report) for report in reports):
        here = [report for report in reports if _folder(report) == folder]
        title = f"{here[0].kind}: {folder}" if here[0].kind else folder
        words = {
            report.skill: "; ".join((_result_word(action, report, dry_run=dry_run), *report.notes))
            for report in here
        }
        if len(here) > 1 and len({*words.values()}) == 1:
            output.print_line(f"{title}: all {len(here)} {words[here[0].skill]}")
            continue
        output.print_line(title)
        width = max(map(len, words))
        for skill, text in words.items():
            output.print_line(f"  {skill:<{width}}  {text}")
    failed = [report for report in reports if report.error]
    for report in failed:
        output.print_error(f"error: {report.error}")
    for hint in dict.fromkeys(report.hint for report in failed if report.hint):
        output.print_error(f"hint: {hint}")


def _folder(report: "SkillReport") -> str:
    return report.path.removesuffix(f"/{report.skill}")


# -- of both -----------------------------------------------------------------------------------


def _carry_out(
    what: str, show: Callable[..., None], action: str, names: Sequence[str],
    given: dict[str, Any], *, dry_run: bool,
) -> int:  # fmt: skip
    """The exit code: one that failed is a failure of the whole."""
    if action != "status":  # which changes nothing, so that it knows no dry run
        given["dry_run"] = dry_run
    reports = getattr(getattr(Knell(), what), action)(*names, **given)
    code = Exit.FAILED if any(report.error for report in reports) else Exit.DONE
    if output.json_wanted():
        listed = "programs" if what == "hooks" else what  # hooks are told by program
        documents = [report._asdict() for report in reports]
        output.print_json({"ok": code == Exit.DONE, listed: documents})
        return code
    show(action, reports, dry_run=dry_run)
    if action == "install" and not dry_run and any(report.changed for report in reports):
        output.print_error(f"sessions that start from now on have the {what}")
    return code


def _result_word(action: str, report: "HookReport | SkillReport", *, dry_run: bool) -> str:
    if not report.changed:
        return report.state
    if dry_run:
        return f"would {action}"
    return "removed" if action == "uninstall" else report.state
