"""Draws the pictures of the concepts and of the lifecycle, from the tables of the code; and the dark
version of each picture from its light one. `make docs` writes them."""

import sys
from collections.abc import Callable
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT / "bench"))

from svg import BLANK, BLUE, FAINT, GREEN, INK, ORANGE, PAPER, RED, RULE, Drawing, Pen  # noqa: E402

from knell.core.ladder import KILL, STOP, Ladder, Rung  # noqa: E402
from knell.core.receipt import Proof  # noqa: E402
from knell.core.run import TRANSITIONS  # noqa: E402
from knell.core.settings import Settings  # noqa: E402
from knell.core.stall.verdict import Activity  # noqa: E402

WIDTH = 760
# light → dark
NIGHT = {
    INK: "#e6edf3", FAINT: "#9aa4ae", RULE: "#3d444d", BLANK: "#21262d", BLUE: "#58a6ff",
    GREEN: "#3fb950", ORANGE: "#d29922", RED: "#ff7b72",
    "#cfe6f5": "#123047", "#f5b35c": "#8a5a00", "#e0761f": "#b0480c",
    "#ddf4ff": "#0c2d4d", "#dafbe1": "#10351c", "#ffebe9": "#4a1616", "#fff8c5": "#3d2e00",
}  # fmt: skip
SKY, LEAF, ROSE, SAND = "#ddf4ff", "#dafbe1", "#ffebe9", "#fff8c5"  # fills of boxes
NOTE = Pen(size=12, ink=FAINT)
HEAD = Pen(size=14, bold=True)
CODE = Pen(size=12)


def darkened(svg: str) -> str:
    """The same picture on dark paper; what is white on a colour stays white."""
    svg = svg.replace(f'fill="{PAPER}" stroke', 'fill="#0d1117" stroke', 1)
    for light, dark in NIGHT.items():
        svg = svg.replace(light, dark)
    return svg


class Sketch(Drawing):
    """Boxes with words in them, and arrows between them."""

    def card(self, at: tuple[float, float], wide: float, lines: tuple[str, ...], fill: str) -> None:
        """A box whose first line is bold; as high as its lines need."""
        high = 14 + 18 * len(lines)
        self.box((at[0] - 1, at[1] - 1), (wide + 2, high + 2), RULE)
        self.box(at, (wide, high), fill)
        for number, words in enumerate(lines):
            pen = Pen(size=13, bold=True) if number == 0 else Pen(size=12, ink=FAINT)
            self.text(words, (at[0] + 12, at[1] + 16 + 18 * number), pen)

    def arrow(
        self, points: list[tuple[float, float]], ink: str = FAINT, thick: float = 1.5
    ) -> None:
        """Along these points, with its head at the last."""
        self.line(points, ink, thick)
        (x0, y0), (x, y) = points[-2:]
        if abs(x - x0) > abs(y - y0):
            side = 7 if x > x0 else -7
            self.shape([(x, y), (x - side, y - 4), (x - side, y + 4)], ink)
        else:
            side = 7 if y > y0 else -7
            self.shape([(x, y), (x - 4, y - side), (x + 4, y - side)], ink)


def keeper() -> str:
    sheet = Sketch(WIDTH, 330)
    sheet.card((24, 24), 170, ("your pane", "tmux, kitty, or none"), BLANK)
    sheet.card((24, 110), 170, ("keeper", "exits last, with", "the agent's exit code"), SKY)
    sheet.card((290, 24), 170, ("agent", "claude"), LEAF)
    sheet.card((290, 110), 170, ("MCP server", "its child"), LEAF)
    sheet.card((290, 196), 170, ("shell of a tool", "its child"), LEAF)
    sheet.card((560, 196), 176, ("daemon", "forked twice, to be", "nobody's child"), SAND)
    sheet.arrow([(109, 74), (109, 109)])
    sheet.arrow([(194, 140), (240, 140), (240, 49), (289, 49)])
    sheet.arrow([(375, 74), (375, 109)])
    sheet.arrow([(460, 49), (500, 49), (500, 221), (461, 221)])
    sheet.arrow([(460, 236), (559, 236)])
    sheet.arrow([(648, 264), (648, 296), (109, 296), (109, 179)], BLUE, 2)
    sheet.text("its parents have gone: the kernel hands it to the keeper", (130, 312), NOTE)
    told = (
        "The pane starts the keeper, the keeper starts the agent, the agent starts an MCP server and "
        "a shell. A daemon that forked twice loses its parents and becomes a child of the keeper."
    )
    return sheet.finish("The keeper is the ancestor of everything that the agent starts", told)


