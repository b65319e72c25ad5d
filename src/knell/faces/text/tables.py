"""One agent, processes, verdicts and events as text for people: one fact a line."""

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Any

from knell.core.codes import Code
from knell.faces.text.agents import agents_table
from knell.faces.text.columns import table
from knell.faces.text.terminal import clock, fitted, printable, since, size

if TYPE_CHECKING:
    from knell.api.results import Diagnosis, Snapshot, Story
    from knell.core.ports.store import Event
    from knell.core.process import FoundProcess
    from knell.core.run import Orphan
    from knell.core.stall.verdict import Judgement
    from knell.core.watch_report import Drift

EVENT_FACTS = (
    *("by", "reason", "outcome", "rung", "detail", "pid", "death"),
    *("activity", "was", "now", "why", "policy", "attempt", "due_at", "task_id", "new", "old"),
    *("task", "team", "path", "branch"),
)
SIGNS = {"for": "alive", "against": "stalled"}  # what a sign says; others as they are
SOURCES = {  # by whose word a conversation is known: core/conversation.py
    "given": "chosen at the start",
    "noted": "noted by the program",
    "told": "told by the program",
    "held": "its file is open in a process of the agent",
    "printed": "printed by the program as it left",
}
COMMAND_WIDTH = 70
TREE_WIDTH = 76  # of a line of a tree: four less than a narrow terminal has


def counted(count: int, what: str) -> str:
    return f"{count} {what}{'' if count == 1 else 's'}"


def short(command: str, width: int = COMMAND_WIDTH) -> str:
    return command if len(command) <= width else command[: width - 1] + "…"


def status_text(status: "Snapshot") -> str:
    # What has ended comes last, so that the brackets with how it ended stand beside it.
    states = sorted(status.states.items(), key=lambda one: (one[0] == "ended", one[0]))
    counts = ", ".join(f"{number} {state}" for state, number in states)
    outcomes = ", ".join(f"{number} {word}" for word, number in sorted(status.outcomes.items()))
    lines = [f"agents: {counts or 'none'}" + (f" ({outcomes})" if outcomes else "")]
    if status.agents:
        lines.append(agents_table(status.agents))
    lines.append(orphans_text(status.orphans))
    lines += [f"interrupted: the ending of '{name}'" for name in status.interrupted]
    lines += [f"drift: {drift_line(drift)}" for drift in status.drifts]
    watch = status.watch
    watched = f"PID {watch.pid}, last round {since(watch.round_at)}" if watch else ""
    lines.append(f"watch: {watched or 'not running; start it: knell watch'}")
    disk = f" ({size(status.runs_bytes / 2**20)} in runs)" if status.runs_bytes else ""
    lines.append(printable(f"state: {status.home}{disk}"))
    return "\n".join(lines)


def drift_line(drift: "Drift") -> str:
    done = f" → {drift.done}" if drift.done else ""
    return printable(f"{drift.kind:<13} {drift.session}: {drift.what}{done}")


def drift_json(drift: "Drift") -> dict[str, str]:
    facts = drift._asdict()
    return {"class": facts.pop("kind"), **facts}


def orphans_text(orphans: "Sequence[Orphan]") -> str:
    rows = [(str(o.process.pid), o.agent, o.tag, o.why, short(o.command)) for o in orphans]
    return titled_table("orphans", ("PID", "AGENT", "TAG", "WHY", "COMMAND"), rows)


def foreign_text(members: "Sequence[FoundProcess]") -> str:
    rows = [(str(m.process.pid), m.via, short(m.command)) for m in members]
    title = "left by agents that knell did not start"
    return titled_table(title, ("PID", "LOOKS LIKE", "COMMAND"), rows)


