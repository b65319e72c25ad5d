"""The board of `top`: headline, rows, the agent under the cursor, events. It changes no agent."""

import time
from collections.abc import Callable
from functools import partial

from textual.app import ComposeResult
from textual.containers import Vertical
from textual.widgets import Input, Static

from knell.api.results import AgentView
from knell.faces.text.tables import event_line
from knell.faces.text.terminal import printable
from knell.faces.top import rows
from knell.faces.top.appearance import KEYS
from knell.faces.top.detail import AgentDetail
from knell.faces.top.feed import TopScene
from knell.faces.top.hosts import FleetRows, Lines
from knell.faces.top.table import HEAD, AgentTable

EVENT_LINES = 3
OLDER = 2.0  # seconds between two pictures of rows that only grow older
SHORT, TINY = 20, 12  # lines of a terminal that has no room for the details, or for events


class Board(Vertical):
    """Shows one scene after the other."""

    def __init__(
        self, look_at: Callable[[AgentView | None], None], far: FleetRows | None = None, *,
        readonly: bool,
    ) -> None:  # fmt: skip
        """`look_at` is told who is under the cursor; `far` has the agents of other hosts."""
        super().__init__()
        self._look_at = look_at
        self.far = far
        self.readonly = readonly
        self.words = ""  # the filter; never remembered, because it hides agents
        self.scene: TopScene | None = None
        self.form = rows.Layout((), ())
        self._head = ""
        self._wide = False  # whether the columns have room for the age of the last look
        self.limits: dict[str, float] = {}  # seconds that each rung of our own ending may take

    def compose(self) -> ComposeResult:
        yield Static("knell", id="head", markup=False)
        yield Static("", id="trouble", markup=False)
        yield Static("", id="fleet", markup=False)
        yield AgentTable()
        yield Input(placeholder="filter: words that a row must have", id="filter")
        yield AgentDetail()
        yield Static("", id="events", markup=False)
        yield Static(KEYS, id="keys", markup=False)

    def on_mount(self) -> None:
        self.query_one("#events").border_title = "events"
        self.table.focus()
        self.set_interval(OLDER, self.grow_older)

    @property
    def table(self) -> AgentTable:
        return self.query_one(AgentTable)

    def show(self, scene: TopScene | None, trouble: str) -> None:
        """The scene, or that there is none and why; then what was shown before stays."""
        said = self.query_one("#trouble", Static)
        said.update(f"cannot look: {printable(trouble)}; what is below may be old")
        said.display = bool(trouble)
        if scene is not None:
            self.scene, self._wide = scene, False
            self.draw()

    def show_far(self) -> None:
        """Something is new of other hosts, or nothing comes from them any more."""
        sentence = self.far.look.sentence if self.far else ""
        said = self.query_one("#fleet", Static)
        said.update(printable(sentence))
        said.display = bool(sentence)
        self.draw()

    def draw(self) -> None:
        """Everything, after a look, another filter or another size of the terminal."""
        scene = self.scene
        if scene is None:
            return
        self.set_class(self.size.height < SHORT, "short")
        self.set_class(self.size.height < TINY, "tiny")
        own, words = self.own, self.words
        local = rows.ordered(view._replace(host=own) for view in scene.now.agents)
        views = [view for view in local if rows.matches(view, words, own)]
        past = [one._replace(view=one.view._replace(host=own)) for one in scene.ended]
        ended = [one for one in past if rows.matches(one.view, words, own)]
        shown = [*(rows.aged(view, self.elapsed()) for view in views), *(one.view for one in ended)]
        shown += self.far.measured(words) if self.far else []
        wanted = self.far.columns if self.far else rows.COLUMNS
        self.form = rows.layout(shown, max(20, self.size.width - 4), wanted)
        make: Lines = {rows.key_of(view): partial(self.live_row, view) for view in views}
        make |= {rows.key_of(one.view): partial(rows.ended_row, one, self.form) for one in ended}
        make = self.far.lines(views, make, self.form, words) if self.far else make
        self.table.show(self.form.titles, tuple(make), lambda key: make[key]())
        self._draw_head(sum(not key.startswith(HEAD) for key in make))
        self._draw_detail(scene)
        lines = [event_line(event) for event in scene.events[-EVENT_LINES:]]
        self.query_one("#events", Static).update("\n".join(reversed(lines)), layout=False)

    @property
    def own(self) -> str:
        """The name of this host, where hosts are shown."""
        return self.far.look.own if self.far else ""

    def live_row(self, view: AgentView) -> rows.TopRow:
        """As it is at this moment: its ages grow between two looks."""
        scene = self.scene
        endings = [one for one in scene.endings if one.agent == view.name] if scene else []
        progress = rows.ending_words(endings[0], self.limits) if endings else ""
        return rows.live_row(rows.aged(view, self.elapsed()), self.form, progress)

    def elapsed(self) -> float:
        """Seconds since the last look."""
        return time.monotonic() - self.scene.taken if self.scene else 0.0

    def clock(self) -> str:
        return time.strftime("%H:%M")

    def grow_older(self) -> None:
        """Draws again what changes by itself: the ages in the lines that are seen, and the time.
        Once a look is no longer fresh, rows carry its age, and the columns need another width."""
        if self.elapsed() > rows.FRESH and not self._wide:
            self._wide = True
            self.draw()
        self.table.refresh_changed()
        self._draw_head(sum(not key.startswith(HEAD) for key in self.table.keys))

    def _draw_head(self, shown: int) -> None:
        if self.scene is None:
            return
        filtered = f"filter '{printable(self.words)}': {shown} shown" if self.words else ""
        far, hosts = (self.far.heard(), self.far.where()) if self.far else ((), "")
        head = rows.headline(
            self.scene.now, readonly=self.readonly, filtered=filtered, far=far, hosts=hosts
        )
        line = rows.with_clock(head, self.clock(), self.size.width)
        if line != self._head:
            self._head = line
            self.query_one("#head", Static).update(line, layout=False)

    def _draw_detail(self, scene: TopScene) -> None:
        view = self.selected()
        self._look_at(view)
        about = self.far.about(self.table.cursor) if self.far and not view else None
        if about:
            self.query_one(AgentDetail).tell(*about)
        else:
            self.query_one(AgentDetail).show(view, scene.focus)

    def selected(self) -> AgentView | None:
        return self.view_of(self.table.cursor)

    def view_of(self, key: str) -> AgentView | None:
        scene = self.scene
        if scene is None:
            return None
        views = (*scene.now.agents, *(one.view for one in scene.ended))
        return next((view for view in views if rows.key_of(view) == key), None)

    def far_of(self, key: str) -> AgentView | None:
        """The agent of another host that has this line."""
        return self.far.look.scene.find(key) if self.far else None

    def switch_groups(self) -> None:
        if self.far:
            self.far.by_host = not self.far.by_host
            self.draw()

    def on_agent_table_moved(self) -> None:
        if self.scene is not None:
            self._draw_detail(self.scene)

    def on_resize(self) -> None:
        self.draw()

    # -- filtering ----------------------------------------------------------------------------

    def open_filter(self) -> None:
        box = self.query_one("#filter", Input)
        box.display = True
        box.focus()

    def on_input_changed(self, event: Input.Changed) -> None:
        if event.input.id == "filter":
            self.words = event.value
            self.draw()

    def on_input_submitted(self, event: Input.Submitted) -> None:
        if event.input.id == "filter":
            event.input.display = bool(event.value)
            self.table.focus()

    def clear_filter(self) -> None:
        box = self.query_one("#filter", Input)
        box.value, box.display = "", False
        self.table.marks.clear()
        self.table.focus()
        self.draw()
