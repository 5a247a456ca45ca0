"""Trajectories of a workbench: its poses as a table, and the poses of a table as its steps. Host code."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import numpy as np

from shiftjax.editing.posing.trajectory_poses import TrajectoryPoses
from shiftjax.kinematics.trajectory import Trajectory, read_trajectory
from shiftjax.mechanism.model import Model
from shiftjax.watching import Progress, nobody


class TrajectorySteps:
    """What a workbench does with trajectories."""

    @property
    def drawn_model(self) -> Model:
        """The model as it was changed."""
        raise NotImplementedError

    def _hand(self) -> TrajectoryPoses:
        """By which it is posed."""
        raise NotImplementedError

    def drop(self) -> object:
        """Ends what the hand does."""
        raise NotImplementedError

    def _refuse_inside(self, what: str) -> None:
        raise NotImplementedError

    def _posed(self, remark: str = "") -> None:
        raise NotImplementedError

    def _poses_of_model(self) -> list[np.ndarray]:
        """(nq,) coordinates of all steps since the mechanism was changed, of the present model."""
        raise NotImplementedError

    def trajectory(self, frames: Sequence[str] = ()) -> Trajectory:
        """The poses that it went through by hand since the mechanism was last changed, one after the other.

        Steps that move nothing are no pose; what was taken back is not there.

        Args:
            frames: bodies and frames whose places and axes are in the table beside all coordinates.

        Raises:
            ModelError: no such frame.
        """
        self.drop()
        steps = self._poses_of_model()
        moved = [q for k, q in enumerate(steps) if not k or not np.array_equal(q, steps[k - 1])]
        return self._hand().trajectory(self.drawn_model, np.array(moved), frames)

    def read_trajectory(self, path: str | Path) -> Trajectory:
        """The poses of a CSV table, of the mechanism as it is; as `shiftjax.read_trajectory`."""
        return read_trajectory(path, self.drawn_model)

    def go_to(self, trajectory: Trajectory, row: int) -> TrajectorySteps:
        """A pose of a trajectory, or as near as it comes, as one step: `missed` and `notes` say what is missing.

        Raises:
            ModelError: no such pose.
        """
        self._refuse_inside("go_to")
        self.drop()
        self._hand().go_to(trajectory, row)
        self._posed()
        return self

    def go_through(self, trajectory: Trajectory, progress: Progress = nobody) -> dict[int, str]:
        """All poses of a trajectory, each from the one before, a step each: `undo` goes back one by one.

        Args:
            progress: called with the fraction done; what it raises, as Ctrl-C, ends it after the poses that are done.

        Returns:
            row -> what is missing there, of those that are not reached.
        """
        missing: dict[int, str] = {}
        for row in range(trajectory.count):
            progress(row / trajectory.count)
            self.go_to(trajectory, row)
            if notes := self._hand().notes:
                missing[row] = "; ".join(notes)
        return missing
