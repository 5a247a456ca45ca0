"""How far a driven joint of a planar loop of three corners can be moved, in closed form. Host code.

Problem: a driver moves one joint of a loop, the three others turn about parallel axes: a triangle of which one side,
between the corners beside the driven joint, changes. The loop closes as long as no side is longer than both others
together (`polygons`), and ends where it is. Where it is shorter by a margin both assemblies are apart, so that the
loop stays on its own. The square of the side is a + b cos(angle - c) where the driven joint turns, by the law of
cosines, and a square polynomial of its coordinate where it slides: three values tell it everywhere.
Refused: nothing; what is not such a loop, or comes nearer to an end than the margin without leaving it as far behind,
is left to `run.travel.folds`.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

import shiftjax.run.closing.host_evaluation as host
from shiftjax.algebra import Scalar, Vec, cross, dot, largest
from shiftjax.dynamics.lane import Lane
from shiftjax.joints.primitives import Rotation, Translation
from shiftjax.plan_elements import Loop
from shiftjax.topology.plan import Plan

CORNERS = 3
MARGIN = 1e-5  # of the sides' sum, a gap of some thousandths rad: nearer to an end than this a loop is not judged
FLAT = 1e-12  # rad by which axes may miss the plane, parts of the length by which the loop may be open: roundings
TURN = 2.0 * np.pi


def ends_in_closed_form(
    plan: Plan, lane: Lane, index: int, driver: int, q: np.ndarray, targets: Sequence[np.ndarray]
) -> list[np.ndarray]:
    """(B,) as `reach`, of each of some targets (B,); NaN where this does not tell."""
    driven = plan.constraints[driver].coordinates[0]
    now = q[plan.coordinates[driven].q]
    ends = [np.where(target == now, now, np.nan) for target in targets]
    group = triangle_of(plan, index, driven)
    if group is not None:
        flat = in_one_plane(plan, lane, index, group, q)
        if flat.any():
            known = _ends(plan, lane.of(flat), group, driven, q[:, flat], [target[flat] for target in targets])
            for end, values in zip(ends, known, strict=True):
                end[flat] = values
    return ends


def triangle_of(plan: Plan, index: int, driven: int) -> int | None:
    """The constraint that closes a substructure which is one loop of a driven joint and three others that turn.

    Args:
        driven: number of the coordinate that turns or slides. None of any other substructure.
    """
    block = plan.substructures[index]
    groups = [k for k in block.groups if plan.constraints[k].loop is not None]
    loop = plan.constraints[groups[0]].loop if len(groups) == 1 and len(block.groups) == 2 else None
    joint = plan.coordinates[driven].joint
    return groups[0] if loop is not None and _three_corners(plan, block.joints, loop, joint) else None


def _ends(
    plan: Plan, lane: Lane, group: int, driven: int, q: np.ndarray, targets: Sequence[np.ndarray]
) -> list[np.ndarray]:
    """(B,) as `reach`, of planar loops, of each of some targets (B,)."""
    place, turns = plan.coordinates[driven].q, plan.coordinates[driven].unit == "rad"
    now, squares, ends = q[place], np.zeros(0), list[np.ndarray]()
    if turns:
        squares = _squares(plan, lane, group, driven, q, [k * TURN / 3.0 for k in range(3)])
    for target in targets:
        way, end = target - now, now.copy()
        some = np.flatnonzero(way != 0.0)
        if len(some):
            if not turns:
                squares = _squares(plan, lane, group, driven, q, [0.5 * k * way for k in range(3)])
            end[some] = _end(np.take(squares, some, axis=2), way[some], now[some], target[some], turns=turns)
        ends.append(end)
    return ends


def _squares(
    plan: Plan, lane: Lane, group: int, driven: int, q: np.ndarray, shifts: Sequence[np.ndarray | float]
) -> np.ndarray:
    """(3, sides, B) squares of the sides of a loop [m^2], the driven joint shifted three times."""
    place, squares = plan.coordinates[driven].q, []
    for shift in shifts:
        at = q.copy()
        at[place] += shift
        squares.append(host.loop_sides(lane, at, group, [driven]) ** 2)
    return np.array(squares)


def _end(values: np.ndarray, way: np.ndarray, now: np.ndarray, target: np.ndarray, *, turns: bool) -> np.ndarray:
    """(B,) as `reach`: the changing side is judged at its ends of being too long and too short.

    Args:
        values: of `_squares`. way: (B,) to a target, which is not 0.
    """
    changing = int(np.argmax((values.max(0) - values.min(0)).max(1)))
    a, b = (np.sqrt(side) for k, side in enumerate(values[0]) if k != changing)
    along, begin = (_Turning if turns else _Sliding)(values[:, changing], way), np.sqrt(values[0, changing])
    room = MARGIN * (a + b + begin)
    first, known = np.ones(len(way)), np.ones(len(way), bool)
    for limit, sign in ((a + b, 1.0), (np.abs(a - b), -1.0)):
        begins, farthest = sign * (begin - limit), sign * (along.farthest(sign) - limit)
        beyond = farthest > room
        known &= (begins < -room) & (beyond | (farthest < -room))
        if beyond.any():
            first = np.where(beyond, np.fmin(first, along.first(limit**2)), first)
    return np.where(known, np.where(first < 1.0, now + first * way, target), np.nan)


def _three_corners(plan: Plan, joints: tuple[int, ...], loop: Loop, driven: int) -> bool:
    """Whether a loop is of a driven joint that turns or slides and of three others that turn."""
    moving = [k for k in loop.joints if plan.joints[k].nv]
    kinds = {k: [type(primitive) for primitive in plan.joints[k].kind.primitives] for k in moving}
    if driven not in kinds or set(joints) - set(moving) or len(moving) != CORNERS + 1:
        return False
    return kinds.pop(driven) in ([Rotation], [Translation]) and all(kind == [Rotation] for kind in kinds.values())


def in_one_plane(plan: Plan, lane: Lane, index: int, group: int, q: np.ndarray) -> np.ndarray:
    """(B,) whether all axes of a closed loop are of one plane: turning ones parallel to its normal, sliding ones in it.

    Args:
        index: its substructure. group: the constraint that closes it. q: (nq, B).
    """
    loop, off = plan.constraints[group].loop, np.empty(q.shape[1])
    assert loop is not None
    joints = [k for k in loop.joints if plan.joints[k].nv]

    def leaning(valued: Lane, at: Vec) -> dict[str, Scalar]:
        chain, turns, slides = valued.motion(at, None).chain(loop.base), list[Vec](), list[Vec]()
        for k in joints:
            (screw,) = chain.screws_of(k)
            turning = plan.joints[k].kind.units == ("rad",)
            (turns if turning else slides).append(screw.angular if turning else screw.linear)
        across = [x for turn in turns[1:] for x in cross(turns[0], turn)]
        return {"off": largest([abs(x) for x in (*across, *(dot(turns[0], slide) for slide in slides))])}

    host.evaluate_on(lane, q, ("plane", group), leaning, lambda label: off)
    rounded = plan.substructures[index].rounded
    phi = host.closure(lane, q, index)[0].T if rounded else host.residuals_of(lane, q, index)[1]
    return (np.abs(phi).max(0) <= FLAT) & (off <= FLAT)


@dataclass
class _Turning:
    """The square of a side from its values (3, B) at thirds of a turn: mean + size cos(x - top), x from 0 to `way`."""

    values: np.ndarray
    way: np.ndarray

    def __post_init__(self) -> None:
        angles = TURN / 3.0 * np.arange(3)
        self.mean = self.values.mean(0)
        along, across = (2.0 / 3.0 * f(angles) @ self.values for f in (np.cos, np.sin))
        self.size, self.top = np.hypot(along, across), np.arctan2(across, along)

    def farthest(self, sign: float) -> np.ndarray:
        """(B,) the largest (sign +1) or smallest side on the way."""
        peak = self.top if sign > 0 else self.top + 0.5 * TURN
        ends = sign * np.array([self.values[0], self.mean + self.size * np.cos(self.way - self.top)])
        passed = self._share(peak) <= 1.0
        return _root(sign * np.where(passed, sign * self.mean + self.size, ends.max(0)))

    def first(self, square: np.ndarray) -> np.ndarray:
        """(B,) the share of the way at which the side's square is met first; NaN where it never is."""
        with np.errstate(invalid="ignore"):
            off = np.arccos((square - self.mean) / self.size)
        return np.fmin(self._share(self.top + off), self._share(self.top - off))

    def _share(self, angle: np.ndarray) -> np.ndarray:
        """(B,) of the way, at which a direction [rad] is passed, of at most a turn either way."""
        ahead = np.sign(self.way) * angle  # as angle % TURN has it, in a tenth of the time
        return np.where(ahead < 0.0, ahead + TURN, np.where(ahead < TURN, ahead, ahead - TURN)) / np.abs(self.way)


