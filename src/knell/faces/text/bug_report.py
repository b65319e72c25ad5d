"""A bug report as one text, in which secrets are hidden and the home directory is `~`."""

from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any, cast

from knell.core.redact import redacted
from knell.faces.text.terminal import printable

if TYPE_CHECKING:
    from knell.api.results import BugReport, Diagnosis
    from knell.core.ports.store import Event

HEAD = """\
knell bug report, {at}
What looks like a secret is hidden, and your home directory is written as ~. Names, directories and
command lines are not hidden: read this file before you give it to anybody."""


def report_text(
    report: "BugReport", versions: Mapping[str, str], home: str, *, screen: bool = False
) -> str:
    """Nothing is cut: half a secret has no shape by which it could be known."""
    receipt = report.receipt if isinstance(report.receipt, str) else report.receipt.to_json()
    if isinstance(receipt, dict) and not screen:
        receipt["screen"] = "left out; --screen puts it in" if receipt.get("screen") else ""
    diagnosis = report.diagnosis
    parts = {
        "versions": list(_lines(versions)),
        "settings that were changed": list(_lines(report.settings)) or ["none"],
        "doctor": [diagnosis] if isinstance(diagnosis, str) else list(_findings(diagnosis)),
        "last events": list(_events(report.events)) or ["none"],
        "receipt": list(_lines(receipt)),
        "journal of its keeper": redacted(report.journal).split("\n"),
    }
    whole = [HEAD.format(at=report.at)]
    whole += ["\n".join([f"\n== {title}", *lines]) for title, lines in parts.items()]
    text = redacted("\n".join(whole))
    text = text.replace(home, "~") if len(home) > 1 else text
    return "\n".join(printable(line) for line in text.split("\n")).rstrip() + "\n"


def _findings(diagnosis: "Diagnosis") -> Iterator[str]:
    for finding in diagnosis.findings:
        word = "ok " if finding.ok else "BAD" if finding.broken else "no "
        yield f"{word} {finding.what}: {redacted(finding.text)}"
    for title, found in (("orphans", diagnosis.orphans), ("left by others", diagnosis.foreign)):
        yield f"{title}: {len(found)}"
        yield from (f"  {one.process.pid} {redacted(one.command)}" for one in found)


def _events(events: "Sequence[Event] | str") -> Iterator[str]:
    if isinstance(events, str):
        yield events
        return
    for event in events:
        facts = "; ".join(_lines(event.data))
        yield f"{event.at} {event.type} {event.agent} {facts}".rstrip()


def _lines(value: object, path: str = "") -> Iterator[str]:
    """`where.it.is: value`, one a line; words of a list stand beside each other, as they were
    typed, so that a secret still stands behind the option that names it."""
    if isinstance(value, Mapping):
        for key, one in cast("Mapping[Any, object]", value).items():
            yield from _lines(one, f"{path}.{key}" if path else str(key))
    elif isinstance(value, list | tuple):
        found = cast("Sequence[object]", value)
        if all(isinstance(one, str) for one in found):
            yield from _lines(" ".join(cast("Sequence[str]", found)), path)
        else:
            for index, one in enumerate(found):
                yield from _lines(one, f"{path}[{index}]")
    elif value not in (None, "", ()):
        text = redacted(str(value))
        yield f"{path}: {text}" if path else text
