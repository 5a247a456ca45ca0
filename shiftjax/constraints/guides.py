"""Guides: a point of one body on a curve in space, or on a curved surface, of another.

A curve has no equation of its own, so the place along it is a coordinate of the mechanism: that of any joint, as of a
massless slider beside it, which then says how far along the point is, and can be driven, sprung and recorded.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import pairwise
from typing import Any

from shiftjax.algebra import Scalar, Vec, floor, minus, norm_squared, ratio, sqrt
from shiftjax.constraints.derived import Asked, DerivedConstraint
from shiftjax.errors import ModelError
from shiftjax.field import Field, Role
from shiftjax.height_fields import SURFACE, faults, height
from shiftjax.plan_elements import RowGroup
from shiftjax.splines import cubic, evaluated, natural

MOST = 200  # points of a curve
POINTS = Field("points", "that the curve goes through, in the first frame", "points", Role.LENGTH, "m", required=True)
PLACES = Field("places", "of the points along the curve, as the joint's coordinate says them, rising; of a closed one "
               "once more of the first; left out, from 0 by the distances of the points", "numbers", Role.NUMBER, "{x}",
               (), rising=True)  # fmt: skip
ENDS = Field("ends", "open: straight on beyond them; closed: from the last point back to the first", "choice",
             default="open", choices=("open", "closed"))  # fmt: skip


class PointOnCurve(DerivedConstraint):
    """The second frame's origin is on a spline curve fixed in the first, at the place that a joint's coordinate says.

    Three rows, and one coordinate that they use up: two freedoms less.
    """

    joints, frames, row_names, units = 1, 2, ("x", "y", "z"), ("m", "m", "m")
    fields, words = (POINTS, PLACES), (ENDS,)

    def phi(self, group: RowGroup, motion: Asked) -> Sequence[Scalar]:
        guide, rider = group.frames
        n = {**motion.values(group.numbers), **dict(group.words)}
        if not n["places"] and group.units[0] != "m":
            fault, todo = "no places, and a joint that turns", "Give them in the joint's unit of angles."
            raise ModelError(f"constraint {group.name}", fault, "places of the points along such a joint", todo)
        _, p = motion.pose(rider, relative=guide)
        return minus(p, curve_at(n, motion.coordinate(group.coordinates[0])))

    def faults(self, n: Mapping[str, Any]) -> dict[str, Any]:
        points, places, closed = n["points"], n["places"], n["ends"] == "closed"
        wanted = len(points) + closed
        return {
            f"{len(points)} points": len(points) < (3 if closed else 2),
            f"more than {MOST} points": len(points) > MOST,
            f"{len(places)} places of {len(points)} points of {'a closed' if closed else 'an open'} curve":
                bool(places) and len(places) != wanted,
        }  # fmt: skip


def curve_at(n: Mapping[str, Any], s: Scalar) -> Vec:
    """The point [m] of a curve at a place; lane code.

    Args:
        n: numbers and words of a `PointOnCurve`.
    """
    places, points = places_of(n), _points(n)
    columns = [[point[k] for point in points] for k in range(3)]
    if n["ends"] == "open":
        return [natural(places, column, s)[0] for column in columns]
    period = places[-1] - places[0]
    s = s - period * floor(ratio(s - places[0], period))
    return [evaluated(places[1:-1], cubic(places, column, periodic=True), s)[0] for column in columns]


def _points(n: Mapping[str, Any]) -> list[Vec]:
    """The points of a curve, of a closed one the first again at the end."""
    return [*n["points"], *(n["points"][:1] if n["ends"] == "closed" else ())]


def places_of(n: Mapping[str, Any]) -> list[Scalar]:
    """The places of the points of a curve, of a closed one once more of the first; lane code."""
    points, places = _points(n), [*n["places"]]
    if places:
        return places
    places = [0.0]
    for one, other in pairwise(points):
        places.append(places[-1] + sqrt(norm_squared(minus(other, one))))
    return places


class PointOnSurface(DerivedConstraint):
    """The second frame's origin is on a surface z = f(x, y) of the first: a table with a bicubic spline, a polynomial.

    Between its points a table is a natural cubic spline along x and y; beyond them it goes straight on.
    """

    frames, row_names, units, fields = 2, ("z",), ("m",), SURFACE

    def phi(self, group: RowGroup, motion: Asked) -> Sequence[Scalar]:
        ground, rider = group.frames
        _, (x, y, z) = motion.pose(rider, relative=ground)
        return [z - height(motion.values(group.numbers), x, y).z]

    def faults(self, n: Mapping[str, Any]) -> dict[str, Any]:
        return faults(n)
