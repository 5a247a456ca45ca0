"""How far a mechanism that is posed by hand is from its goals, and which limits keep it from them. Host code.

At a pose where a level of goals is as near as limits let it, its slope is held by them: -P^T J^T e = sum_i l_i P^T n_i
with l_i >= 0, where P is what loops and more important levels leave free and n_i leads out of limit i (Karush, Kuhn,
Tucker; Nocedal, Wright, Numerical Optimization, section 12.3). The limits with l_i > 0 are those that block.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Sequence

import numpy as np
from scipy.optimize import nnls

from shiftjax.editing.posing.kept_goals import GoalWords, HandGoal, path_of
from shiftjax.editing.standing import Pose, Poses, after, size_of, within
from shiftjax.kinematics.positioning.goals import LETTERS, FrameGoal, JointGoal, Ranked, bounds_of, level_number
from shiftjax.kinematics.positioning.rows import GoalRows
from shiftjax.kinematics.positioning.solving.manifold import Goals, Manifold
from shiftjax.mechanism.model import Model
from shiftjax.mechanism.paths import split
from shiftjax.record import record
from shiftjax.rotations import rotation_of_vector, vector_of_rotation

AT_LIMIT = 1e-9  # m or rad from it
FIXED = 1e-8  # share of a coordinate's motion: less is rounding
PRESSED = 1e-6  # multiplier of a limit that blocks, in parts of what is missed
MET = 1e-6  # m or rad: less is nothing to see
TURNS = 1e-6  # of the largest singular value: less is no motion
ALONE = np.zeros(1, int)
NO_EDGES = np.zeros((0, 2, 3))
CORNERS = [(i, j, k) for i in (0, 1) for j in (0, 1) for k in (0, 1)]  # of a box: lower or upper end of each axis
BOX_EDGES = [(a, b) for a in range(8) for b in range(a) if (a ^ b).bit_count() == 1]  # corners that differ in one


@record
class GoalState:
    """A goal at a pose.

    Attributes:
        name: of the goal. path: of the coordinate, body or frame. body: that it moves. level, weight: of the goal.
        length, angle: by how much it is missed [m], [rad]. state: "met", "nearest" or "blocked". limits: coordinates
            that stand at limits which block its level.
        ends: (2, 3) [m] where the point of the goal is in the world, and where it should be.
        ghost: (R (3, 3), p (3,)) of the body where the goal is met. seen_from: the frame in which the goal is.
        region: in which it is met, in words; "" where it is a place. edges: (n, 2, 3) [m] lines around the region of
            its place in the world.
    """

    name: str
    path: str
    body: str
    level: str | float
    weight: float
    length: float
    angle: float
    state: str
    limits: tuple[str, ...]
    ends: np.ndarray
    ghost: tuple[np.ndarray, np.ndarray]
    seen_from: str = "world"
    region: str = ""
    edges: np.ndarray = dataclasses.field(default_factory=lambda: NO_EDGES)

    @property
    def rank(self) -> float:
        """The number of its level."""
        return level_number(self.name, self.level)

    @property
    def title(self) -> str:
        """Its name, or path, with the frame in which it is and the region in which it is met."""
        seen = f" in {self.seen_from}" if self.seen_from != "world" else ""
        return f"{self.name or self.path}{seen}{', ' if self.region else ''}{self.region}"

    @property
    def text(self) -> str:
        """What is missing, in words."""
        if self.state == "met":
            return "met"
        parts = ((self.length, "m"), (self.angle, "rad"))
        missing = ", ".join(f"{size:.4g} {unit}" for size, unit in parts if size > MET)
        if self.state == "blocked":
            return f"{missing} missing, blocked by the limit of {', '.join(self.limits)}"
        return f"{missing} missing, the nearest pose from here"


@record
class Shortfall:
    """By how much a goal is missed, and what blocks its level.

    Attributes:
        length, angle: [m], [rad]. limits: coordinates at limits.
    """

    length: float
    angle: float
    limits: tuple[str, ...]

    @property
    def state(self) -> str:
        """ "met", "nearest" or "blocked"."""
        if max(self.length, self.angle) <= MET:
            return "met"
        return "blocked" if self.limits else "nearest"


def missing(goals: Goals, levels: Sequence[Ranked], weights: Sequence[float], q: np.ndarray) -> dict[int, Shortfall]:
    """Number of a goal -> by how much it is missed at coordinates (nq,).

    Args:
        levels: of the goals, with that of limits, in the order of `goals.levels`. weights: of all goals.
    """
    at, manifold, out = q[:, None], Manifold.of_loops(goals, ALONE), dict[int, Shortfall]()
    for level, ranked in zip(goals.levels, levels, strict=True):
        here = goals.local(len(manifold.best), at, ALONE)
        if isinstance(level, GoalRows):
            limits = blocking(manifold, at, here.J[0], here.missed[0])
            rows, first = level.in_si(here)[0], 0
            for number, task in zip(ranked.goals, level.goals, strict=True):
                some = rows[first : first + len(task.labels)] / weights[number]
                long = np.array(["[m]" in label for label in task.labels])
                length, angle = (float(np.linalg.norm(some[which])) for which in (long, ~long))
                out[number] = Shortfall(length, angle, limits)
                first += len(task.labels)
        manifold = manifold.below(here, at)
    return out


def blocking(manifold: Manifold, q: np.ndarray, J: np.ndarray, missed: np.ndarray) -> tuple[str, ...]:
    """Paths of coordinates whose limits keep a level from being nearer.

    Args:
        manifold: of more important levels. q: (nq, 1). J, missed: (m, nv), (m,) of the level.
    """
    goals = manifold.goals
    limits, at = goals.limits, q[goals.limits.q, 0]
    outwards = np.where(at >= limits.high[:, 0] - AT_LIMIT, 1.0, 0.0) - (at <= limits.low[:, 0] + AT_LIMIT)
    there = np.flatnonzero(outwards)
    size = float(np.linalg.norm(missed))
    if not len(there) or size <= MET * 1e-3:
        return ()
    nv = goals.nv
    free = manifold.free(q, np.zeros((1, len(limits.q)), bool))
    P = np.eye(nv) if free is None else free[0]
    if not P.shape[1]:
        return ()
    N = P[limits.v[there]].T * outwards[there]
    free_to_leave = np.linalg.norm(N, axis=0) > FIXED  # others are held by more important levels
    there, N = there[free_to_leave], N[:, free_to_leave]
    if not len(there):
        return ()
    pressed, _ = nnls(N, -P.T @ (J.T @ missed))
    paths = {one.q: one.path for one in goals.plan.coordinates}
    return tuple(paths[int(limits.q[k])] for k in there[pressed > PRESSED * size])


def turning_axes(goals: Goals, q: np.ndarray) -> np.ndarray:
    """(k, 3) orthonormal axes of the world about which a body can turn at coordinates (nq,), whatever else it does.

    Args:
        goals: whose last level are the axes of the body along those of the world.
    """
    at, manifold = q[:, None], Manifold.of_loops(goals, ALONE)
    for level in range(len(goals.levels) - 1):
        manifold = manifold.below(goals.local(level, at, ALONE), at)
    J = goals.local(len(goals.levels) - 1, at, ALONE).J[0]
    free = manifold.free(at, np.zeros((1, len(goals.limits.q)), bool))
    axes, sizes, _ = np.linalg.svd(J if free is None else J @ free[0])
    count = int((sizes > TURNS * max(sizes.max(initial=0.0), TURNS)).sum())
    return axes[:, :count].T


class GoalSight:
    """Where goals are seen, of one model.

    Args:
        posed: coordinates (nq,) -> where bodies stand. places: coordinate -> its number among these.
    """

    def __init__(self, model: Model, words: GoalWords, posed: Callable[[np.ndarray], Poses], places: dict[str, int]):
        self._words, self._posed, self._places = words, posed, places
        self._joints, self._bodies = dict(model.joints()), dict(model.bodies())
        self._units = model.coordinate_units()

    def state(self, name: str, goal: HandGoal, missed: Shortfall, q: np.ndarray, poses: Poses) -> GoalState:
        """A goal at coordinates (nq,), at which bodies stand in poses."""
        body, ghost, ends = (
            self._of_joint(goal, q, poses) if isinstance(goal, JointGoal) else self._of_frame(goal, poses)
        )
        seen, edges = "world", NO_EDGES
        if isinstance(goal, FrameGoal):
            seen, edges = goal.relative_to, self._edges(goal, poses)
        return GoalState(
            name, path_of(goal), body, goal.level, goal.weight, missed.length, missed.angle, missed.state,
            missed.limits, ends, ghost, seen, self._region(goal), edges,
        )  # fmt: skip

    def _of_frame(self, goal: FrameGoal, poses: Poses) -> tuple[str, Pose, np.ndarray]:
        """Its body, where that is at the nearest pose that meets the goal, and its point here and there."""
        body, (R, p) = self._words.body_of(goal), self._words.pose_of(goal.frame, poses)
        inside, wanted = within(poses[body], (R, p)), (R, p)
        axes, origin = self._goal_pose(goal, poses)
        if goal.R is not None:
            off = np.array(vector_of_rotation((axes.T @ R).tolist()))
            wanted = axes @ np.array(rotation_of_vector(_nearest(off, goal.turn, goal.about).tolist())), p
        if goal.T is not None:
            wanted = wanted[0], origin + axes @ _nearest(axes.T @ (p - origin), goal.box, goal.along)
        back = inside[0].T, -inside[0].T @ inside[1]
        return body, after(wanted, back), np.stack([p, wanted[1]])

    def _goal_pose(self, goal: FrameGoal, poses: Poses) -> Pose:
        """The axes of a goal, as columns, and its place, in the world."""
        R, T = (np.eye(3) if goal.R is None else goal.R), (np.zeros(3) if goal.T is None else goal.T)
        return after(self._words.seen_pose(goal.relative_to, poses), (np.asarray(R, float), np.asarray(T, float)))

    def _edges(self, goal: FrameGoal, poses: Poses) -> np.ndarray:
        """(n, 2, 3) [m] the edges of the region of a place in the world; ends that are none are as far as the mechanism
        is large, and components that do not count are those of now."""
        if goal.T is None or goal.box is None or not np.any(goal.box):
            return NO_EDGES
        axes, origin = self._goal_pose(goal, poses)
        here = axes.T @ (self._words.pose_of(goal.frame, poses)[1] - origin)
        ends, far = bounds_of("box", goal.box, 3).copy(), 0.5 * size_of(poses)
        idle = [k for k, letter in enumerate(LETTERS) if letter not in goal.along]
        ends[idle] = here[idle, None]
        ends = np.clip(ends, np.minimum(here, 0.0)[:, None] - far, np.maximum(here, 0.0)[:, None] + far)
        corners = origin + np.array([[ends[k, side[k]] for k in range(3)] for side in CORNERS]) @ axes.T
        return np.stack([corners[list(pair)] for pair in BOX_EDGES])

    def _region(self, goal: HandGoal) -> str:
        """The region of a goal, in words."""
        if isinstance(goal, JointGoal):
            return "" if goal.box is None else f"{_in_words(np.atleast_2d(goal.box))} {self._units[goal.coordinate]}"
        parts = ((goal.box, goal.along, "m"), (goal.turn, goal.about, "rad"))
        some = [
            f"{_in_words(bounds_of('', ends, 3), letters)} {unit}" for ends, letters, unit in parts if ends is not None
        ]
        return ", ".join(some)

    def _of_joint(self, goal: JointGoal, q: np.ndarray, poses: Poses) -> tuple[str, Pose, np.ndarray]:
        """The body beside the joint that its coordinate moves, all else along the tree as it is."""
        there = q.copy()
        place = self._places[goal.coordinate]
        low, high = (0.0, 0.0) if goal.box is None else goal.box
        there[place] = goal.value + np.clip(q[place] - goal.value, low, high)
        moved, joint = self._posed(there), self._joints[split(goal.coordinate)[0]]

        def way(body: str) -> float:
            return max(float(np.abs(x - y).max()) for x, y in zip(moved[body], poses[body], strict=True))

        body = max((joint.child.body, joint.parent.body), key=way)
        middle = np.asarray(getattr(self._bodies.get(body), "center_of_mass", np.zeros(3)), float)
        ends = np.stack([after(one[body], (np.eye(3), middle))[1] for one in (poses, moved)])
        return body, moved[body], ends


def _nearest(off: np.ndarray, ends: np.ndarray | None, letters: str) -> np.ndarray:
    """(3,) how far off a place of a goal it may be, next to where it is: components that do not count are free."""
    low, high = bounds_of("region", ends, 3).T
    counts = np.array([letter in letters for letter in LETTERS])
    return np.where(counts, np.clip(off, low, high), off)


def _in_words(ends: np.ndarray, letters: str = LETTERS) -> str:
    """Ends (k, 2) of a region, of the components of some letters."""
    counted = [pair for letter, pair in zip(LETTERS, ends, strict=False) if letter in letters]
    return "within " + ", ".join(f"±{high:g}" if high == -low else f"{low:g} to {high:g}" for low, high in counted)
