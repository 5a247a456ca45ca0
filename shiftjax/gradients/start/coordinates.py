"""Displacements of joints as changes of coordinates, and back: they differ for orientations. Host code.

q' = e (0, v)/2 and v = 2 e* q' (Shabana, Computational Dynamics, section on Euler parameters). One map is the
other's transpose with another factor. Of rotation vectors the transpose is the map at the opposite vector. Arrays have
members last.
"""

from __future__ import annotations

import numpy as np

from shiftjax.dynamics.kinematics import quaternion_places, vector_places
from shiftjax.rotations import conjugate, quaternion_product, vector_rate, vector_speed
from shiftjax.topology.plan import Plan


def changes_of_coordinates(plan: Plan, q: np.ndarray, moved: np.ndarray, *, transposed: bool = False) -> np.ndarray:
    """(nq, B) changes of coordinates q for displacements (nv, B); or the transpose of `displacements`."""
    out, factor = _plain(plan, moved, of_speeds=True), 2.0 if transposed else 0.5
    for a, b in quaternion_places(plan):
        out[a : a + 4] = np.array(quaternion_product([*q[a : a + 4]], [np.zeros_like(moved[b]), *moved[b : b + 3]]))
        out[a : a + 4] *= factor
    for a, b in vector_places(plan):
        r, w = [*q[a : a + 3]], [*moved[b : b + 3]]
        out[a : a + 3] = vector_speed([-x for x in r], w) if transposed else vector_rate(r, w)
    return out


def displacements(plan: Plan, q: np.ndarray, change: np.ndarray, *, transposed: bool = False) -> np.ndarray:
    """(nv, B) displacements for changes (nq, B) of coordinates q; or the transpose of `changes_of_coordinates`."""
    out, factor = _plain(plan, change, of_speeds=False), 0.5 if transposed else 2.0
    for a, b in quaternion_places(plan):
        out[b : b + 3] = quaternion_product(conjugate([*q[a : a + 4]]), [*change[a : a + 4]])[1:]
        out[b : b + 3] *= factor
    for a, b in vector_places(plan):
        r, w = [*q[a : a + 3]], [*change[a : a + 3]]
        out[b : b + 3] = vector_rate([-x for x in r], w) if transposed else vector_speed(r, w)
    return out


def _plain(plan: Plan, values: np.ndarray, *, of_speeds: bool) -> np.ndarray:
    """What belongs to no orientation, in the other order."""
    plain = [one for one in plan.coordinates if one.plain]
    coordinates, speeds = [one.q for one in plain], [one.v for one in plain]
    out = np.zeros((plan.nq if of_speeds else plan.nv, values.shape[1]))
    out[coordinates if of_speeds else speeds] = values[speeds if of_speeds else coordinates]
    return out
