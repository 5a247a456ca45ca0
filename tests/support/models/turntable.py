"""A four-bar on a turntable: the point of its coupler reaches a ring on each branch, in closed form."""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy.optimize import minimize_scalar

import shiftjax
from shiftjax.mechanism.model import Model

BARS = {"crank": 0.4, "coupler": 0.9, "rocker": 0.8}
PEN = (0.9, 0.3)  # of the coupler
TURNTABLE = 0.3  # from its axis to the crank's
ACROSS = 1.0  # between pivots
PIVOT = np.array([TURNTABLE, 0.0])


def elbows(at: np.ndarray, base: tuple[float, float], lengths: tuple[float, float], side: int) -> np.ndarray:
    """(..., 2) where two circles meet, about a base and about points (..., 2); NaN where they do not."""
    off = at - np.array(base)
    far = np.linalg.norm(off, axis=-1)
    along = (lengths[0] ** 2 - lengths[1] ** 2 + far**2) / (2.0 * far)
    square = lengths[0] ** 2 - along**2
    up = side * np.sqrt(np.where(square > -1e-12, np.maximum(square, 0.0), np.nan))
    unit = off / far[..., None]
    return np.array(base) + along[..., None] * unit + up[..., None] * np.stack([-unit[..., 1], unit[..., 0]], axis=-1)


def turntable() -> Model:
    a = (builder := shiftjax.ModelBuilder()).assembly("a")
    a.body("table", frames={"near": (TURNTABLE, 0.0, 0.0), "far": (TURNTABLE + ACROSS, 0.0, 0.0)})
    for name, length in BARS.items():
        pen = {"pen": (*PEN, 0.0)} if name == "coupler" else {}
        a.body(name, frames={"tip": (length, 0.0, 0.0), **pen})
    a.joint("turns", "Rz", child="table")
    a.joint("crank_pivot", "Rz", parent=("table", "near"), child="crank", initial_displacement=1.0)
    a.joint("pin", "Rz", parent=("crank", "tip"), child="coupler")
    a.joint("rocker_pivot", "Rz", parent=("table", "far"), child="rocker")
    a.joint("rocker_pin", "Rz", parent=("coupler", "tip"), child=("rocker", "tip"))
    return builder.build()


def pen_radius(angle: np.ndarray, crank: float, side: int) -> np.ndarray:
    """How far a coupler's point is from the turntable's axis; NaN where the loop does not close."""
    tip = PIVOT + crank * np.stack([np.cos(angle), np.sin(angle)], axis=-1)
    corner = elbows(tip, (TURNTABLE + ACROSS, 0.0), (BARS["rocker"], BARS["coupler"]), side)
    along = (corner - tip) / BARS["coupler"]
    across = np.stack([-along[..., 1], along[..., 0]], axis=-1)
    return np.linalg.norm(tip + PEN[0] * along + PEN[1] * across, axis=-1)


def ring(crank: float, side: int) -> float:
    """The area that a coupler's point comes to on one branch while table and crank turn."""
    reach = BARS["rocker"] + BARS["coupler"]  # where they are in line the crank ends
    most = np.pi if crank + ACROSS < reach else np.arccos((crank**2 + ACROSS**2 - reach**2) / (2.0 * crank * ACROSS))
    assert ACROSS - crank > BARS["coupler"] - BARS["rocker"]  # it has no other ends
    angles = np.linspace(-most, most, 4001)
    radii, squares = pen_radius(angles, crank, side), list[float]()
    for sign in (1.0, -1.0):
        k = int(np.argmin(sign * radii))
        near = angles[max(k - 1, 0)], angles[min(k + 1, len(angles) - 1)]
        best: Any = minimize_scalar(
            lambda x, sign=sign: sign * float(pen_radius(np.array(x), crank, side)), bounds=near, method="bounded",
            options={"xatol": 1e-12},
        )  # fmt: skip
        squares.append(min(float(best.fun), float(sign * radii[k])) ** 2)
    return float(np.pi * (squares[1] - squares[0]))
