"""The question before a deed: its plan, and Cancel under the cursor."""

from collections.abc import Sequence
from typing import ClassVar

from textual import events
from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Horizontal, Vertical, VerticalScroll
from textual.screen import ModalScreen
from textual.widgets import Button, Input, Static

from knell.faces.deeds import TYPED_ABOVE, Plan, shown


class Question(ModalScreen[bool]):
    """Asks whether a plan is carried out. The key of the deed, pressed again, says yes; where more
    than a few agents are meant, their number is typed instead."""

    BINDINGS: ClassVar[list[BindingType]] = [Binding("escape,q,n", "dismiss(False)", "cancel")]
    DEFAULT_CSS = """
    Question { align: center middle; }
    Question > Vertical {
        width: 90%; max-width: 110; height: auto; max-height: 90%;
        border: round $warning; background: $surface; padding: 0 1;
    }
    Question VerticalScroll { height: auto; max-height: 14; }
    Question Horizontal { height: auto; align: right middle; }
    Question Button { margin: 0 1; }
    """

    def __init__(self, plan: Plan) -> None:
        super().__init__()
        self.plan = plan
        self.count = len(plan.names)
        self.many = self.count > TYPED_ABOVE

    def compose(self) -> ComposeResult:
        word, count = self.plan.deed.word, self.count
        whom = f"{count} agents" if count != 1 else f"'{shown(self.plan.names)[0]}'"
        with Vertical():
            yield Static(f"{word.capitalize()} {whom}?", markup=False, classes="title")
            with VerticalScroll(can_focus=False):
                yield Static("\n".join(shown(self.plan.lines)), markup=False)
            if self.many:
                yield Static(f"Type {count} and press Enter to {word} them all.", markup=False)
                yield Input(placeholder="how many?", id="number")
            else:
                yield Static(f"{self.plan.deed.key} again: {word}    Escape: cancel", markup=False)
            with Horizontal():
                yield Button("Cancel", id="cancel")
                if not self.many:
                    yield Button(word.capitalize(), id="yes", variant="warning")

    def on_mount(self) -> None:
        self.query_one("#number" if self.many else "#cancel").focus()

    def on_key(self, event: events.Key) -> None:
        if event.character == self.plan.deed.key and not self.many:
            event.stop()  # else the app behind takes it for the next deed
            event.prevent_default()
            self.dismiss(True)  # noqa: FBT003 - the answer

    def on_button_pressed(self, event: Button.Pressed) -> None:
        self.dismiss(event.button.id == "yes")

    def on_input_submitted(self, event: Input.Submitted) -> None:
        if event.value.strip() == str(self.count):
            self.dismiss(True)  # noqa: FBT003 - the answer
        else:
            event.input.value = ""
            event.input.placeholder = f"{self.count}, or Escape"


class Page(ModalScreen[None]):
    """A text to read: an explanation, a tree, a receipt, a log, the help."""

    BINDINGS: ClassVar[list[BindingType]] = [Binding("escape,q,enter", "dismiss", "close")]
    DEFAULT_CSS = """
    Page { align: center middle; }
    Page > VerticalScroll {
        width: 96%; height: 90%; border: round $primary; background: $surface; padding: 0 1;
    }
    """

    def __init__(self, title: str, lines: Sequence[str]) -> None:
        super().__init__()
        self.heading = title
        self.lines = lines

    def compose(self) -> ComposeResult:
        with VerticalScroll() as text:
            text.border_title = self.heading
            text.border_subtitle = "Escape closes"
            yield Static("\n".join(shown(self.lines)) or "(nothing)", markup=False)
