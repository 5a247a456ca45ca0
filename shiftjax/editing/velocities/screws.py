"""`BodyScrew`: how a body moves at an instant, as another one sees it. Host code.

A motion with angular velocity w and velocity u of the point p is a rotation about the axis through p + (w x u) / |w|^2
along w, with a translation of w . u / |w|^2 along it for a unit of rotation, the pitch (Ball, A Treatise on the Theory
of Screws, chapter I). Of planar motion the pitch is 0, and the axis goes through the instant centre.
"""

from __future__ import annotations

import numpy as np

from shiftjax.record import record

STILL = 1e-9  # of the largest velocity of the mechanism: less is rounding


@record
class BodyScrew:
    """How a body moves at an instant, as another one sees it, along the axes of the world.

    Attributes:
        kind: "rest", "translation", "rotation" or "screw".
        direction: (3,) unit vector along the axis in the sense of the rotation, or of the translation; zeros at rest.
        point: (3,) that of the axis which is nearest to the origin of the body [m]; that origin where there is none.
        pitch: translation for a turn by one radian [m/rad]: 0 of a rotation, infinite of a translation, NaN at rest.
        rate: of the rotation, or of a translation, for a unit of what leads the motion [rad or m].
    """

    kind: str
    direction: np.ndarray
    point: np.ndarray
    pitch: float
    rate: float


def screw_of(twist: np.ndarray, origin: np.ndarray, length: float, largest: float) -> BodyScrew:
    """The screw of a motion.

    Args:
        twist: (6,) angular velocity [rad], velocity of the origin of the body [m], along the axes of the world.
        origin: (3,) [m]. length: of the mechanism [m]. largest: of velocities in it [m], to which small ones are told.
    """
    w, u = twist[:3], twist[3:]
    turning, going = float(np.linalg.norm(w)), float(np.linalg.norm(u))
    if turning * length <= STILL * largest:
        if going <= STILL * largest:
            return BodyScrew("rest", np.zeros(3), origin.copy(), np.nan, 0.0)
        return BodyScrew("translation", u / going, origin.copy(), np.inf, going)
    pitch = float(w @ u) / turning**2
    flat = abs(pitch) * turning <= STILL * max(largest, going)
    point = origin + np.cross(w, u) / turning**2
    return BodyScrew("rotation" if flat else "screw", w / turning, point, 0.0 if flat else pitch, turning)
