"""Homogeneous transforms (4, 4) of frames and cameras, and projections. NumPy only.

A transform maps local coordinates to those of the parent; column vectors, last row 0 0 0 1.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from shiftjax.algebra import matmul
from shiftjax.mechanism.records import ORIGIN, ZERO, Frame
from shiftjax.rotations import rotation_of_vector

PARALLEL = 0.9  # of a unit vector's component: an axis above it is not used as second vector of a cross product


def transform(T: Sequence[float] | np.ndarray = ZERO, R: Sequence[Sequence[float]] | np.ndarray | None = None,
          scale: float | Sequence[float] | np.ndarray = 1.0) -> np.ndarray:  # fmt: skip
    """(4, 4) that scales, then rotates by R, then translates by T [m]."""
    out = np.eye(4)
    out[:3, :3] = (np.eye(3) if R is None else np.asarray(R, float)) * np.asarray(scale, float)
    out[:3, 3] = T
    return out


def of_frame(frames: Sequence[Frame], name: str) -> np.ndarray:
    """(4, 4) of a frame of a body, by its plain name; the identity for its origin."""
    return of_offset(Frame(ORIGIN) if name == ORIGIN else next(frame for frame in frames if frame.name == name))


def of_offset(frame: Frame) -> np.ndarray:
    """(4, 4) of a frame on its body."""
    R = [list(row) for row in frame.R]
    return transform(frame.T, matmul(R, rotation_of_vector(frame.rotation)) if frame.rotation != ZERO else R)


def transformed(matrix: np.ndarray, points: np.ndarray) -> np.ndarray:
    """(..., 3) points under a transform (4, 4)."""
    return np.asarray(points, float) @ matrix[:3, :3].T + matrix[:3, 3]


def z_along(z: np.ndarray, x: np.ndarray | None = None) -> np.ndarray:
    """(3, 3) rotation whose third column is along z; the first is x made orthogonal to it.

    Without x, or with one along z, the first column comes from a coordinate axis, always the same.
    """
    z = np.asarray(z, float) / np.linalg.norm(z)
    across = np.zeros(3) if x is None else np.asarray(x, float) - z * (z @ x)
    if np.linalg.norm(across) < 1e-9 * (1.0 if x is None else max(float(np.linalg.norm(x)), 1e-300)):
        other = np.array([1.0, 0.0, 0.0]) if abs(z[0]) < PARALLEL else np.array([0.0, 1.0, 0.0])
        across = other - z * (z @ other)
    across = across / np.linalg.norm(across)
    return np.stack([across, np.cross(z, across), z], axis=1)


def eye_axes(back: np.ndarray, up: Sequence[float] | np.ndarray) -> np.ndarray:
    """(3, 3) rows right, up, back in the world, of an eye that looks along -back (unit)."""
    right = np.cross(up, back)
    right /= np.linalg.norm(right)
    return np.stack([right, np.cross(back, right), back])


def world_to_eye(eye: np.ndarray, axes: np.ndarray) -> np.ndarray:
    """(4, 4) world to the coordinates of an eye at a point (3,) [m] with these axes."""
    out = np.eye(4)
    out[:3, :3] = axes
    out[:3, 3] = -axes @ eye
    return out


def perspective(slope: float, aspect: float, near: float, far: float) -> np.ndarray:
    """(4, 4) eye to clip space; slope: of the upper edge; aspect: width over height; near, far: distances [m]."""
    out = np.zeros((4, 4))
    out[0, 0], out[1, 1], out[3, 2] = 1 / (slope * aspect), 1 / slope, -1.0
    out[2, 2], out[2, 3] = (far + near) / (near - far), 2 * far * near / (near - far)
    return out


def orthographic(half: float, aspect: float, near: float, far: float) -> np.ndarray:
    """(4, 4) eye to clip space, orthographic; half: of the height [m]; the others as of `perspective`."""
    out = np.zeros((4, 4))
    out[0, 0], out[1, 1], out[3, 3] = 1 / (half * aspect), 1 / half, 1.0
    out[2, 2], out[2, 3] = -2 / (far - near), -(far + near) / (far - near)
    return out


def bounding_sphere(points: np.ndarray) -> tuple[np.ndarray, float]:
    """Centre (3,) and radius [m] of a bounding sphere of points (n, 3), about the middle of their bounding box."""
    centre = 0.5 * (points.min(axis=0) + points.max(axis=0))
    return centre, float(np.linalg.norm(points - centre, axis=1).max())


def box_corners(points: np.ndarray) -> np.ndarray:
    """(8, 3) corners of the box about points (n, 3)."""
    ends = np.stack([points.min(axis=0), points.max(axis=0)]).astype(float)
    return np.array([[ends[i, 0], ends[j, 1], ends[k, 2]] for i in (0, 1) for j in (0, 1) for k in (0, 1)])


def as_tuple(vector: np.ndarray) -> tuple[float, float, float]:
    """A vector (3,) as a tuple of floats."""
    x, y, z = (float(a) + 0.0 for a in vector)  # + 0.0 makes -0.0 a plain zero
    return x, y, z
