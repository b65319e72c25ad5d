"""What `top --fleet` shows of other hosts: columns, a line for each host, rows of their agents."""

from collections.abc import Callable, Iterable, Sequence
from functools import partial
from typing import NamedTuple

from knell.api.results import AgentView
from knell.core.ports.fleet import HostView, OrderView
from knell.faces.far.answers import SHORT
from knell.faces.far.look import HERE, UNSEEN, FarLook, FarScene, far_key
from knell.faces.text.fleet import CLOCK_OFF, seen_words
from knell.faces.text.tables import counted
from knell.faces.text.terminal import printable, since, span
from knell.faces.top import rows
from knell.faces.top.table import HEAD


class FarRows(NamedTuple):
    """The agents of other hosts that have all words of the filter."""

    live: tuple[AgentView, ...] = ()
    ended: tuple[AgentView, ...] = ()


Lines = dict[str, Callable[[], rows.TopRow]]  # key → its line, as it is now


class FleetRows:
    """All hosts as lines, by host or in one list."""

    def __init__(self, look: FarLook) -> None:
        self.look = look
        self.by_host = True
        self.columns = fleet_columns(look)
        self._cut = (UNSEEN, "", FarRows())

    def far(self, words: str) -> FarRows:
        scene = self.look.scene
        if self._cut[0] is not scene or self._cut[1] != words:

            def found(views: Iterable[AgentView]) -> tuple[AgentView, ...]:
                return tuple(view for view in views if rows.matches(view, words, view.host))

            self._cut = (scene, words, FarRows(found(scene.picture.agents), found(scene.ended)))
        return self._cut[2]

    def measured(self, words: str) -> list[AgentView]:
        """Rows by which the columns get their widths."""
        scene, far = self.look.scene, self.far(words)
        some = far.live[: rows.MEASURED]
        return [*(as_last_told(view, scene) for view in some), *far.ended]

    def lines(
        self, local: Sequence[AgentView], make: Lines, form: rows.Layout, words: str
    ) -> Lines:
        """`make`: the lines of this host's agents, `local` those that live."""
        scene, far = self.look.scene, self.far(words)
        lines = dict(make)
        for view in (*far.live, *far.ended):
            lines[far_key(view)] = partial(far_row, view, form, scene)
        if not self.by_host:
            first = [rows.key_of(v) if v.host == self.look.own else far_key(v) for v in
                     rows.ordered((*local, *far.live))]  # fmt: skip
            return {key: lines[key] for key in first} | lines
        return self._by_host(local, make, lines, words)

    def _by_host(self, local: Sequence[AgentView], make: Lines, lines: Lines, words: str) -> Lines:
        """This host first, then the others by name; also those without agents."""
        scene, far, own = self.look.scene, self.far(words), self.look.own
        members: dict[str, list[AgentView]] = {}
        hosts = () if words else scene.picture.hosts
        members |= {host.name: [] for host in hosts if host.state != "left" and host.name != own}
        for view in (*rows.ordered(far.live), *far.ended):
            members.setdefault(view.host, []).append(view)
        found: Lines = {f"{HEAD}{own}": partial(host_row, own, None, local)} | make
        for name in sorted(members):
            live = [view for view in members[name] if view.state != "ended"]
            found[f"{HEAD}{name}"] = partial(self._head, name, live)
            found |= {far_key(view): lines[far_key(view)] for view in members[name]}
        return found

    def _head(self, name: str, live: Sequence[AgentView]) -> rows.TopRow:
        return host_row(name, self.look.scene.host(name), live)

    def about(self, key: str) -> tuple[str, list[str]] | None:
        """Title and text about the line under the cursor, where it is no agent of this host."""
        scene = self.look.scene
        if view := scene.find(key):
            return printable(f"{view.name}@{view.host}"), far_lines(view, scene)
        name = key.removeprefix(HEAD)
        if key == name:
            return None
        return printable(name), host_lines(scene.host(name), scene) if name in scene.known else []

    def where(self) -> str:
        """For the headline: how many hosts, and how many of them are silent."""
        scene = self.look.scene
        if scene is UNSEEN:
            return "other hosts: not seen yet"
        hosts = [host for host in scene.picture.hosts if host.state != "left"]
        quiet = sum(host.state != "heard" for host in hosts)
        return f"on {counted(len(hosts), 'host')}" + (f", {quiet} silent" if quiet else "")

    def heard(self) -> list[AgentView]:
        """The agents of other hosts, for counting; those of silent hosts count as unknown."""
        scene = self.look.scene
        return [
            view._replace(activity="unknown") if scene.is_quiet(view.host) else view
            for view in scene.picture.agents
        ]


