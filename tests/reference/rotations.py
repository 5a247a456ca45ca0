"""Rotations, quaternions (w first) and poses of the oracle, in plain NumPy."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np


def cross(w):
    """(3, 3) matrix of w x."""
    return np.array([[0, -w[2], w[1]], [w[2], 0, -w[0]], [-w[1], w[0], 0]], float)


def rotation(w):
    """(3, 3) rotation by the vector w (Rodrigues)."""
    angle = np.linalg.norm(w)
    if angle == 0:
        return np.eye(3)
    K = cross(np.asarray(w) / angle)
    return np.eye(3) + np.sin(angle) * K + (1 - np.cos(angle)) * K @ K


def rotation_vector(R):
    """(3,) logarithm of a rotation matrix, any angle."""
    w, x, y, z = quaternion_of(R)
    axis = np.array([x, y, z])
    s = np.linalg.norm(axis)
    return np.zeros(3) if s == 0 else axis / s * 2 * np.arctan2(s, w)


def quaternion_of(R):
    """Unit quaternion, w first and not negative, of a rotation matrix: the row of the largest square root."""
    d = np.array([np.trace(R), R[0, 0], R[1, 1], R[2, 2]])
    k = int(np.argmax(d))
    if k == 0:
        q = np.array([1 + d[0], R[2, 1] - R[1, 2], R[0, 2] - R[2, 0], R[1, 0] - R[0, 1]])
    else:
        i = k - 1
        j, m = (i + 1) % 3, (i + 2) % 3
        q = np.zeros(4)
        q[0] = R[m, j] - R[j, m]
        q[1 + i] = 1 + R[i, i] - R[j, j] - R[m, m]
        q[1 + j] = R[j, i] + R[i, j]
        q[1 + m] = R[m, i] + R[i, m]
    q = q / np.linalg.norm(q)
    return -q if q[0] < 0 else q


def rotation_of(q):
    """Rotation matrix of a quaternion, w first, normalised here."""
    w, x, y, z = np.asarray(q) / np.linalg.norm(q)
    u = np.array([x, y, z])
    return (w * w - u @ u) * np.eye(3) + 2 * np.outer(u, u) + 2 * w * cross(u)


def quaternion_rate(q, w):
    """dq/dt of a unit quaternion whose child turns by w in child axes."""
    return 0.5 * np.array([-q[1:] @ w, *(q[0] * w + np.cross(q[1:], w))])


def motion(V):
    """(6, 6) matrix of V x on motion vectors: the rate of a screw carried by a frame of velocity V."""
    out = np.zeros((6, 6))
    out[:3, :3] = out[3:, 3:] = cross(V[:3])
    out[3:, :3] = cross(V[3:])
    return out


@dataclass
class Pose:
    """Rotation and position of a frame."""

    R: np.ndarray
    p: np.ndarray

    def __matmul__(self, other: Pose) -> Pose:
        return Pose(self.R @ other.R, self.p + self.R @ other.p)

    def inverse(self) -> Pose:
        return Pose(self.R.T, -self.R.T @ self.p)
