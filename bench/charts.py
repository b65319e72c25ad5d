"""The three pictures of the page: a heat map, bars and lines. They know numbers, not benchmarks."""

import math
from collections.abc import Mapping, Sequence
from typing import NamedTuple

import svg
from svg import HEADLINE, PLAIN, SMALL, Drawing, Pen, width_of

MARGIN = 24.0
TOP = 76.0  # below the title and the line that explains it
CLEAN, WORST = "#cfe6f5", "#b5400a"  # light and dark, blue and red: told apart without either
SHADES = ("#fbe0b5", "#f5b35c", "#e0761f", WORST)


class Words(NamedTuple):
    """What stands on a picture, and what a reader hears who cannot see it."""

    title: str
    below: str  # one line: how to read it
    told: str


def headed(drawing: Drawing, words: Words) -> None:
    drawing.text(words.title, (MARGIN, 28), HEADLINE)
    drawing.text(words.below, (MARGIN, 50), SMALL)


def wide_enough(words: Words, width: float) -> float:
    """The picture's width, but never less than its own words need."""
    title = width_of(words.title, HEADLINE.size) * 1.08  # bold
    return max(width, title + 2 * MARGIN, width_of(words.below, SMALL.size) + 2 * MARGIN)


# -- heat map --------------------------------------------------------------------------------------


class Cell(NamedTuple):
    text: str
    share: float | None  # of the worst, 0 to 1; None is what was not measured


class Heat(NamedTuple):
    rows: Sequence[str]
    columns: Sequence[str]
    cells: Mapping[tuple[str, str], Cell]  # by row and column; a missing one was not measured
    legend: Sequence[tuple[str, Cell]]


NOT_MEASURED = Cell("·", None)
CELL_WIDE, CELL_HIGH, SLANT = 56.0, 24.0, -40.0


def heat_map(words: Words, heat: Heat) -> str:
    left = MARGIN + max((width_of(row, 12) for row in heat.rows), default=0) + 10
    longest = max((width_of(column, 12) for column in heat.columns), default=0)
    top = TOP + longest * math.sin(math.radians(-SLANT)) + 8
    right = left + CELL_WIDE * len(heat.columns)
    # The last of the slanted labels leans out over its column.
    leaning = right - CELL_WIDE / 2 + longest * math.cos(math.radians(-SLANT)) + 8
    bottom = top + CELL_HIGH * len(heat.rows)
    drawing = Drawing(wide_enough(words, max(leaning, right) + MARGIN), bottom + 56)
    headed(drawing, words)
    for number, column in enumerate(heat.columns):
        at = (left + CELL_WIDE * (number + 0.5), top - 8)
        drawing.text(column, at, Pen(bold=column.startswith("knell"), turned=SLANT))
    for across, row in enumerate(heat.rows):
        y = top + CELL_HIGH * across
        drawing.text(row, (left - 10, y + CELL_HIGH / 2), Pen(anchor="end"))
        for number, column in enumerate(heat.columns):
            filled(drawing, (left + CELL_WIDE * number, y), heat.cells.get((row, column)))
    x = MARGIN
    for name, cell in heat.legend:
        filled(drawing, (x, bottom + 18), cell)
        drawing.text(name, (x + CELL_WIDE + 6, bottom + 18 + CELL_HIGH / 2), SMALL)
        x += CELL_WIDE + width_of(name, SMALL.size) + 20
    drawing.width = max(drawing.width, x)
    return drawing.finish(words.title, words.told)


def filled(drawing: Drawing, at: tuple[float, float], cell: Cell | None) -> None:
    cell = cell or NOT_MEASURED
    fill = shade(cell.share)
    drawing.box((at[0] + 1, at[1] + 1), (CELL_WIDE - 2, CELL_HIGH - 2), fill)
    pen = Pen(anchor="middle", ink=svg.PAPER if fill == WORST else svg.INK, bold=bool(cell.share))
    drawing.text(cell.text, (at[0] + CELL_WIDE / 2, at[1] + CELL_HIGH / 2), pen)


