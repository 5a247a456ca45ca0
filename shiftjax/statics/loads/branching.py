"""Curves of equilibria of many members, and those that branch off from them. Host code."""

from __future__ import annotations

import copy

import numpy as np

from shiftjax.statics.at_rest import AtRest
from shiftjax.statics.loads.critical_poses import Critical
from shiftjax.statics.loads.followed_curves import FollowedCurve, LoadCurves
from shiftjax.statics.loads.load_curves import Loading
from shiftjax.statics.loads.passed_events import WatchedZeros
from shiftjax.statics.search import Search


class Branching:
    """The curves of all members.

    Attributes:
        courses: of every curve; member: whose; begins: the number of the critical pose where it begins, -1 under the
            first load. critical: (curve, number of the pose before, arclength, pose). interrupted: whether Ctrl-C came,
            so that curves end where they were.

    Args:
        search: where members stand under the first load. loading: of them. distance, poses, limits, watched: as of
            `LoadCurves`.
    """

    def __init__(
        self, search: Search, loading: Loading, distance: float, poses: int, limits: tuple[float, float],
        watched: WatchedZeros,
    ) -> None:  # fmt: skip
        self.search, self.loading, self.distance, self.poses, self.limits = search, loading, distance, poses, limits
        self.watched = watched
        self.courses: list[FollowedCurve] = []
        self.member: list[int] = []
        self.begins: list[int] = []
        self.critical: list[tuple[int, int, float, Critical]] = []
        self.interrupted = False

    def follow(self, sound: np.ndarray, branches: int) -> None:
        """All curves, first one of every member; of those that stand in no equilibrium one without a pose.

        Args:
            sound: (B,) members that stand in equilibrium under the first load. branches: how often curves branch off.
        """
        search = self.search
        members = np.flatnonzero(sound)
        ahead = np.zeros((len(members), search.prepared.plan.nv + 1))
        ahead[:, -1] = 1.0
        q, states = search.q[:, members], search.states[:, members]
        self._add(members, q, states, np.zeros(len(members)), ahead, None)
        self._add_empty(~sound)
        seen = 0
        for _ in range(branches):
            new = range(seen, seen := len(self.critical))
            starts = [(k, sign) for k in new if self.critical[k][3].kind == "branch" for sign in (1.0, -1.0)]
            if not starts or self.interrupted:
                break
            poses = [self.critical[k][3] for k, _ in starts]
            self._add(
                np.array([self.member[self.critical[k][0]] for k, _ in starts]),
                np.array([pose.q for pose in poses]).T,
                np.array([pose.states for pose in poses]).T,
                np.array([pose.factor for pose in poses]),
                np.array([sign * self.critical[k][3].way for k, sign in starts]),
                np.array([k for k, _ in starts]),
            )

    def _add_empty(self, unsound: np.ndarray) -> None:
        """Puts curves without a pose where members (B,) have none."""
        plan, k = self.search.prepared.plan, self.search.squared.shape[1]
        for member in np.flatnonzero(unsound):
            course = FollowedCurve.empty(self.poses, plan.nq, plan.ns, k)
            course.end = "there is no equilibrium under the first load"
            self.courses.insert(member, course)
            self.member.insert(member, int(member))
            self.begins.append(-1)
            self.critical = [(k + int(k >= member), at, length, pose) for k, at, length, pose in self.critical]

    def _add(
        self, members: np.ndarray, q: np.ndarray, states: np.ndarray, factor: np.ndarray, ahead: np.ndarray,
        begins: np.ndarray | None,
    ) -> None:  # fmt: skip
        """Follows curves of members (C,), those with the same ranks together; the rest as of `LoadCurves`."""
        prepared, ranks = self.search.prepared, self.search.ranks[members]
        courses: dict[int, FollowedCurve] = {}
        empty = FollowedCurve.empty(self.poses, prepared.plan.nq, prepared.plan.ns, self.search.squared.shape[1])
        for every in np.unique(ranks, axis=0):
            rows = np.flatnonzero((ranks == every).all(1))
            if self.interrupted:  # before these began
                courses |= {int(row): copy.deepcopy(empty) for row in rows}
                for row in rows:
                    courses[int(row)].interrupt()
                continue
            rest = AtRest(prepared.plan, prepared.lane_of(members[rows], 1.0), tuple(map(int, every)))
            curves = LoadCurves(
                rest, self.loading.of(members[rows]), q[:, rows], states[:, rows], factor[rows], ahead[rows],
                distance=self.distance, count=self.poses, limits=self.limits, branching=begins is not None,
                watched=self.watched,
            )  # fmt: skip
            courses |= dict(zip(rows.tolist(), curves.follow(), strict=True))
            self.interrupted |= curves.interrupted
        for row, member in enumerate(members):
            self.critical += [(len(self.courses), *one) for one in courses[row].critical]
            self.courses.append(courses[row])
            self.member.append(int(member))
            self.begins.append(-1 if begins is None else int(begins[row]))
