"""Places as (4, 4) matrices: of frames, poses and directions. NumPy only.

A place maps coordinates of what is placed to coordinates of where it stands; column vectors, last row 0 0 0 1.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from shiftjax.algebra import matmul
from shiftjax.mechanism.records import ORIGIN, ZERO, Frame
from shiftjax.rotations import rotation_of_vector

PARALLEL = 0.9  # of a unit vector's component: from here on an axis is no helper for a cross product


def place(T: Sequence[float] | np.ndarray = ZERO, R: Sequence[Sequence[float]] | np.ndarray | None = None,
          scale: float | Sequence[float] | np.ndarray = 1.0) -> np.ndarray:  # fmt: skip
    """(4, 4) of scaling, then turning by R, then shifting by T [m]."""
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
    return place(frame.T, matmul(R, rotation_of_vector(frame.rotation)) if frame.rotation != ZERO else R)


def of_pose(pose: np.ndarray) -> np.ndarray:
    """(..., 4, 4) of poses (..., 7): position [m], unit quaternion, w first."""
    pose = np.asarray(pose, float)
    w, x, y, z = np.moveaxis(pose[..., 3:], -1, 0)
    out = np.zeros((*pose.shape[:-1], 4, 4))
    out[..., 0, :3] = np.stack([w * w + x * x - y * y - z * z, 2 * (x * y - w * z), 2 * (x * z + w * y)], -1)
    out[..., 1, :3] = np.stack([2 * (x * y + w * z), w * w - x * x + y * y - z * z, 2 * (y * z - w * x)], -1)
    out[..., 2, :3] = np.stack([2 * (x * z - w * y), 2 * (y * z + w * x), w * w - x * x - y * y + z * z], -1)
    out[..., :3, 3] = pose[..., :3]
    out[..., 3, 3] = 1.0
    return out


def moved(matrix: np.ndarray, points: np.ndarray) -> np.ndarray:
    """(..., 3) points seen from where (4, 4) places them."""
    return np.asarray(points, float) @ matrix[:3, :3].T + matrix[:3, 3]


def facing(z: np.ndarray, x: np.ndarray | None = None) -> np.ndarray:
    """(3, 3) rotation whose third column is along z; the first as near to x as it can be.

    Without x, or with one along z, the first column is the best of the coordinate axes, the same every time.
    """
    z = np.asarray(z, float) / np.linalg.norm(z)
    across = np.zeros(3) if x is None else np.asarray(x, float) - z * (z @ x)
    if np.linalg.norm(across) < 1e-9 * (1.0 if x is None else max(float(np.linalg.norm(x)), 1e-300)):
        helper = np.array([1.0, 0.0, 0.0]) if abs(z[0]) < PARALLEL else np.array([0.0, 1.0, 0.0])
        across = helper - z * (z @ helper)
    across = across / np.linalg.norm(across)
    return np.stack([across, np.cross(z, across), z], axis=1)


def ball(points: np.ndarray) -> tuple[np.ndarray, float]:
    """Centre (3,) and radius [m] of a ball about points (n, 3): about the middle of their box."""
    centre = 0.5 * (points.min(axis=0) + points.max(axis=0))
    return centre, float(np.linalg.norm(points - centre, axis=1).max())


def quaternion(R: np.ndarray) -> np.ndarray:
    """(4,) unit quaternion of a rotation matrix, w first and not negative."""
    xx, yy, zz = np.diag(R)
    squares = np.array([1 + xx + yy + zz, 1 + xx - yy - zz, 1 - xx + yy - zz, 1 - xx - yy + zz])
    big = int(squares.argmax())
    a = np.array([R[2, 1] - R[1, 2], R[0, 2] - R[2, 0], R[1, 0] - R[0, 1]])
    s = np.array([R[1, 2] + R[2, 1], R[0, 2] + R[2, 0], R[0, 1] + R[1, 0]])
    if big == 0:
        q = np.array([squares[0], *a])
    else:
        k = big - 1
        vector = np.array([s[3 - k - j] if j != k else squares[big] for j in range(3)])
        q = np.array([a[k], *vector])
    q = q / np.linalg.norm(q)
    return -q if q[0] < 0 else q


def triple(vector: np.ndarray) -> tuple[float, float, float]:
    """A vector (3,) as a record holds it."""
    x, y, z = (float(a) + 0.0 for a in vector)  # + 0.0 makes -0.0 a plain zero
    return x, y, z
