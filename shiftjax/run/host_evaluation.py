"""Lane functions evaluated on the host: NumPy arrays with one entry a member in place of traced scalars.

Arrays have members last, (n, B); matrices handed to linear algebra have them first, (B, m, n).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from shiftjax.algebra import Scalar, Vec
from shiftjax.constraints import CONSTRAINTS, DriverKind, scales
from shiftjax.dynamics import kinematics
from shiftjax.dynamics.kinematics import Parameters
from shiftjax.dynamics.lane import Lane
from shiftjax.field import Role
from shiftjax.rotations import quaternion_of_rotation
from shiftjax.run.tape import Tape, Unrecordable
from shiftjax.topology.partition import Block
from shiftjax.topology.plan import Plan

KEPT = 64  # closures whose tapes are kept


@dataclass
class StartLane(Lane):
    """A lane whose numbers say where a run begins, too; the lanes of programs do not hold those."""

    def coordinates(self) -> Vec:
        """(nq,) as the numbers and drivers say, loops open as they may be."""
        out: Vec = []
        for joint in self.plan.joints:
            if not joint.nq:
                continue
            if isinstance(joint.displacement, int):
                out.append(self.params.at(joint.displacement))
                continue
            *shift, vector = joint.displacement
            for places in shift:
                out += self.params.at(places)
            out += quaternion_of_rotation(self.params.rotation(joint.matrix, vector))
        for place, value in self.prescribed().items():
            out[place] = value
        return out

    def prescribed(self) -> dict[int, Scalar]:
        """Coordinate -> where its driver puts it."""
        found: dict[int, Scalar] = {}
        motion = self.motion([], None)
        for group in self.plan.constraints:
            kind = CONSTRAINTS[group.kind]
            if isinstance(kind, DriverKind):
                found[self.plan.joints[group.joints[0]].q] = kind.motion(group, motion)[0]
        return found

    def speeds(self) -> Vec:
        """(nv,) as the numbers say."""
        return [number for joint in self.plan.joints if joint.nv for number in self.params.at(joint.velocity)]

    def states(self) -> Vec:
        """(ns,) where the forces' own states begin."""
        starts = [
            places
            for force in self.plan.forces
            for name, places in force.numbers
            if isinstance(places, int) and self.plan.numbers[places].role is Role.STATE
        ]
        return [self.params.at(places) for places in starts]


def per_member(values: Sequence[Scalar], members: int) -> np.ndarray:
    """(n, B) array of scalars, known numbers repeated."""
    out = np.empty((len(values), members))
    for k, value in enumerate(values):
        out[k] = value
    return out


def matrices_per_member(values: Sequence[Sequence[Scalar]], members: int) -> np.ndarray:
    """(B, m, n) array of rows of scalars."""
    out = np.empty((members, len(values), len(values[0]) if values else 0))
    for i, row in enumerate(values):
        for j, value in enumerate(row):
            out[:, i, j] = value
    return out


def closure(lane: Lane, q: np.ndarray, index: int) -> tuple[np.ndarray, np.ndarray]:
    """Residuals and Jacobian of one substructure for all members, dimensionless.

    Args:
        q: (nq, B) coordinates.

    Returns:
        phi: (B, m) with rotation vectors for orientations; J: (B, m, n).
    """
    block = lane.plan.substructures[index]
    J = np.zeros((q.shape[1], block.rows, len(block.columns)))
    recorded = _recorded(lane, index)
    values = [*q, *(value for value in (*lane.params.numbers, lane.t) if isinstance(value, np.ndarray))]
    if recorded is not None and all(value.shape == q.shape[1:] for value in values):
        tape, places = recorded
        phi = np.empty(J.shape[:2])
        tape(values, [*phi.T, *(J[:, i, j] for i, j in places)])
        return phi, J
    residuals, entries = _closure(lane, list(q), index)
    for (i, j), value in entries.items():
        J[:, i, j] = value
    # C order whatever B: matrix products add up in an order that depends on strides.
    return np.ascontiguousarray(per_member(residuals, q.shape[1]).T), J


