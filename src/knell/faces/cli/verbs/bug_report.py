"""`knell bug-report` writes one text file to attach to an issue."""

import os
import sys
from datetime import UTC, datetime

from knell.api import Knell
from knell.core.errors import BadRequest
from knell.faces import exits
from knell.faces.cli import complete, options, output, progress

LIBRARIES = ("click", "ruamel.yaml", "textual", "mcp", "starlette", "uvicorn")


@options.verb("bug-report")
@options.agent_argument(offered=complete.any_agent)
@options.text(
    "--output",
    "-o",
    "path",
    metavar="FILE",
    help="A new file; - prints it. Default: knell-bug-report-TIME.txt, here.",
)
@options.number(
    "--events", "limit", least=0, most=10_000, default=100, help="How many of the last events."
)
@options.flag("--screen", help="With the last screen of the agent's pane.")
def command(name: str, *, path: str, limit: int, screen: bool) -> int:
    """Write what a person who mends knell needs to see into one text file.

    That is: versions, settings that you changed, doctor, the last events, and the receipt and the
    keeper's journal of NAME, an agent or a run, or of the agent that ended last. What looks like a
    secret is hidden; read the file before you attach it. Nothing is sent anywhere.

    \b
    knell bug-report luna
    knell bug-report --output -
    """
    from knell.faces.text.bug_report import report_text

    with progress.show_wait("looking at this machine"):
        report = Knell().bug_report(name, events=limit)
    text = report_text(report, _versions(), os.path.expanduser("~"), screen=screen)
    if path == "-":
        output.print_result({"ok": True, "text": text}, text.rstrip("\n"))
        return exits.Exit.DONE
    made = os.path.abspath(path or f"knell-bug-report-{datetime.now(UTC):%Y%m%d-%H%M%S}.txt")
    _write(made, text)
    output.print_result({"ok": True, "path": made}, made)
    output.print_error("read it before you attach it: names and directories are not hidden")
    return exits.Exit.DONE


def _write(path: str, text: str) -> None:
    """A new private file; nothing is overwritten and no link is followed."""
    flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC
    try:
        with open(os.open(path, flags, 0o600), "w", encoding="utf-8", errors="replace") as file:
            file.write(text)
    except OSError as error:
        why = f"cannot write {path}: {error.strerror}"
        raise BadRequest(why, "name a new file with --output, or --output - to print it") from error


def _versions() -> dict[str, str]:
    import platform
    from importlib.metadata import PackageNotFoundError, version

    from knell import __version__

    found = {
        "knell": __version__,
        "python": f"{platform.python_version()}, {sys.executable}",
        "system": f"{platform.system()} {platform.release()} {platform.machine()}",
        "terminal": os.environ.get("TERM", "") + (" in tmux" if "TMUX" in os.environ else ""),
        "variables": " ".join(sorted(name for name in os.environ if name.startswith("KNELL_"))),
    }
    for name in LIBRARIES:
        try:
            found[name] = version(name)
        except PackageNotFoundError:
            found[name] = "not installed"
    return found
