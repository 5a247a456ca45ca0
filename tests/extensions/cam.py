"""A cam: a profile, and a follower with a roller or a flat face.

The profile is a closed spline of radii in a plane of its body.
"""

import math

from shiftjax.algebra import atan2, norm_squared, sqrt
from shiftjax.constraints import CONSTRAINTS, DerivedConstraint
from shiftjax.field import Field, Role
from shiftjax.splines import cubic, evaluated

RADII = Field(
    "radii",
    "at equal steps of the angle from -pi: of the roller's centre, "
    "or from the axis to the face",
    "numbers",
    Role.LENGTH,
    "m",
    required=True,
    fewest=3,
)
FOLLOWER = Field(
    "follower",
    "a roller, or a flat face across the x axis of its frame",
    "choice",
    default="roller",
    choices=("roller", "flat"),
)


class Cam(DerivedConstraint):
    """The second frame's origin, or its face, touches the profile.

    The profile turns about the z axis of the first frame.
    """

    frames, row_names, fields, words = 2, ("touches",), (RADII,), (FOLLOWER,)

    def phi(self, group, motion):
        cam, follower = group.frames
        R, (x, y, _) = motion.pose(follower, relative=cam)
        radii = [*motion.values(group.numbers)["radii"]]
        angles = [
            (2.0 * k / len(radii) - 1.0) * math.pi
            for k in range(len(radii) + 1)
        ]
        profile = cubic(angles, [*radii, radii[0]], periodic=True)
        if dict(group.words)["follower"] == "flat":
            distance, angle = x * R[0][0] + y * R[1][0], atan2(R[1][0], R[0][0])
        else:
            distance, angle = sqrt(norm_squared([x, y])), atan2(y, x)
        return [distance - evaluated(angles[1:-1], profile, angle)[0]]


CONSTRAINTS["my_cam"] = Cam()
