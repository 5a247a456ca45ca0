"""What makes some members different from others: how far each of their numbers is shifted. NumPy only.

Two figures a column. The shift is the difference of means over the pooled standard deviation (Cohen: Statistical Power
Analysis for the Behavioral Sciences, 1988, section 2.2). The rank is the chance that a member of the group has a larger
number than one of the others, equal ones counting half: U of Mann and Whitney over the number of pairs, from exact
counts. It sees what a few extreme numbers hide from the shift.
"""

from __future__ import annotations

import math

import numpy as np

from shiftjax.record import record
from shiftjax.viewer.members.member_table import MemberTable

__all__ = ["Difference", "difference", "most_first"]


@record
class Difference:
    """How a column of a group differs from that of others; what is no finite number does not count."""

    column: str
    shift: float  # in standard deviations, infinite where both are constant, NaN where a side has no number
    rank: float  # 0 all are below the others, 1 all are above, 0.5 neither; NaN alike
    mean: float  # of the group
    other: float  # mean of the others
    count: int  # members of the group with a number
    others: int

    @property
    def higher(self) -> bool:
        """Whether the group is above the others, by the mean."""
        return self.shift > 0


def difference(table: MemberTable, column: str, group: np.ndarray, others: np.ndarray) -> Difference:
    """Of one column.

    Args:
        group, others: (members,) bool; whoever is in both counts as of the group.
    """
    values = table.column(column)
    order = table.order(column)
    order = order[(group | others)[order]]
    order = order[np.isfinite(values[order])]
    of_group = group[order]
    rising = values[order].astype(float)
    one, rest = rising[of_group], rising[~of_group]
    if not len(one) or not len(rest):
        means = [float(part.mean()) if len(part) else math.nan for part in (one, rest)]
        return Difference(column, math.nan, math.nan, means[0], means[1], len(one), len(rest))
    (mean, squares), (other, other_squares) = _moments(one), _moments(rest)
    free = len(one) + len(rest) - 2
    deviation = math.sqrt((squares + other_squares) / free) if free else math.nan
    apart = mean - other
    shift = apart / deviation if deviation != 0 else math.copysign(math.inf, apart) if apart else 0.0
    return Difference(column, shift, _rank(rising, of_group), mean, other, len(one), len(rest))


def most_first(differences: list[Difference]) -> list[Difference]:
    """Sorted by how far they are shifted, then by rank; those without a figure last."""

    def key(one: Difference) -> tuple[float, float]:
        shift, rank = (math.inf if math.isnan(x) else -x for x in (abs(one.shift), abs(one.rank - 0.5)))
        return shift, rank

    return sorted(differences, key=key)


def _moments(values: np.ndarray) -> tuple[float, float]:
    """Mean, and the sum of squares about it; exact where all values are the same."""
    about = values - values[0]
    mean = float(about.mean())
    return float(values[0]) + mean, float(((about - mean) ** 2).sum())


def _rank(rising: np.ndarray, of_group: np.ndarray) -> float:
    """The share of pairs in which the group is above, of sorted values; pairs of equal ones count half."""
    first = np.flatnonzero(np.append(True, rising[1:] != rising[:-1]))  # of those that are equal
    inside = np.add.reduceat(of_group.astype(np.int64), first)
    outside = np.diff(np.append(first, len(rising))) - inside
    below = np.cumsum(outside) - outside
    twice = int((inside * (2 * below + outside)).sum())
    return twice / (2 * int(inside.sum()) * int(outside.sum()))
