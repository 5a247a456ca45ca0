"""Parts of plane drawings: ground, hinges, springs, dampers, wheels with teeth, blocks of a diagram, curves on axes."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence

from shiftjax.docs.kind_pictures.drawing import (
    CHILD,
    FORCE,
    LINE,
    MOTION,
    PARENT,
    THIN,
    Drawing,
    Point,
    between,
)

HATCH = 7.0  # px from one line of a hatch to the next
AXES = "6 2 1 2"  # dashes of the line of an axis


def ground(d: Drawing, start: Point, end: Point) -> None:
    """A line of ground, hatched on its right as one goes from start to end."""
    d.line([start, end], width=2.0)
    length = math.dist(start, end)
    x, y = (end[0] - start[0]) / length, (end[1] - start[1]) / length
    for k in range(int(length / HATCH)):
        px, py = between(start, end, (k + 1) * HATCH / (length + HATCH / 2))
        d.line([(px, py), (px + 6 * y - 5 * x, py - 6 * x - 5 * y)], width=THIN)


def pivot(d: Drawing, place: Point, *, grounded: bool = True) -> None:
    """A hinge, on a foot that stands on ground."""
    x, y = place
    if grounded:
        d.shape([(x, y), (x - 9, y - 15), (x + 9, y - 15)], PARENT)
        ground(d, (x - 15, y - 15), (x + 15, y - 15))
    d.circle(place, 4.0, "#fff")


def spring(d: Drawing, start: Point, end: Point, *, turns: int = 5, size: float = 6.0, colour: str = FORCE) -> None:
    """A zigzag between two points."""
    length = math.dist(start, end)
    x, y = (end[0] - start[0]) / length, (end[1] - start[1]) / length
    lead = min(6.0, 0.12 * length)
    points = [start, between(start, end, lead / length)]
    for k in range(2 * turns):
        side = size if k % 2 else -size
        px, py = between(start, end, (lead + (length - 2 * lead) * (k + 0.5) / (2 * turns)) / length)
        points.append((px - side * y, py + side * x))
    d.line([*points, between(start, end, 1 - lead / length), end], colour=colour, width=1.6)


def damper(d: Drawing, start: Point, end: Point, *, size: float = 7.0, colour: str = FORCE) -> None:
    """A pot with a piston between two points; the rod is at the end."""
    length = math.dist(start, end)
    x, y = (end[0] - start[0]) / length, (end[1] - start[1]) / length

    def beside(part: float, side: float) -> tuple[float, float]:
        px, py = between(start, end, part)
        return px - side * y, py + side * x

    d.line([start, beside(0.3, 0.0)], colour=colour, width=1.6)
    d.line([beside(0.72, size), beside(0.3, size), beside(0.3, -size), beside(0.72, -size)], colour=colour, width=1.6)
    d.line([beside(0.52, size - 2), beside(0.52, 2 - size)], colour=colour, width=2.2)
    d.line([beside(0.52, 0.0), end], colour=colour, width=1.6)


def toothed(
    d: Drawing, centre: Point, radius: float, teeth: int, fill: str, *, phase: float = 0.0, inside: float = 0.0
) -> None:
    """A gear with its pitch circle; `inside`: outer radius of a ring whose teeth point inwards.

    Args:
        phase: turns of a tooth by which it is ahead of a tooth on the right.
    """
    depth = 0.9 * math.pi * radius / teeth / 2 * (-1 if inside else 1)
    outline: list[tuple[float, float]] = []
    for k in range(teeth):
        for part, height in ((-0.28, -depth), (-0.14, depth), (0.14, depth), (0.28, -depth)):
            a = 2 * math.pi * (k + part + phase) / teeth
            outline.append((centre[0] + (radius + height) * math.cos(a), centre[1] + (radius + height) * math.sin(a)))
    if inside:
        d.circle(centre, inside, fill)
        d.shape(outline, "var(--md-default-bg-color,Canvas)")
    else:
        d.shape(outline, fill)
    d.circle(centre, radius, width=THIN, dash="4 3")


def hub(d: Drawing, centre: Point, angle: float | None = None, reach: float = 0.0) -> None:
    """The axle of a wheel, and a mark along a radius at an angle in degrees."""
    if angle is not None:
        a = math.radians(angle)
        d.line([centre, (centre[0] + reach * math.cos(a), centre[1] + reach * math.sin(a))])
    d.circle(centre, 3.5, "#fff")


def rectangle(x: float, y: float, wide: float, high: float) -> list[tuple[float, float]]:
    """Corners about a middle."""
    return [
        (x - wide / 2, y - high / 2),
        (x + wide / 2, y - high / 2),
        (x + wide / 2, y + high / 2),
        (x - wide / 2, y + high / 2),
    ]


def slider(
    d: Drawing, x: float, y: float, *, wide: float = 44.0, high: float = 26.0, start: float = 20.0, end: float = 220.0
) -> None:
    """A block on a line of ground."""
    ground(d, (start, y - high / 2 - 1.5), (end, y - high / 2 - 1.5))
    d.shape(rectangle(x, y, wide, high), CHILD)


def motor(d: Drawing, centre: Point, radius: float = 15.0) -> None:
    """The symbol of a motor."""
    d.circle(centre, radius, PARENT)
    d.word(centre, "M", size=14.0)


def block(d: Drawing, centre: Point, text: str, *, wide: float = 48.0, high: float = 24.0) -> None:
    """A block of a diagram."""
    d.shape(rectangle(centre[0], centre[1], wide, high), "#8884", outline=LINE)
    d.word(centre, text)


def curve(
    d: Drawing,
    box: tuple[float, float, float, float],
    function: Callable[[float], float] | Sequence[Callable[[float], float]],
    span: tuple[float, float],
    names: tuple[str, str],
    *,
    colour: str = FORCE,
    knots: Sequence[float] = (),
) -> None:
    """A function, or several, on a pair of axes, scaled to fill them; zero of both is where they cross, if in sight.

    Args:
        box: left, bottom, right, top [px]. span: of the argument. names: of argument and value.
        knots: arguments that are marked.
    """
    left, bottom, right, top = box
    n = 60
    xs = [span[0] + (span[1] - span[0]) * k / n for k in range(n + 1)]
    functions = [function] if callable(function) else list(function)
    rows = [[float(f(x)) for x in xs] for f in functions]
    low, high = min(0.0, *map(min, rows)), max(0.0, *map(max, rows))
    high = high if high > low else low + 1.0

    def at(x: float, y: float) -> tuple[float, float]:
        return (
            left + (right - left - 12) * (x - span[0]) / (span[1] - span[0]),
            bottom + (top - bottom - 14) * (y - low) / (high - low),
        )

    zero = at(min(max(0.0, span[0]), span[1]), 0.0)
    d.arrow([(left, zero[1]), (right, zero[1])], colour="currentColor", width=THIN, head=6.0)
    d.arrow([(zero[0], bottom), (zero[0], top)], colour="currentColor", width=THIN, head=6.0)
    for ys in rows:
        d.line([at(x, y) for x, y in zip(xs, ys, strict=True)], colour=colour, width=2.0)
    for x in knots:
        d.circle(at(x, float(functions[0](x))), 2.6, colour, colour=colour)
    d.word((right + 3, zero[1] - 9), names[0], anchor="end", size=11.0)
    left_side = zero[0] > (left + right) / 2
    d.word((zero[0] + (-6 if left_side else 6), top - 3), names[1], anchor="end" if left_side else "start", size=11.0)


def turn_mark(
    d: Drawing, centre: Point, radius: float, begin: float, end: float, name: str, *, far: float = 11.0
) -> None:
    """The arrow of an angle, from begin to end in degrees, with its name beside the tip."""
    d.arc(centre, radius, begin, end)
    a = math.radians((begin + end) / 2)
    d.word((centre[0] + (radius + far) * math.cos(a), centre[1] + (radius + far) * math.sin(a)), name, colour=MOTION)


def slide_mark(d: Drawing, start: Point, end: Point, name: str) -> None:
    """The arrow of a way, with its name beyond the tip."""
    d.arrow([start, end], both=True)
    length = math.dist(start, end)
    d.word(
        (end[0] + 11 * (end[0] - start[0]) / length, end[1] + 11 * (end[1] - start[1]) / length), name, colour=MOTION
    )


def force_mark(d: Drawing, start: Point, end: Point, name: str) -> None:
    """The arrow of a force, with its name beyond the tip."""
    d.arrow([start, end], colour=FORCE, width=2.6, head=10.0)
    length = math.dist(start, end) or 1.0
    d.word((end[0] + 12 * (end[0] - start[0]) / length, end[1] + 12 * (end[1] - start[1]) / length), name, colour=FORCE)


def axis_line(d: Drawing, start: Point, end: Point) -> None:
    d.line([start, end], width=THIN, dash=AXES)
