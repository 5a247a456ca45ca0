"""Where in the space of designs a group of members lies: the few conditions that tell it from the rest."""

from __future__ import annotations

import re
from typing import Any

import numpy as np
import scipy  # which loads its statistics when they are used

from shiftjax.ensembles.store.members import Column, Members
from shiftjax.outcome import REMEDY, Outcome
from shiftjax.record import record

MOST_CONDITIONS = 3
WORTH = 0.05  # by which a further condition must raise the score
CHANCE = 0.01  # at most, that a number which has nothing to do with the group is found (Kolmogorov-Smirnov)
_NUMBER = re.compile(r"(?<![\w.])[-+]?\d+\.?\d*(?:e[-+]?\d+)?")  # none inside a name


@record
class Condition:
    """`name` below or above a limit, which lies between two values that occur."""

    column: Column
    below: bool
    limit: float

    def holds(self, rows: np.ndarray) -> np.ndarray:
        values = self.column.values[rows]
        return values < self.limit if self.below else values > self.limit


@record
class Region:
    """Conditions that hold together.

    Attributes:
        conditions: most telling first; empty where the group lies among the others.
        inside: members of the group where they hold.
        others: members of the rest where they hold.
    """

    conditions: tuple[Condition, ...]
    inside: int
    others: int


@record
class RegionGroup:
    """Members that ended in the same way.

    Attributes:
        outcome: their status.
        cause: what their messages have in common; "#" stands for a number.
        example: the message of the first of them.
        remedy: what to do about it.
        rows: (n,) places in the table of members.
    """

    outcome: Outcome
    cause: str
    example: str
    remedy: str
    rows: np.ndarray


def groups(members: Members) -> list[RegionGroup]:
    """Members that are not good by status and cause: those that failed first, large groups first."""
    causes: dict[tuple[int, str], list[int]] = {}
    for row in np.flatnonzero(~members.good):
        status = int(members.status[row])
        causes.setdefault((status, cause(str(members.messages[row]))), []).append(int(row))
    order = sorted(causes.items(), key=lambda one: (one[0][0] < 0, -len(one[1]), one[0]))
    return [
        RegionGroup(Outcome(status), text, str(members.messages[rows[0]]), REMEDY[Outcome(status)], np.array(rows))
        for (status, text), rows in order
    ]


def cause(message: str) -> str:
    """A message without remedies and numbers, so that equal causes have equal texts."""
    for remedy in REMEDY.values():
        message = message.replace(remedy, "") if remedy else message
    return re.sub(r"[\s:;]*;", ";", _NUMBER.sub("#", message)).strip(" :;")


def region(design: tuple[Column, ...], group: np.ndarray, rest: np.ndarray) -> Region:
    """The conditions that best tell a group from the rest, found one after the other.

    The score of conditions is the share of the group where they hold minus the share of the rest (Youden's index).

    Args:
        design: columns of numbers and switches. group, rest: (n,) and (m,) places of members.
    """
    conditions: tuple[Condition, ...] = ()
    inside, outside = group, rest
    score = 0.0
    while len(conditions) < MOST_CONDITIONS and len(outside) and len(group):
        tried = [one for column in design if (one := _best(column, inside, outside, len(group), len(rest))) is not None]
        if not tried:
            break
        better, condition = max(tried, key=lambda one: one[0])
        values = condition.column.values
        found_by_chance: Any = scipy.stats.ks_2samp(values[inside], values[outside])
        if better < score + WORTH or found_by_chance.pvalue * len(design) > CHANCE:
            break
        score, conditions = better, (*conditions, condition)
        inside, outside = inside[condition.holds(inside)], outside[condition.holds(outside)]
    return Region(conditions, len(inside), len(outside))


def _best(
    column: Column, inside: np.ndarray, outside: np.ndarray, group: int, rest: int
) -> tuple[float, Condition] | None:
    """The condition on one number that leaves most of a group and least of the rest, with its score."""
    a, b = column.values[inside], column.values[outside]
    a, b = np.sort(a[np.isfinite(a)]), np.sort(b[np.isfinite(b)])
    values = np.unique(np.concatenate([a, b]))
    if len(values) < 2:
        return None
    gaps = (values[:-1] + values[1:]) / 2.0
    of_group, of_rest = np.searchsorted(a, gaps), np.searchsorted(b, gaps)
    below = of_group / group - of_rest / rest
    above = (len(a) - of_group) / group - (len(b) - of_rest) / rest
    down, up = int(below.argmax()), int(above.argmax())
    place, lower = (down, True) if below[down] >= above[up] else (up, False)
    limit = between(values[place], values[place + 1])
    return float(max(below[down], above[up])), Condition(column, lower, limit)


def between(low: float, high: float) -> float:
    """The number of fewest digits strictly between two; their mean where there is none of 17."""
    middle = (low + high) / 2.0
    for digits in range(2, 18):
        if low < (rounded := float(f"{middle:.{digits - 1}e}")) < high:
            return rounded
    return middle
