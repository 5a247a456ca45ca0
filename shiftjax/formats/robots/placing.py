"""Where things stand: an `origin` of URDF, and the axes of a plane."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from shiftjax.formats.robots.xml_tree import XmlElement
from shiftjax.mechanism.records import IDENTITY, ZERO

QUATERNION = 1e-6  # by which the length of a stated quaternion may differ from 1
ENTRIES = {"Ixx": (0, 0), "Iyy": (1, 1), "Izz": (2, 2), "Ixy": (0, 1), "Iyz": (1, 2), "Izx": (2, 0)}  # of an inertia
SHORTEST = 1e-12  # of an axis, whose direction alone counts


def turned(axis: int, angle: float) -> np.ndarray:
    """(3, 3) rotation about axis 0, 1 or 2 by an angle [rad]; whole quarter turns are exact."""
    c, s = math.cos(angle), math.sin(angle)
    if abs(c) < 1e-15 or abs(s) < 1e-15:  # the rounding of pi, and no smaller angle than that
        c, s = float(round(c)), float(round(s))
    i, j = ((1, 2), (2, 0), (0, 1))[axis]
    R = np.eye(3)
    R[i, i] = R[j, j] = c
    R[j, i], R[i, j] = s, -s
    return R


def roll_pitch_yaw(roll: float, pitch: float, yaw: float) -> np.ndarray:
    """(3, 3) Rz(yaw) Ry(pitch) Rx(roll): turns about the fixed axes x, y, z, in this order [rad]."""
    return turned(2, yaw) @ turned(1, pitch) @ turned(0, roll)


def origin(element: XmlElement) -> tuple[tuple[float, ...], np.ndarray]:
    """Translation [m] and rotation (3, 3) of the `origin` in an element; none where it is left out.

    Raises:
        ModelError: both rpy and quat_xyzw, a quaternion that is none.
    """
    place = element.child("origin")
    if place is None:
        return ZERO, np.eye(3)
    place.only(("xyz", "rpy", "quat_xyzw"))
    xyz = place.numbers("xyz", 3, ZERO)
    if "quat_xyzw" not in place.attributes:
        return xyz, roll_pitch_yaw(*place.numbers("rpy", 3, ZERO))
    if "rpy" in place.attributes:
        place.refuse("both rpy and quat_xyzw", "one of them", "Remove one.")
    return xyz, of_quaternion(place, *place.numbers("quat_xyzw", 4))


def rotation_of_quaternion(w: float, x: float, y: float, z: float) -> np.ndarray:
    """(3, 3) of a quaternion of length 1."""
    return np.array(
        [
            [1 - 2 * (y * y + z * z), 2 * (x * y - z * w), 2 * (x * z + y * w)],
            [2 * (x * y + z * w), 1 - 2 * (x * x + z * z), 2 * (y * z - x * w)],
            [2 * (x * z - y * w), 2 * (y * z + x * w), 1 - 2 * (x * x + y * y)],
        ]
    )


def of_quaternion(element: XmlElement, x: float, y: float, z: float, w: float) -> np.ndarray:
    """(3, 3) of a quaternion that an element states.

    Raises:
        ModelError: its length is not 1.
    """
    length = math.sqrt(x * x + y * y + z * z + w * w)
    if abs(length - 1.0) > QUATERNION:
        element.refuse(f"a quaternion of length {length:g}", "one of length 1, w last", "Correct it.")
    return rotation_of_quaternion(*(part / length for part in (w, x, y, z)))


def placed(T: tuple[float, ...], R: np.ndarray) -> dict[str, Any]:
    """T and R as a file of ours has them, each where it is none of nothing."""
    rows = [[float(x) for x in row] for row in R]
    return ({} if tuple(T) == ZERO else {"T": list(T)}) | (
        {} if rows == [list(row) for row in IDENTITY] else {"R": rows}
    )


def direction(joint: XmlElement) -> tuple[float, ...]:
    """The `axis` of a joint in its own frame, along x where it is left out."""
    axis = joint.child("axis")
    if axis is None:
        return (1.0, 0.0, 0.0)
    axis.only(("xyz",))
    xyz = axis.numbers("xyz", 3, (1.0, 0.0, 0.0))
    if math.hypot(*xyz) < SHORTEST:
        axis.refuse(f"axis {axis.word('xyz')!r}", "a direction", 'Give one, as xyz="0 0 1".')
    return xyz


def axes_of_plane(normal: tuple[float, ...]) -> np.ndarray:
    """(3, 3) rotation whose third column is along a normal: the shortest one that takes z there.

    Below z = -1/2 it is the shortest one from -z, after half a turn about x: the shortest from z would divide by 1 + z.
    """
    x, y, z = (float(part) / math.hypot(*normal) for part in normal)
    if z < -0.5:
        return turned(0, math.pi) @ axes_of_plane((x, -y, -z))
    k = 1.0 / (1.0 + z)
    return np.array([[1.0 - k * x * x, -k * x * y, x], [-k * x * y, 1.0 - k * y * y, y], [-x, -y, z]])
