"""Poses between stored instants, with closed loops.

Problem: poses at any time of members of which poses at some instants are known.
The result must: be the stored poses at stored instants, to the last bit; open no loop farther than it is open at the
instants on both sides; be as smooth as the motion.
Refused: nothing. Where the loops do not close near the interpolated coordinates (a singular pose), or where the stored
poses are not those of the mechanism (numbers of a running simulation that were changed since), the nearest stored
instant is taken, and told.

Joint coordinates of the spanning tree are measured at stored instants and run on Hermite's cubics between them, with
rates of polynomials through five instants (`joint_tracks`); quaternions run through their own rates and are normalised.
Gauss-Newton steps of least norm, with the Jacobian of the core, then close the loops, and the kinematics of the core
place the bodies. All poses asked for are one batch. NumPy only.
"""

from __future__ import annotations

import dataclasses
from collections import OrderedDict
from collections.abc import Sequence
from typing import Any

import numpy as np

from shiftjax.dynamics.kinematics import quaternion_places
from shiftjax.dynamics.lane import Lane
from shiftjax.poses import bracket, interpolated
from shiftjax.record import record
from shiftjax.run.closing.host_evaluation import closure, retract
from shiftjax.topology.plan import Plan
from shiftjax.viewer.members.study_like import Placed, StudyLike
from shiftjax.viewer.motion import joint_tracks
from shiftjax.viewer.motion.mechanism import Mechanism, lane_of, mechanism_of, numbers_of
from shiftjax.viewer.motion.tree_coordinates import bodies_of, coordinates, placed, residuals

WINDOW = joint_tracks.POINTS + 1  # instants from which the coordinates of one interval follow
CLOSED = 1e-9  # of the model's length, or rad: how far a loop may be open beyond the instants on both sides
ROUNDS = 9  # steps at most; four are enough from 1e-2
STEPS = 3  # with one Jacobian
INTERVALS = 4  # intervals: of the member, of ghosts, of the other half of the view, of a trace
DAMPING = 1e-11  # of the mean diagonal of J^T J: redundant rows of planar loops leave it singular
FAR = 1.0  # of the way between both instants: a correction that is larger has left the motion
STEADY = 1e-6  # of the model's length, or rad: least such way
SAME = 1e-6  # of the model's length, or 1: between stored poses and those of the mechanism


@record
class Tracks:
    """The stored poses of some members, and what is asked for.

    Attributes:
        tracks: (n, nodes, 7) of each; last: the instant of each at which it ended.
        members: (K,) their numbers. which: (B,) index of the track of each pose asked for; t: (B,) its time [s].
    """

    time: np.ndarray
    tracks: Sequence[np.ndarray]
    last: np.ndarray
    members: np.ndarray
    which: np.ndarray
    t: np.ndarray


@record
class _Interval:
    """Coordinates at the ends of the intervals of a batch, and whether they are those of the stored poses."""

    lane: Lane
    ends: np.ndarray  # (2, nq, B)
    rates: np.ndarray  # (2, nq, B) [1/s]
    gaps: tuple[tuple[np.ndarray, np.ndarray], ...]  # of each substructure: residuals (B, m) at both ends
    good: np.ndarray  # (B,)


class Between:
    """Places the members of a study between its stored instants."""

    def __init__(self, study: StudyLike) -> None:
        self._study = study
        self._parts: dict[int, _Parts] = {}  # by the mechanism

    def at(self, what: Tracks, *, snap: bool = False) -> Placed:
        """The poses at times; of times outside those of the study its ends.

        Args:
            snap: True takes the nearest stored instant everywhere.
        """
        lower, upper, part = bracket(what.time, what.t)
        a, b = (_gathered(what, instants) for instants in (lower, upper))
        inside = (part > 0) & (part < 1) & (lower < what.last[what.which])
        near = np.where((part < 0.5)[:, None, None], a, b)
        out = near if snap else np.where((part >= 1)[:, None, None], b, a)
        snapped = inside & snap
        if snap or not inside.any():
            return Placed(out, snapped)
        members = what.members[what.which]
        mechanisms = {k: mechanism_of(self._study, k) for k in np.unique(members[inside]).tolist()}
        for mechanism in {id(one): one for one in mechanisms.values()}.values():
            alike = np.array([k for k, one in mechanisms.items() if one is mechanism])
            at = np.flatnonzero(inside & np.isin(members, alike))
            poses, closed = self._of(mechanism).moved(what, at, lower[at], part[at], (a[at], b[at]))
            out[at] = np.where(closed[:, None, None], poses, near[at])
            snapped[at] = ~closed
        return Placed(out, snapped)

    def _of(self, mechanism: Mechanism) -> _Parts:
        if id(mechanism) not in self._parts:
            self._parts[id(mechanism)] = _Parts(self._study, mechanism)
        return self._parts[id(mechanism)]


