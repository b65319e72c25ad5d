"""The table of agents: what `list` and `status` print."""

from collections.abc import Sequence
from typing import TYPE_CHECKING

from knell.faces.text.columns import Column, table
from knell.faces.text.terminal import OF_ACTIVITY, OF_STATE, Paint, since, size, span

if TYPE_CHECKING:
    from knell.api.results import AgentView

JUST_NOW = 1.0  # seconds for which what was seen needs no age
COLUMNS = (
    *(Column("NAME"), Column("KIND", drop=1), Column("STATE", drop=3), Column("ACTIVITY")),
    *(Column("QUIET", 6, right=True), Column("CPU", 8, right=True), Column("MEM", 9, right=True)),
    *(Column("PROC", 10, right=True), Column("PID", 5, right=True), Column("PLACE", drop=2)),
    *(Column("TAG", drop=4), Column("TEAM", drop=7), Column("TASK", drop=11)),
    *(Column("WORKTREE", drop=12), Column("SINCE", drop=13), Column("NOTE")),
)


def agents_table(views: "Sequence[AgentView]") -> str:
    """One row for each agent."""
    paints: dict[str, Paint] = {
        "ACTIVITY": lambda text: OF_ACTIVITY.get(text.partition(" ")[0], ""),
        "STATE": lambda text: OF_STATE.get(text.partition(":")[0], ""),
    }
    return table(COLUMNS, [agent_row(view) for view in views], paints)


def agent_row(view: "AgentView") -> tuple[str, ...]:
    state = f"{view.state}: {view.outcome}" if view.outcome else view.state
    quiet, cpu = view.quiet_s, view.cpu_percent
    return (
        view.name,
        view.kind,
        state,
        last_seen_doing(view),
        "" if quiet is None else span(quiet),
        "" if cpu is None else f"{cpu:.0f}%",
        size(view.memory_mb),
        "" if view.processes is None else str(view.processes),
        str(view.pid or ""),
        place_of(view),
        view.tag,
        view.team,
        view.task,
        view.worktree,
        since(view.ended_at or view.started_at),
        view.note or (f"by {view.by}: {view.reason}" if view.outcome else ""),
    )


def last_seen_doing(view: "AgentView") -> str:
    """Its activity; with its age, unless it was looked at just now."""
    if view.activity_age_s is None:
        return ""
    old = view.activity_age_s > JUST_NOW
    return f"{view.activity} {span(view.activity_age_s)} ago" if old else view.activity


def place_of(view: "AgentView") -> str:
    """The place and the pane in it; with its tmux server, where that is not the default one."""
    pane = f"{view.server}:{view.pane}" if view.server and view.pane else view.pane or view.server
    return f"{view.place} {pane}".strip()


def whereabouts(place: str, pane: str = "") -> str:
    """As a sentence goes on: ` in tmux %3`; or `, headless`, which is no place to be in."""
    return f", {place}" if place == "headless" else f" in {place} {pane}".rstrip()
