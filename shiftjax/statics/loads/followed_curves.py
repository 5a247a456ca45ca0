"""Curves of equilibria followed to their ends: strides, recorded poses, critical poses, other branches. Host code."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np

from shiftjax.run.closing.continuation import followed
from shiftjax.statics.at_rest import AtRest
from shiftjax.statics.loads.critical_poses import Critical, Stride
from shiftjax.statics.loads.load_curves import LONGEST, Loading, Poses, corrected, poses_at
from shiftjax.statics.loads.passed_events import Passage, WatchedZeros, passages, turning
from shiftjax.statics.stability import squared_frequencies, stability

FINEST = 1e-7  # stride
STRAIGHT, TURNED = 0.95, 0.1  # least cosine of two tangents, of a stride, and of the first one on another branch
TOGETHER = 1e-3  # stride within which a limit and a branch point are one: a pitchfork, met from its handle's side
FIRST = 0.02  # the longest first stride on another branch
ALMOST = 1e-12  # of load factors: nearer to a limit than that is there
INTERRUPTED = "it was interrupted"
TAKEN = 1e-10  # of the distance of poses: what is left of a way is rounding


@dataclass
class FollowedCurve:
    """What is recorded of a curve, n poses at most.

    Attributes:
        q: (n, nq); states: (n, ns); factor, length, residual, potential: (n,); squared: (n, k); stability: (n,) words;
            all NaN, or "", from where it has ended. count: of its poses. end: why there are no more; lost:
            whether that is because no other one was near; interrupted: because Ctrl-C came. neutral: whether a motion
            without stiffness hid branch points.
        critical: (number of the last pose before, length, pose) of its critical poses. passed: the same of the zeros of
            watched expressions.
    """

    q: np.ndarray
    states: np.ndarray
    factor: np.ndarray
    length: np.ndarray
    residual: np.ndarray
    potential: np.ndarray
    squared: np.ndarray
    stability: np.ndarray
    count: int = 0
    end: str = ""
    lost: bool = False
    interrupted: bool = False
    neutral: bool = False
    critical: list[tuple[int, float, Critical]] = field(default_factory=list)
    passed: list[tuple[int, float, Passage]] = field(default_factory=list)

    @classmethod
    def empty(cls, n: int, nq: int, ns: int, k: int) -> FollowedCurve:
        """One without a pose."""

        def none(*shape: int) -> np.ndarray:
            return np.full((n, *shape), np.nan)

        words = np.full(n, "", dtype="<U8")
        return cls(none(nq), none(ns), none(), none(), none(), none(), none(k), words)

    def interrupt(self) -> None:
        """Ends a curve that has no end yet at its last pose; one that was being recorded does not count."""
        if not self.end:
            self.end, self.interrupted = INTERRUPTED, True
            for name in ("q", "states", "factor", "length", "residual", "potential", "squared"):
                getattr(self, name)[self.count :] = np.nan
            self.stability[self.count :] = ""


class LoadCurves:
    """Curves of equilibria of some members, followed so far: `continuation.Curves`.

    Args:
        rest, loading: of the curves. q: (nq, C), states: (ns, C), factor: (C,) where they begin. ahead: (C, nv + 1)
            which way they go. distance: of the poses that are recorded. count: of these. limits: of the load factor,
            (low, high). branching: whether they begin at a branch point, across the curve that was followed to it.
            watched: expressions whose zeros are noted.
    """

    def __init__(
        self, rest: AtRest, loading: Loading, q: np.ndarray, states: np.ndarray, factor: np.ndarray, ahead: np.ndarray,
        *, distance: float, count: int, limits: tuple[float, float], branching: bool, watched: WatchedZeros,
    ) -> None:  # fmt: skip
        self.rest, self.loading, self.distance, self.limits, self.watched = rest, loading, distance, limits, watched
        C = len(factor)
        self.poses = poses_at(rest, loading, q, states, factor, ahead)
        if branching:
            self.poses.ways[:] = ahead
        self.seen = self._seen(rest, loading, self.poses)
        self.fresh = np.full(C, branching)
        self.left, self.length = np.full(C, distance), np.zeros(C)
        k = self.poses.linear.K.shape[1]
        self.courses = [FollowedCurve.empty(count, len(q), len(states), k) for _ in range(C)]
        self.interrupted = False
        self._record(np.arange(C))

    def follow(self) -> list[FollowedCurve]:
        """All of them to their ends, or as far as they have come where Ctrl-C comes before."""
        first = min(self.distance, LONGEST, FIRST if self.fresh.all() else LONGEST)
        try:
            followed(self, np.full(len(self.courses), first), FINEST)
        except KeyboardInterrupt:
            self.interrupted = True
            for course in self.courses:
                course.interrupt()
        for course, factor in zip(self.courses, self.poses.factor, strict=True):
            course.lost = not course.end
            if course.lost:
                course.end = f"no equilibrium was found beyond the load factor {factor:.9g}"
        return self.courses

    def advanced(self, members: np.ndarray, stride: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """As `continuation.Curves` has it."""
        rest, loading, begin = self.rest.of(members), self.loading.of(members), self.poses.some(members)
        length = np.minimum(stride, self.left[members])
        ahead, good = corrected(rest, loading, begin, begin.ways, length, begin.ways)
        fresh = self.fresh[members]
        good &= (begin.ways * ahead.ways).sum(1) >= np.where(fresh, TURNED, STRAIGHT)
        limit, branch = _passed(begin, ahead)
        good &= ~(limit & branch & ~fresh & (length > TOGETHER))  # apart, where strides are shorter
        low, high = self.limits
        ended, limits = np.zeros(len(members), bool), np.where(ahead.factor < low + ALMOST, low, high)
        for row in np.flatnonzero(good & ((ahead.factor < low + ALMOST) | (ahead.factor > high - ALMOST))):
            ended[row] = good[row] = self._to_limit(int(row), limits[row], rest, loading, ahead, begin)
            if ended[row] or abs(begin.factor[row] - limits[row]) <= ALMOST:
                self.courses[members[row]].end = f"the load factor {limits[row]:g} is reached"
            if ended[row]:
                length[row] = ((ahead.factor[row] - begin.factor[row]) / begin.ways[row, -1]).item()
        ended |= self._pass_events(members, good, length, rest, loading, begin, ahead)
        limit, branch = _passed(begin, ahead)  # of a stride that a limit of the load, or an event, has shortened, too
        for row in np.flatnonzero(good & ~fresh & (limit | branch)):
            one = np.array([row])
            way = Stride(rest.of(one), loading.of(one), begin.some(one), float(length[row]))
            pose = way.branch() if branch[row] else way.limit()
            if pose is not None and low <= pose.factor <= high:
                course, at = self.courses[members[row]], self.length[members[row]] + pose.length
                course.critical.append((course.count - 1, float(at), pose))
        for row in np.flatnonzero(good & begin.neutral & ahead.neutral):
            self.courses[members[row]].neutral = True
        full = self._take(members, ahead, good, length, ended)
        following = np.minimum(np.minimum(2.0 * length, LONGEST), self.distance)
        following = np.where(length < stride, np.maximum(following, stride), following)
        return good, np.where(ended | full, 0.0, following)

    def _seen(self, rest: AtRest, loading: Loading, poses: Poses) -> np.ndarray:
        """(E, K) of watched expressions."""
        return self.watched.values(loading.at(rest, poses.factor), poses.q, poses.states)

    def _pass_events(
        self, members: np.ndarray, good: np.ndarray, length: np.ndarray, rest: AtRest, loading: Loading, begin: Poses,
        ahead: Poses,
    ) -> np.ndarray:  # fmt: skip
        """Notes the zeros of watched expressions in strides of some members that are good; (K,) which end there, whose
        strides are shortened."""
        ended, before = np.zeros(len(members), bool), self.seen[:, members]
        self.seen_ahead = self._seen(rest, loading, ahead)
        changed = (before * self.seen_ahead <= 0.0) & (before != 0.0)
        turned = self._turned(good, length, rest, loading, begin, ahead, before)
        for row in np.flatnonzero(good & (changed | turned).any(0)):
            one, course = np.array([row]), self.courses[members[row]]
            way = Stride(rest.of(one), loading.of(one), begin.some(one), float(length[row]))
            for passage in passages(self.watched, way, before[:, row], self.seen_ahead[:, row], turned[:, row]):
                at = float(self.length[members[row]] + passage.length)
                course.passed.append((course.count - 1, at, passage))
                if self.watched.stops(passage.which):
                    ended[row], length[row] = True, passage.length
                    ahead.put(one, passage.pose)
                    course.end = f"the event {self.watched.names[passage.which]}"
        return ended

    def _turned(
        self, good: np.ndarray, length: np.ndarray, rest: AtRest, loading: Loading, begin: Poses, ahead: Poses,
        before: np.ndarray,
    ) -> np.ndarray:  # fmt: skip
        """(E, K) whether watched expressions turn round towards zero within strides that are good."""
        out = np.zeros(before.shape, bool)
        rows = np.flatnonzero(good)
        if not len(before) or not len(rows):
            return out
        some, load, slopes = rest.of(rows), loading.of(rows), list[np.ndarray]()
        states = (ahead.states - begin.states)[:, rows] / length[rows]  # between them: the signs are wanted alone
        for poses in (begin.some(rows), ahead.some(rows)):
            here, ways = load.at(some, poses.factor), poses.ways
            rates = here.coordinate_rates(poses.q, ways[:, :-1].T * here.units[:, None])
            numbers = {place: slope * ways[:, -1] for place, slope in load.slopes.items()}
            slopes.append(self.watched.slopes(here, poses.q, poses.states, rates, states, numbers))
        out[:, rows] = turning(before[:, rows], self.seen_ahead[:, rows], *slopes)
        return out

    def _take(
        self, members: np.ndarray, ahead: Poses, good: np.ndarray, length: np.ndarray, ended: np.ndarray
    ) -> np.ndarray:
        """Moves some members to the poses ahead, and records those that are due; (K,) whether all poses are taken."""
        taken = members[good]
        self.poses.put(taken, ahead.some(good))
        self.seen[:, taken] = self.seen_ahead[:, good]
        self.fresh[taken] = False
        self.left[taken] -= length[good]
        self.length[taken] += length[good]
        reached = good & ((self.left[members] <= TAKEN * self.distance) | ended)
        self._record(members[reached])
        self.left[members[reached]] = self.distance
        full = np.array([self.courses[k].count == len(self.courses[k].factor) for k in members])
        for row in np.flatnonzero(full & good):
            self.courses[members[row]].end = self.courses[members[row]].end or "all poses are taken"
        return full

    def _to_limit(self, row: int, limit: float, rest: AtRest, loading: Loading, ahead: Poses, begin: Poses) -> bool:
        """Puts a curve that has come to a limit of its load factor there exactly; False where it cannot be."""
        one, far = np.array([row]), limit - begin.factor[row]
        if abs(far) <= ALMOST:
            return False
        across = np.zeros_like(begin.ways[one])
        across[:, -1] = 1.0
        ways = begin.ways[one] / begin.ways[one, -1:]
        there, good = corrected(rest.of(one), loading.of(one), begin.some(one), ways, np.array([far]), across)
        if good[0]:
            there.ways *= np.sign((there.ways * begin.ways[one]).sum())
            ahead.put(one, there)
        return bool(good[0])

    def _record(self, curves: np.ndarray) -> None:
        """The poses at which some curves stand."""
        if not len(curves):
            return
        linear = self.poses.linear.some(curves)
        squares = squared_frequencies(linear)
        words = stability(linear, squares)
        for row, curve in enumerate(curves):
            course = self.courses[curve]
            k = course.count
            course.q[k], course.states[k] = self.poses.q[:, curve], self.poses.states[:, curve]
            course.factor[k], course.length[k] = self.poses.factor[curve], self.length[curve]
            course.residual[k] = np.abs(linear.force[row]).max(initial=0.0)
            course.squared[k], course.stability[k] = squares[row].real, words[row]
            course.potential[k] = linear.potential[row]
            course.count += 1


def _passed(begin: Poses, ahead: Poses) -> tuple[np.ndarray, np.ndarray]:
    """Whether curves (K,) pass a limit point, and a branch point, between two poses.

    Where a motion has no stiffness all along, as of a wheel that turns freely, the determinant is rounding.
    """
    limit = begin.ways[:, -1] * ahead.ways[:, -1] < 0.0
    branch = (begin.bordered * ahead.bordered < 0.0) | (ahead.bordered == 0.0)
    return limit, branch & ~(begin.neutral & ahead.neutral)
