"""Members that share all numbers on which their pose depends: one design, whose pose is found once. Host code."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, TypeVar

import numpy as np

from shiftjax.algebra import Scalar
from shiftjax.field import Role
from shiftjax.topology.plan import Plan, numbers_read

T = TypeVar("T")
# Numbers that do not move a closed loop, unless a constraint or a joint reads them.
OF_MOTION = {
    Role.MASS, Role.INERTIA, Role.CENTER, Role.ACCELERATION, Role.SPEED, Role.STATE, Role.FORCE, Role.KNOT, Role.LOAD,
    Role.POSING,
}  # fmt: skip


@dataclass(frozen=True)
class Designs:
    """D designs of B members.

    Attributes:
        first: (D,) the first member of each. of_member: (B,) the design of each.
    """

    first: np.ndarray
    of_member: np.ndarray

    @classmethod
    def apart(cls, members: int) -> Designs:
        """A design each."""
        return cls(np.arange(members), np.arange(members))

    @property
    def shared(self) -> bool:
        """Whether members have designs in common."""
        return len(self.first) < len(self.of_member)

    def lanes(self, lane_of: Callable[[np.ndarray, Any], T]) -> Callable[[np.ndarray, Any], T]:
        """The lanes of designs in place of members."""
        return (lambda some, fraction: lane_of(self.first[some], fraction)) if self.shared else lane_of

    def spread(self, values: np.ndarray) -> np.ndarray:
        """(B, ...) from (D, ...)."""
        return values[self.of_member] if self.shared else values

    def spread_last(self, values: np.ndarray) -> np.ndarray:
        """(..., B) from (..., D)."""
        return values[..., self.of_member] if self.shared else values


def designs_of(plan: Plan, numbers: Sequence[Scalar], members: int, t: Scalar = 0.0) -> Designs:
    """The designs of members with some numbers, in the order of the plan's, at their times; equal to the last bit."""
    read = numbers_read((*plan.constraints, *plan.joints))
    varied = [
        value
        for place, (number, value) in enumerate(zip(plan.numbers, numbers, strict=True))
        if isinstance(value, np.ndarray) and (number.role not in OF_MOTION or place in read)
    ]
    varied += [t] if isinstance(t, np.ndarray) else []
    words = [np.ascontiguousarray(value, float).view(np.uint64) for value in varied]
    differ = [value for value in words if (value != value[:1]).any()]
    if not differ:
        return Designs(np.zeros(1, int), np.zeros(members, int))
    if any(
        2 * _distinct(value) > members for value in differ
    ):  # without an order of all, which takes ten times as long
        return Designs.apart(members)
    bits = np.ascontiguousarray(np.transpose(differ))
    _, first, of_member = np.unique(bits, axis=0, return_index=True, return_inverse=True)
    if 2 * len(first) > members:
        return Designs.apart(members)
    return Designs(first, np.ravel(of_member))


def _distinct(values: np.ndarray) -> int:
    """How many of (B,) values differ."""
    ordered = np.sort(values)
    return 1 + int((ordered[1:] != ordered[:-1]).sum())
