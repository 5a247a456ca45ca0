"""A line drawing of 240 x 160 pixels as SVG: strokes, filled shapes, arrows and words; y points upwards.

Ink is the page's text colour (`currentColor`), and the few fills are of middle lightness, so that a drawing in a page
is legible on light and on dark ground.
"""

from __future__ import annotations

import html
import math
from collections.abc import Iterable, Sequence
from typing import Any

Point = Any  # x, y [px]: a tuple or an array

WIDTH, HEIGHT = 240, 160
INK = "currentColor"
PARENT, CHILD, BETWEEN = "#98a4b3", "#4d8fd8", "#c4a35a"  # bodies: what is held, what moves, what is between them
MOTION, FORCE = "#d05a12", "#d14646"  # arrows and names of coordinates; of forces, springs and targets
LINE, THIN, BAR = 1.5, 1.0, 8.0  # widths [px]
HEAD = 8.0  # length of an arrow's head [px]
HALO = "stroke:var(--md-default-bg-color,Canvas);stroke-width:3px;paint-order:stroke"  # of words, in the page's colour
LETTER = 6.4  # width of a letter [px]


class Drawing:
    """Elements of a picture, in the order in which they are drawn.

    Args:
        text: what it shows, for those who cannot see it.
    """

    def __init__(self, text: str) -> None:
        self.text, self.elements = text, list[str]()

    def svg(self) -> str:
        """The picture on one line, for a cell of a Markdown table: no bar, no backtick, and no identifier in it."""
        shown = html.escape(self.text)
        return (
            f'<svg class="kind" xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {HEIGHT}" width="{WIDTH}" '
            f'height="{HEIGHT}" style="min-width:{WIDTH}px" role="img" aria-label="{shown}" data-search-exclude="" '
            f'fill="none" stroke="currentColor" stroke-width="{LINE}" stroke-linecap="round" stroke-linejoin="round" '
            f'font-family="sans-serif" font-size="12">{"".join(self.elements)}</svg>'
        )

    def line(
        self, points: Iterable[Point], *, colour: str = "", width: float = LINE, dash: str = "", closed: bool = False
    ) -> None:
        """A line through points."""
        self.elements.append(f'<path d="{_path(points, closed)}"{_stroke(colour, width, dash)}/>')

    def shape(
        self, points: Iterable[Point], fill: str, *, outline: float = LINE, opacity: float = 1.0, colour: str = ""
    ) -> None:
        """A filled polygon; an outline of width 0 is none."""
        edge = _stroke(colour, outline) if outline else ' stroke="none"'
        clear = f' fill-opacity="{opacity:g}"' if opacity < 1.0 else ""
        self.elements.append(f'<path d="{_path(points, True)}" fill="{fill}"{clear}{edge}/>')

    def circle(
        self, centre: Point, radius: float, fill: str = "", *, colour: str = "", width: float = LINE, dash: str = ""
    ) -> None:
        inside = f' fill="{fill}"' if fill else ""
        place = f'cx="{_number(centre[0])}" cy="{_number(HEIGHT - centre[1])}"'
        self.elements.append(f'<circle {place} r="{_number(radius)}"{inside}{_stroke(colour, width, dash)}/>')

    def bar(self, points: Sequence[Point], fill: str, width: float = BAR) -> None:
        """A body: a thick rounded line with an outline."""
        path = _path(points, False)
        self.elements.append(f'<path d="{path}" stroke-width="{_number(width)}"/>')
        self.elements.append(f'<path d="{path}" stroke="{fill}" stroke-width="{_number(width - 2.6)}"/>')

    def arrow(
        self,
        points: Sequence[Point],
        *,
        colour: str = MOTION,
        width: float = 1.8,
        both: bool = False,
        head: float = HEAD,
    ) -> None:
        """A line with a filled head at its last point; `both`: and an open one at its first, of the negative sense."""
        trimmed = _shortened(points, 0.7 * head)
        self.line(trimmed, colour=colour, width=width)
        self.shape(_head(trimmed[-1], points[-1], head), colour, outline=0)
        if both:
            left, tip, right = _head(points[1], points[0], 0.8 * head)
            self.line([left, tip, right], colour=colour, width=0.8 * width)

    def arc(
        self,
        centre: Point,
        radius: float,
        begin: float,
        end: float,
        *,
        colour: str = MOTION,
        both: bool = True,
        width: float = 1.8,
    ) -> None:
        """An arrow along a circle; angles in degrees, counter-clockwise from the right."""
        self.arrow(on_arc(centre, radius, begin, end), colour=colour, both=both, width=width)

    def word(self, place: Point, text: str, *, colour: str = "", anchor: str = "middle", size: float = 12.0) -> None:
        """A word about a place; `anchor`: "start", "middle" or "end" of it is there. None for an empty text."""
        if not text:
            return
        x, y = _number(place[0]), _number(HEIGHT - place[1] + 0.35 * size)
        bold = ' font-weight="bold"' if colour else ""
        sized = f' font-size="{size:g}"' if size != 12.0 else ""
        shown = html.escape(text).replace("*", "&#42;").replace("_", "&#95;").replace("|", "&#124;")
        self.elements.append(
            f'<text x="{x}" y="{y}" fill="{colour or INK}" text-anchor="{anchor}"{bold}{sized} style="{HALO}">'
            f"{shown}</text>"
        )


def on_arc(centre: Point, radius: float, begin: float, end: float) -> list[tuple[float, float]]:
    """Points along a circle; angles in degrees."""
    n = max(3, round(abs(end - begin) / 12) + 1)
    angles = [math.radians(begin + (end - begin) * k / (n - 1)) for k in range(n)]
    return [(centre[0] + radius * math.cos(a), centre[1] + radius * math.sin(a)) for a in angles]


def between(start: Point, end: Point, part: float) -> tuple[float, float]:
    """The point at a part of the way from one to another."""
    return start[0] + part * (end[0] - start[0]), start[1] + part * (end[1] - start[1])


def _head(before: Point, tip: Point, size: float) -> list[tuple[float, float]]:
    x, y = tip[0] - before[0], tip[1] - before[1]
    length = math.hypot(x, y) or 1.0
    x, y = x / length * size, y / length * size
    wide = 0.42
    return [
        (tip[0] - x - wide * y, tip[1] - y + wide * x),
        (tip[0], tip[1]),
        (tip[0] - x + wide * y, tip[1] - y - wide * x),
    ]


def _shortened(points: Sequence[Point], by: float) -> list[Point]:
    """A line that ends this far before its last point."""
    remaining = list(points)
    while len(remaining) > 2 and math.dist(remaining[-2], points[-1]) <= by:
        del remaining[-1]
    last, end = remaining[-2], points[-1]
    remaining[-1] = between(last, end, max(0.0, 1.0 - by / (math.dist(last, end) or 1.0)))
    return remaining


def _stroke(colour: str, width: float, dash: str = "") -> str:
    parts = [f' stroke="{colour}"' if colour else "", f' stroke-width="{width:g}"' if width != LINE else ""]
    return "".join(parts) + (f' stroke-dasharray="{dash}"' if dash else "")


def _number(value: float) -> str:
    return f"{value:.1f}".removesuffix(".0")


def _path(points: Iterable[Point], closed: bool) -> str:
    places = [f"{_number(x)},{_number(HEIGHT - y)}" for x, y in points]
    return f"M{'L'.join(places)}" + "Z" * closed