def shade(share: float | None) -> str:
    """Anything above zero, however little, is never the colour of zero."""
    if share is None:
        return svg.BLANK
    return CLEAN if share <= 0 else SHADES[min(int(share * len(SHADES)), len(SHADES) - 1)]


# -- bars ------------------------------------------------------------------------------------------


class Group(NamedTuple):
    """Bars that belong together: one value for each name in the legend."""

    name: str
    values: Sequence[float | None]
    texts: Sequence[str]  # beside each bar; says why where there is no value


BAR, GAP = 15.0, 12.0
BAR_INKS = (svg.SKY, svg.BLUE)


def bar_chart(words: Words, legend: Sequence[str], groups: Sequence[Group]) -> str:
    left = MARGIN + max((width_of(group.name, 12) for group in groups), default=0) + 10
    room = max((width_of(text, 11) for group in groups for text in group.texts), default=0) + 12
    width = wide_enough(words, left + 460 + room + MARGIN)
    across = width - left - room - MARGIN
    high = BAR * len(legend) + GAP
    drawing = Drawing(width, TOP + 28 + high * len(groups) + 34)
    headed(drawing, words)
    x = MARGIN
    for name, ink in zip(legend, BAR_INKS, strict=False):
        drawing.box((x, TOP - 4), (12, 12), ink)
        drawing.text(name, (x + 18, TOP + 2), SMALL)
        x += 18 + width_of(name, SMALL.size) + 20
    top = TOP + 28
    scale = bar_scale([value for group in groups for value in group.values if value is not None])
    for tick in scale.ticks:
        at = left + scale.of(tick) * across
        drawing.line([(at, top - 4), (at, top + high * len(groups))])
        pen = SMALL._replace(anchor="middle")
        drawing.text(duration(tick), (at, top + high * len(groups) + 12), pen)
    for number, group in enumerate(groups):
        y = top + high * number + GAP / 2
        middle = y + BAR * len(legend) / 2
        bold = group.name.startswith("knell")
        drawing.text(group.name, (left - 10, middle), Pen(anchor="end", bold=bold))
        for place, (value, text) in enumerate(zip(group.values, group.texts, strict=True)):
            long = scale.of(value) * across if value is not None else 0.0
            drawing.box((left, y + BAR * place + 1), (long, BAR - 2), BAR_INKS[place])
            drawing.text(text, (left + long + 6, y + BAR * (place + 0.5)), SMALL)
    return drawing.finish(words.title, words.told)


class Scale(NamedTuple):
    low: float
    high: float
    ticks: Sequence[float]
    logarithmic: bool = False

    def of(self, value: float) -> float:
        """Where it lies between 0 and 1."""
        if not self.logarithmic:
            return (value - self.low) / (self.high - self.low)
        value = max(value, self.low)
        return math.log(value / self.low) / math.log(self.high / self.low)


def bar_scale(values: Sequence[float]) -> Scale:
    """From zero: the length of a bar is the time."""
    most = max([*values, 1.0])
    step = 10 ** math.floor(math.log10(most))
    step = next(step * part for part in (0.2, 0.5, 1, 2) if most / (step * part) <= 6)
    ticks = [step * number for number in range(int(most / step) + 1)]
    return Scale(0, most, ticks)


def duration(ms: float) -> str:
    """As a person would say it: 4 ms, 140 ms, 1.6 s."""
    if ms < 999.5:
        return f"{ms:.1f} ms" if 0 < ms < 10 and ms != int(ms) else f"{ms:.0f} ms"
    return f"{ms / 1000:.1f}".removesuffix(".0") + " s"


# -- lines -----------------------------------------------------------------------------------------

INKS = (svg.BLUE, svg.RED, svg.GREEN, svg.PURPLE, svg.ORANGE, svg.SKY, svg.GREY, svg.INK)
PLOT = (520.0, 330.0)
DOT, LABEL = 4.5, 16.0
Point = tuple[float, float]


