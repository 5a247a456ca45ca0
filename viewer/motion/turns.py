"""Whole turns of joints: one number for an angle wherever it is shown, the one that channels record. NumPy only.

From poses alone an angle is known from -pi to pi, and a quaternion but for its sign. Stored instants say how many turns
came before, as a joint turns by less than half a turn between two of them.
"""

from __future__ import annotations

import math

import numpy as np

from shiftjax.dynamics.kinematics import quaternion_places, vector_places
from shiftjax.numerics.spacing import nearest_places
from shiftjax.topology.plan import Plan
from shiftjax.viewer.members.study_like import StudyLike
from shiftjax.viewer.motion import joint_tracks
from shiftjax.viewer.motion.mechanism import Mechanism, lane_of, numbers_of
from shiftjax.viewer.motion.tree_coordinates import bodies_of, coordinates, is_angle

__all__ = ["Turns", "nearest_turn"]


class Turns:
    """The joint coordinates of one member at its stored instants, angles with whole turns; of a run that goes on, new
    instants are added to those that are known.
    """

    def __init__(self) -> None:
        self._key: tuple[int, int, int] | None = None
        self._q = np.zeros((0, 0))  # (nq, n)

    def near(self, study: StudyLike, member: int, mechanism: Mechanism, time: float) -> np.ndarray:
        """(nq,) at the stored instant nearest to a time [s]."""
        key = (id(study), member, study.revision)
        if key != self._key:
            self._key, self._q = key, np.zeros((mechanism.plan.nq, 0))
        track, times = study.track(member), study.time
        last = min(len(track), len(times), int(np.searchsorted(times, study.end(member), side="right")))
        if last > self._q.shape[1]:
            self._add(study, member, mechanism, track[:last], times[:last])
        return self._q[:, nearest_places(times[:last], time)]

    def _add(self, study: StudyLike, member: int, mechanism: Mechanism, track: np.ndarray, times: np.ndarray) -> None:
        """The instants that are not known yet."""
        known = self._q.shape[1]
        nodes = [study.nodes.index(body) for body in bodies_of(mechanism.plan)]
        count = len(times) - known
        lane = lane_of(mechanism, numbers_of(study, mechanism, np.full(count, member)), times[known:])
        q = coordinates(lane, track[known:, nodes])
        if known:
            self._q = np.hstack(
                [self._q, joint_tracks.unwrapped(mechanism.plan, np.hstack([self._q[:, -1:], q]))[:, 1:]]
            )
        else:
            self._q = joint_tracks.begun(lane, joint_tracks.unwrapped(mechanism.plan, q))


def nearest_turn(plan: Plan, q: np.ndarray, known: np.ndarray) -> np.ndarray:
    """Coordinates (nq,) with as many turns more, and signs of quaternions, as come nearest to known ones (nq,)."""
    out = q.copy()
    angles = [coordinate.q for coordinate in plan.coordinates if is_angle(coordinate)]
    out[angles] += 2 * math.pi * np.round((known[angles] - q[angles]) / (2 * math.pi))
    for first, _ in quaternion_places(plan):
        if out[first : first + 4] @ known[first : first + 4] < 0:
            out[first : first + 4] *= -1.0
    for first, _ in vector_places(plan):
        out[first : first + 3] = joint_tracks.nearest_vector(out[first : first + 3], known[first : first + 3])
    return out
