"""What each line of `top` says: the headline, the columns, one row an agent. Pure: no terminal."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import NamedTuple

from knell.api.results import AgentView, EndingProgress, Receipt, Snapshot
from knell.faces.text.agents import last_seen_doing, place_of
from knell.faces.text.endings import progress_words, proof_words, way_back
from knell.faces.text.terminal import columns, cut, printable, since, size, span

GAP = 2
LEAST_NAME = 8
SOME_NAME = 12  # columns that names keep where others need the room
FRESH = 5.0  # seconds for which a look needs no age: the next one usually comes sooner
BAR = 8  # columns
MEASURED = 2000  # rows
DOING = {"killed": "killing", "stopped": "stopping"}
FRONT = ("stalled", "unresponsive", "waiting")  # a person should look at these
ORDER = (*FRONT, "working", "idle", "unknown")


class TopColumn(NamedTuple):
    title: str
    width: int  # at most
    text: Callable[[AgentView], str]
    right: bool = False
    shorten: Callable[[str, int], str] = cut
    drop: int = 0  # where the terminal is too narrow, the highest is left out first; 0: never


def plain(field: str) -> Callable[[AgentView], str]:
    return lambda view: str(getattr(view, field) or "")


def _quiet(view: AgentView) -> str:
    """`40s`, `2m14`, `3h`: minutes with their seconds, because it is watched as it grows."""
    seconds, minute, hour = view.quiet_s, 60, 3600
    if seconds is None or not minute <= seconds < hour:
        return "" if seconds is None else span(seconds)
    return f"{seconds // minute:.0f}m{seconds % minute:02.0f}"


def _memory(view: AgentView) -> str:
    return size(view.memory_mb)


def _percent(view: AgentView) -> str:
    return "" if view.cpu_percent is None else f"{view.cpu_percent:.0f}%"


def activity(view: AgentView) -> str:
    """What the agent does; in capitals where a person should look."""
    if view.state in ("stopping", "spawning"):
        return view.state
    fresh = view.activity_age_s is not None and view.activity_age_s <= FRESH
    text = view.activity if fresh else last_seen_doing(view) or "unknown"
    return text.replace("stalled", "STALLED", 1)


def short_name(name: str, width: int) -> str:
    """Cut in its middle: long names of agents that belong together differ at their end."""
    end = width // 3
    if len(name) <= width or not end or not name.isascii():
        return cut(name, width)
    return cut(name, width - end) + name[-end:]


COLUMNS = (
    TopColumn("NAME", 24, plain("name"), shorten=short_name),
    TopColumn("KIND", 9, plain("kind"), drop=3),
    TopColumn("ACTIVITY", 18, activity),
    TopColumn("QUIET", 6, _quiet, right=True),
    TopColumn("CPU", 5, _percent, right=True, drop=5),
    TopColumn("MEM", 5, _memory, right=True, drop=6),
    TopColumn("PROC", 4, plain("processes"), right=True, drop=7),
    TopColumn("PLACE", 20, place_of, drop=1),
    TopColumn("TAG", 10, plain("tag"), drop=4),
    TopColumn("TASK", 12, plain("task"), drop=8),
    TopColumn("WORKTREE", 24, plain("worktree"), drop=9),
)


class EndedAgent(NamedTuple):
    """An agent that has ended, with its proof as far as there is one."""

    view: AgentView
    receipt: Receipt | None = None


def key_of(view: AgentView) -> str:
    """By which its row is known: the run, or the name of one that only the registry file has."""
    return view.run or f"name:{view.name}"


def aged(view: AgentView, seconds: float) -> AgentView:
    """The row as it is some seconds after it was looked at."""
    seen, quiet = view.activity_age_s, view.quiet_s
    return view._replace(
        activity_age_s=None if seen is None else seen + seconds,
        quiet_s=None if quiet is None else quiet + seconds,
    )


class TopRow(NamedTuple):
    """One line below the titles. `tone` says how it is painted."""

    key: str
    name: str
    tone: str  # an activity, or: ended, stopping, spawning
    text: str
    live: bool


class Layout(NamedTuple):
    """The columns that fit, each with its width."""

    columns: tuple[TopColumn, ...]
    widths: tuple[int, ...]

    def line(self, cells: Sequence[str]) -> str:
        parts = [
            _padded(column.shorten(cell, width), width, right=column.right)
            for cell, column, width in zip(cells, self.columns, self.widths, strict=True)
        ]
        return (" " * GAP).join(parts).rstrip()

    @property
    def titles(self) -> str:
        return self.line([column.title for column in self.columns])


def _padded(text: str, width: int, *, right: bool) -> str:
    shown = cut(text, width)
    blanks = " " * (width - columns(shown))
    return blanks + shown if right else shown + blanks


def layout(views: Sequence[AgentView], width: int, wanted: Sequence[TopColumn] = COLUMNS) -> Layout:
    """As wide as the texts need, and at most as the terminal is. Where there are thousands, the
    first of them say how wide: whatever is wider is cut."""
    shown = views[:MEASURED]
    texts = {one.title: [one.text(view) for view in shown] for one in wanted}
    used = [one for one in wanted if one.drop == 0 or any(texts[one.title])]
    widths = {
        one.title: min(one.width, max([len(one.title), *map(columns, texts[one.title])]))
        for one in used
    }

    def needed() -> int:
        return sum(widths[one.title] for one in used) + GAP * (len(used) - 1)

    if needed() > width:  # a few long names are cut before a column is dropped
        widths["NAME"] = min(widths["NAME"], max(SOME_NAME, most_names(texts["NAME"])))
    while needed() > width and any(one.drop for one in used):
        used.remove(max(used, key=lambda one: one.drop))
    if needed() > width:
        widths["NAME"] = max(LEAST_NAME, widths["NAME"] - (needed() - width))
    # Room that is left goes to the names of those that live; rows of ended ones fill it by words.
    longest = max([columns(view.name) for view in shown if view.state != "ended"], default=0)
    widths["NAME"] += max(0, min(width - needed(), longest - widths["NAME"]))
    return Layout(tuple(used), tuple(widths[one.title] for one in used))


def most_names(names: Sequence[str]) -> int:
    """Columns in which four of five names fit."""
    found = sorted(map(columns, names)) or [0]
    return found[(len(found) - 1) * 4 // 5]


def live_row(view: AgentView, form: Layout, progress: str = "") -> TopRow:
    """`progress`: how far its ending is, where one is under way."""
    tone = view.state if view.state in ("stopping", "spawning") else view.activity
    if progress:
        text = f"{_head(view, form)}  {progress}"
        return TopRow(key_of(view), view.name, tone, text, live=True)
    cells = [printable(column.text(view)) for column in form.columns]
    return TopRow(key_of(view), view.name, tone, form.line(cells), live=True)


def ending_words(one: EndingProgress, limits: Mapping[str, float]) -> str:
    """`killing  ██████░░ TERM 1.4/2 s  3 of 5 gone`."""
    full = round(BAR * one.gone / one.total) if one.total else 0
    bar = "█" * full + "░" * (BAR - full)
    return f"{DOING.get(one.outcome, 'ending')}  {bar} {progress_words(one, limits)}"


def ended_row(one: EndedAgent, form: Layout) -> TopRow:
    """How it ended, the proof, and the key that brings it back."""
    view, receipt = one
    told = f"{view.outcome or 'ended'} {since(view.ended_at)}"
    if receipt is not None and receipt.proof:
        told += f"   {proof_words(receipt)}"
    if receipt is None or any(way_back(receipt)):
        told += "   r=resume"
    text = f"{_head(view, form)}  {printable(told)}"
    return TopRow(key_of(view), view.name, "ended", text, live=False)


def _head(view: AgentView, form: Layout) -> str:
    """Who it is, as the first columns of a row say it."""
    widths = dict(zip((one.title for one in form.columns), form.widths, strict=True))
    width = widths.get("NAME", LEAST_NAME)
    parts = [(short_name(printable(view.name), width), width), (view.kind, widths.get("KIND", 6))]
    if "HOST" in widths:
        parts.insert(0, (view.host, widths["HOST"]))
    return "  ".join(_padded(printable(text), width, right=False) for text, width in parts)


def ordered(views: Iterable[AgentView]) -> list[AgentView]:
    """Agents that a person should look at first, then by name, so that working rows stay put."""
    rank = {word: number for number, word in enumerate(FRONT)}
    return sorted(views, key=lambda v: (rank.get(v.activity, len(FRONT)), v.name))


def matches(view: AgentView, words: str, host: str = "") -> bool:
    """Whether every word of a filter is somewhere in the row. `host`: where hosts are shown."""
    text = " ".join(
        (host, view.name, view.kind, view.state, view.activity, view.outcome, place_of(view),
         view.tag, view.team, view.task, view.worktree, view.cwd)
    ).lower()  # fmt: skip
    return all(word in text for word in words.lower().split())


def count_words(live: Sequence[AgentView]) -> str:
    """`2 working 1 STALLED`."""
    counts = {word: sum(view.activity == word for view in live) for word in ORDER}
    return " ".join(
        f"{number} {word.upper() if word == 'stalled' else word}"
        for word, number in counts.items()
        if number
    )


def headline(
    now: Snapshot, *, readonly: bool, filtered: str, far: Sequence[AgentView] = (), hosts: str = ""
) -> str:
    """How many agents do what, what is left behind, and whether a watch runs. `hosts`: where the
    agents are, if `far` are those of other hosts."""
    live = [view for view in (*now.agents, *far) if view.state != "ended"]
    parts = [f"{len(live)} agents" if len(live) != 1 else "1 agent", hosts, count_words(live)]
    if now.orphans:
        parts.append(f"orphans {len(now.orphans)}")
    parts.append("watch on" if now.watch else "watch OFF (w)")
    if readonly:
        parts.append("READ-ONLY (!)")
    if filtered:
        parts.append(filtered)
    return "knell  " + "   ".join(part for part in parts if part)


def with_clock(head: str, clock: str, width: int) -> str:
    """The headline, and the time at the right edge where there is room for it."""
    gap = width - columns(head) - len(clock)
    return f"{head}{' ' * gap}{clock}" if gap > GAP else head
