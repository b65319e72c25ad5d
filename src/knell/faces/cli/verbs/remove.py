"""The verbs that remove what is old or was put outside the package: prune, uninstall."""

import json
import os
import shutil
from collections.abc import Callable, Iterable
from contextlib import suppress
from glob import escape, glob
from typing import TYPE_CHECKING, NamedTuple

import click

from knell.api import Knell
from knell.core.errors import AskerError, BadRequest, Refused
from knell.faces import exits
from knell.faces.cli import options, output
from knell.faces.text.tables import counted
from knell.faces.text.terminal import clock, size

if TYPE_CHECKING:
    from knell.api.results import HookReport, SkillReport
    from knell.core.receipt import Receipt

# What knell makes in its state directory. Anything else there is somebody else's, and stays.
STATE = ("knell.db*", "runs", "sessions", "hooks", "hosts", "*.lock")
COMPLETION = (
    *(".local/share/bash-completion/completions/knell", ".config/fish/completions/knell.fish"),
    *(".zfunc/_knell", ".local/share/zsh/site-functions/_knell"),
)
SHELLS = (".bashrc", ".bash_profile", ".profile", ".zshrc", ".config/fish/config.fish")
MARK = "_KNELL_COMPLETE"


@options.verb("prune")
@click.option(
    "--days", type=float, metavar="DAYS", help="How old; default: the setting retention.days (30)."
)
@click.option(
    "--export", metavar="FILE", help="First write their receipts into a new file, one JSON a line."
)
@options.dry_run
def prune(*, days: float | None, export: str | None, dry_run: bool) -> int:
    """Remove ended runs that are older than the setting retention.days, with what they left.

    The newest run of each agent stays, so that every agent can still be resumed. The watch does
    this too, once a day, after its backup.

    \b
    knell prune --dry-run
    knell prune --days 7 --export receipts.jsonl
    """
    knell = Knell()
    receipts: list[Receipt] = []
    if export:
        wanted = knell.prune(days=days, export=receipts.append, dry_run=True)
        if not dry_run and wanted.runs:
            _write(export, receipts)
    found = knell.prune(days=days, dry_run=dry_run)
    would = "Would remove" if dry_run else "Removed"
    runs = counted(len(found.runs), "run")
    text = f"{would} {runs} that ended before {clock(found.before)} ({size(found.freed / 2**20)})"
    output.print_result(found._asdict(), text)
    for kept in found.kept:
        output.print_error(f"kept {kept}")
    return exits.Exit.DONE


def _write(path: str, receipts: "list[Receipt]") -> None:
    """Nothing is removed unless every receipt is in the file."""
    try:
        with open(path, "x", encoding="utf-8") as file:
            file.writelines(json.dumps(receipt.to_json()) + "\n" for receipt in receipts)
    except OSError as error:
        raise BadRequest(f"cannot write {path}: {error.strerror}", "name a new file") from error


# -- uninstall ---------------------------------------------------------------------------------


class Traces(NamedTuple):
    """What is there to take back."""

    watch: int  # the PID of the watch; 0: none runs
    unit: str
    hooks: tuple[str, ...]  # programs whose settings have them
    skills: tuple[str, ...]  # folders of skills that knell put there
    files: tuple[str, ...]  # completion and manual pages
    by_hand: tuple[str, ...]  # files of the person's own that mention knell's completion
    state: tuple[str, ...]  # with --purge

    @property
    def lines(self) -> list[str]:
        lines = [f"stop the watch, PID {self.watch}"] if self.watch else []
        paths = (self.unit, *self.skills, *self.files, *self.state)
        lines += [f"remove {path}" for path in paths if path]
        return lines + [f"remove knell's hooks from the settings of {one}" for one in self.hooks]


