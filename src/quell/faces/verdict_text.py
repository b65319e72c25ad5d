"""A verdict on an agent, for reading and as data."""

from typing import TYPE_CHECKING, Any

from quell.faces.render import printable, table

if TYPE_CHECKING:
    from quell.life.stalled import Judged


def text(one: "Judged") -> str:
    """The verdict, then every sign and for what it speaks."""
    verdict = one.verdict
    lines = [f"{one.agent.name}: {verdict.activity}, {verdict.why}"]
    lines += [f"  {evidence.speaks:<8} {evidence.what}" for evidence in verdict.evidence]
    return "\n".join(map(printable, lines))


def rows(found: "list[Judged]") -> str:
    columns = ("NAME", "ACTIVITY", "WHY")
    return table(columns, [(o.agent.name, o.verdict.activity, o.verdict.why) for o in found])


def as_json(one: "Judged") -> dict[str, Any]:
    verdict = one.verdict
    return {
        "name": one.agent.name,
        "run": one.run.id,
        "activity": verdict.activity.value,
        "why": verdict.why,
        "quiet_s": None if verdict.quiet is None else round(verdict.quiet, 1),
        "evidence": [evidence._asdict() for evidence in verdict.evidence],
    }
