"""Four-bars in the plane by their lengths; their poses in closed form (Norton, Design of Machinery, section 4.5)."""

from __future__ import annotations

import numpy as np

from shiftjax.mechanism.model import Model
from tests.support.models.flat_linkages import linkage

Lengths = tuple[float, float, float, float]  # crank, coupler, rocker, ground


def angles(lengths: Lengths, theta: np.ndarray, branch: int) -> tuple[np.ndarray, np.ndarray]:
    """Angles of coupler and rocker from the ground, NaN where the loop cannot close.

    Args:
        branch: 1 or -1: the sign of the cross product of coupler and rocker.
    """
    a, b, c, d = lengths
    x, y = d - a * np.cos(theta), -a * np.sin(theta)  # from the crank's tip to the rocker's pivot
    f = np.hypot(x, y)
    with np.errstate(invalid="ignore"):
        corner = np.arccos((b * b + f * f - c * c) / (2.0 * b * f))
    coupler = np.arctan2(y, x) - branch * corner
    return coupler, np.arctan2(b * np.sin(coupler) - y, b * np.cos(coupler) - x)


def four_bar(lengths: Lengths, theta: float, branch: int = 1) -> Model:
    """A four-bar drawn at an angle of its crank [rad]."""
    coupler, rocker = angles(lengths, np.array(theta), branch)
    return linkage(lengths, (theta, float(coupler), float(rocker)))
