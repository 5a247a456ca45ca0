"""Records of channels: a quantity of an object of the plan, as scalars of one unit. `channels` has the table."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from shiftjax.algebra import Vec
from shiftjax.record import record
from shiftjax.topology.plan import Plan


@record
class Quantity:
    """A kind of channel: what is recorded of an object.

    Attributes:
        of: kind of its target: "joint", "force", "substructure", "coordinate" (an index), "coordinates" (indices of
            all of a joint, or of one), "frame" (a `PlacedFrame`), "frames" (several, as arguments of the path), or ""
            for the whole mechanism.
        observe: `ObservedState` and target -> scalars; lane code.
        unit: of every scalar; or plan and target -> unit.
        size: number of scalars; or plan and target -> number.
        scalar: whether a channel of one scalar is recorded without a channel axis.
        of_partition: whether its code depends on the lane's partition.
    """

    of: str
    observe: Callable[[Any, Any], Vec]
    unit: str | Callable[[Plan, Any], str]
    size: int | Callable[[Plan, Any], int] = 1
    scalar: bool = True
    of_partition: bool = False


@record
class Channel:
    """One recorded quantity: `size` scalars of `unit`."""

    path: str
    quantity: Quantity
    target: Any  # the object recorded
    size: int
    scalar: bool  # True where the recording has no channel axis
    unit: str
    foreign: bool = False  # whether its quantity comes from outside the package

    def observe(self, state: Any) -> Vec:
        """The scalars at an `ObservedState`; lane code."""
        return self.quantity.observe(state, self.target)
