"""Mass, centre and inertia of geoms of uniform density, and of bodies that are made of several."""

from __future__ import annotations

import math
from collections.abc import Iterable

import numpy as np

from shiftjax.formats.robots.mjcf.orientation import BodyPlace
from shiftjax.formats.robots.placing import ENTRIES
from shiftjax.record import record


@record
class MassPart:
    """A rigid mass.

    Attributes:
        mass: [kg]. center: (3,) [m]. inertia: (3, 3) about the centre [kg m^2], along the axes of the body.
    """

    mass: float
    center: np.ndarray
    inertia: np.ndarray

    def scaled(self, factor: float) -> MassPart:
        """The same of another density."""
        return MassPart(self.mass * factor, self.center, self.inertia * factor)

    def entry(self) -> dict[str, object]:
        """As a body of a file of ours has it."""
        entries = {key: float(self.inertia[place]) for key, place in ENTRIES.items()}
        center = {"center_of_mass": [float(x) for x in self.center]} if self.center.any() else {}
        return {**center, "inertia": {"mass": self.mass, **entries}}


def volume(type: str, size: tuple[float, ...]) -> float:
    """Of a geom [m^3].

    Args:
        type: sphere, capsule, cylinder, ellipsoid or box.
        size: radius; radius and half length; three radii; three half lengths [m].
    """
    a, b, c = (*size, 0.0, 0.0)[:3]
    return {
        "sphere": 4.0 / 3.0 * math.pi * a * a * a,
        "capsule": math.pi * a * a * (2.0 * b + 4.0 / 3.0 * a),
        "cylinder": 2.0 * math.pi * a * a * b,
        "ellipsoid": 4.0 / 3.0 * math.pi * a * b * c,
        "box": 8.0 * a * b * c,
    }[type]


def principal(type: str, size: tuple[float, ...], mass: float) -> np.ndarray:
    """(3,) moments of inertia of a geom about its centre, along its axes [kg m^2]."""
    a, b, c = (*size, 0.0, 0.0)[:3]
    if type == "sphere":
        a, b, c = a, a, a
    if type in ("sphere", "ellipsoid"):
        return mass / 5.0 * np.array([b * b + c * c, a * a + c * c, a * a + b * b])
    if type == "box":
        return mass / 3.0 * np.array([b * b + c * c, a * a + c * c, a * a + b * b])
    if type == "cylinder":
        across = mass * (3.0 * a * a + 4.0 * b * b) / 12.0
        return np.array([across, across, 0.5 * mass * a * a])
    # a capsule: a cylinder, and two halves of a ball, whose centres lie 3/8 of the radius beyond its ends
    length = 2.0 * b
    ball = mass * 4.0 * a / (4.0 * a + 3.0 * length)
    rod = mass - ball
    along = 0.5 * rod * a * a + 0.4 * ball * a * a
    across = rod * (3.0 * a * a + length * length) / 12.0 + ball * (
        0.4 * a * a + 0.375 * a * length + 0.25 * length * length
    )
    return np.array([across, across, along])


def part_of(type: str, size: tuple[float, ...], mass: float, at: BodyPlace) -> MassPart:
    """A geom at a place of its body."""
    return MassPart(mass, at.p, symmetric(at.R @ np.diag(principal(type, size, mass)) @ at.R.T))


def symmetric(matrix: np.ndarray) -> np.ndarray:
    """A matrix without what rounding leaves of its odd part."""
    return 0.5 * (matrix + matrix.T)


def together(parts: Iterable[MassPart]) -> MassPart | None:
    """Several masses as one, by the theorem of Steiner; None of none."""
    every = [part for part in parts if part.mass > 0.0]
    if len(every) < 2:
        return every[0] if every else None
    mass = sum(part.mass for part in every)
    center = sum((part.mass * part.center for part in every), np.zeros(3)) / mass
    inertia = np.zeros((3, 3))
    for part in every:
        arm = part.center - center
        inertia += part.inertia + part.mass * (arm @ arm * np.eye(3) - np.outer(arm, arm))
    return MassPart(mass, center, inertia)
