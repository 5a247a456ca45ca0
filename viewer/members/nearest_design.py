"""Which member of a study has the design nearest to a given one. NumPy only.

Each number counts by its range in the study, so that a distance of 1 is as far as one number goes, and lengths and
masses may stand beside each other.
"""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

__all__ = ["nearest_design", "ranges_of"]

Range = tuple[float, float]


def ranges_of(columns: Mapping[str, np.ndarray], members: np.ndarray | None = None) -> dict[str, Range]:
    """Name -> smallest and largest finite value of columns (members,), of those that have one.

    Args:
        members: (members,) bool, whose values count; all where left out.
    """
    ranges: dict[str, Range] = {}
    for name, column in columns.items():
        values = np.asarray(column, float)
        values = values[np.isfinite(values) & (True if members is None else members)]
        if len(values):
            ranges[name] = float(values.min()), float(values.max())
    return ranges


def nearest_design(
    columns: Mapping[str, np.ndarray], ranges: Mapping[str, Range], design: Mapping[str, float]
) -> tuple[int, float] | None:
    """The member nearest to a design, and its distance: sqrt(sum(((x - x0) / (high - low))^2)) over the numbers.

    The first one of several. A number that all members have alike does not count; None where no member has all numbers.

    Args:
        columns: name -> (members,). ranges: of each. design: name -> value.
    """
    squares: np.ndarray | float = 0.0
    for name, value in design.items():
        low, high = ranges[name]
        values = np.asarray(columns[name], float)
        squares = squares + ((values - value) / (high - low if high > low else np.inf)) ** 2
    squares = np.where(np.isfinite(squares), squares, np.inf)
    if not squares.ndim:
        return None
    member = int(np.argmin(squares))
    return (member, float(np.sqrt(squares[member]))) if np.isfinite(squares[member]) else None
