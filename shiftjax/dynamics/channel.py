"""What a channel is: a quantity of an object of the plan, as scalars of one unit. `channels` has the table of them."""

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
        of: what it is recorded of: "joint" (its index), "frame" (its place), "force" (its index), "substructure" (its
            index), or "" for the whole.
        observe: `ObservedState` and target -> scalars; lane code.
        unit: of every scalar; or plan and joint -> unit.
        size: how many scalars; or plan and joint -> how many.
        scalar: whether the channel has no axis of its own where there is one scalar.
        of_partition: whether its code depends on the lane's partition.
    """

    of: str
    observe: Callable[[Any, Any], Vec]
    unit: str | Callable[[Plan, int], str]
    size: int | Callable[[Plan, int], int] = 1
    scalar: bool = True
    of_partition: bool = False


@record
class Channel:
    """One recorded quantity: `size` scalars of `unit`."""

    path: str
    quantity: Quantity
    target: Any  # what it is recorded of
    size: int
    scalar: bool  # True where the channel has no axis of its own
    unit: str

    def observe(self, state: Any) -> Vec:
        """The scalars at an `ObservedState`; lane code."""
        return self.quantity.observe(state, self.target)
