"""A bar that is drawn with the mouse. No GL, no GUI library."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from shiftjax.mechanism.records import FrameRef


@dataclass(frozen=True)
class BarEnd:
    """An end of a bar.

    Attributes:
        point: (3,) in the world [m]. frame: that it is on, None where it is on none.
    """

    point: np.ndarray
    frame: FrameRef | None = None


@dataclass
class DrawnBar:
    """A bar that is being drawn; `normal` (3,) of its plane is an axis of the world."""

    start: BarEnd
    end: BarEnd
    normal: np.ndarray

    @property
    def length(self) -> float:
        """[m]"""
        return float(np.linalg.norm(self.end.point - self.start.point))
