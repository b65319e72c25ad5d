"""`knell skills` installs and removes the skills that knell brings for agents."""

from collections.abc import Sequence
from functools import partial
from typing import TYPE_CHECKING, Any

import click

from knell.api import Knell
from knell.core.errors import BadRequest
from knell.faces.cli import complete, options, output
from knell.faces.cli.installed import action_argument, print_reports, result_word

if TYPE_CHECKING:
    from knell.api.results import SkillReport


@options.verb("skills")
@action_argument
@click.argument("skills", nargs=-1, shell_complete=complete.skills)
@click.option(
    "--kind",
    "kinds",
    multiple=True,
    metavar="KIND",
    shell_complete=complete.with_skills,
    help="claude, codex, gemini or opencode; may be repeated. Default: those that are here.",
)
@options.text(
    "--dir",
    "folder",
    metavar="DIR",
    help="Another directory of skills, such as .claude/skills of a project.",
)
@options.flag(
    "--replace",
    help="Install where something else stands: it is put aside, and uninstall brings it back.",
)
@options.dry_run
def command(
    action: str, skills: tuple[str, ...], *, replace: bool, dry_run: bool,
    **where: Any,
) -> int:  # fmt: skip
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
    verbs = Knell().skills
    if action == "status":
        reports = verbs.status(*skills, **where)
    elif action == "install":
        reports = verbs.install(*skills, **where, replace=replace, dry_run=dry_run)
    else:
        reports = verbs.uninstall(*skills, **where, dry_run=dry_run)
    return print_reports("skills", reports, partial(_print_text, action, dry_run=dry_run))


def _print_text(action: str, reports: "Sequence[SkillReport]", *, dry_run: bool) -> None:
    """By directory; then what was left alone, and why."""
    for folder in dict.fromkeys(_folder(report) for report in reports):
        here = [report for report in reports if _folder(report) == folder]
        title = f"{here[0].kind}: {folder}" if here[0].kind else folder
        words = {
            report.skill: "; ".join((result_word(action, report, dry_run=dry_run), *report.notes))
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
    if action == "install" and not dry_run and any(report.changed for report in reports):
        output.print_error("sessions that start from now on have the skills")


def _folder(report: "SkillReport") -> str:
    return report.path.removesuffix(f"/{report.skill}")