def stamp() -> str:
    sheet = Sketch(WIDTH, 270)
    mark = "KNELL_RUN=…37c5"
    for x, name, fill in ((24, "agent", LEAF), (212, "shell", LEAF), (400, "npm", LEAF)):
        sheet.card((x, 40), 164, (name, mark), fill)
    sheet.card((588, 40), 148, ("dev server", mark), LEAF)
    for x in (188, 376, 564):
        sheet.arrow([(x, 65), (x + 23, 65)])
    sheet.text("each process inherits the environment of the one that started it", (24, 20), NOTE)
    sheet.card((400, 150), 164, ("daemon", "environment emptied"), SAND)
    sheet.arrow([(482, 90), (482, 149)])
    sheet.card(
        (24, 150),
        240,
        ("found without the stamp", "by its keeper, its cgroup,", "its session"),
        SKY,
    )
    sheet.arrow([(400, 176), (265, 176)], BLUE, 2)
    sheet.text(
        "The stamp finds what outlived its agent, even after a crash of knell. It proves",
        (24, 238),
        NOTE,
    )
    sheet.text("nothing about who asks: that is the token's work.", (24, 255), NOTE)
    told = (
        "Agent, shell, npm and a dev server carry the same variable KNELL_RUN. A daemon that emptied "
        "its environment does not; it is found by its keeper, its cgroup or its session."
    )
    return sheet.finish("The stamp goes from each process to those that it starts", told)


PROOFS = {
    Proof.PROVEN: (LEAF, "the kernel told the keeper: no child is left", "started by knell"),
    Proof.NONE_FOUND: (SAND, "three looks in a row found nothing", "adopted; keeper killed"),
    Proof.SURVIVORS: (ROSE, "each survivor is named, with the reason", "not permitted, or stuck"),
}  # fmt: skip


def proof() -> str:
    sheet = Sketch(WIDTH, 250)
    sheet.text("what the receipt says", (24, 22), NOTE)
    sheet.text("what that rests on", (230, 22), NOTE)
    sheet.text("which agents", (520, 22), NOTE)
    for row, (word, (fill, rests, which)) in enumerate(PROOFS.items()):
        y = 40 + 68 * row
        sheet.box((24, y), (712, 56), fill)
        sheet.text(word.value, (40, y + 28), HEAD)
        sheet.text(rests, (230, y + 28), CODE)
        sheet.text(which, (520, y + 28), NOTE)
    told = "; ".join(f"{word.value}: {rests}" for word, (_, rests, _) in PROOFS.items())
    return sheet.finish("Three words for how sure an ending is", told)


RUNGS = {
    Rung.EXIT_KEYS: (SKY, "types /exit", "as you would"),
    Rung.TERM: (SAND, "SIGTERM", "please end"),
    Rung.KILL: (ROSE, "SIGKILL", "ends it"),
}


def ladder() -> str:
    sheet = Sketch(WIDTH, 250)
    steps(sheet, 30, "knell stop", STOP)
    steps(sheet, 116, "knell kill", KILL)
    sheet.text(
        "The climb ends the moment the last process does. Each rung is written down before",
        (24, 206),
        NOTE,
    )
    sheet.text(
        "it is taken, so that a knell that is killed on the way is finished by the next one.",
        (24, 223),
        NOTE,
    )
    told = "; ".join(
        f"{verb}: " + ", then ".join(f"{step.rung.value}, wait {step.wait:g} s" for step in rungs)
        for verb, rungs in (("knell stop", STOP), ("knell kill", KILL))
    )
    return sheet.finish("The rungs of stop and of kill, from the polite to the sure", told)


def steps(sheet: Sketch, y: float, verb: str, rungs: Ladder) -> None:
    sheet.text(verb, (24, y + 30), HEAD)
    for number, step in enumerate(rungs):
        fill, first, second = RUNGS[step.rung]
        x = 140 + 205 * number
        sheet.card((x, y), 120, (first, second), fill)
        last = number == len(rungs) - 1
        sheet.arrow([(x + 120, y + 25), (x + (170 if last else 204), y + 25)])
        sheet.text(f"{step.wait:g} s" + (", proof" if last else ""), (x + 126, y + 12), NOTE)


PARTS = (
    ("who and what", "agent, run, kind, place", BLANK),
    ("why", "by, reason, outcome, death", BLANK),
    ("how", "rungs with their times", SAND),
    ("how sure", "proof: proven, none_found, survivors", LEAF),
    ("what ended", "every process: PID, command, by what", LEAF),
    ("what is left", "survivors and kept, each with the reason", ROSE),
    ("afterwards", "tasks handed back, worktree, saved work", BLANK),
    ("the way back", "conversation and the line that resumes it", SKY),
)


