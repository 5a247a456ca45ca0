"""Poses as results and stores hold them: points and vectors in and out of a body's axes, matrices, interpolation.

NumPy only. A pose is (..., 7): position of the body's origin in the world [m], then a unit quaternion, w first, body to
world. The formulas are those of `rotations`, here on arrays with any leading axes.
"""

from __future__ import annotations

import numpy as np

from shiftjax.errors import ModelError
from shiftjax.rotations import (
    angle_between,
    conjugate,
    quaternion_of_rotation,
    rotated,
    rotation_of_quaternion,
    slerp,
)


def to_world(pose: np.ndarray, point: np.ndarray) -> np.ndarray:
    """World coordinates of points given in body coordinates.

    Args:
        pose: (..., 7); point: (..., 3) [m], broadcast against the pose.
    """
    pose = np.asarray(pose, float)
    return pose[..., :3] + rotate(pose, point)


def to_local(pose: np.ndarray, point: np.ndarray) -> np.ndarray:
    """Body coordinates of points given in world coordinates; undoes `to_world`."""
    pose = np.asarray(pose, float)
    return rotate(pose, np.asarray(point, float) - pose[..., :3], inverse=True)


def rotate(pose: np.ndarray, vector: np.ndarray, *, inverse: bool = False) -> np.ndarray:
    """(..., 3) a vector from the body's axes to the world's; `inverse`: from the world's to the body's."""
    e, v = _columns(np.asarray(pose, float)[..., 3:]), _columns(np.asarray(vector, float))
    return np.stack(rotated(conjugate(e) if inverse else e, v), axis=-1)


def matrices(pose: np.ndarray) -> np.ndarray:
    """(..., 4, 4) body to world."""
    pose = np.asarray(pose, float)
    out = np.zeros((*pose.shape[:-1], 4, 4))
    for i, row in enumerate(rotation_of_quaternion(_columns(pose[..., 3:]))):
        for j, entry in enumerate(row):
            out[..., i, j] = entry
    out[..., :3, 3] = pose[..., :3]
    out[..., 3, 3] = 1.0
    return out


def quaternions(R: np.ndarray) -> np.ndarray:
    """(..., 4) unit quaternions of rotation matrices (..., 3, 3), w first and not negative."""
    R = np.asarray(R, float)
    return np.stack(quaternion_of_rotation([_columns(R[..., i, :]) for i in range(3)]), axis=-1)


def rotation_angle(a: np.ndarray, b: np.ndarray) -> np.ndarray:
    """(...) angle [rad] of the rotation between poses (..., 7), 0 to 2 pi: q and -q are 2 pi apart."""
    a, b = np.asarray(a, float), np.asarray(b, float)
    return 2.0 * angle_between(_columns(a[..., 3:]), _columns(b[..., 3:]))


# -- poses at several instants -----------------------------------------------------------------------------------------


def interpolated(a: np.ndarray, b: np.ndarray, s: np.ndarray) -> np.ndarray:
    """(..., 7) poses between a (s = 0) and b (s = 1), s (...): positions linearly, quaternions by slerp."""
    s = np.asarray(s, float)
    part = s[..., None]
    positions = (1.0 - part) * a[..., :3] + part * b[..., :3]
    quaternion = np.stack(slerp(_columns(a[..., 3:]), _columns(b[..., 3:]), s), axis=-1)
    return np.concatenate([positions, quaternion], axis=-1)


def bracket(instants: np.ndarray, t: float | np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Indices of the instants (n,) before and after times, and the fraction between them, 0..1.

    Times outside are clamped; of several instants at one time the last is taken.
    """
    times = np.asarray(t, float)
    if np.isnan(times).any():
        raise ModelError("time", "nan", f"{instants[0]:g} to {instants[-1]:g} s", "Give a number.")
    times = np.clip(times, instants[0], instants[-1])
    lower = np.clip(np.searchsorted(instants, times, side="right") - 1, 0, max(len(instants) - 2, 0))
    upper = np.minimum(lower + 1, len(instants) - 1)
    width = instants[upper] - instants[lower]
    return lower, upper, np.divide(times - instants[lower], width, out=np.ones_like(times), where=width > 0)


def continuous(track: np.ndarray) -> np.ndarray:
    """The same poses (n, ..., 7), quaternion signs chosen for continuity: q and -q are one rotation."""
    track = np.array(track, float)
    turned = (track[1:, ..., 3:] * track[:-1, ..., 3:]).sum(-1, keepdims=True) < 0
    track[1:, ..., 3:] *= np.cumprod(np.where(turned, -1.0, 1.0), axis=0)
    return track


def last_valid(good: np.ndarray) -> np.ndarray:
    """(n,) index of the last valid instant up to each instant (forward fill), of the first one before that.

    Args:
        good: (n,) bool, at least one of them.
    """
    latest = np.maximum.accumulate(np.where(good, np.arange(len(good)), -1))
    return np.where(latest < 0, np.argmax(good), latest)


def _columns(values: np.ndarray) -> list[np.ndarray]:
    """The entries along the last axis, each an array of all leading axes."""
    return list(np.moveaxis(values, -1, 0))