@options.verb("uninstall")
@options.flag("--purge", help="Also remove the state: every record and receipt.")
@options.yes
@options.dry_run
def uninstall(*, purge: bool, yes: bool, dry_run: bool) -> int:
    """Stop the watch, and remove hooks, skills, service file, completion and manual pages.

    Shows what it would do and asks; without a terminal it needs --yes. Agents that run go on. The
    package itself is removed with pip, pipx or uv afterwards.

    \b
    knell uninstall --dry-run
    knell uninstall --purge --yes
    """
    knell = Knell()
    if not dry_run:
        knell.hooks.check_may_uninstall()
    live = len(knell.list())
    if purge and live:
        hint = "knell kill all, or leave out --purge"
        raise Refused(f"{live} agents still run, and their keepers write there", hint)
    found = look(knell, purge=purge)
    text = "\n".join(found.lines) or "nothing to remove"
    output.print_result({"ok": True, "dry_run": dry_run, **found._asdict()}, text)
    for path in found.by_hand:
        output.print_error(f"hint: {path} mentions knell's completion; edit it yourself")
    if dry_run or not found.lines:
        return exits.Exit.DONE
    if not yes and not output.ask_person("Do all of this?"):
        output.print_error("nothing was removed; --yes does it without a question")
        return exits.Exit.FAILED
    return remove(knell, found)


def look(knell: Knell, *, purge: bool) -> Traces:
    """Looks at every place, and changes nothing."""
    shot = knell.snapshot(look=False)
    home = os.path.expanduser("~")
    unit = knell.watch_service(install=False, dry_run=True).path
    pages = sorted(glob(f"{escape(home)}/.local/share/man/man1/knell*.1"))
    packaged = _files_of_package()
    files = [path for name in COMPLETION if _mentions(path := os.path.join(home, name))]
    own = [path for name in SHELLS if _mentions(path := os.path.join(home, name))]
    state = [path for name in STATE for path in glob(f"{escape(shot.home)}/{name}")]
    return Traces(
        watch=shot.watch.pid if shot.watch else 0,
        unit=unit if os.path.lexists(unit) else "",
        hooks=_would_go(knell.hooks.uninstall, "program"),
        skills=_would_go(knell.skills.uninstall, "path"),
        files=tuple(one for one in (*files, *pages) if os.path.realpath(one) not in packaged),
        by_hand=tuple(own),
        state=tuple(sorted(state)) if purge else (),
    )


def _would_go(
    look: "Callable[..., Iterable[HookReport | SkillReport]]", fact: str
) -> tuple[str, ...]:
    """What `fact` is of each that would change."""
    try:
        return tuple(getattr(report, fact) for report in look(dry_run=True) if report.changed)
    except AskerError:  # no program that could have them is here
        return ()


def _files_of_package() -> set[str]:
    """What pip, pipx or uv put there, which goes with the package."""
    from importlib.metadata import PackageNotFoundError, files

    try:
        return {os.path.realpath(str(file.locate())) for file in files("knell") or ()}
    except PackageNotFoundError:
        return set()


def remove(knell: Knell, found: Traces) -> int:
    """Does it, step by step; what fails is said, and the other steps are taken all the same."""
    failed = False
    if found.watch:
        with suppress(Refused):  # it has ended meanwhile
            knell.switch_watch(on=False)
    if found.unit:
        knell.watch_service(install=False)
    for report in knell.hooks.uninstall(*found.hooks) if found.hooks else ():
        failed |= bool(report.error)
        if report.error:
            output.print_error(f"error: {report.program}: {report.error}")
    for report in knell.skills.uninstall() if found.skills else ():
        failed |= bool(report.error)
        if report.error or report.state == "kept":
            output.print_error(f"{report.path}: {'; '.join((report.error, *report.notes))}")
    knell.close()
    for path in (*found.files, *found.state):
        try:
            is_folder = os.path.isdir(path) and not os.path.islink(path)
            (shutil.rmtree if is_folder else os.unlink)(path)
        except FileNotFoundError:
            continue  # the store's own files go when it is closed
        except OSError as error:
            failed = True
            output.print_error(f"error: {path}: {error.strerror}")
    return exits.Exit.FAILED if failed else exits.Exit.DONE


def _mentions(path: str) -> bool:
    try:
        with open(path, encoding="utf-8", errors="replace") as file:
            return MARK in file.read(1_000_000)
    except OSError:
        return False
