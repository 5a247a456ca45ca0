"""Four-bars in the plane that lie flat on their way: cranks of 1 m, a base of 1.5 m."""

from __future__ import annotations

from typing import Any

import numpy as np

from shiftjax.formats.builder import ModelBuilder
from shiftjax.mechanism.model import Model
from tests.support.models.mechanisms import rod

BASE = 1.5  # m between the pivots of cranks of 1 m


def linkage(lengths: tuple[float, float, float, float], angles: tuple[float, float, float], **values: Any) -> Model:
    """A four-bar in the plane of x and y: crank, coupler, rocker, ground; its bars at these angles from x."""
    crank, coupler, rocker, ground = lengths
    builder = ModelBuilder(gravity=values.pop("gravity", (0.0, 0.0, 0.0)))
    builder.frame("a", T=(0.0, 0.0, 0.0)).frame("d", T=(ground, 0.0, 0.0))
    bar = builder.assembly("bar")
    for name, length in (("crank", crank), ("coupler", coupler), ("rocker", rocker)):
        bar.body(name, **rod(length))
    first, second, third = angles
    bar.joint("crank_pivot", "Rz", parent=("fixed", "a"), child="crank", initial_displacement=first, **values)
    bar.joint("pin", "Rz", parent=("crank", "tip"), child="coupler", initial_displacement=second - first)
    bar.joint("rocker_pivot", "Rz", parent=("fixed", "d"), child="rocker", initial_displacement=third)
    bar.joint("joint", "Rz", parent=("coupler", "tip"), child=("rocker", "tip"), initial_displacement=third - second)
    return builder.build()


PARALLELOGRAM = linkage((1.0, BASE, 1.0, BASE), (-1.0, 0.0, -1.0))


def parallel(angles: np.ndarray, speeds: np.ndarray) -> dict[str, np.ndarray]:
    """Parallelograms at these angles of their cranks, and their speeds."""
    return {
        "crank_pivot.initial_displacement": angles,
        "rocker_pivot.initial_displacement": angles,
        "pin.initial_displacement": -angles,
        "crank_pivot.initial_velocity": speeds,
    }


def landing(members: int, seed: int) -> tuple[np.ndarray, np.ndarray]:
    """Angles and speeds with which the end of a step of 1 ms, of some the middle, is the flat pose exactly."""
    rng = np.random.default_rng(seed)
    speeds = rng.uniform(0.5, 15.0, members) * rng.choice([-1.0, 1.0], members)
    steps = rng.integers(1, 150, members) + 0.5 * (np.arange(members) % 2)
    return -steps * speeds * 1e-3, speeds
