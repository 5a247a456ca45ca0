"""Brushes: members between ends of some columns, or of a query; written in the language of choices. NumPy only.

0.15 <= tip.T[0] <= 0.2 and swing >= 3          one brush of two columns
0.15 <= tip.T[0] <= 0.2 or 0.3 <= tip.T[0]      two brushes
status == 'locked'                              a query: it chooses, but has no ends that could be drawn or moved
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Sequence

import numpy as np

from shiftjax.errors import ModelError
from shiftjax.record import record
from shiftjax.viewer.members.column_names import resolved
from shiftjax.viewer.members.completing import quoted
from shiftjax.viewer.members.member_table import MemberTable
from shiftjax.viewer.members.query import AMONG

__all__ = ["Brush", "Range", "alike", "brushes_of", "name_of", "rounded", "text_of", "within"]

DIGITS = 4  # decimal places of the ends of a brush, in parts of what an axis shows: less than a pixel
_NUMBER = r"[+-]?(?:[0-9]+\.?[0-9]*|\.[0-9]+)(?:[eE][+-]?[0-9]+)?"
_NAME = r"`[^`]+`|[^\s`<>=!()]*[^\s`<>=!()0-9.+-][^\s`<>=!()]*"
_BETWEEN = re.compile(rf"(?:({_NUMBER})\s*<=\s*)?({_NAME})(?:\s*(<=|>=)\s*({_NUMBER}))?")
_AND, _OR = re.compile(r"\s+and\s+"), re.compile(r"\s+or\s+")


@record
class Range:
    """The ends of a column, which belong to it; infinite where there is none."""

    column: str
    low: float
    high: float


@record
class Brush:
    """Members whose numbers are in all of the ranges, and that a query means where there is one."""

    ranges: tuple[Range, ...]
    query: str = ""

    def mask(self, table: MemberTable) -> np.ndarray:
        """(members,) bool; nobody without a number in a column. ModelError for a query that cannot be read."""
        mask = table.mask(self.query)
        for one in self.ranges:
            values = table.column(one.column)
            with np.errstate(invalid="ignore"):
                mask = mask & (values >= one.low) & (values <= one.high)
        return mask

    def range_of(self, column: str) -> Range | None:
        """The ends of a column, None where the brush does not ask for it."""
        return next((one for one in self.ranges if one.column == column), None)

    def moved(self, column: str, low: float, high: float) -> Brush:
        """The brush with other ends of one of its columns, in either order."""
        ends = Range(column, min(low, high), max(low, high))
        return Brush(tuple(ends if one.column == column else one for one in self.ranges), self.query)


def within(brush: Brush, box: Brush) -> Brush | None:
    """The members of a brush that are between ends, too; None where nothing is left between those of a column."""
    ranges = {one.column: one for one in brush.ranges}
    for one in box.ranges:
        before = ranges.get(one.column, one)
        ranges[one.column] = Range(one.column, max(one.low, before.low), min(one.high, before.high))
        if ranges[one.column].low > ranges[one.column].high:
            return None
    queries = [query for query in dict.fromkeys((brush.query, box.query)) if query]
    return Brush(tuple(ranges.values()), queries[0] if len(queries) == 1 else " and ".join(f"({q})" for q in queries))


def alike(one: Sequence[Brush], other: Sequence[Brush]) -> bool:
    """Whether two lists are the same brushes."""
    return [(brush.ranges, brush.query) for brush in one] == [(brush.ranges, brush.query) for brush in other]


def rounded(value: float, apart: float) -> float:
    """An end of a brush with few digits, so that its text is short and means the same members.

    Args:
        apart: how far the ends of its axis are from each other.
    """
    if not (math.isfinite(value) and apart > 0 and math.isfinite(apart)):
        return value
    return round(value, DIGITS - math.floor(math.log10(apart)))


def text_of(brushes: Sequence[Brush], name: Callable[[str], str]) -> str:
    """All brushes as one expression.

    Args:
        name: of a column, as expressions write it: see `name_of`.
    """
    texts = []
    for brush in brushes:
        enclosed = brush.ranges or (len(brushes) > 1 and AMONG in brush.query.split())  # `of` goes on to the end
        parts = [f"({brush.query})" if enclosed else brush.query] if brush.query else []
        texts.append(" and ".join([*parts, *(_between(one, name(one.column)) for one in brush.ranges)]))
    return " or ".join(texts)


def brushes_of(text: str, table: MemberTable) -> tuple[Brush, ...]:
    """The brushes that a text means: those that it says are between ends of columns, else one of a query.

    Raises:
        ModelError: as of `MemberTable.mask`.
    """
    if not text.strip():
        return ()
    table.mask(text)
    pieces = [_ranges(piece, table) for piece in _OR.split(text.strip())]
    if all(pieces):
        return tuple(Brush(piece) for piece in pieces)
    return (Brush((), text.strip()),)


def _ranges(text: str, table: MemberTable) -> tuple[Range, ...]:
    """The ranges of a conjunction; none where it is another query."""
    ranges: dict[str, Range] = {}
    for piece in _AND.split(text.strip()):
        match = _BETWEEN.fullmatch(piece.strip())
        if match is None or not (match[1] or match[3]) or (match[1] and match[3] == ">="):
            return ()
        try:
            column = resolved(match[2], table.names, "brush")
        except ModelError:  # arithmetic, or a word
            return ()
        low = float(match[1]) if match[1] else float(match[4]) if match[3] == ">=" else -math.inf
        high = float(match[4]) if match[3] == "<=" else math.inf
        before = ranges.get(column, Range(column, -math.inf, math.inf))
        ranges[column] = Range(column, max(low, before.low), min(high, before.high))
    return tuple(ranges.values())


def _between(one: Range, name: str) -> str:
    """A range in words."""
    if math.isinf(one.low) and math.isinf(one.high):
        return f"{name} == {name}"  # every number, but none that is missing
    if math.isinf(one.low):
        return f"{name} <= {one.high!r}"
    return f"{name} >= {one.low!r}" if math.isinf(one.high) else f"{one.low!r} <= {name} <= {one.high!r}"


def name_of(column: str, table: MemberTable, short: str) -> str:
    """The name of a column in an expression; the short one where that is understood as this column."""
    numbers = ~np.isnan(table.column(column).astype(float))
    for name in (quoted(short), quoted(column)):
        try:
            if np.array_equal(table.mask(f"{name} == {name}"), numbers) and resolved(name, table.names, "") == column:
                return name
        except ModelError:  # several columns, or a word of the language
            continue
    return f"`{column}`"
