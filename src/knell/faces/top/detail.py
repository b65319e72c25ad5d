"""What `top` shows of the agent under the cursor: why it counts as what it does, its screen, its
processes."""

from collections.abc import Iterator, Sequence

from textual.app import ComposeResult
from textual.containers import Horizontal
from textual.widgets import Static

from knell.api.results import AgentView
from knell.faces.text.terminal import printable, since
from knell.faces.top.feed import Focus

EVIDENCE = 3  # lines: the heaviest stand first
NOBODY = ("no agents; start one:", "knell spawn claude")  # half a line of 80 columns each


class AgentDetail(Horizontal):
    """Two texts side by side. Its title is the name of the agent."""

    DEFAULT_CSS = """
    AgentDetail { height: 10; border-top: solid $primary; border-title-color: $text; }
    AgentDetail Static {
        width: 1fr; height: 100%; padding: 0 1; text-wrap: nowrap; text-overflow: ellipsis;
    }
    """

    def compose(self) -> ComposeResult:
        yield Static("", id="why", markup=False)
        yield Static("", id="tree", markup=False)

    def tell(self, title: str, why: Sequence[str], tree: Sequence[str] = ()) -> None:
        """Of another host, or of an agent there, there is no tree: it is known without looking."""
        self.border_title = title
        self.query_one("#why", Static).update("\n".join(why), layout=False)
        self.query_one("#tree", Static).update("\n".join(tree), layout=False)

    def show(self, view: AgentView | None, focus: Focus | None) -> None:
        """`focus` may be of the agent that was under the cursor before."""
        same = focus if view and focus and focus.run == view.run else None
        why = list(_why(view, same)) if view else list(NOBODY)
        room = max(1, self.size.height - len(why) - 1)
        screen = [line for line in (same.screen if same else ()) if line.strip()][-room:]
        lines = [*why, *(["SCREEN", *map(printable, screen)] if screen else [])]
        tree = ["TREE", *same.tree] if same and same.tree else []
        self.tell(printable(view.name) if view else "", lines, tree)


def _why(view: AgentView, focus: Focus | None) -> Iterator[str]:
    if view.state == "ended":
        yield f"WHY  {view.outcome or 'ended'} {since(view.ended_at)} by {printable(view.by)}"
        if view.reason:
            yield f"  {printable(view.reason)}"
        return
    lines = focus.why if focus else ()
    if not lines:
        yield f"WHY  {printable(view.why) or 'not looked at yet'}"
    for number, line in enumerate(lines[: EVIDENCE + 1]):
        yield f"WHY  {line.removeprefix(f'{view.name}: ')}" if number == 0 else line
    if view.note:
        yield f"NOTE {printable(view.note)}"
