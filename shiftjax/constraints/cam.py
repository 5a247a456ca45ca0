"""Cams: a closed profile on one body, and a follower with a roller or a flat face on another.

The profile is a periodic cubic spline of radii over the angle about the z axis of the cam's frame. A real follower may
lift off; this one never does: the multiplier of its row (channel `NAME.multiplier`) says by its sign where it would.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

from shiftjax.algebra import Scalar, atan2, norm_squared, sqrt
from shiftjax.constraints.derived import Asked, DerivedConstraint
from shiftjax.field import Field, Role
from shiftjax.plan_elements import RowGroup
from shiftjax.splines import cubic, evaluated

RADII = Field("radii", "at equal steps of the angle from -pi: of the roller's centre, or from the axis to the face",
              "numbers", Role.LENGTH, "m", required=True, fewest=3)  # fmt: skip
FOLLOWER = Field("follower", "a roller, or a flat face across the x axis of its frame", "choice", default="roller",
                 choices=("roller", "flat"))  # fmt: skip


class Cam(DerivedConstraint):
    """The second frame's origin, or its face, touches the profile about the z axis of the first frame.

    Of a flat face the radii are the support function of the profile: the distance of its tangents from the axis.
    """

    frames, row_names, fields, words = 2, ("touches",), (RADII,), (FOLLOWER,)

    def phi(self, group: RowGroup, motion: Asked) -> Sequence[Scalar]:
        cam, follower = group.frames
        R, (x, y, _) = motion.pose(follower, relative=cam)
        radii = [*motion.values(group.numbers)["radii"]]
        angles = [(2.0 * k / len(radii) - 1.0) * math.pi for k in range(len(radii) + 1)]
        profile = cubic(angles, [*radii, radii[0]], periodic=True)
        if dict(group.words)["follower"] == "flat":
            distance, angle = x * R[0][0] + y * R[1][0], atan2(R[1][0], R[0][0])
        else:
            distance, angle = sqrt(norm_squared([x, y])), atan2(y, x)
        return [distance - evaluated(angles[1:-1], profile, angle)[0]]

    def faults(self, n: Mapping[str, Any]) -> dict[str, Any]:
        of_roller = n["follower"] == "roller"
        return {"a radius of 0 or less": of_roller * sum(radius <= 0.0 for radius in n["radii"])}
