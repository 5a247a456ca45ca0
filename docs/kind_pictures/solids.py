"""Bodies in space as a drawing shows them: boxes, cylinders, balls, rings, bars, sorted by their distance from the eye.

Space is in units of about a body's size; x points to the lower left, y to the right, z up.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from shiftjax.docs.kind_pictures.drawing import INK, LINE, Drawing, on_arc

Vector = Any  # (3,) array, or three numbers
AZIMUTH, ELEVATION = math.radians(35.0), math.radians(28.0)  # of the eye
EYE = np.array(
    [
        math.cos(ELEVATION) * math.cos(AZIMUTH),
        math.cos(ELEVATION) * math.sin(AZIMUTH),
        math.sin(ELEVATION),
    ]
)
RIGHT = np.array([-math.sin(AZIMUTH), math.cos(AZIMUTH), 0.0])
UP = np.cross(EYE, RIGHT)
ROUND = 24  # corners of a circle
LIT, SHADED = 0.35, 0.22  # how much white or black is over a face that looks up or away


def unit(v: Vector) -> np.ndarray:
    """The vector of length 1 along another."""
    return np.asarray(v, float) / np.linalg.norm(v)


def across(axis: Vector) -> tuple[np.ndarray, np.ndarray]:
    """Two unit vectors across an axis and each other; turning about the axis leads from the first to the second."""
    first = np.cross([0.0, 0.0, 1.0], axis)
    first = unit(first) if np.linalg.norm(first) > 0.3 else unit(np.cross(np.cross(axis, RIGHT), axis))
    return first, np.cross(axis, first)


def circle(centre: Vector, axis: Vector, radius: float, begin: float = 0.0, end: float = 360.0) -> list[np.ndarray]:
    """Points on a circle, angles in degrees about the axis in the right-hand sense."""
    first, second = across(axis)
    n = max(3, round(abs(end - begin) / 360.0 * ROUND) + 1)
    angles = np.radians(np.linspace(begin, end, n))
    return [np.asarray(centre) + radius * (math.cos(a) * first + math.sin(a) * second) for a in angles]


class Projection:
    """Bodies, drawn from the farthest to the nearest.

    Args:
        scale: pixels a unit. middle: where on the drawing the origin is.
    """

    def __init__(self, scale: float = 46.0, middle: tuple[float, float] = (120.0, 76.0)) -> None:
        self.scale, self.middle = scale, middle
        self.items: list[tuple[float, Callable[[Drawing], None]]] = []

    def at(self, point: Vector) -> tuple[float, float]:
        """Where a point of space is on the drawing."""
        p = np.asarray(point, float)
        return self.middle[0] + self.scale * float(p @ RIGHT), self.middle[1] + self.scale * float(p @ UP)

    def flat(self, points: Sequence[Vector]) -> list[tuple[float, float]]:
        return [self.at(point) for point in points]

    def add(self, nearness: float, draw: Callable[[Drawing], None]) -> None:
        self.items.append((nearness, draw))

    def draw(self, drawing: Drawing) -> None:
        """Draws all that was added."""
        for _, draw in sorted(self.items, key=lambda item: item[0]):
            draw(drawing)
        self.items.clear()

    def line(self, points: Sequence[Vector], *, nearer: float = 0.0, **named: Any) -> None:
        """A thin line. nearer: added to its nearness, which is that of its middle."""
        flat = self.flat(points)
        self.add(_depth(points) + nearer, lambda d: d.line(flat, **named))

    def bar(self, points: Sequence[Vector], fill: str, *, width: float = 8.0, nearer: float = 0.0) -> None:
        """A rounded bar."""
        flat = self.flat(points)
        self.add(_depth(points) + nearer, lambda d: d.bar(flat, fill, width))

    def plate(self, centre: Vector, sides: Sequence[Vector], fill: str, *, nearer: float = 0.0) -> None:
        """A thin plate of two half sides."""
        a, b = (np.asarray(side, float) for side in sides)
        c = np.asarray(centre, float)
        flat = self.flat([c + a + b, c - a + b, c - a - b, c + a - b])
        self.add(float(c @ EYE) + nearer, lambda d: d.shape(flat, fill))

    def box(self, centre: Vector, halves: Sequence[Vector], fill: str, *, nearer: float = 0.0) -> None:
        """A box of three half sides."""
        c, sides = np.asarray(centre, float), [np.asarray(half, float) for half in halves]

        def draw(d: Drawing) -> None:
            for k, side in enumerate(sides):
                outward = side if side @ EYE > 0.0 else -side
                a, b = (sides[j] for j in range(3) if j != k)
                corners = [c + outward + s * a + t * b for s, t in ((1, 1), (-1, 1), (-1, -1), (1, -1))]
                _face(d, self.flat(corners), fill, unit(outward))

        self.add(float(c @ EYE) + nearer, draw)

    def cylinder(
        self, start: Vector, end: Vector, radius: float, fill: str, *, hole: float = 0.0, nearer: float = 0.0
    ) -> None:
        """A cylinder between two points; hole: radius of one through it, shown on the cap that looks at the eye."""
        a, b = np.asarray(start, float), np.asarray(end, float)
        axis = unit(b - a)
        cap = b if axis @ EYE > 0.0 else a

        def draw(d: Drawing) -> None:
            rims = self.flat([*circle(a, axis, radius), *circle(b, axis, radius)])
            d.shape(hull(rims), fill)
            face = self.flat(circle(cap, axis, radius)[:-1])
            d.shape(face, "#fff", opacity=LIT)
            if hole:
                d.shape(self.flat(circle(cap, axis, hole)), "#000", opacity=0.55, outline=LINE)

        self.add(_depth([a, b]) + nearer, draw)

    def ball(self, centre: Vector, radius: float, fill: str, *, nearer: float = 0.0) -> None:
        """A ball."""
        place, size = self.at(centre), self.scale * radius

        def draw(d: Drawing) -> None:
            d.circle(place, size, fill)
            d.shape(
                on_arc((place[0] - 0.3 * size, place[1] + 0.35 * size), 0.32 * size, 0, 360),
                "#fff",
                outline=0,
                opacity=0.45,
            )

        self.add(float(np.asarray(centre) @ EYE) + nearer, draw)

    def fillet(self, points: Sequence[Vector]) -> None:
        """A seam between two bodies, in ink, over all."""
        flat = self.flat(points)
        self.add(10.0, lambda d: d.shape(flat, INK))

    def ring(self, centre: Vector, axis: Vector, radius: float, fill: str, *, width: float = 8.0) -> None:
        """A ring, in two halves: other things may be inside it."""
        points = circle(centre, axis, radius)[:-1]
        start = min(range(ROUND), key=lambda k: abs(points[k] @ EYE) + (points[(k + 1) % ROUND] @ EYE < 0.0))
        turned = [points[(start + k) % ROUND] for k in range(ROUND + 1)]
        for part in (turned[: ROUND // 2 + 1], turned[ROUND // 2 :]):
            self.bar(part, fill, width=width, nearer=radius * (1.0 if part[ROUND // 4] @ EYE > 0.0 else -1.0))


def hull(points: Sequence[tuple[float, float]]) -> list[tuple[float, float]]:
    """The convex hull of points of a plane (Andrew's monotone chain)."""
    ordered = sorted(set(points))
    out: list[tuple[float, float]] = []
    for course in (ordered, ordered[::-1]):
        chain: list[tuple[float, float]] = []
        for p in course:
            while len(chain) > 1 and _turn(chain[-2], chain[-1], p) <= 0.0:
                chain.pop()
            chain.append(p)
        out += chain[:-1]
    return out


def _turn(a: Sequence[float], b: Sequence[float], c: Sequence[float]) -> float:
    return (b[0] - a[0]) * (c[1] - a[1]) - (b[1] - a[1]) * (c[0] - a[0])


def _depth(points: Sequence[Vector]) -> float:
    return float(np.mean([np.asarray(p, float) @ EYE for p in points]))


def _face(d: Drawing, flat: list[tuple[float, float]], fill: str, normal: np.ndarray) -> None:
    """A face, lighter where it looks up and darker where it looks to the right."""
    d.shape(flat, fill)
    if normal[2] > 0.5:
        d.shape(flat, "#fff", opacity=LIT)
    elif normal @ RIGHT > 0.0:
        d.shape(flat, "#000", opacity=SHADED)
