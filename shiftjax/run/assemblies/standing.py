"""A substructure some of whose coordinates stand: its rows, and what tells its poses apart. Host code."""

from __future__ import annotations

from collections.abc import Collection, Sequence

import numpy as np

from shiftjax.topology.plan import Plan


def closing_rows(plan: Plan, index: int, fixed: Collection[int]) -> np.ndarray:
    """Rows of the constraints other than the drivers of what stands."""
    groups = [plan.constraints[k] for k in plan.substructures[index].groups]
    closing = [not (group.coordinates and {*group.coordinates} <= {*fixed}) for group in groups]
    return np.flatnonzero(np.repeat(closing, [group.rows for group in groups]))


def within_half_a_turn(angle: np.ndarray) -> np.ndarray:
    """Angles less whole turns, from -pi to pi."""
    return np.remainder(angle + np.pi, 2.0 * np.pi) - np.pi


def features(plan: Plan, coordinates: Sequence[int], q: np.ndarray, length: float) -> np.ndarray:
    """(features, A) what is alike for values (nq, A) of one pose: cosines and sines, shifts, sizes of quaternions."""
    lines = []
    for k in coordinates:
        one = plan.coordinates[k]
        if one.plain and one.unit == "rad":
            lines += [np.cos(q[one.q]), np.sin(q[one.q])]
        elif one.plain:
            lines.append(q[one.q] / length)
        else:
            lines += [np.abs(row) for row in q[one.places]]
    return np.array(lines)
