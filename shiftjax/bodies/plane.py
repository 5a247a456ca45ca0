"""Motion in a plane: (x, y, theta) of bodies in place of their poses in space. Host code on NumPy.

A body has the pose that it has at the start, moved within the plane: what of its place is across the plane stays, and
it turns about the normal. theta is counted from where the body's axes lie along the world's, where they can; else from
the start. It is not cut at a turn.
"""

from __future__ import annotations

import numpy as np

from shiftjax.errors import ModelError, one_of
from shiftjax.poses import quaternions
from shiftjax.record import record

PLANES = {
    first + second: ("xyz".index(first), "xyz".index(second)) for first in "xyz" for second in "xyz" if first != second
}
FLAT = 1e-9  # m and entries of rotations: what moves out of the plane by less lies in it


@record
class Plane:
    """A plane of the world's axes, and how bodies stand in it.

    Attributes:
        axes: (3, 2) its first and second axis; normal: (3,) the first one turned to the second goes about it.
        across: (nb,) of bodies [m]; turned: (nb, 3, 3) their rotations where theta is 0.
    """

    axes: np.ndarray
    normal: np.ndarray
    across: np.ndarray
    turned: np.ndarray

    @classmethod
    def of(cls, name: str, R: np.ndarray, p: np.ndarray) -> tuple[Plane, np.ndarray]:
        """The plane by its name, and (nb, 3) states of bodies at rotations (nb, 3, 3) and origins (nb, 3).

        Raises:
            ModelError: no such plane.
        """
        one_of("plane", name, PLANES)
        axes = np.eye(3)[:, list(PLANES[name])]
        normal = np.cross(axes[:, 0], axes[:, 1])
        bare = cls(axes, normal, p @ normal, R)
        level = np.abs(R @ normal - normal).max(1, initial=0.0) < FLAT
        theta = np.where(level, bare.angles(R), 0.0)
        plane = cls(axes, normal, p @ normal, about(normal, -theta) @ R)
        return plane, np.concatenate([p @ axes, theta[:, None]], axis=1)

    def states(self, R: np.ndarray, p: np.ndarray) -> np.ndarray:
        """(N, nb, 3) of rotations (N, nb, 3, 3) and origins (N, nb, 3) of bodies in the plane; theta from -pi to pi."""
        return np.concatenate([p @ self.axes, self.angles(R @ np.swapaxes(self.turned, 1, 2))[..., None]], axis=-1)

    def angles(self, R: np.ndarray) -> np.ndarray:
        """(...) angles [rad] of rotations (..., 3, 3) about the normal."""
        first = R @ self.axes[:, 0]
        return np.arctan2(first @ self.axes[:, 1], first @ self.axes[:, 0])

    def poses(self, x: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Rotations (N, nb, 3, 3) and origins (N, nb, 3) at states (N, nb, 3)."""
        R = about(self.normal, x[..., 2]) @ self.turned
        return R, x[..., :2] @ self.axes.T + self.across[:, None] * self.normal

    def columns(self, J: np.ndarray) -> np.ndarray:
        """(N, m, 3 nb) of a Jacobian (N, m, 6 nb) by twists."""
        parts = J.reshape(*J.shape[:-1], -1, 6)
        flat = np.concatenate([parts[..., :3] @ self.axes, (parts[..., 3:] @ self.normal)[..., None]], axis=-1)
        return flat.reshape(*J.shape[:-1], -1)

    def refuse_leaving(self, path: str, turns: np.ndarray, ways: np.ndarray) -> None:
        """Raises where a joint moves its child out of the plane.

        Args:
            turns, ways: (nv, 3) angular velocities and velocities for a unit of each speed, in the world.
        """
        if max(np.abs(turns @ self.axes).max(initial=0.0), np.abs(ways @ self.normal).max(initial=0.0)) > FLAT:
            names = [name for name, (i, j) in PLANES.items() if i < j]
            todo = f"Give the plane of the mechanism, one of {', '.join(names)}, or leave `plane` out."
            raise ModelError(path, "a joint that moves its child out of the plane", "motion in the plane", todo)


def about(axis: np.ndarray, angle: np.ndarray) -> np.ndarray:
    """(..., 3, 3) rotations about a unit vector by angles (...)."""
    x, y, z = axis
    skew = np.array([[0.0, -z, y], [z, 0.0, -x], [-y, x, 0.0]])
    c, s = np.cos(angle)[..., None, None], np.sin(angle)[..., None, None]
    return np.eye(3) + s * skew + (1.0 - c) * (skew @ skew)


def seven(R: np.ndarray, p: np.ndarray) -> np.ndarray:
    """(..., 7) poses of rotations (..., 3, 3) and origins (..., 3)."""
    return np.concatenate([p, quaternions(R)], axis=-1)