def line_chart(
    words: Words, across: str, series: Mapping[str, Sequence[tuple[float, float]]]
) -> str:
    """Both axes logarithmic; x is a number of agents, y is milliseconds."""
    points = [point for line in series.values() for point in line]
    if not points:
        return Drawing(wide_enough(words, 400), TOP).finish(words.title, words.told)
    left, top = MARGIN + 54, TOP + 4
    room = max(width_of(name, 12) for name in series) * 1.08 + 40
    width = wide_enough(words, left + PLOT[0] + room + MARGIN)
    drawing = Drawing(width, top + PLOT[1] + 56)
    headed(drawing, words)
    xs = log_scale([x for x, _ in points], sorted({x for x, _ in points}))
    ys = log_scale([y for _, y in points])
    grid(drawing, (left, top), xs, ys)
    drawing.text(across, (left + PLOT[0] / 2, top + PLOT[1] + 38), SMALL._replace(anchor="middle"))
    ends: list[tuple[Point, int, str]] = []
    for number, (name, line) in enumerate(series.items()):
        if not line:
            continue
        ink = INKS[number % len(INKS)]
        drawn = [
            (left + xs.of(x) * PLOT[0], top + (1 - ys.of(y)) * PLOT[1]) for x, y in sorted(line)
        ]
        drawing.line(drawn, ink, 3 if name.startswith("knell") else 2)
        for at in drawn:
            drawing.shape(marker(at, number), ink)
        ends.append((drawn[-1], number, name))
    for y, (last, number, name) in spread_out(ends, top + PLOT[1] - 6):
        ink, label = INKS[number % len(INKS)], (left + PLOT[0] + 26, y)
        drawing.line([last, label], ink, 0.6)
        drawing.shape(marker(label, number), ink)
        pen = PLAIN._replace(bold=name.startswith("knell"))
        drawing.text(name, (label[0] + 10, y), pen)
    return drawing.finish(words.title, words.told)


def grid(drawing: Drawing, at: tuple[float, float], xs: Scale, ys: Scale) -> None:
    (left, top), (wide, high) = at, PLOT
    for tick in ys.ticks:
        y = top + (1 - ys.of(tick)) * high
        drawing.line([(left, y), (left + wide, y)])
        drawing.text(duration(tick), (left - 8, y), SMALL._replace(anchor="end"))
    for tick in xs.ticks:
        x = left + xs.of(tick) * wide
        drawing.line([(x, top), (x, top + high)])
        drawing.text(f"{tick:g}", (x, top + high + 16), SMALL._replace(anchor="middle"))
    drawing.line([(left, top), (left, top + high), (left + wide, top + high)], svg.FAINT)


def log_scale(values: Sequence[float], ticks: Sequence[float] | None = None) -> Scale:
    """With a little air at both ends; powers of ten unless told otherwise."""
    low, high = max(min(values), 0.01), max(values)
    if ticks is None:
        first, last = math.floor(math.log10(low)), math.ceil(math.log10(high))
        last = max(last, first + 1)
        ticks = [10.0**power for power in range(first, last + 1)]
        low, high = ticks[0], ticks[-1]
    return Scale(low / 1.1, high * 1.1, ticks, logarithmic=True)


def marker(at: tuple[float, float], number: int) -> list[tuple[float, float]]:
    """Another one for each line, so that it is not the colour alone that tells them apart."""
    corners = (16, 4, 3, 5)[(number + number // len(INKS)) % 4]
    turn = math.pi / 4 if corners == 4 and number % 8 < 4 else -math.pi / 2
    return [
        (at[0] + DOT * math.cos(turn + step), at[1] + DOT * math.sin(turn + step))
        for step in (2 * math.pi * corner / corners for corner in range(corners))
    ]


def spread_out(
    ends: Sequence[tuple[Point, int, str]], high: float
) -> list[tuple[float, tuple[Point, int, str]]]:
    """The ends of the lines from top to bottom, each with a height for its label.

    No label is closer to its neighbour than a line of text is high.
    """
    named = sorted(ends, key=lambda end: end[0][1])
    heights = [at[1] for at, _, _ in named]
    for number in range(1, len(heights)):
        heights[number] = max(heights[number], heights[number - 1] + LABEL)
    if heights and heights[-1] > high:  # push back up, and what is pushed pushes on
        heights[-1] = high
        for number in range(len(heights) - 2, -1, -1):
            heights[number] = min(heights[number], heights[number + 1] - LABEL)
    return list(zip(heights, named, strict=True))
