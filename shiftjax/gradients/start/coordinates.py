"""Displacements of joints as changes of coordinates, and back: they differ for quaternions. Host code.

q' = e (0, v)/2 and v = 2 e* q' (Shabana, Computational Dynamics, section on Euler parameters). One map is the
other's transpose with another factor. Arrays have members last.
"""

from __future__ import annotations

import numpy as np

from shiftjax.dynamics.kinematics import quaternion_places
from shiftjax.rotations import conjugate, quaternion_product
from shiftjax.topology.plan import Plan


def changes_of_coordinates(plan: Plan, q: np.ndarray, moved: np.ndarray, *, transposed: bool = False) -> np.ndarray:
    """(nq, B) changes of coordinates q for displacements (nv, B); or the transpose of `displacements`."""
    out, factor = _plain(plan, moved, of_speeds=True), 2.0 if transposed else 0.5
    for a, b in quaternion_places(plan):
        out[a : a + 4] = np.array(quaternion_product([*q[a : a + 4]], [np.zeros_like(moved[b]), *moved[b : b + 3]]))
        out[a : a + 4] *= factor
    return out


def displacements(plan: Plan, q: np.ndarray, change: np.ndarray, *, transposed: bool = False) -> np.ndarray:
    """(nv, B) displacements for changes (nq, B) of coordinates q; or the transpose of `changes_of_coordinates`."""
    out, factor = _plain(plan, change, of_speeds=False), 0.5 if transposed else 2.0
    for a, b in quaternion_places(plan):
        out[b : b + 3] = quaternion_product(conjugate([*q[a : a + 4]]), [*change[a : a + 4]])[1:]
        out[b : b + 3] *= factor
    return out


def _plain(plan: Plan, values: np.ndarray, *, of_speeds: bool) -> np.ndarray:
    """What belongs to no quaternion, in the other order."""
    places = dict(quaternion_places(plan))
    coordinates, speeds, at, speed = [], [], 0, 0
    while at < plan.nq:
        if at in places:
            at, speed = at + 4, speed + 3
            continue
        coordinates.append(at)
        speeds.append(speed)
        at, speed = at + 1, speed + 1
    out = np.zeros((plan.nq if of_speeds else plan.nv, values.shape[1]))
    out[coordinates if of_speeds else speeds] = values[speeds if of_speeds else coordinates]
    return out