@dataclass
class _Sliding:
    """The square of a side from its values (3, B) at the beginning, the middle and the end of a straight way."""

    values: np.ndarray
    way: np.ndarray

    def __post_init__(self) -> None:
        begin, middle, end = self.values
        self.curve = 2.0 * (begin - 2.0 * middle + end)
        self.slope = end - begin - self.curve

    def farthest(self, sign: float) -> np.ndarray:
        """(B,) the largest (sign +1) or smallest side on the way."""
        with np.errstate(all="ignore"):
            top = -0.5 * self.slope / self.curve
            turned = np.where((top > 0.0) & (top < 1.0), self.values[0] + 0.5 * self.slope * top, self.values[0])
        return _root(sign * (sign * np.array([self.values[0], self.values[2], turned])).max(0))

    def first(self, square: np.ndarray) -> np.ndarray:
        """(B,) the share of the way at which the side's square is met first; NaN where it never is."""
        rest = self.values[0] - square
        with np.errstate(all="ignore"):
            half = -0.5 * (self.slope + np.copysign(np.sqrt(self.slope**2 - 4.0 * self.curve * rest), self.slope))
            roots = np.array([half / self.curve, rest / half])  # of which neither subtracts what is nearly equal
        return np.fmin.reduce(np.where(roots >= 0.0, roots, np.nan))


def _root(square: np.ndarray) -> np.ndarray:
    return np.sqrt(np.maximum(square, 0.0))