class _Parts:
    """The members of a study that consist of the same parts; the intervals of the latest calls are kept."""

    def __init__(self, study: StudyLike, mechanism: Mechanism) -> None:
        self._study = study
        lane = mechanism.lane
        plan = _without_laws(lane.plan, lane.functions)
        self._mechanism = dataclasses.replace(mechanism, lane=dataclasses.replace(lane, plan=plan))
        bodies = bodies_of(mechanism.plan)
        self._whole = set(study.nodes).issuperset(bodies)
        self._nodes = [study.nodes.index(body) for body in bodies] if self._whole else []
        self._other_nodes = [k for k in range(len(study.nodes)) if k not in self._nodes]  # not in the mechanism
        self._known: OrderedDict[tuple[bytes, ...], _Interval] = OrderedDict()

    def moved(
        self, what: Tracks, at: np.ndarray, lower: np.ndarray, part: np.ndarray, ends: tuple[np.ndarray, np.ndarray]
    ) -> tuple[np.ndarray, np.ndarray]:
        """(B, nodes, 7) of the poses asked for at some places, and whether their loops are closed.

        Args:
            ends: poses (B, nodes, 7) at the instants on both sides, between which bodies run straight that are in no
                mechanism.
        """
        poses = ends[0].copy()
        if not self._whole:
            return poses, np.zeros(len(at), bool)
        interval = self._interval(what, at, lower)
        span = what.time[lower + 1] - what.time[lower]
        q = hermite(self._mechanism.plan, interval.ends, interval.rates, part, span)
        closed = interval.good.copy()
        for index, (first, second) in enumerate(interval.gaps):
            wanted = first + part[:, None] * (second - first)
            q, solved = closed_near(interval.lane, q, index, wanted, _way(interval, index))
            closed &= solved
        poses[:, self._nodes] = placed(interval.lane, q)
        a, b = (end[:, self._other_nodes] for end in ends)
        poses[:, self._other_nodes] = interpolated(a, b, part[:, None])
        return poses, closed

    def _interval(self, what: Tracks, at: np.ndarray, lower: np.ndarray) -> _Interval:
        """The intervals after the instants `lower`, made once for several times in them."""
        members = what.members[what.which[at]]
        numbers = numbers_of(self._study, self._mechanism, members)
        stored = _gathered(what, lower, at)[:, self._nodes], _gathered(what, lower + 1, at)[:, self._nodes]
        key = (members.tobytes(), lower.tobytes(), *(x.tobytes() for x in (*stored, *numbers.values())))
        interval = self._known.pop(key, None)
        if interval is None:
            interval = self._made(what, at, lower, lane_of(self._mechanism, numbers), stored)
        self._known[key] = interval
        while len(self._known) > INTERVALS:
            self._known.popitem(last=False)
        return interval

    def _made(
        self,
        what: Tracks,
        at: np.ndarray,
        lower: np.ndarray,
        lane: Lane,
        stored: tuple[np.ndarray, np.ndarray],
    ) -> _Interval:
        count, nq = len(at), lane.plan.nq
        window, used, times, place = _window(what, at, lower)
        poses = np.stack([what.tracks[k][rows][:, self._nodes] for k, rows in zip(what.which[at], window, strict=True)])
        q = coordinates(_repeated(lane, window.shape[1]), poses.reshape(-1, *poses.shape[2:]))
        q = joint_tracks.unwrapped(lane.plan, q.reshape(nq, count, -1))
        slopes = [np.einsum("bw,qbw->qb", joint_tracks.weights(times, place + k, used[k]), q) for k in (0, 1)]
        ends = np.stack([q[:, np.arange(count), place + k] for k in (0, 1)])
        both, pairs = ends.transpose(1, 2, 0).reshape(nq, -1), _repeated(lane, 2)
        known = np.stack(stored, axis=1)
        off = np.abs(placed(pairs, both).reshape(known.shape) - known)
        off[..., 3:] = np.minimum(off[..., 3:], np.abs(2 * np.abs(known[..., 3:]) - off[..., 3:]))  # q and -q
        off[..., :3] /= lane.length
        gaps = []
        for s in range(len(lane.plan.substructures)):
            errors = residuals(pairs, both, s)
            gaps.append((errors[0::2], errors[1::2]))
        return _Interval(lane, ends, np.stack(slopes), tuple(gaps), off.max((1, 2, 3), initial=0.0) < SAME)


