"""The list of agents: only the lines that are seen are made, so that thousands cost no more."""

from collections.abc import Callable, Sequence
from typing import ClassVar

from rich.segment import Segment
from rich.style import Style
from textual import events
from textual.binding import Binding, BindingType
from textual.geometry import Region, Size
from textual.message import Message
from textual.scroll_view import ScrollView
from textual.strip import Strip

from knell.faces.top.rows import TopRow

TONES = (
    *("working", "idle", "waiting", "unresponsive", "stalled", "stopping", "spawning", "ended"),
    *("host", "silent"),
)
HEAD = "host:"  # how the key of a line begins that is about a host: no agent is meant by it


class AgentTable(ScrollView, can_focus=True):
    """Titles that stay, and below them one line a row. The cursor stays with its agent when rows
    move."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("up,k", "move(-1)", "up", show=False),
        Binding("down,j", "move(1)", "down", show=False),
        Binding("pageup", "page(-1)", "page up", show=False),
        Binding("pagedown", "page(1)", "page down", show=False),
        Binding("home", "move(-1000000)", "first", show=False),
        Binding("end", "move(1000000)", "last", show=False),
        Binding("space", "mark", "mark", show=False),
    ]
    COMPONENT_CLASSES: ClassVar[set[str]] = {
        "top--titles", "top--cursor", *(f"top--{tone}" for tone in TONES),
    }  # fmt: skip
    DEFAULT_CSS = """
    AgentTable { height: 1fr; scrollbar-size-horizontal: 0; }
    .top--titles { text-style: bold; color: $text-muted; }
    .top--cursor { text-style: reverse; }
    .top--working { color: $success; }
    .top--idle { color: $text-muted; }
    .top--waiting, .top--unresponsive, .top--stopping, .top--spawning { color: $warning; }
    .top--stalled { color: $error; text-style: bold; }
    .top--ended { color: $text-muted; text-style: dim; }
    .top--host { text-style: bold; }
    .top--silent { color: $warning; text-style: dim; }
    """

    class Moved(Message):
        """The cursor is at another agent, or at none."""

    def __init__(self) -> None:
        self._styles: dict[tuple[str, bool], Style] = {}
        super().__init__(id="agents")
        self.titles = ""
        self.keys: Sequence[str] = ()  # runs, from the first row to the last
        self.places: dict[str, int] = {}  # run → number of its row
        self.make: Callable[[str], TopRow] | None = None  # the row of a run, as it is now
        self.cursor = ""  # the run under the cursor
        self.marks: set[str] = set()  # runs
        self._drawn: dict[int, tuple[str, Style]] = {}  # line of the screen → what it shows
        self.moved = False  # as long as the person has not, the cursor is at the first row

    def show(self, titles: str, keys: Sequence[str], make: Callable[[str], TopRow]) -> None:
        """Replaces all lines; only those that are seen are made."""
        at = self.position
        self.titles, self.keys, self.make = titles, keys, make
        self.places = {key: number for number, key in enumerate(keys)}
        self.marks &= self.places.keys()
        if self.cursor not in self.places or (not self.moved and at != self.first):
            self._put_cursor(at if self.moved else self.first)
        self.virtual_size = Size(self.size.width, len(keys) + 1)
        self.refresh()

    @property
    def rows(self) -> list[TopRow]:
        return [self.make(key) for key in self.keys] if self.make else []

    @property
    def first(self) -> int:
        """The first line that is about an agent."""
        return next((n for n, key in enumerate(self.keys) if not key.startswith(HEAD)), 0)

    @property
    def position(self) -> int:
        return self.places.get(self.cursor, 0)

    @property
    def chosen(self) -> list[str]:
        """The marked runs, or else the one under the cursor."""
        marked = [key for key in self.keys if key in self.marks]
        return marked or ([self.cursor] if self.cursor else [])

    def _put_cursor(self, position: int) -> None:
        position = max(0, min(position, len(self.keys) - 1))
        self.cursor = self.keys[position] if self.keys else ""
        self.scroll_to_region(Region(0, position, 1, 2), animate=False, force=True)
        self.refresh()
        self.post_message(self.Moved())

    def action_move(self, by: int) -> None:
        self.moved = True
        self._put_cursor(self.position + by)

    def action_page(self, by: int) -> None:
        self.moved = True
        self._put_cursor(self.position + by * max(1, self.size.height - 2))

    def action_mark(self) -> None:
        self.moved = True
        if self.cursor and not self.cursor.startswith(HEAD):
            self.marks ^= {self.cursor}
        self._put_cursor(self.position + 1)

    def on_click(self, event: events.Click) -> None:
        line = event.y + round(self.scroll_offset.y) - 1
        if 0 <= line < len(self.keys):
            self.moved = True
            self._put_cursor(line)

    def render_line(self, y: int) -> Strip:
        text, style = self._drawn[y] = self._line(y)
        return Strip([Segment(text, style)]).crop_extend(0, self.size.width, style)

    def refresh_changed(self) -> None:
        """Draws those lines again that say something else than when they were drawn."""
        for y, drawn in self._drawn.items():
            if y < self.size.height and self._line(y) != drawn:
                self.refresh(Region(0, y, self.size.width, 1))

    def _line(self, y: int) -> tuple[str, Style]:
        line = y + round(self.scroll_offset.y)  # from 1: the titles hide one line
        if y == 0:
            return f"  {self.titles}", self._style("titles")
        if line > len(self.keys) or not self.make:
            return "", self._style("")
        row = self.make(self.keys[line - 1])
        mark = "●" if row.key in self.marks else " "
        at = row.key == self.cursor
        style = self._style(row.tone if row.tone in TONES else "", at=at)
        return f"{'▌' if at else ' '}{mark}{row.text}", style

    def notify_style_update(self) -> None:
        super().notify_style_update()
        self._styles.clear()

    def _style(self, name: str, *, at: bool = False) -> Style:
        """Kept, because it is asked for at every line and changes with the theme only."""
        key = (name, at)
        if key not in self._styles:
            style = self.rich_style
            style += self.get_component_rich_style(f"top--{name}") if name else Style()
            style += self.get_component_rich_style("top--cursor") if at else Style()
            self._styles[key] = style
        return self._styles[key]
