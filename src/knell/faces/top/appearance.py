"""How `top` looks: its style sheet, the line of keys, and the page that explains them."""

KEYS = (
    "? help  q leave  ↑↓ move  X kill  s stop  r resume  e explain  p receipt  l log  t tree"
    "  ⏎ attach  space mark  / filter"
)
Keys = tuple[tuple[str, str], ...]
# Each row: one or two keys, and what they do.
HELP_KEYS: tuple[Keys, ...] = (
    (("↑ ↓ j k", "move"), ("space", "mark an agent")),
    (("/", "filter"), ("Escape", "no filter, no marks")),
    (("Enter", "go to its pane"), ("l", "what it printed")),
    (("e", "why it counts as working, stalled …"),),
    (("t", "its processes"), ("p", "the proof of its ending")),
    (("s", "stop politely"), ("X", "kill")),
    (("r", "resume"), ("R", "restart")),
    (("a", "ask it to leave"), ("c", "clean up after it")),
    (("w", "watch on/off"), ("!", "read-only on or off")),
    (("g", "by host or not"), ("?", "this page")),
    (("q", "leave; no agent ends with top"),),
)
HELP_TEXT = (
    "Keys that end an agent ask first, and show what they would do.",
    "A click moves to an agent, and the wheel scrolls.",
    "With --fleet: an order that another host has not answered is pending, never called done.",
    "Enter, l and a are for agents of this host.",
)
WIDE = 72  # columns in which two keys stand beside each other


def help_lines(columns: int) -> list[str]:
    """The page of keys in a terminal so wide: two keys in a row, or one."""
    if columns >= WIDE:
        rows = [_beside(*row) for row in HELP_KEYS]
    else:
        rows = [f"{key:<8} {does}" for row in HELP_KEYS for key, does in row]
    return [*rows, "", *HELP_TEXT]


def _beside(first: tuple[str, str], second: tuple[str, str] = ("", "")) -> str:
    return f"{first[0]:<14} {first[1]:<15} {second[0]:<7} {second[1]}".rstrip()


CSS = """
#head { height: 1; text-style: bold; }
#trouble, #fleet { height: auto; color: $error; display: none; }
#filter { height: 1; border: none; display: none; }
#events { height: 4; border-top: solid $primary; border-title-color: $text; padding: 0 1; }
#head, #events, #keys { text-wrap: nowrap; text-overflow: ellipsis; }
#keys { height: 1; color: $text-muted; }
.short AgentDetail, .tiny #events { display: none; }
"""
