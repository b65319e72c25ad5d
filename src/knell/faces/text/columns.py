"""A table that fits the terminal: the widest column gives way first, no row wraps."""

import sys
from collections.abc import Callable, Mapping, Sequence
from typing import NamedTuple

from knell.faces.text.terminal import BOLD, Paint, Sheet, columns, cut, painted, printable, sheet

GAP = 2  # blanks between two columns
LEAST = 6  # columns to which a wide one may be cut
LONG_NAME = 24  # a longer first cell does not widen its column: it costs only its own row


class Column(NamedTuple):
    title: str
    drop: int = 0  # where the terminal is too narrow, the highest is left out first; 0: never
    right: bool = False  # numbers


def table(
    titles: Sequence[str | Column],
    rows: Sequence[Sequence[str]],
    paints: Mapping[str, Paint] | None = None,
    on: Sheet | None = None,
) -> str:
    """Columns as wide as they need to be; a column that is empty everywhere is left out.

    `on`: what it is printed on; stdout if not given."""
    on = on or sheet()
    heads = [Column(one) if isinstance(one, str) else one for one in titles]
    used = [i for i, _ in enumerate(heads) if any(row[i] for row in rows)]
    cells = [_printable_row([row[i] for i in used]) for row in rows]
    kept, widths = _fitted([heads[i] for i in used], cells, on)
    shown = [heads[used[i]] for i in kept]
    lines = [_line([one.title for one in shown], shown, widths, on, {})]
    lines[0] = painted(lines[0], BOLD, on)
    lay = _laid(shown, widths) if on.width is None and not paints else None
    for row in cells:
        if lay and "".join(row).isascii():  # nothing is cut, nothing is painted: for many rows
            lines.append(lay(*row).rstrip())
        else:
            lines.append(_line([row[i] for i in kept], shown, widths, on, paints or {}))
    return "\n".join(lines)


def _printable_row(row: list[str]) -> list[str]:
    text = "".join(row)
    if text.isascii() and text.isprintable():  # as nearly always: then no cell is looked at
        return row
    return [printable(cell) for cell in row]


def _laid(heads: Sequence[Column], widths: Sequence[int]) -> Callable[..., str]:
    """Lays the cells of a row out, where a letter is one column wide."""
    sides = (">" if head.right else "<" for head in heads)
    fields = (f"{{:{side}{width}}}" for side, width in zip(sides, widths, strict=True))
    return (" " * GAP).join(fields).format


def _fitted(
    heads: Sequence[Column], cells: Sequence[Sequence[str]], on: Sheet
) -> tuple[list[int], list[int]]:
    """Which columns are shown, and how wide each is."""
    widths = [
        max([columns(head.title), *(columns(row[i]) for row in cells)])
        for i, head in enumerate(heads)
    ]
    kept = list(range(len(heads)))
    if on.width is None or not heads:
        return kept, widths
    usual = [columns(row[0]) for row in cells if columns(row[0]) <= LONG_NAME]
    widths[0] = max([columns(heads[0].title), *usual])
    least = [min(width, max(LEAST, columns(heads[i].title))) for i, width in enumerate(widths)]
    while sum(least[i] + GAP for i in kept) - GAP > on.width:
        droppable = [i for i in kept if heads[i].drop]
        if not droppable:
            break
        kept.remove(max(droppable, key=lambda i: heads[i].drop))
    least[kept[0]] = widths[kept[0]]  # the name gives nothing
    while sum(widths[i] + GAP for i in kept) - GAP > on.width:  # the widest gives way first
        wide = [i for i in kept if widths[i] > least[i]]
        if not wide:
            break
        widths[max(wide, key=lambda i: widths[i])] -= 1
    return kept, [widths[i] for i in kept]


def _line(
    cells: Sequence[str],
    heads: Sequence[Column],
    widths: Sequence[int],
    on: Sheet,
    paints: Mapping[str, Paint],
) -> str:
    """One row. A first cell that is too long pushes the others, which are cut at the margin."""
    parts: list[str] = []
    left = sys.maxsize if on.width is None else on.width
    for i, (cell, head, width) in enumerate(zip(cells, heads, widths, strict=True)):
        text = cell if on.width is None else cut(cut(cell, width) if i else cell, left)
        blanks = max(0, min(width, left) - columns(text))
        left -= columns(text) + blanks + GAP
        colour = paints[head.title](cell) if head.title in paints else ""
        ends = (" " * blanks, painted(text, colour, on))
        parts.append("".join(ends if head.right else reversed(ends)))
        if left <= 0:
            break
    return (" " * GAP).join(parts).rstrip()
