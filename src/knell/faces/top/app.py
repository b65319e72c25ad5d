"""The app: wires keys, the feed and what is drawn. It decides nothing about agents itself."""

import subprocess
import sys
from collections.abc import Callable, Sequence
from functools import partial
from typing import ClassVar

from textual.app import App, ComposeResult, SuspendNotSupported
from textual.binding import Binding, BindingType

from knell.api import Knell
from knell.core.errors import KnellError
from knell.faces import deeds
from knell.faces.far import deeds as far_deeds
from knell.faces.far.look import FarLook
from knell.faces.text.terminal import printable
from knell.faces.top import pages
from knell.faces.top.appearance import CSS, help_lines
from knell.faces.top.board import Board
from knell.faces.top.feed import Feed, TopScene, local_targets
from knell.faces.top.hosts import FleetRows
from knell.faces.top.question import Page, Question


class TopApp(App[None]):
    """Every agent, live."""

    TITLE = "knell top"
    ENABLE_COMMAND_PALETTE = False
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("q,ctrl+c", "quit", "quit"),
        Binding("enter", "attach", "attach"),
        *(Binding(key, f"page('{key}')", title) for key, (title, _) in pages.PAGES.items()),
        Binding("w", "watch", "watch"),
        Binding("g", "by_host", "by host"),
        Binding("slash", "filter", "filter"),
        Binding("escape", "clear", "no filter"),
        Binding("exclamation_mark", "toggle_readonly", "read-only"),
        Binding("question_mark", "help", "help"),
        *(Binding(one.key, f"deed('{one.key}')", one.word) for one in deeds.DEEDS),
    ]
    CSS = CSS

    def __init__(
        self,
        open_knell: Callable[[], Knell] = Knell,
        targets: Sequence[str] = (),
        *,
        readonly: bool = False,
        fleet: bool = False,
        theme: str = "",
    ) -> None:
        super().__init__()
        if theme:
            self.theme = f"textual-{theme}"
        self._open = open_knell
        self._locked = readonly  # given on the command line: `!` does not lift it
        self.far = FarLook(open_knell, self._show_far, targets) if fleet else None
        here = local_targets(targets, self.far.own if self.far else "")
        self.feed = Feed(open_knell, here, self._show)
        self._looks = (self.feed, self.far) if self.far else (self.feed,)
        rows = FleetRows(self.far) if self.far else None
        self.board = Board(self.feed.look_at, rows, readonly=readonly)

    def compose(self) -> ComposeResult:
        yield self.board

    def on_mount(self) -> None:
        for look in self._looks:
            look.start()

    def on_unmount(self) -> None:
        for look in self._looks:
            look.stop()

    def _show_far(self) -> None:
        self._from_thread(self.board.show_far)

    def _show(self, scene: TopScene | None, trouble: str) -> None:
        self._from_thread(self.board.show, scene, trouble)

    def _from_thread(self, call: Callable[..., object], *args: object) -> None:
        if self.is_running:
            self.call_from_thread(call, *args)

    def action_filter(self) -> None:
        self.board.open_filter()

    def action_clear(self) -> None:
        self.board.clear_filter()

    def action_by_host(self) -> None:
        self.board.switch_groups()

    # -- deeds --------------------------------------------------------------------------------

    def action_deed(self, key: str) -> None:
        deed = next(one for one in deeds.DEEDS if one.key == key)
        if self.board.readonly:
            self.notify("read-only: nothing is changed; ! lifts it", severity="warning")
            return
        keys = self.board.table.chosen
        views = [view for key in keys if (view := self.board.view_of(key))]
        far = [view for key in keys if (view := self.board.far_of(key))]

        def plan(knell: Knell) -> None:
            """The dry run, then the question."""
            scene = self.far.scene if self.far else None
            made = far_deeds.make_plan(knell, deed, views, far, scene)
            if made.names:
                self._from_thread(self._ask, made)
                return
            fit = "lives" if deed.to == "live" else "has ended"
            nothing = [f"nothing to {deed.word}: none of these {fit}"]
            self._from_thread(self.tell, made.lines or nothing)

        self._in_thread(plan)

    def _in_thread(self, call: Callable[[Knell], None]) -> None:
        """Calls it with a `Knell` of its own; an error is shown with what to do about it."""

        def work() -> None:
            try:
                with self._open() as knell:
                    call(knell)
            except KnellError as error:
                self._from_thread(self.tell, [str(error), *([error.hint] if error.hint else [])])

        self.run_worker(work, thread=True, exclusive=False)

    def _ask(self, plan: deeds.Plan) -> None:
        def answered(yes: bool | None) -> None:  # noqa: FBT001 - textual calls it so
            if yes:
                self.board.table.marks.clear()
                self._in_thread(partial(self._act, plan))
            else:
                self.notify(f"nothing was done: {plan.deed.word} was cancelled")

        self.push_screen(Question(plan), answered)

    def _act(self, plan: deeds.Plan, knell: Knell) -> None:
        """In a thread: the deed itself."""
        self.board.limits = deeds.rung_limits(knell.settings, plan.deed)
        try:
            done = far_deeds.carry_out(knell, plan)
        finally:
            for look in self._looks:
                look.refresh()
        self._from_thread(partial(self.tell, done.lines, warn=bool(done.pending)))

    def tell(self, lines: Sequence[str], *, warn: bool = False) -> None:
        how = "warning" if warn else "information"
        text = "\n".join(deeds.shown(lines))
        self.notify(text, timeout=8, markup=False, severity=how)

    def action_toggle_readonly(self) -> None:
        if self._locked:
            self.notify("read-only was asked for on the command line", severity="warning")
            return
        self.board.readonly = not self.board.readonly
        self.board.draw()

    def action_watch(self) -> None:
        if self.board.readonly:
            self.notify("read-only: nothing is changed; ! lifts it", severity="warning")
            return
        scene = self.board.scene
        on = not (scene and scene.now.watch)

        def switch(knell: Knell) -> None:
            done = knell.switch_watch(on=on)
            self.feed.refresh()
            line = f"the watch {'runs' if done.on else 'has ended'} (PID {done.pid})"
            self._from_thread(self.tell, [line])

        self._in_thread(switch)

    # -- pages --------------------------------------------------------------------------------

    def action_help(self) -> None:
        self.push_screen(Page("keys", help_lines(self.size.width)))

    def action_page(self, key: str) -> None:
        title, lines = pages.PAGES[key]
        view, far = self.board.selected(), self.board.far_of(self.board.table.cursor)
        one = view or far
        if one is None:
            return
        readonly = self.board.readonly

        def read(knell: Knell) -> None:
            try:
                if far:
                    found = pages.far_page(key, knell, far, readonly=readonly)
                else:
                    found = lines(knell, one.name)
            except KnellError as error:
                found = [str(error), error.hint]
            name = printable(f"{one.name}@{one.host}" if far else one.name)
            self._from_thread(self.push_screen, Page(f"{name}: {title}", found))

        self._in_thread(read)

    def action_attach(self) -> None:
        """Gives the terminal to the agent's pane until the person comes back."""
        view = self.board.selected()
        if far := self.board.far_of(self.board.table.cursor):
            self.tell([f"its pane is on {far.host}: knell attach {far.name} there"])
        if view is None:
            return
        argv = [sys.executable, "-P", "-m", "knell", "attach", view.name]
        try:
            with self.suspend():
                done = subprocess.run(argv, check=False)
                if done.returncode:
                    input("Enter goes back to top ")
        except SuspendNotSupported:
            self.tell([f"this terminal cannot be given away: knell attach {view.name}"])
        self.refresh()
