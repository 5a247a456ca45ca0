"""Points and vectors between a body's axes and the world's, for poses as results and stores hold them. NumPy only.

A pose is (..., 7): position of the body's origin in the world [m], then a unit quaternion, w first, body to world.
"""

from __future__ import annotations

import numpy as np


def to_world(pose: np.ndarray, point: np.ndarray) -> np.ndarray:
    """World coordinates of points given in body coordinates.

    Args:
        pose: (..., 7); point: (..., 3) [m], broadcast against the pose.
    """
    pose = np.asarray(pose, float)
    return pose[..., :3] + turn(pose, point)


def to_local(pose: np.ndarray, point: np.ndarray) -> np.ndarray:
    """Body coordinates of points given in world coordinates; undoes `to_world`."""
    pose = np.asarray(pose, float)
    return turn(pose, np.asarray(point, float) - pose[..., :3], inverse=True)


def turn(pose: np.ndarray, vector: np.ndarray, inverse: bool = False) -> np.ndarray:
    """A vector of the body's axes along the world's; `inverse` the other way round.

    v + 2 w (u x v) + 2 u x (u x v) for the quaternion (w, u).
    """
    w, u = pose[..., 3:4], pose[..., 4:7] * (-1.0 if inverse else 1.0)
    v = np.broadcast_to(np.asarray(vector, float), np.broadcast_shapes(np.shape(vector), u.shape))
    once = np.cross(u, v)
    return v + 2.0 * (w * once + np.cross(u, once))


def continuous(track: np.ndarray) -> np.ndarray:
    """The same poses (n, ..., 7), each quaternion with the sign nearer to the one before: q and -q are one rotation."""
    track = np.array(track, float)
    turned = (track[1:, ..., 3:] * track[:-1, ..., 3:]).sum(-1, keepdims=True) < 0
    track[1:, ..., 3:] *= np.cumprod(np.where(turned, -1.0, 1.0), axis=0)
    return track


def held(good: np.ndarray) -> np.ndarray:
    """(n,) for every instant the latest good one up to it, the first good one before that.

    Args:
        good: (n,) bool, at least one of them.
    """
    latest = np.maximum.accumulate(np.where(good, np.arange(len(good)), -1))
    return np.where(latest < 0, np.argmax(good), latest)