def _closure(lane: Lane, q: Vec, index: int) -> tuple[Vec, dict[tuple[int, int], Scalar]]:
    """Dimensionless residuals, and the entries of the Jacobian by row and column; lane code."""
    motion = lane.motion(q, None)
    rows = lane.rows(motion, index)
    row_unit, unit = scales(rows.unit, lane.length), lane.units
    residuals = [value / size for value, size in zip(lane.residuals(motion, index, rows), row_unit, strict=True)]
    entries = {
        (i, j): line[speed] * (unit[speed] / row_unit[i])
        for i, line in enumerate(rows.J)
        for j, speed in enumerate(lane.plan.substructures[index].columns)
        if speed in line
    }
    return residuals, entries


Recorded = tuple[Tape, list[tuple[int, int]]]  # residuals and entries, and the places of these
_closures: dict[tuple[Any, ...], tuple[Recorded | None, tuple[Any, ...]]] = {}  # and what the ids of the key belong to


def _recorded(lane: Lane, index: int) -> Recorded | None:
    """The tape of a closure, made when it is evaluated again; None the first time, and where there can be none."""
    t = None if isinstance(lane.t, np.ndarray) else lane.t
    owners = (lane.plan, lane.functions, lane.params.matrices)
    constants = tuple([None if isinstance(value, np.ndarray) else value for value in lane.params.numbers])
    key = (*map(id, owners), index, lane.length, t, constants)
    recorded, known = _closures.get(key, (None, None))
    if known is None:
        for old in list(_closures)[: len(_closures) - KEPT]:
            _closures.pop(old, None)
        _closures[key] = None, ()
    elif not known:
        recorded = _record(lane, index)
        _closures[key] = recorded, owners
    return recorded


def _record(lane: Lane, index: int) -> Recorded | None:
    nq, places = lane.plan.nq, list[tuple[int, int]]()
    count = nq + sum(isinstance(value, np.ndarray) for value in (*lane.params.numbers, lane.t))

    def function(values: list[Scalar]) -> Vec:
        rest = iter(values[nq:])
        *numbers, t = [next(rest) if isinstance(value, np.ndarray) else value for value in (*lane.params.numbers, lane.t)]
        own = replace(lane, params=Parameters(numbers, lane.params.matrices), t=t)
        residuals, entries = _closure(own, values[:nq], index)
        places.extend(entries)
        return [*residuals, *entries.values()]

    try:
        return Tape(function, count), places
    except Unrecordable:
        return None


def true_gap(lane: Lane, q: np.ndarray, index: int) -> np.ndarray:
    """(B, m) residuals in m and rad."""
    motion = lane.motion(list(q), None)
    rows = lane.rows(motion, index)
    return np.ascontiguousarray(per_member(lane.residuals(motion, index, rows), q.shape[1]).T)


def prescribed_speeds(lane: Lane, q: np.ndarray, index: int) -> np.ndarray:
    """(B, m) right-hand sides nu of J v = nu, dimensionless."""
    rows = lane.rows(lane.motion(list(q), None), index)
    unit = np.asarray(scales(rows.unit, lane.length))
    return np.ascontiguousarray((per_member(rows.nu, q.shape[1]) / unit[:, None]).T)


def block_monitors(lane: Lane, q: np.ndarray, index: int, block: Block) -> tuple[np.ndarray, np.ndarray]:
    """Largest |B_ij| and pivot ratio (smallest over largest length) of a partition for all members, each (B,)."""
    members = q.shape[1]
    rows = lane.rows(lane.motion(list(q), None), index)
    with np.errstate(all="ignore"):
        solution = lane.solve(block, rows, rows.phi)
        ratio = 1.0 / np.sqrt(per_member([solution.squared_condition], members)[0])
    return per_member([solution.b_norm], members)[0], ratio


def retract(plan: Plan, q: np.ndarray, change: np.ndarray) -> np.ndarray:
    """q (+) change for (nv, B) changes."""
    return per_member(kinematics.retract(plan, list(q), dict(enumerate(change))), q.shape[1])
