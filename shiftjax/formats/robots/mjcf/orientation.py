"""Where elements of MJCF stand in the body around them: pos, and one of five ways to state a rotation."""

from __future__ import annotations

import math

import numpy as np

from shiftjax.formats.robots.mjcf.classes import TURNS
from shiftjax.formats.robots.mjcf.compiler import Compiler
from shiftjax.formats.robots.placing import SHORTEST, rotation_of_quaternion, turned
from shiftjax.formats.robots.xml_tree import XmlElement
from shiftjax.mechanism.records import ZERO
from shiftjax.record import record
from shiftjax.rotations import rotation_of_vector


@record
class BodyPlace:
    """A frame in another one: p + R x of a point x.

    Attributes:
        p: (3,) [m]. R: (3, 3).
    """

    p: np.ndarray
    R: np.ndarray

    def times(self, inner: BodyPlace) -> BodyPlace:
        """A frame in this one, as seen from outside."""
        return BodyPlace(self.p + self.R @ inner.p, self.R @ inner.R)

    def seen(self, outer: BodyPlace) -> BodyPlace:
        """Another frame as this one sees it."""
        return BodyPlace(self.R.T @ (outer.p - self.p), self.R.T @ outer.R)


HERE = BodyPlace(np.zeros(3), np.eye(3))


def place(element: XmlElement, compiler: Compiler) -> BodyPlace:
    """The frame that an element states.

    Raises:
        ModelError: two orientations, directions of no length, a quaternion of zeros.
    """
    return BodyPlace(np.array(element.numbers("pos", 3, ZERO)), orientation(element, compiler))


def orientation(element: XmlElement, compiler: Compiler) -> np.ndarray:
    """(3, 3) rotation of an element, none where it states none."""
    stated = [turn for turn in TURNS if turn in element.attributes]
    if len(stated) > 1:
        element.refuse(f"both {stated[0]} and {stated[1]}", "one orientation", "Remove one.")
    return READ[stated[0]](element, compiler) if stated else np.eye(3)


def about(axis: np.ndarray, angle: float) -> np.ndarray:
    """(3, 3) rotation about a unit vector [rad]; about an axis of coordinates whole quarter turns are exact."""
    (along,) = np.nonzero(axis)
    if len(along) == 1:
        return turned(int(along[0]), float(math.copysign(1.0, axis[along[0]]) * angle))
    return np.array(rotation_of_vector((axis * angle).tolist()))


def from_z(direction: np.ndarray) -> np.ndarray:
    """(3, 3) shortest rotation that takes z to a direction; half a turn about x where it points down."""
    x, y, z = direction / np.linalg.norm(direction)
    sine = math.hypot(x, y)
    if sine < 1e-10:
        return np.eye(3) if z > 0.0 else turned(0, math.pi)
    return about(np.array([-y, x, 0.0]) / sine, math.atan2(sine, z))


def unit(element: XmlElement, name: str, numbers: tuple[float, ...]) -> np.ndarray:
    """A direction that was stated, of length 1."""
    vector = np.array(numbers)
    if not SHORTEST <= (length := float(np.linalg.norm(vector))) < math.inf:
        element.refuse(f"{name}={element.word(name)!r}", "a direction", "Give one, as 0 0 1.")
    return vector / length


def _quat(element: XmlElement, _: Compiler) -> np.ndarray:
    return rotation_of_quaternion(*unit(element, "quat", element.numbers("quat", 4)))


def _axisangle(element: XmlElement, compiler: Compiler) -> np.ndarray:
    *axis, angle = element.numbers("axisangle", 4)
    return about(unit(element, "axisangle", tuple(axis)), math.radians(angle) if compiler.degrees else angle)


def _xyaxes(element: XmlElement, _: Compiler) -> np.ndarray:
    numbers = element.numbers("xyaxes", 6)
    x = unit(element, "xyaxes", numbers[:3])
    y = np.array(numbers[3:])
    y = unit(element, "xyaxes", tuple(y - x * (x @ y)))
    return np.column_stack([x, y, np.cross(x, y)])


def _zaxis(element: XmlElement, _: Compiler) -> np.ndarray:
    return from_z(unit(element, "zaxis", element.numbers("zaxis", 3)))


def _euler(element: XmlElement, compiler: Compiler) -> np.ndarray:
    """Turns in the order of `eulerseq`: small letters about axes that were turned, capitals about axes at rest."""
    R = np.eye(3)
    for letter, angle in zip(compiler.eulerseq, element.numbers("euler", 3), strict=True):
        one = turned("xyz".index(letter.lower()), math.radians(angle) if compiler.degrees else angle)
        R = R @ one if letter.islower() else one @ R
    return R


READ = {"quat": _quat, "axisangle": _axisangle, "xyaxes": _xyaxes, "zaxis": _zaxis, "euler": _euler}