def receipt() -> str:
    sheet = Sketch(WIDTH, 60 + 30 * len(PARTS))
    sheet.text("knell receipt luna", (24, 24), HEAD)
    for row, (what, fields, fill) in enumerate(PARTS):
        y = 44 + 30 * row
        sheet.box((24, y), (712, 26), fill)
        sheet.text(what, (40, y + 13), Pen(size=13, bold=True))
        sheet.text(fields, (230, y + 13), CODE)
    return sheet.finish("What a receipt says", "; ".join(f"{a}: {b}" for a, b, _ in PARTS))


VERDICTS = {
    Activity.WORKING: (LEAF, "something of it was seen to move", "left alone"),
    Activity.IDLE: (LEAF, "its turn is over", "left alone"),
    Activity.WAITING: (SAND, "a question, a quota, a stop: it needs somebody", "left alone, shown first"),
    Activity.UNKNOWN: (BLANK, "it could not be judged, or it may be thinking", "left alone"),
    Activity.UNRESPONSIVE: (SAND, "it promised heartbeats and missed two", "left alone, shown first"),
    Activity.STALLED: (ROSE, "it surely cannot go on by itself", "ended, if you asked for that"),
}  # fmt: skip


def stall() -> str:
    limits = Settings()
    sheet = Sketch(WIDTH, 80 + 36 * len(VERDICTS))
    sheet.text("verdict", (40, 22), NOTE)
    sheet.text("what was seen", (190, 22), NOTE)
    sheet.text("what the watch does", (540, 22), NOTE)
    for row, (word, (fill, seen, done)) in enumerate(VERDICTS.items()):
        y = 38 + 36 * row
        sheet.box((24, y), (712, 30), fill)
        sheet.text(word.value, (40, y + 15), Pen(size=13, bold=True))
        sheet.text(seen, (190, y + 15), CODE)
        sheet.text(done, (540, y + 15), CODE)
    rule = f"Silence counts after {limits.stall_after:g} s, in an open turn after {limits.stall_tool_after:g} s. Time asleep does not count."
    sheet.text(rule, (24, 62 + 36 * len(VERDICTS)), NOTE)
    told = "; ".join(f"{word.value}: {seen}" for word, (_, seen, _) in VERDICTS.items())
    return sheet.finish("What an agent can be doing, and what follows", told)


def life() -> str:
    """The states of a run, and what moves it between them."""
    places = {"spawning": 40, "running": 240, "stopping": 440, "ended": 640}
    sheet = Sketch(WIDTH, 220)
    for state, x in places.items():
        sheet.card((x, 90), 96, (state,), ROSE if state == "ended" else SKY)
    moves = dict.fromkeys((str(a), str(b)) for (a, _), b in TRANSITIONS.items() if a != b)
    levels = {1: 0, -1: 0}  # how many ways go round below and above
    for number, (a, b) in enumerate(moves):
        whys = " / ".join(str(w) for (x, w), y in TRANSITIONS.items() if (str(x), str(y)) == (a, b))
        words, pen = whys.replace("_", " "), Pen(size=11, ink=FAINT, anchor="middle")
        if places[b] - places[a] == 200:
            sheet.arrow([(places[a] + 96, 106), (places[b] - 1, 106)])
            sheet.text(words, (places[a] + 148, 94), pen)
            continue
        side = 1 if b == "ended" else -1
        levels[side] += 1
        y, edge = 106 + side * (22 + 26 * levels[side]), 122 if side > 0 else 90
        x, to = places[a] + 24 + 9 * number, places[b] + 20 + 9 * number
        sheet.arrow([(x, edge), (x, y), (to, y), (to, edge)])
        sheet.text(words, ((x + to) / 2, y - 8), pen)
    told = "; ".join(f"{a}, {why}: {b}" for (a, why), b in TRANSITIONS.items())
    return sheet.finish("The states of a run", told)


PICTURES: dict[str, Callable[[], str]] = {
    "keeper": keeper, "stamp": stamp, "proof": proof, "ladder": ladder, "receipt": receipt,
    "stall": stall, "life": life,
}  # fmt: skip


def all_pictures() -> dict[str, str]:
    """Path below docs → the picture, light and dark; and the dark chart of the README."""
    found: dict[str, str] = {}
    for name, draw in PICTURES.items():
        svg = draw()
        found |= {f"pictures/{name}-light.svg": svg, f"pictures/{name}-dark.svg": darkened(svg)}
    chart = (ROOT / "docs/charts/survivors.svg").read_text("utf-8")
    return found | {"charts/survivors-dark.svg": darkened(chart)}
