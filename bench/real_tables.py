"""The table of real agents: what Claude Code leaves behind, without knell and under it."""

from collections.abc import Sequence
from typing import Any

from summary import Results
from tables import NONE, table, wrapped

REAL = """
## Real agents

Claude Code {version} from npm, in a tmux of its own, with a stand-in for its model and one MCP
server. A *docile* server leaves when its input ends. A *stubborn* one minds neither TERM, INT and
HUP nor the end of its input, and has a child in a session of its own, as a server has that opens a
browser. Medians of {trials}; left: the most in any of them.
"""


def real_part(results: Results) -> str:
    found = results.get("real")
    if not found:
        return ""
    if found.get("unavailable") or not found.get("rows"):
        why = found.get("unavailable") or "no rows"
        return f"## Real agents\n\nNot measured: {why}.\n"
    trials = {one["trials"] for row in found["rows"] for one in sides(row) if "trials" in one}
    often = f"{max(trials)} trials" if trials else "the trials"
    head = wrapped(REAL.format(version=found.get("version", ""), trials=often))
    same = [row for row in found["rows"] if row.get("without")]
    verbs = [row for row in found["rows"] if not row.get("without")]
    parts = [head, same_table(same)]
    parts += ["### knell's verbs on it\n", verbs_table(verbs)] if verbs else []
    return "\n".join(parts)


def sides(row: dict[str, Any]) -> list[dict[str, Any]]:
    return [one for one in (row.get("without"), row.get("with")) if one]


def same_table(rows: Sequence[dict[str, Any]]) -> str:
    """The same end, twice."""
    head = ["what happens", "server", "without knell: left", "Claude gone", "all gone"]
    head += ["under knell: left", "Claude gone", "all gone", "rungs climbed"]
    return table(
        head, ([row["end"], row["server"], *side(row["without"]), *under(row)] for row in rows)
    )


def verbs_table(rows: Sequence[dict[str, Any]]) -> str:
    head = ["verb", "server", "left", "Claude gone", "all gone", "rungs climbed"]
    return table(head, ([row["end"], row["server"], *under(row)] for row in rows))


def under(row: dict[str, Any]) -> list[str]:
    found = row.get("with")
    return [*side(found), (found or {}).get("rungs") or ""]


def side(found: dict[str, Any] | None) -> list[str]:
    if not found or found.get("left") is None:
        return [NONE] * 3
    gone = "**never**" if found.get("gone_s") is None else seconds(found["gone_s"])
    return [left_text(found), seconds(found.get("agent_s")), gone]


def left_text(found: dict[str, Any]) -> str:
    if not found["left"]:
        return "0"
    which = ", ".join(found.get("which") or ())
    return f"**{found['left']}**: {which}" if which else f"**{found['left']}**"


def seconds(value: float | None) -> str:
    return NONE if value is None else f"{value:.1f} s"
