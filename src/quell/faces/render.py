"""Plain text for people. Understandable without colour, one fact a line."""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from quell.core.process import Member
    from quell.core.run import Orphan
    from quell.core.store import Happened
    from quell.life.show import Story
    from quell.life.status import Status
    from quell.life.view import AgentView

AGENT_COLUMNS = (
    "NAME",
    "KIND",
    "STATE",
    "ACTIVITY",
    "PID",
    "PLACE",
    "TAG",
    "TEAM",
    "SINCE",
    "NOTE",
)
EVENT_FACTS = (
    *("by", "reason", "outcome", "rung", "detail", "pid", "death"),
    *("activity", "was", "why", "policy", "attempt", "due_at", "task_id", "new", "old"),
)
COMMAND_WIDTH = 70


def printable(text: str) -> str:
    """One line that cannot move the cursor: names, reasons and paths come from outside."""
    return text if text.isprintable() else "".join(c if c.isprintable() else "?" for c in text)


def table(columns: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    """Columns as wide as they need to be; a column that is empty everywhere is left out."""
    used = [i for i, _ in enumerate(columns) if any(row[i] for row in rows)]
    lines = [[columns[i] for i in used], *([printable(row[i]) for i in used] for row in rows)]
    widths = [max(len(line[i]) for line in lines) for i in range(len(used))]
    return "\n".join(
        "  ".join(cell.ljust(width) for cell, width in zip(line, widths, strict=True)).rstrip()
        for line in lines
    )


def agent_row(view: "AgentView") -> tuple[str, ...]:
    state = f"{view.state}: {view.outcome}" if view.outcome else view.state
    return (
        view.name,
        view.kind,
        state,
        "" if view.activity == "unknown" else view.activity,
        str(view.pid or ""),
        f"{view.place} {view.pane}".strip(),
        view.tag,
        view.team,
        clock(view.ended_at or view.started_at),
        view.note or (f"by {view.by}: {view.reason}" if view.outcome else ""),
    )


def clock(iso: str) -> str:
    """The time of day in UTC, with the date only where it is not obvious from the row above."""
    return iso[:19].replace("T", " ") + "Z" if iso else ""


def short(command: str, width: int = COMMAND_WIDTH) -> str:
    return command if len(command) <= width else command[: width - 1] + "…"


def status_text(status: "Status") -> str:
    counts = ", ".join(f"{number} {state}" for state, number in sorted(status.states.items()))
    outcomes = ", ".join(f"{number} {word}" for word, number in sorted(status.outcomes.items()))
    lines = [f"agents: {counts or 'none'}" + (f" ({outcomes})" if outcomes else "")]
    if status.agents:
        lines.append(table(AGENT_COLUMNS, [agent_row(view) for view in status.agents]))
    lines.append(orphans_text(status.orphans))
    lines += [f"interrupted: the ending of '{name}'" for name in status.interrupted]
    lines.append(f"watch: {status.watcher or 'nobody watches; quell watch does'}")
    lines.append(f"state: {status.home}")
    return "\n".join(lines)


def orphans_text(orphans: "Sequence[Orphan]") -> str:
    if not orphans:
        return "orphans: none"
    rows = [(str(o.process.pid), o.agent, o.tag, o.why, short(o.command)) for o in orphans]
    return f"orphans: {len(orphans)}\n" + table(("PID", "AGENT", "TAG", "WHY", "COMMAND"), rows)


def foreign_text(members: "Sequence[Member]") -> str:
    if not members:
        return "foreign leftovers: none seen"
    rows = [(str(m.process.pid), m.via, short(m.command)) for m in members]
    return f"foreign leftovers: {len(members)}\n" + table(("PID", "LOOKS LIKE", "COMMAND"), rows)


def story_text(story: "Story") -> str:
    view, agent = story.view, story.agent
    lines = [
        f"{agent.name}: {view.state}" + (f" ({view.outcome})" if view.outcome else ""),
        f"  kind          {agent.kind}",
        f"  directory     {agent.cwd}",
        f"  place         {view.place} {view.pane}".rstrip(),
        f"  run           {view.run}, started {clock(view.started_at)}",
    ]
    facts = (("tag", agent.tag), ("team", agent.team), ("role", agent.role), ("task", agent.task))
    lines += [f"  {word:<13} {value}" for word, value in facts if value]
    if view.outcome:
        lines.append(f"  ended         {clock(view.ended_at)} by {view.by}: {view.reason}")
        if story.receipt and story.receipt.death.how:
            lines.append(f"  died          {story.receipt.death.sentence}")
    lines.append(f"  resume        {story.resume or story.why_not_resumable}")
    if view.note:
        lines.append(f"  note          {view.note}")
    if story.members:
        lines += ["  processes", *("    " + line for line in tree_text(story.members).split("\n"))]
    if story.orphans:
        lines.append(orphans_text(story.orphans))
    earlier = story.runs[1:6]
    lines += [
        f"  earlier run   {run.id} {run.ending.outcome.value if run.ending else '?'}"
        for run in earlier
    ]
    return "\n".join(printable(part) for line in lines for part in line.split("\n"))


def tree_text(members: "Sequence[Member]") -> str:
    """Children below their parents, with how each is known to belong here."""
    by_pid = {member.process.pid: member for member in members}
    lines: list[str] = []

    def add(member: "Member", depth: int) -> None:
        pid = member.process.pid
        lines.append(f"{'  ' * depth}{pid} [{member.via}] {member.state} {short(member.command)}")
        for child in members:
            if child.parent == pid:
                add(child, depth + 1)

    for member in members:
        if member.parent not in by_pid:
            add(member, 0)
    return "\n".join(lines)


def event_line(event: "Happened") -> str:
    data = dict(event.data)
    if data.get("detail") and str(data["detail"]) in str(data.get("death", "")):
        data["detail"] = ""  # the certificate says it too
    if data.get("due_at"):
        data["due_at"] = clock(str(data["due_at"]))
    told = ", ".join(f"{key}={data[key]}" for key in EVENT_FACTS if data.get(key) not in (None, ""))
    return printable(f"{clock(event.at)}  {event.type:<15} {event.agent:<16} {told}".rstrip())


# -- the same as data --------------------------------------------------------------------------


def orphan_json(orphan: "Orphan") -> dict[str, Any]:
    told = orphan._asdict()
    told["pid"] = told.pop("process").pid
    return told


def member_json(member: "Member") -> dict[str, Any]:
    return {
        "pid": member.process.pid,
        "command": member.command,
        "via": member.via,
        "parent": member.parent,
        "state": member.state,
    }


def members_json(story: "Story") -> list[dict[str, Any]]:
    return [member_json(member) for member in story.members]


def story_json(story: "Story") -> dict[str, Any]:
    return {
        **story.view.to_json(),
        "args": story.agent.args,
        "resume": story.resume,
        "why_not_resumable": story.why_not_resumable,
        "processes": members_json(story),
        "orphans": [orphan_json(orphan) for orphan in story.orphans],
        "runs": [
            {
                "run": run.id,
                "state": run.state.value,
                "outcome": run.ending.outcome.value if run.ending else "",
                "started_at": run.started_at,
                "ended_at": run.ended_at,
            }
            for run in story.runs
        ],
        "receipt": story.receipt.to_json() if story.receipt else None,
    }
