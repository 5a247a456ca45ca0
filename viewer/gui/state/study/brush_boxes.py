"""Where brushes stand in a plot, and the drag that makes or moves one. No GL, no GUI library."""

from __future__ import annotations

from shiftjax.record import record
from shiftjax.viewer.members.brush import Brush

__all__ = ["Corner", "Drag", "BrushBox", "Scale"]

Corner = tuple[float, float]  # of a box in the numbers of a plot


@record
class Scale:
    """How the numbers of a column stand along an axis of a plot: number = low + apart * place."""

    column: str
    low: float = 0.0
    apart: float = 1.0

    def number(self, place: float) -> float:
        return self.low + self.apart * place

    def place(self, number: float) -> float:
        return (number - self.low) / self.apart


@record
class BrushBox:
    """A brush as it stands in a plot."""

    brush: int  # its place among the explorer's
    left: float
    right: float
    low: float
    high: float
    across: Scale | None  # of the column between left and right; None where these cannot be moved
    up: Scale | None


@record
class Drag:
    """A brush that is being drawn or moved."""

    plot: str
    start: Corner  # points from the window's upper left
    box: BrushBox | None = None  # of the brush that is moved; None for a new one
    before: Brush | None = None  # as it was
    sides: frozenset[str] = frozenset()  # those that move: "left", "right", "low", "high"
