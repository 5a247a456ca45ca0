"""Curves of members against each other: the difference of two, and several as a table. NumPy only."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from shiftjax.errors import ModelError
from shiftjax.viewer.motion.curves import Curve

__all__ = ["minus", "table_of"]


def minus(curve: Curve, reference: Curve, where: str) -> Curve:
    """A curve less a reference at its own instants; NaN where the reference has no value.

    Between instants of the reference its values are taken linear in time; where both have the same instants nothing is.

    Raises:
        ModelError: other numbers of values, or another unit.
    """
    shapes = curve.values.shape[1], reference.values.shape[1]
    if curve.unit != reference.unit or shapes[0] != shapes[1]:
        other = f"{shapes[1]} values in {reference.unit}"
        raise ModelError(where, f"a reference of {other}", f"{shapes[0]} in {curve.unit}", "Choose another reference.")
    return Curve(curve.time, curve.values - _at(reference, curve.time), curve.unit, curve.labels)


def table_of(curves: Sequence[Curve], span: tuple[float, float]) -> tuple[np.ndarray, list[np.ndarray]]:
    """All instants within a span [s], of all curves, and (n, k) the values of each at these; NaN where it has none.

    Nothing is interpolated: an instant that one curve has and another has not leaves a gap in the other.
    """
    inside = [curve.time[(curve.time >= span[0]) & (curve.time <= span[1])] for curve in curves]
    time = np.unique(np.concatenate(inside)) if inside else np.zeros(0)
    values = []
    for curve in curves:
        rows = np.full((len(time), curve.values.shape[1]), np.nan)
        known = np.isin(curve.time, time)
        rows[np.searchsorted(time, curve.time[known])] = curve.values[known]
        values.append(rows)
    return time, values


def _at(curve: Curve, time: np.ndarray) -> np.ndarray:
    """(n, k) at some times [s]; NaN outside of the curve."""
    if np.array_equal(curve.time, time):
        return curve.values
    columns = [np.interp(time, curve.time, column, np.nan, np.nan) for column in curve.values.T]
    return np.stack(columns, axis=1) if columns else np.zeros((len(time), 0))
