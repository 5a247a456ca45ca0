"""Poses by hand as a trajectory, and the poses of a trajectory as steps by hand. Host code.

A pose that the table has whole, at which loops close, is taken as it is, so that poses that were written are there
again to the last bit; any other one is what a hand wants, from the pose before it.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Sequence
from typing import Any, Self

import numpy as np

from shiftjax.access.frame_kinds import FrameOn
from shiftjax.editing.posing.goal_states import GoalState
from shiftjax.editing.posing.kept_goals import HandGoal
from shiftjax.editing.posing.pose_history import PoseHistory, PoseStep
from shiftjax.editing.scripts import line_of
from shiftjax.editing.standing import Poses, frame_pose
from shiftjax.errors import ModelError, need, refuse_text
from shiftjax.joints import KINDS
from shiftjax.kinematics.positioning.goals import JointGoal
from shiftjax.kinematics.positioning.solving.lone_loops import CLOSED
from shiftjax.kinematics.positioning.solving.solver import ITERATIONS
from shiftjax.kinematics.trajectory import Trajectory
from shiftjax.mechanism.coordinates import plain_coordinates
from shiftjax.mechanism.model import Model
from shiftjax.mechanism.paths import split
from shiftjax.mechanism.records import FIXED, ORIGIN, FrameRef
from shiftjax.run.start.prepared import Prepared
from shiftjax.topology.plan import Plan


class TrajectoryPoses(PoseHistory):
    """Steps to poses of a trajectory; what a pose is, its subclass knows."""

    @property
    def prepared(self) -> Prepared:
        """The model made ready, with the plan of its coordinates."""
        raise NotImplementedError

    def allows(self, q: np.ndarray) -> bool:
        """Whether limits and locks allow coordinates (nq,)."""
        raise NotImplementedError

    def _went(self, goals: Sequence[HandGoal], line: str, iterations: int) -> PoseStep:
        raise NotImplementedError

    def _states(self, step: PoseStep | None = None) -> tuple[dict[str, GoalState], tuple[GoalState, ...]]:
        raise NotImplementedError

    def poses_at(self, q: np.ndarray) -> Poses:
        """Where bodies stand at coordinates (nq,)."""
        raise NotImplementedError

    def gap_at(self, q: np.ndarray) -> float:
        """Largest residual of all loops at coordinates (nq,), dimensionless."""
        raise NotImplementedError

    def go_to(self, trajectory: Trajectory, row: int) -> Self:
        """A pose of a trajectory, or as near as it comes, beside locks, limits and goals that are kept.

        `missed` says by how much it is missed, `notes` what is; the script has the pose itself.

        Raises:
            ModelError: no such pose.
        """
        need("go_to: trajectory", trajectory, Trajectory, "a Trajectory, as `read_trajectory` gives it")
        need("go_to: row", row, int, "the number of a pose")
        if not 0 <= row < trajectory.count:
            raise ModelError("go_to: row", str(row), f"0 to {trajectory.count - 1}", "Name one of its poses.")
        self.drop()
        remark = f"pose {row} of {trajectory.name}".removesuffix(" of ")
        q = whole_pose(trajectory, self.prepared.plan, row)
        notes: tuple[str, ...] = ()
        if q is not None and not self.goals and self.gap_at(q) <= CLOSED and self.allows(q):
            self.missed, step = 0.0, dataclasses.replace(self._now, q=q, hand=(), pivot=())
        else:
            step = self._went([_of_hand(goal) for goal in trajectory.at(row)], "", ITERATIONS)
            missing = [state for state in self._states(step)[1] if state.state != "met"]
            notes = tuple(f"{remark}: {state.title}: {state.text}" for state in missing)
        line = f"{line_of('pose', (step.q,), {})}  # {remark}"
        self._put(dataclasses.replace(step, line=line), *notes)
        return self

    def trajectory(self, model: Model, steps: np.ndarray, frames: Sequence[str]) -> Trajectory:
        """Poses (n, nq) of a model as a table, with places and axes of some frames."""
        return trajectory_of(model, self.prepared.plan, steps, self.poses_at, frames)


def _of_hand(goal: Any) -> HandGoal:
    """A goal of a trajectory as those of a hand are: of a frame that may have an offset."""
    return goal if isinstance(goal, JointGoal) else dataclasses.replace(goal, frame=FrameOn(goal.frame))


def whole_pose(trajectory: Trajectory, plan: Plan, row: int) -> np.ndarray | None:
    """(nq,) the pose of a row that has all coordinates of a plan; None of one that lacks some."""
    q = np.zeros(plan.nq)
    places: dict[str, int] = {}
    for one in plan.coordinates:
        if one.path in trajectory.q:
            q[one.q] = trajectory.q[one.path][row]
            continue
        joint = split(one.path)[0]
        first = places.get(joint, 0)
        if joint not in trajectory.joints:
            return None
        q[one.places] = trajectory.joints[joint][row, first : first + one.nq]
        places[joint] = first + one.nq
    return q


def trajectory_of(
    model: Model, plan: Plan, steps: np.ndarray, poses_at: Callable[[np.ndarray], Poses], frames: Sequence[str]
) -> Trajectory:
    """Poses of a model as a table.

    Args:
        steps: (n, nq) its coordinates. poses_at: coordinates -> where its bodies stand. frames: those whose places and
            axes are in the table, too.

    Raises:
        ModelError: no such frame.
    """
    refuse_text("trajectory: frames", frames)
    plain, records, units = plain_coordinates(model), dict(model.joints()), model.coordinate_units()
    q = {one.path: steps[:, one.q].copy() for one in plan.coordinates if one.path in plain}
    joints, pairs = dict[str, np.ndarray](), dict[str, tuple[str, str, int]]()
    for one in plan.coordinates:
        joint = split(one.path)[0]
        if one.path in plain or joint not in records:
            continue
        columns = steps[:, one.places].reshape(len(steps), -1)
        joints[joint] = np.concatenate([joints[joint], columns], axis=1) if joint in joints else columns
        ends = (records[joint].child, records[joint].parent)
        child, parent = (ref.body if ref.frame == ORIGIN else ref.path for ref in ends)
        pairs[joint] = child, "world" if parent == FIXED else parent, KINDS[records[joint].type].shifts
    positions, axes = dict[str, np.ndarray](), dict[str, np.ndarray]()
    bodies = [poses_at(one) for one in steps] if frames else []
    for frame in frames:
        full = model.resolve(frame)
        if model.kind_of(full) not in ("frame", "body"):
            fault = f"{full}, a {model.kind_of(full)}"
            raise ModelError("trajectory: frames", fault, "bodies and frames", "Name one of these.")
        ref = FrameRef(full) if model.kind_of(full) == "body" else FrameRef(*full.rsplit(":", 1))
        placed = [frame_pose(model, ref, one) for one in bodies]
        axes[full], positions[full] = (np.array(x) for x in zip(*placed, strict=True))
    return Trajectory(
        model.name, len(steps), None, q, {path: units[path] for path in q}, joints, positions, axes, pairs
    )  # fmt: skip
