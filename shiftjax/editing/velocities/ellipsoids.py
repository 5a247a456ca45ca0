"""`VelocityEllipsoid`: how fast a point goes for inputs of unit size, and what forces it takes. Host code.

Velocities J u of inputs |u| <= 1 fill an ellipsoid with semi-axes sigma_i along the left singular vectors of J; forces
that inputs of unit size hold at rest, |J^T F| <= 1, one with semi-axes 1 / sigma_i along the same (Yoshikawa,
Manipulability of Robotic Mechanisms, Int. J. Robotics Research 4 (1985) 3).
"""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from shiftjax.record import record

LOST = 1e-9  # of the largest velocity of the mechanism: less is rounding


@record
class VelocityEllipsoid:
    """Velocities of a point of a body for inputs whose squares sum to one, each in its own unit: 1 rad/s counts as
    1 m/s.

    Attributes:
        inputs: coordinate -> "rad" or "m", as many as the mechanism has freedoms.
        point: (3,) in the world [m].
        J: (3, f) velocity of the point for a unit of each input [m/rad or m/m].
        axes: (3, r) unit vectors of the semi-axes along which it can move, the longest first. sizes: (r,) of these,
            the singular values of J.
        reach: in how many directions it moves at almost all poses, at most 3, or 2 in a plane.
    """

    inputs: Mapping[str, str]
    point: np.ndarray
    J: np.ndarray
    axes: np.ndarray
    sizes: np.ndarray
    reach: int

    @property
    def condition(self) -> float:
        """Largest over smallest semi-axis of as many as there can be; infinite where one of them is lost."""
        if len(self.sizes) < self.reach or not len(self.sizes):
            return np.inf
        return float(self.sizes[0] / self.sizes[-1])

    @property
    def force_sizes(self) -> np.ndarray:
        """(r,) semi-axes of the ellipsoid of forces along `axes` [N for a unit of each input, N m or N]; across these,
        forces of any size are held by the mechanism itself."""
        return 1.0 / self.sizes


def ellipsoid_of(
    inputs: Mapping[str, str], point: np.ndarray, J: np.ndarray, reach: int, largest: float
) -> VelocityEllipsoid:  # fmt: skip
    """That of a matrix (3, f) of velocities.

    Args:
        reach: as of the class, at another pose. largest: of velocities in the mechanism [m], to which small ones are
            told.
    """
    axes, sizes, _ = np.linalg.svd(J, full_matrices=False)
    rank = int((sizes > LOST * max(largest, sizes.max(initial=0.0))).sum())
    return VelocityEllipsoid(dict(inputs), point, J, axes[:, :rank], sizes[:rank], max(rank, reach))