def closed_near(
    lane: Lane, q: np.ndarray, index: int, wanted: np.ndarray, way: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """Coordinates near q (nq, B) with residuals `wanted` (B, m) of one substructure, and whether they were found (B,).

    Each step is the least one that meets the linearised rows, J d = wanted - phi (Nocedal, Wright, Numerical
    Optimization, section 10.3), in dimensionless coordinates. A Jacobian serves for three steps: residuals alone cost
    a third of the operations.

    Args:
        way: (B,) length of the way within which the pose must be found.
    """
    columns = np.asarray(lane.plan.substructures[index].columns)
    unit = np.asarray(lane.units)[columns]
    q, moved = q.copy(), np.zeros((q.shape[1], len(columns)))
    closed = np.zeros(q.shape[1], bool)
    going = np.arange(q.shape[1])
    inverse = np.zeros(0)
    for step in range(ROUNDS):
        if step % STEPS == 0:
            phi, J = closure(lane, q[:, going], index)
            inverse = _inverse(J)
        else:
            phi = residuals(lane, q[:, going], index)
        left = wanted[going] - phi
        size = np.abs(left).max(1)
        closed[going[size <= CLOSED]] = True
        keep = (size > CLOSED) & np.isfinite(size)
        if not keep.any():
            break
        if not keep.all():
            going, left, inverse, lane = going[keep], left[keep], inverse[keep], lane.of(keep)
        change = (inverse @ left[:, :, None])[:, :, 0]
        moved[going] += change
        whole = np.zeros((lane.plan.nv, len(going)))
        whole[columns] = (change * unit).T
        q[:, going] = retract(lane.plan, q[:, going], whole)
    return q, closed & (np.abs(moved).max(1) <= FAR * np.maximum(way, STEADY))


def _inverse(J: np.ndarray) -> np.ndarray:
    """(B, n, m) what makes of residuals the least change, damped."""
    J = np.where(np.isfinite(J), J, 0.0)
    Jt = J.transpose(0, 2, 1)
    normal = Jt @ J
    n = normal.shape[1]
    mean = np.maximum(np.trace(normal, axis1=1, axis2=2) / n, 1e-300)
    normal[:, np.arange(n), np.arange(n)] += DAMPING * mean[:, None]
    return np.linalg.solve(normal, Jt)


def hermite(plan: Plan, ends: np.ndarray, rates: np.ndarray, s: np.ndarray, span: np.ndarray) -> np.ndarray:
    """(nq, B) coordinates at fractions s (B,) of intervals of `span` [s]: Hermite's cubic, quaternions normalised."""
    a, b = (1 + 2 * s) * (1 - s) ** 2, s**2 * (3 - 2 * s)
    c, d = s * (1 - s) ** 2, s**2 * (s - 1)
    q = a * ends[0] + b * ends[1] + span * (c * rates[0] + d * rates[1])
    for first, _ in quaternion_places(plan):
        q[first : first + 4] /= np.sqrt((q[first : first + 4] ** 2).sum(0))
    return q


def _way(interval: _Interval, index: int) -> np.ndarray:
    """(B,) the largest way of a coordinate of a substructure between both ends, dimensionless."""
    lane = interval.lane
    far = np.zeros(interval.ends.shape[2])
    for coordinate in (lane.plan.coordinates[k] for k in lane.plan.coordinates_in(index)):
        for row in range(coordinate.q, coordinate.q + coordinate.nq):
            ends = interval.ends[:, row]
            far = np.maximum(far, np.abs(ends[1] - ends[0]) / lane.units[coordinate.v])
    return far


def _gathered(what: Tracks, instants: np.ndarray, at: np.ndarray | None = None) -> np.ndarray:
    """(B, nodes, 7) the stored poses at instants (B,), of some of what is asked for."""
    which = what.which if at is None else what.which[at]
    if len(what.tracks) == 1:
        return what.tracks[0][instants]
    return np.stack([what.tracks[k][instant] for k, instant in zip(which, instants, strict=True)])


def _window(
    what: Tracks, at: np.ndarray, lower: np.ndarray
) -> tuple[np.ndarray, tuple[np.ndarray, np.ndarray], np.ndarray, np.ndarray]:
    """The instants (B, w) about the intervals after `lower`; of these the ones used for the rates at both ends, each
    (B, w); their times; and where in the window the lower one is (B,).
    """
    n, last = len(what.time), what.last[what.which[at]]
    first, end = (x[lower] for x in joint_tracks.pieces(what.time, n - 1))
    end = np.minimum(end, last)
    begin = np.maximum(first, np.minimum(lower - joint_tracks.POINTS // 2, end - WINDOW + 1))
    index = begin[:, None] + np.arange(min(WINDOW, n))
    used = []
    for instant in (lower, lower + 1):
        start = joint_tracks.stencil(instant, first, end)[:, None]
        used.append((index >= start) & (index < start + joint_tracks.POINTS) & (index <= end[:, None]))
    index = np.minimum(index, n - 1)
    return index, (used[0], used[1]), what.time[index], lower - begin


def _repeated(lane: Lane, count: int) -> Lane:
    """The lane with every member several times."""
    numbers = [np.repeat(v, count) if isinstance(v, np.ndarray) else v for v in lane.params.numbers]
    return dataclasses.replace(lane, params=type(lane.params)(numbers, lane.params.matrices))


def _without_laws(plan: Plan, functions: Sequence[Any]) -> Plan:
    """The plan without rows that prescribe motions in time.

    Args:
        functions: of the plan; those of Python, which no result holds, are in neither.
    """
    timeless = {
        k
        for k, group in enumerate(plan.constraints)
        if (functions[group.function].function.timeless if group.function >= 0 else not group.time_dependent)
    }
    blocks = []
    for block in plan.substructures:
        groups = tuple(k for k in block.groups if k in timeless)
        rows = sum(plan.constraints[k].rows for k in groups)
        if rows:
            blocks.append(dataclasses.replace(block, groups=groups, rows=rows))
    return dataclasses.replace(plan, substructures=tuple(blocks))
