"""Drawing by hand: an SVG that stands on its own, on a light page and on a dark one.

It brings its background and names only fonts that every system has; no script, no style sheet.
"""

from collections.abc import Sequence
from typing import NamedTuple
from xml.sax.saxutils import escape, quoteattr

FONT = "-apple-system, 'Segoe UI', 'Noto Sans', 'Liberation Sans', Helvetica, Arial, sans-serif"
INK, FAINT, RULE, PAPER, BLANK = "#1f2328", "#59636e", "#d1d9e0", "#ffffff", "#eaeef2"
# Okabe and Ito's: told apart by people who see fewer colours, and by their lightness.
BLUE, ORANGE, GREEN, RED, PURPLE = "#0072b2", "#e69f00", "#009e73", "#d55e00", "#cc79a7"
SKY, GREY = "#56b4e9", "#6e7781"
WIDE = 0.58  # of the font's size, for a letter: a little more than the fonts above have on average


def width_of(text: str, size: float) -> float:
    """So much room it needs at most, whichever of the fonts is there."""
    return len(text) * size * WIDE


class Pen(NamedTuple):
    """How words are written."""

    size: float = 12
    anchor: str = "start"  # "middle", "end"
    ink: str = INK
    bold: bool = False
    turned: float = 0  # degrees, clockwise


PLAIN, SMALL = Pen(), Pen(size=11, ink=FAINT)
HEADLINE = Pen(size=16, bold=True)


class Drawing:
    """Shapes in order; `finish` gives the file."""

    def __init__(self, width: float, height: float) -> None:
        self.width, self.height = width, height
        self._shapes: list[str] = []

    def box(self, at: tuple[float, float], size: tuple[float, float], fill: str) -> None:
        (x, y), (wide, high) = at, size
        self._shapes.append(
            f'<rect x="{x:.1f}" y="{y:.1f}" width="{wide:.1f}" height="{high:.1f}" fill="{fill}"/>'
        )

    def line(
        self, points: Sequence[tuple[float, float]], ink: str = RULE, thick: float = 1
    ) -> None:
        path = " ".join(f"{x:.1f},{y:.1f}" for x, y in points)
        self._shapes.append(
            f'<polyline points="{path}" fill="none" stroke="{ink}" stroke-width="{thick:g}"/>'
        )

    def shape(self, points: Sequence[tuple[float, float]], fill: str) -> None:
        path = " ".join(f"{x:.1f},{y:.1f}" for x, y in points)
        self._shapes.append(f'<polygon points="{path}" fill="{fill}"/>')

    def text(self, words: str, at: tuple[float, float], pen: Pen = PLAIN) -> None:
        """`at` is the middle of its height, at its start, middle or end by the pen's anchor."""
        turn = f' transform="rotate({pen.turned:g} {at[0]:.1f} {at[1]:.1f})"' if pen.turned else ""
        weight = ' font-weight="600"' if pen.bold else ""
        self._shapes.append(
            f'<text x="{at[0]:.1f}" y="{at[1] + pen.size * 0.35:.1f}" font-size="{pen.size:g}"'
            f' text-anchor="{pen.anchor}" fill="{pen.ink}"{weight}{turn}>{escape(words)}</text>'
        )

    def finish(self, title: str, told: str) -> str:
        """`told` says in words what the picture shows."""
        sides = f'width="{self.width:.0f}" height="{self.height:.0f}"'
        size = f'viewBox="0 0 {self.width:.0f} {self.height:.0f}" {sides}'
        paper = f'width="{self.width - 1:.0f}" height="{self.height - 1:.0f}"'
        spoken = f'role="img" aria-labelledby="title desc" font-family={quoteattr(FONT)}'
        return "\n".join(
            (
                f'<svg xmlns="http://www.w3.org/2000/svg" {size} {spoken}>',
                f'<title id="title">{escape(title)}</title>',
                f'<desc id="desc">{escape(told)}</desc>',
                f'<rect x="0.5" y="0.5" {paper} rx="6" fill="{PAPER}" stroke="{RULE}"/>',
                *self._shapes,
                "</svg>",
                "",
            )
        )
