"""Members that stand on a pose of an uneven path at which branches meet. Host code.

Problem: there the loops say neither speeds nor accelerations. The branch does that leads straight over the pose: a
curve q(u) by the sole driver u, of which a leap along the line before gives q' and q''. Rates of the path there and
those of the next line are of that curve. Where several drivers lead another way behind the pose than before it, nothing
tells which branch goes on.
"""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from shiftjax.kinematics.paths.inputs import Inputs
from shiftjax.run.advance.ensemble import Ensemble


class Standing:
    """The members that stand on such a pose.

    Args:
        driven: driven coordinate -> its place among the speeds.

    Attributes:
        members: their numbers. slopes, bends: (nv, K) first and second derivatives of speeds by the driver.
    """

    def __init__(self, lanes: Ensemble, inputs: Inputs, driven: Mapping[str, int]) -> None:
        self.lanes, self.inputs, self.path = lanes, inputs, next(iter(driven)) if len(driven) == 1 else ""
        self.members, nv = np.zeros(0, int), lanes.setup.plan.nv
        self.slopes, self.bends, self.speeds = np.zeros((nv, 0)), np.zeros((nv, 0)), slice(nv)

    def others(self, members: np.ndarray) -> np.ndarray:
        """Those of some members that do not stand on such a pose."""
        return np.setdiff1d(members, self.members, assume_unique=True)

    def note(self, k: int, standing: np.ndarray) -> np.ndarray:
        """Takes up those (B,) that have come to pose k; they have the rates of the line that leads there.

        Returns:
            (K,) members of which nothing tells how they go on.
        """
        lanes, members = self.lanes, np.flatnonzero(standing & (self.lanes.status <= 0))
        self.members = members if self.path else members[:0]
        if len(self.members):
            step = self._of_members(self.inputs.line(k)[self.path][1])
            self.slopes = lanes.table.rows("x", members, self.speeds) / step
            self.bends = lanes.table.rows("dx", members, self.speeds) / step**2
        return members[len(self.members) :]

    def go_on(self, k: int) -> None:
        """Gives them the rates of the line from pose k - 1 to pose k."""
        if len(self.members):
            self._set(self._of_members(self.inputs.line(k)[self.path][1]), 0.0)

    def at_pose(self, k: int) -> None:
        """Gives them the rates of the path at pose k; what follows from a partition is left out."""
        if len(self.members):
            _, rate, half = self.inputs.at_pose(k)[self.path][:3]
            self._set(self._of_members(rate), 2.0 * self._of_members(half))

    def _of_members(self, values: np.ndarray) -> np.ndarray:
        return values[self.members] if len(values) > 1 else values

    def _set(self, rate: np.ndarray, growth: np.ndarray | float) -> None:
        table = self.lanes.table
        table.set("x", self.slopes * rate, self.members, self.speeds)
        table.set("dx", self.bends * rate**2 + self.slopes * growth, self.members, self.speeds)