def fleet_columns(look: FarLook) -> tuple[rows.TopColumn, ...]:
    """Those of one host, with the host first and its age last."""

    def seen(view: AgentView) -> str:
        return "here" if view.host == look.own else seen_words(look.scene.host(view.host))

    return (
        rows.TopColumn("HOST", 16, rows.plain("host")),
        *rows.COLUMNS,
        rows.TopColumn("SEEN", 24, seen),
    )


def as_last_told(view: AgentView, scene: FarScene) -> AgentView:
    """The row with the time since its host was heard: what it says is that old."""
    return view._replace(activity_age_s=scene.host(view.host).seen)


def far_row(view: AgentView, form: rows.Layout, scene: FarScene) -> rows.TopRow:
    """An agent of another host; an order to it that is open is shown as what it is."""
    order = scene.order_of(view)
    told = order_words(order) if order else ""
    if view.state == "ended" and not told:
        row = rows.ended_row(rows.EndedAgent(view, scene.receipts.get(far_key(view))), form)
    else:
        row = rows.live_row(as_last_told(view, scene), form, told)
    tone = "silent" if scene.is_quiet(view.host) and row.live else row.tone
    return row._replace(key=far_key(view), tone=tone, live=view.state != "ended")


def order_words(order: OrderView) -> str:
    """`kill pending  order 1a2b3c4d, not taken yet by build-7`: never that it is done."""
    at = f"{order.host} is at it" if order.state == "taken" else f"not taken yet by {order.host}"
    return printable(f"{order.verb} pending  order {order.id[:SHORT]}, {at}")


def host_row(name: str, host: HostView | None, live: Sequence[AgentView]) -> rows.TopRow:
    """The line above the agents of one host; `host` is None for this one."""
    count = counted(len(live), "agent")
    if host is None or host.state == "heard":
        tone, told = "host", seen_words(host) if host else "here"
        text = [name, count, rows.count_words(live), told if name != HERE else ""]
    else:  # what they do is what they did: it is not counted as if it were so now
        tone, text = "silent", [name, count, seen_words(host), "they may be working"]
    shown = "  ".join(part for part in text if part)
    return rows.TopRow(f"{HEAD}{name}", name, tone, printable(f"─ {shown}"), live=False)


def host_lines(host: HostView, scene: FarScene) -> list[str]:
    """What is known of the host under the cursor."""
    lines = [f"HOST  {seen_words(host)}, knell {host.version or '?'}"]
    if host.state not in ("heard", "left"):
        lines.append("  this does not mean that it is gone: its agents may be working")
    if abs(host.skew) > CLOCK_OFF:
        way = "ahead" if host.skew > 0 else "behind"
        lines.append(f"  its clock is {span(abs(host.skew))} {way}")
    lines += [
        f"  order {one.id[:SHORT]}: {one.verb} {one.target}, {one.state}"
        for one in scene.picture.orders
        if one.host == host.name
    ]
    return [printable(line) for line in lines]


def far_lines(view: AgentView, scene: FarScene) -> list[str]:
    """What is known here of an agent of another host, without asking that host."""
    if view.state == "ended":
        return [printable(f"WHY  {view.outcome or 'ended'} {since(view.ended_at)} by {view.by}")]
    lines = [f"WHY  {view.why or view.activity}, as {view.host} told"]
    if order := scene.order_of(view):
        lines.append(order_words(order))
    lines += [f"NOTE {view.note}"] if view.note else []
    return [printable(line) for line in [*lines, f"e explain and t tree ask {view.host} itself"]]
