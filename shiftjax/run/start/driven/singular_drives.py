"""Starts on a singular pose of loops that are led in time: the branch of the speeds, and poses before and behind.

Problem: as of `singular_starts`; but what is closed moves with time, so that poses beside the start are those of other
instants, and their speeds are what the drivers want there. On each of them the loops have their rank, and the speeds
are determined but for free coordinates, which go on as along a line. Host code.
"""

from __future__ import annotations

from dataclasses import replace
from typing import NamedTuple

import numpy as np

from shiftjax.run.closing.closer import CLOSED
from shiftjax.run.closing.host_evaluation import Loops, prescribed_speeds
from shiftjax.run.closing.poses import close
from shiftjax.run.start.stated import NODES
from shiftjax.topology.partition import complete_pivoting

BESIDE = 1e-3  # rad, or parts of the model's length: at such poses the null space is the tangent's, to 1e-6
ASIDE = 0.03  # between poses beside the start; three on either side say all else to some 1e-9
TURNS = 8  # from speeds between two branches to those of one
RESTING = 1e-9  # rad a second, or parts of the model's length: speeds that lead nowhere
UNSURE = 1e-3  # of the speeds, that no tangent of a branch has
# Seconds after which a drive is looked at that begins at rest; what moves later is no matter of the start.
LATER = tuple(10.0 ** (-k / 2.0) for k in range(8, -1, -1))

Pose = tuple[np.ndarray, np.ndarray]  # (nq, 1) coordinates and (n,) dimensionless speeds


class BranchStart(NamedTuple):
    """How a start goes on.

    Attributes:
        speeds: (n,) there, dimensionless. poses: those at `NODES`. late: seconds between two of them, 0 where nothing
            is led in time. unsure: whether the speeds may be those of another branch, too.
    """

    speeds: np.ndarray
    poses: list[Pose]
    late: float
    unsure: bool


class LedWay:
    """Closed poses of one substructure of one member before and after a start on a singular pose.

    Args:
        loops: at the time of the start. q: (nq, 1) there. tolerance: of ranks.
    """

    def __init__(self, loops: Loops, q: np.ndarray, tolerance: float) -> None:
        self.loops, self.q, self.tolerance = loops, q, tolerance

    def rank_beside(self, speeds: np.ndarray) -> int:
        """The most rank of poses near the start, before or after it; 0 where nothing moves within a second.

        Args:
            speeds: (n,) dimensionless, at the start.
        """
        size, ranks = float(np.linalg.norm(speeds)), [0]
        for late in (BESIDE / size,) if size > BESIDE else LATER:
            for side in (late, -late):
                loops = self._at(side)
                if size <= BESIDE and np.abs(loops.at(self.q)[0]).max(initial=0.0) < BESIDE:
                    continue
                pose = self._closed(loops, loops.moved(self.q, side * speeds[None]), ())
                if pose is not None:
                    ranks.append(self._rank(loops, pose))
            if len(ranks) > 1:
                break
        return max(ranks)

    def branch(self, speeds: np.ndarray, stated: tuple[int, ...]) -> BranchStart | None:
        """The branch of some speeds, None where there is none.

        Args:
            speeds: (n,) dimensionless. stated: columns whose speeds are.
        """
        size = float(np.linalg.norm(speeds))
        if size <= RESTING or (tangent := self.tangent(speeds)) is None:
            return None
        between = bool(np.linalg.norm(tangent - speeds) > UNSURE * size)
        speeds = tangent if between else speeds
        poses, late = self.poses(speeds)
        open_ = speeds.size - self._rank(self.loops, self.q)
        return BranchStart(speeds, poses, late, between or len(stated) < open_) if poses else None

    def tangent(self, speeds: np.ndarray) -> np.ndarray | None:
        """(n,) the speeds of the branch nearest to these, None where none was found."""
        late = BESIDE / float(np.linalg.norm(speeds))
        for _ in range(TURNS):
            sides = [self._beside(side, speeds) for side in (late, -late)]
            if any(side is None for side in sides):
                return None
            speeds = np.mean([v for _, v in (side for side in sides if side is not None)], axis=0)
        return speeds

    def poses(self, speeds: np.ndarray) -> tuple[list[Pose], float]:
        """The poses from before to after the start, none where one cannot be closed, and the seconds between two.

        Args:
            speeds: (n,) of a branch.
        """
        late = ASIDE / float(np.linalg.norm(speeds))
        near = self._beside(BESIDE / ASIDE * late, speeds)
        if near is None:
            return [], late
        pivots = complete_pivoting(self._at(BESIDE / ASIDE * late).at(near[0])[1], self.tolerance)
        dependent = pivots.columns[0, : int(pivots.rank[0])]
        free = tuple(int(k) for k in np.setdiff1d(np.arange(len(speeds)), dependent))
        out: dict[int, Pose] = {}
        for side in (1, -1):
            q, v = self.q, speeds
            for k in range(1, max(NODES) + 1):
                loops = self._at(side * k * late)
                pose = self._closed(loops, loops.moved(q, side * late * v[None]), free)
                if pose is None or self._rank(loops, pose) != len(dependent):
                    return [], late
                q, v = pose, self._speeds(loops, pose, speeds, free)
                out[side * k] = q, v
        return [out[k] for k in NODES], late

    def _at(self, late: float) -> Loops:
        """The loops some seconds after the start."""
        return replace(self.loops, lane=replace(self.loops.lane, t=self.loops.lane.t + late))

    def _closed(self, loops: Loops, q: np.ndarray, still: tuple[int, ...]) -> np.ndarray | None:
        there, gap = close(loops.plan, loops.lane, q, loops.index, still)
        return there if gap[0] <= CLOSED else None

    def _rank(self, loops: Loops, q: np.ndarray) -> int:
        return int(complete_pivoting(loops.at(q)[1], self.tolerance).rank[0])

    def _beside(self, late: float, speeds: np.ndarray) -> Pose | None:
        """The pose some seconds after the start, and its speeds, the free ones as they are."""
        loops = self._at(late)
        pose = self._closed(loops, loops.moved(self.q, late * speeds[None]), ())
        if pose is None or self._rank(loops, pose) <= self._rank(self.loops, self.q):
            return None
        return pose, self._speeds(loops, pose, speeds, ())

    def _speeds(self, loops: Loops, q: np.ndarray, speeds: np.ndarray, free: tuple[int, ...]) -> np.ndarray:
        """(n,) dimensionless speeds that the loops and drivers allow, nearest to these; free ones as these."""
        J, nu = loops.at(q)[1][0].copy(), prescribed_speeds(loops.lane, q, loops.index)[0]
        missing = nu - J @ speeds
        J[:, list(free)] = 0.0
        return speeds + np.linalg.pinv(J, rcond=self.tolerance) @ missing