def titled_table(title: str, heads: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    return f"{title}: {len(rows)}\n" + table(heads, rows) if rows else f"{title}: none"


def diagnosis_text(diagnosis: "Diagnosis") -> str:
    lines: list[str] = []
    for finding in diagnosis.findings:
        word = "ok " if finding.ok else "BAD" if finding.broken else "no "
        lines.append(printable(f"{word} {finding.what:<12} {finding.text}"))
        lines += [printable(f"    {finding.hint}")] if finding.hint else []
    return "\n".join([*lines, orphans_text(diagnosis.orphans), foreign_text(diagnosis.foreign)])


def story_text(story: "Story") -> str:
    view, agent = story.view, story.agent
    lines = [
        f"{agent.name}: {view.state}" + (f" ({view.outcome})" if view.outcome else ""),
        f"  kind          {agent.kind}",
        f"  directory     {agent.cwd}",
        f"  place         {view.place} {view.pane}".rstrip(),
    ]
    if view.run:
        lines.append(f"  run           {view.run}, started {clock(view.started_at)}")
    facts = (("tag", agent.tag), ("team", agent.team), ("role", agent.role), ("task", agent.task))
    lines += [f"  {word:<13} {value}" for word, value in facts if value]
    if view.outcome:
        lines.append(f"  ended         {clock(view.ended_at)} by {view.by}: {view.reason}")
        if story.receipt and story.receipt.death.how:
            lines.append(f"  died          {story.receipt.death.sentence}")
    known = story.conversation
    if known.id:
        since = f", since {clock(known.since)}" if known.since else ""
        source = SOURCES.get(known.source, known.source)
        lines.append(f"  conversation  {known.id} ({source}{since})")
    lines.append(f"  resume        {known.resume or known.why}")
    if view.note:
        lines.append(f"  note          {view.note}")
    if story.members:
        lines += ["  processes", *("    " + line for line in tree_text(story.members).split("\n"))]
    lines = [printable(line) for line in lines]
    if story.orphans:
        lines.append(orphans_text(story.orphans))  # printable already, and its head is coloured
    for run in story.runs[1:6]:
        how = run.ending.outcome.value if run.ending else "?"
        lines.append(printable(f"  earlier run   {run.id} {how}"))
    return "\n".join(lines)


def no_processes_text(story: "Story") -> str:
    """Why a tree is empty: nothing lives, or nothing could be seen."""
    name, view = story.agent.name, story.view
    if view.note_code == Code.COULD_NOT_LOOK:
        return f"'{name}': {view.note}"
    ended = "has ended: it " if view.outcome else ""
    return f"'{name}' {ended}has no live process"


def tree_text(members: "Sequence[FoundProcess]") -> str:
    """Children below their parents, with how each is known to belong here."""
    by_pid = {member.process.pid: member for member in members}
    lines: list[str] = []

    def add(member: "FoundProcess", depth: int) -> None:
        pid = member.process.pid
        start = f"{'  ' * depth}{pid} [{member.via}] {member.state} "
        lines.append(printable(start + short(member.command, max(20, TREE_WIDTH - len(start)))))
        for child in members:
            if child.parent == pid:
                add(child, depth + 1)

    for member in members:
        if member.parent not in by_pid:
            add(member, 0)
    return "\n".join(lines)


def verdict_text(one: "Judgement") -> str:
    """The verdict on an agent, then every sign and what it says."""
    verdict = one.verdict
    lines = [f"{one.agent.name}: {verdict.activity}, {verdict.why}"]
    signs = [(SIGNS.get(sign.speaks, sign.speaks), sign.what) for sign in verdict.evidence]
    lines += [f"  {word:<8} {what}" for word, what in signs]
    return "\n".join(map(printable, lines))


def verdicts_table(found: "Sequence[Judgement]") -> str:
    rows = [(one.agent.name, one.verdict.activity, one.verdict.why) for one in found]
    return table(("NAME", "ACTIVITY", "WHY"), rows)


def event_widths(events: "Sequence[Event]") -> tuple[int, int]:
    """The columns that the words of these events need."""
    types, agents = [len(one.type) for one in events], [len(one.agent) for one in events]
    return max([15, *types]), max([8, *agents])


def event_line(event: "Event", widths: tuple[int, int] = (15, 16)) -> str:
    """One event. Lists give the widths of their longest words, so that no column shifts."""
    data = dict(event.data)
    if isinstance(data.get("death"), dict):  # of a receipt, which has more than the sentence
        data["death"] = data["death"].get("sentence")
    if data.get("detail") and str(data["detail"]) in str(data.get("death", "")):
        data["detail"] = ""  # the sentence about its death says it too
    if data.get("due_at"):
        data["due_at"] = clock(str(data["due_at"]))
    facts = ", ".join(
        f"{key}={data[key]}" for key in EVENT_FACTS if data.get(key) not in (None, "")
    )
    words = f"{event.type:<{widths[0]}} {event.agent:<{widths[1]}} {facts}"
    return fitted(printable(f"{clock(event.at)}  {words}".rstrip()))


# -- the same as data --------------------------------------------------------------------------


def processes_json(found: "Iterable[Orphan | FoundProcess]") -> list[dict[str, Any]]:
    facts = (one._asdict() for one in found)
    return [{"pid": one.pop("process").pid, **one} for one in facts]


def shown_args(args: "Sequence[str]") -> list[str]:
    """The arguments without secrets, which may stand behind the option that names them."""
    from knell.core.redact import redacted

    return redacted("\n".join(arg.replace("\n", " ") for arg in args)).split("\n") if args else []


def verdict_json(one: "Judgement") -> dict[str, Any]:
    verdict = one.verdict
    return {
        "name": one.agent.name,
        "run": one.run.id,
        "activity": verdict.activity.value,
        "why": verdict.why,
        "quiet_s": None if verdict.quiet is None else round(verdict.quiet, 1),
        "evidence": [evidence._asdict() for evidence in verdict.evidence],
    }


def story_json(story: "Story") -> dict[str, Any]:
    return {
        **story.view.to_json(),
        "args": shown_args(story.agent.args),
        "conversation_source": story.conversation.source,
        "conversation_since": story.conversation.since,
        "resume": story.conversation.resume,
        "why_not_resumable": story.conversation.why,
        "processes": processes_json(story.members),
        "orphans": processes_json(story.orphans),
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
