"""The members of a study as a table: columns of numbers, their order, and members by an expression. NumPy only.

A column is read on first use and kept; so is the order of its values. Of a million members a column takes 8 MB, its
order 4 MB.
"""

from __future__ import annotations

import functools
from collections.abc import Mapping

import numpy as np

from shiftjax.errors import one_of
from shiftjax.outcome import Outcome
from shiftjax.viewer.members.choice import NO_SETS
from shiftjax.viewer.members.member_numbers import MemberNumbers

MEMBER, STATUS = "member", "status"
DIGITS = 6  # of a number in the table


class MemberTable:
    """The columns of a study.

    Attributes:
        study: whose they are; names: of all columns, the member and its status first, then what is varied, metrics and
            the certificate. sets: names of sets of members (members,) bool, which expressions may use.
    """

    def __init__(self, study: MemberNumbers) -> None:
        self.study = study
        self.sets: Mapping[str, np.ndarray] = NO_SETS
        self.names: tuple[str, ...] = (MEMBER, STATUS, *study.design, *study.metrics)
        self.column = functools.cache(self._column)  # name -> (members,) read-only numbers
        self.span = functools.cache(self._span)  # name -> smallest and largest finite value
        self._rising = functools.cache(self._sorted)

    @property
    def rows(self) -> int:
        return self.study.members

    def _column(self, name: str) -> np.ndarray:
        one_of("column", name, self.names)
        if name == MEMBER:
            return np.arange(self.rows)
        if name == STATUS:
            return np.asarray(self.study.status)
        return np.asarray(self.study.design[name] if name in self.study.design else self.study.metrics[name])

    def unit(self, name: str) -> str:
        """Unit of a column, "" where it has none."""
        unit = "1" if name in (MEMBER, STATUS) or name not in self.names else self.study.unit(name)
        return "" if unit == "1" else unit

    def title(self, name: str) -> str:
        """Name and unit of a column."""
        unit = self.unit(name)
        return f"{name} [{unit}]" if unit else name

    def sense(self, name: str) -> str:
        """Which values of a column are good, "small" or "large"; "" where the study says nothing of it."""
        return self.study.sense(name)

    def text(self, name: str, member: int) -> str:
        """A number of a member in words."""
        value = self.column(name)[member]
        if name == STATUS:
            return Outcome(int(value)).name
        return str(int(value)) if np.issubdtype(type(value), np.integer) else f"{float(value):.{DIGITS}g}"

    def _span(self, name: str) -> tuple[float, float]:
        values = self.column(name)
        finite = values[np.isfinite(values)] if np.issubdtype(values.dtype, np.floating) else values
        return (float(finite.min()), float(finite.max())) if len(finite) else (0.0, 0.0)

    def _sorted(self, name: str, falling: bool) -> np.ndarray:
        values = self.column(name)
        if falling:
            values = -values.astype(float)
        return np.argsort(values, kind="stable").astype(np.int32)

    def order(self, name: str, *, falling: bool = False) -> np.ndarray:
        """(members,) members by a column; NaN last in both senses, ties by member."""
        return self._rising(name, falling)

    def choose(self, text: str) -> np.ndarray:
        """(k,) members that an expression chooses, which may name sets. ModelError as of `mask`."""
        return self.study.choose(text, self.sets)

    def mask(self, text: str, sets: Mapping[str, np.ndarray] = NO_SETS) -> np.ndarray:
        """(members,) bool, those an expression chooses, see `choice`; all where it is empty.

        Args:
            sets: further names that mean members (members,) bool.

        Raises:
            ModelError: no such form, name or member.
        """
        if not text.strip():
            return np.ones(self.rows, bool)
        mask = np.zeros(self.rows, bool)
        mask[self.study.choose(text, {**self.sets, **sets})] = True
        return mask
