"""What happened while the person slept, as text and as one self-contained page."""

from typing import TYPE_CHECKING

from knell.faces.text.receipt import html_page, safe
from knell.faces.text.tables import counted
from knell.faces.text.terminal import clock, fitted, in_full, printable

if TYPE_CHECKING:
    from knell.api.results import Night

TITLES = {
    "stalls": "stalls", "restarts": "restarts", "endings": "endings",
    "survivors": "endings that failed", "tasks": "tasks handed back", "rescued": "work rescued",
}  # fmt: skip
SLEPT = "While you slept"
CALM = "nothing happened"
CUT = "so much happened that the beginning is not shown"


def night_text(night: "Night") -> str:
    agents = counted(night.running, "agent")
    lines = [f"since {clock(night.since)}: {agents} running now"]
    for name, found in night.subjects.items():
        if found:
            lines.append(f"{TITLES[name]}: {len(found)}")
            lines += [f"  {clock(one.at)}  {one.agent}  {one.what}" for one in found]
    lines += [CALM] if len(lines) == 1 else []
    lines += [] if night.complete else [CUT]
    return "\n".join(fitted(printable(line)) for line in lines)


def night_page(night: "Night") -> str:
    """Everything that came from outside is escaped."""
    agents = counted(night.running, "agent")
    span = f"{in_full(night.since)} to {in_full(night.until)}"
    parts = [f"<h1>{SLEPT}</h1><p>{safe(span)}; {agents} running now</p>"]
    for name, found in night.subjects.items():
        rows = "".join(
            f"<tr><td>{safe(in_full(one.at))}</td><td>{safe(one.agent)}</td>"
            f"<td>{safe(one.what)}</td></tr>"
            for one in found
        )
        if rows:
            parts.append(f"<h2>{TITLES[name].capitalize()}: {len(found)}</h2><table>{rows}</table>")
    if not any(night.subjects.values()):
        parts.append(f"<p>{CALM}</p>")
    parts += [] if night.complete else [f"<p>{CUT}</p>"]
    return html_page(SLEPT, parts)
