"""How much a small change grows on the way of a run, told by the tangents and cotangents that are carried. Host code.

With the sizes
    |dx|^2 = sum (dq / l)^2 + tau^2 sum (dv / l)^2        of a tangent,
    |w|^2  = sum (l w_q)^2 + sum (l w_v)^2 / tau^2        of a cotangent,
l the model's length for what is in metres and 1 for angles and quaternions, tau a sixteenth of the span, the growth is
    max over s > s_r of |.|(s) / (|.|_r s / s_r),
s the time since the start, or before the end on the way back; |.|_r is the largest size up to s_r = tau, or the first
that is more than rounding. What grows in proportion to time has 1, a constant force's effect on positions at most 16,
chaos any number. It is a property of one direction: of all changes of the state, some may grow more.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from shiftjax.constraints import scales
from shiftjax.dynamics.kinematics import quaternion_places, speed_units
from shiftjax.topology.plan import Plan

PARTS = 16  # of the span; the first one is what growth is counted from


class Growth:
    """The growth of k directions of B members.

    Args:
        length: of the model [m]. tau: a part of the span [s].
        floor: (B, k) sizes below it are rounding, and taken for 0.
    """

    def __init__(self, plan: Plan, length: float, tau: float, floor: np.ndarray) -> None:
        self._q, self._v = (np.array(units)[:, None, None] for units in _units(plan, length))
        self._tau, self._floor = tau, floor
        self._reference, self._since, self._largest = (np.zeros(floor.shape) for _ in range(3))

    @np.errstate(all="ignore")  # squares of changes of 1e160, of members that are far out
    def tangents(self, members: np.ndarray, time: np.ndarray, q: np.ndarray, v: np.ndarray) -> None:
        """Notes tangents (nq, K, k) and (nv, K, k) of some members at times (K,) since the start [s]."""
        self._note(members, time, ((q / self._q) ** 2).sum(0) + ((self._tau * v / self._v) ** 2).sum(0))

    def cotangents(self, members: np.ndarray, time: np.ndarray, q: np.ndarray, v: np.ndarray) -> None:
        """Notes cotangents (nq, K, k) and (nv, K, k) of some members at times (K,) before the end [s]."""
        self._note(members, time, self._squares(q, v))

    def begun(self, members: np.ndarray, q: np.ndarray, v: np.ndarray) -> None:
        """Notes cotangents (nq, K, k) and (nv, K, k) that begin on the way: they have not grown out of smaller ones."""
        size = np.nan_to_num(np.sqrt(self._squares(q, v).astype(float)), nan=0.0)
        self._reference[members] = np.maximum(self._reference[members], size)
        self._since[members] = np.where(size > 0.0, np.maximum(self._since[members], 1.0), self._since[members])

    @np.errstate(all="ignore")  # as of `tangents`
    def _squares(self, q: np.ndarray, v: np.ndarray) -> np.ndarray:
        return ((q * self._q) ** 2).sum(0) + ((v * self._v / self._tau) ** 2).sum(0)

    @property
    def values(self) -> np.ndarray:
        """(B, k) growth; NaN where nothing changed, or no later time was noted."""
        return np.where(self._largest > 0, self._largest, np.nan)

    def _note(self, members: np.ndarray, time: np.ndarray, squares: np.ndarray) -> None:
        size = np.nan_to_num(np.sqrt(squares.astype(float)), nan=0.0)
        size = np.where(size > self._floor[members], size, 0.0)
        share = np.broadcast_to(np.maximum(time / self._tau, 1.0)[:, None], size.shape)
        reference, since = self._reference[members], self._since[members]
        first = (reference == 0.0) | (share <= 1.0 + 1e-9)
        with np.errstate(all="ignore"):
            grown = np.where(first, 0.0, size / (reference * share / since))
        self._largest[members] = np.maximum(self._largest[members], np.nan_to_num(grown))
        fresh = first & (size > reference)
        self._reference[members] = np.where(fresh, size, reference)
        self._since[members] = np.where(fresh, share, since)


def _units(plan: Plan, length: float) -> tuple[list[float], Sequence[float]]:
    """What coordinates (nq,) and speeds (nv,) are counted in."""
    speeds = scales(speed_units(plan), length)
    quaternions, coordinates, at = dict(quaternion_places(plan)), [], 0
    while len(coordinates) < plan.nq:
        if len(coordinates) in quaternions:
            coordinates += [1.0] * 4
            at += 3
        else:
            coordinates.append(speeds[at])
            at += 1
    return coordinates, speeds
