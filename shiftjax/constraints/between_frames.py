"""Constraints between two frames: a point on a point, a line, a plane; a distance; like orientations.

Each says its rows as functions of the second frame's pose as the first one sees it; derivatives are derived.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, ClassVar

from shiftjax.algebra import Mat, Scalar, Vec, norm_squared, sqrt
from shiftjax.constraints.derived import Asked, DerivedConstraint
from shiftjax.field import Field, Role
from shiftjax.plan_elements import RowGroup

Phi = Callable[[Mat, Vec, Mapping[str, Any]], Sequence[Scalar]]
LENGTH = Field("length", "between the origins of the frames", "number", Role.LENGTH, "m", required=True, above=0.0)


class BetweenFrames(DerivedConstraint):
    """Rows of R, p: rotation and origin of the second frame in the first, and of the numbers n.

    Args:
        doc: a sentence. rows: what each row constrains, with its unit.
    """

    frames: ClassVar[int] = 2

    def __init__(self, doc: str, phi: Phi, rows: Mapping[str, str], *fields: Field) -> None:
        self.doc, self.function, self.fields = doc, phi, fields
        self.row_names, self.units = tuple(rows), tuple(rows.values())  # type: ignore[misc]

    def phi(self, group: RowGroup, motion: Asked) -> Sequence[Scalar]:
        first, second = group.frames
        R, p = motion.pose(second, relative=first)
        return self.function(R, p, motion.values(group.numbers))


def turned(R: Mat) -> Vec:
    """Zero where the axes are alike: how far x turns about z, x about y, and y about x; sines of small turns."""
    return [R[1][0], R[2][0], R[2][1]]


BETWEEN_FRAMES = {
    "coincident": BetweenFrames(
        "The origin of the second frame stays at that of the first, as of a ball.",
        lambda R, p, n: p,
        {"x": "m", "y": "m", "z": "m"},
    ),
    "point_on_line": BetweenFrames(
        "The origin of the second frame stays on the z axis of the first.", lambda R, p, n: p[:2], {"x": "m", "y": "m"}
    ),
    "point_on_plane": BetweenFrames(
        "The origin of the second frame stays on the x-y plane of the first.", lambda R, p, n: p[2:], {"z": "m"}
    ),
    "distance": BetweenFrames(
        "The origins of the frames stay `length` apart, as by a rod without mass.",
        lambda R, p, n: [sqrt(norm_squared(p)) - n["length"]],
        {"length": "m"},
        LENGTH,
    ),
    "parallel_axes": BetweenFrames(
        "The z axes of the frames stay parallel.", lambda R, p, n: [R[0][2], R[1][2]], {"x": "rad", "y": "rad"}
    ),
    "perpendicular_axes": BetweenFrames(
        "The z axes of the frames stay across each other.", lambda R, p, n: [R[2][2]], {"angle": "rad"}
    ),
    "same_orientation": BetweenFrames(
        "The axes of the second frame stay along those of the first.",
        lambda R, p, n: turned(R),
        {"z": "rad", "y": "rad", "x": "rad"},
    ),
}
