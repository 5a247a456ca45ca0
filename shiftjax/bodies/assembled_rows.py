"""Phi and its Jacobian by the twists of bodies, of all joints and constraints of a model. Host code on NumPy."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from shiftjax.bodies.constraint_rows import ConstraintRows
from shiftjax.bodies.free_bodies import SPEEDS, FreeBodies, scalars
from shiftjax.bodies.joint_ends import JointEnds, joint_ends, places_of_bodies
from shiftjax.bodies.joint_rows import JointRows, JointState, joint_rows, motion_and_screws, pattern_of
from shiftjax.bodies.plane import Plane
from shiftjax.constraints import CONSTRAINTS
from shiftjax.dynamics.lane import Lane
from shiftjax.plan_elements import PlacedFrame, RowGroup
from shiftjax.topology.plan import Plan


class RowsOfStates(NamedTuple):
    """Rows of N states.

    Attributes:
        phi: (N, m) [m or rad]. jacobian: (N, m, 6 nb) of each body its velocity and its angular velocity in the world.
        q: (N, nq) coordinates of all joints, in the order of the plan.
    """

    phi: np.ndarray
    jacobian: np.ndarray
    q: np.ndarray


class AlikeJoints(NamedTuple):
    """Joints of one kind, whose rows are evaluated at once; `first`: the row of each at which its own begin."""

    rows: JointRows
    ends: list[JointEnds]
    first: list[int]


class AssembledRows:
    """All rows of a plan.

    Args:
        bodies: their paths, in the order of states. joints: the paths of joints, in the order of rows.
        lane: numbers of one member, by whose kinds the rows are counted. plane: of planar ones, None in space.
    """

    def __init__(
        self, plan: Plan, bodies: Sequence[str], joints: Sequence[str], lane: Lane, plane: Plane | None
    ) -> None:
        self.plan, self.plane, self.count, self.length = plan, plane, len(bodies), lane.length
        self.places = places_of_bodies(plan, {path: k for k, path in enumerate(bodies)})
        self.names: list[str] = []
        self.units: list[str] = []
        self.alike: dict[JointRows, AlikeJoints] = {}
        self.angles: list[tuple[int, int, int, float]] = []  # coordinate, bodies of parent and child, sense
        every = joint_ends(plan)
        for path in joints:
            self._add_joint(every[path], lane)
        self.groups: list[tuple[RowGroup, int]] = []
        self.constraints: dict[RowGroup, ConstraintRows] = {}  # made with the numbers of the first states
        for group in plan.constraints:
            if group.loop is None:
                self.groups.append((group, len(self.names)))
                self.names += [f"{group.name} {name}".rstrip() for name in group.row_names]
                self.units += CONSTRAINTS[group.kind].row_units(group)

    def _add_joint(self, ends: JointEnds, lane: Lane) -> None:
        joint, axes = ends.joint, "xyz"
        n = {name: _first(lane.params.at(places)) for name, places in joint.numbers}
        shapes = tuple((name, np.shape(values)) for name, values in n.items())
        rows = joint_rows(joint.kind, pattern_of(joint.kind, n), shapes, planar=self.plane is not None)
        alike = self.alike.setdefault(rows, AlikeJoints(rows, [], []))
        alike.ends.append(ends)
        alike.first.append(len(self.names))
        if self.plane is not None:
            axes = "".join(axes[int(k)] for k in self.plane.axes.argmax(0))
        ways = list(axes) if rows.whole_ways else _across(rows.counts[2])
        turns = list("xyz") if rows.whole_turns else [""] if self.plane is not None else _across(rows.counts[1])
        turns = turns[: rows.counts[1]]
        self.names += [f"{joint.path} translation {name}" for name in ways]
        self.names += [f"{joint.path} rotation {name}".rstrip() for name in turns]
        self.units += ["m"] * len(ways) + ["rad"] * len(turns)

    def settle_in_plane(self, motion: FreeBodies, q: np.ndarray) -> None:
        """Refuses joints that leave the plane, and notes which way the angles of joints count.

        Args:
            motion: of one state. q: (nq,) coordinates there.
        """
        assert self.plane is not None
        for ends in (ends for alike in self.alike.values() for ends in alike.ends):
            joint = ends.joint
            n = {name: _first(values) for name, values in motion.values(joint.numbers).items()}
            part = [*map(float, q[joint.q : joint.q + joint.nq])]
            _, _, turns, ways = motion_and_screws(joint.kind, part, n)
            R = stacked(motion.world(ends.parent)[0], 1)[0]
            axes, shifts = (np.array(each, float).reshape(-1, 3) @ R.T for each in (turns, ways))
            self.plane.refuse_leaving(joint.path, axes, shifts)
            angles = [one for one in joint.kind.coordinates if one.unit == "rad"]
            if len(angles) == 1:  # of several it is not known which of them turns
                bodies = self.places[ends.parent.node], self.places[ends.child.node]
                sense = float(np.sign(axes[angles[0].v] @ self.plane.normal))
                self.angles.append((joint.q + angles[0].q, *bodies, sense))

    def counted(self, q: np.ndarray, turned: np.ndarray) -> np.ndarray:
        """(N, nq) coordinates, angles by how far bodies have turned since (N, nb), over any number of turns."""
        q = q.copy()
        for place, parent, child, sense in self.angles:
            for body, sign in ((child, sense), (parent, -sense)):
                if body >= 0:
                    q[:, place] += sign * turned[:, body]
        return q

    def motion(self, lane: Lane, R: np.ndarray, p: np.ndarray, q: np.ndarray) -> FreeBodies:
        """Bodies at rotations (N, nb, 3, 3) and origins (N, nb, 3), joints at coordinates (N, nq)."""
        poses = [scalars(R[:, k], p[:, k]) for k in range(self.count)]
        return FreeBodies(self.plan, lane.params, self.places, poses, list(q.T), lane.t, lane.functions)

    def at(self, lane: Lane, R: np.ndarray, p: np.ndarray, near: np.ndarray) -> RowsOfStates:
        """Phi and its Jacobian.

        Args:
            near: (N, nq) coordinates of joints, within half a turn of which their angles are taken.
        """
        members, width = len(R), SPEEDS * self.count
        phi, J = np.zeros((members, len(self.names))), np.zeros((members, len(self.names), width))
        q, follows = near.copy(), np.zeros((members, self.plan.nv, width))
        motion = self.motion(lane, R, p, near)
        for alike in self.alike.values():
            self._joints(alike, motion, R, p, phi, J, q, follows)
        for group, first in self.groups:
            if group not in self.constraints:
                self.constraints[group] = ConstraintRows(self.plan, group, self.places, self.count, lane)
            part = slice(first, first + group.rows)
            phi[:, part], J[:, part] = self.constraints[group].at(lane, R, p, q, follows)
        return RowsOfStates(phi, J, q)

    def _joints(
        self,
        alike: AlikeJoints,
        motion: FreeBodies,
        R: np.ndarray,
        p: np.ndarray,
        phi: np.ndarray,
        J: np.ndarray,
        q: np.ndarray,
        follows: np.ndarray,
    ) -> None:
        """Writes the rows of joints of one kind, their coordinates, and what these follow by."""
        members, rows = len(phi), alike.rows
        frames = [_both_frames(ends, motion, R, p) for ends in alike.ends]
        R_F, o_F, R_G, o_G = (np.concatenate(each) for each in zip(*frames, strict=True))
        back = np.swapaxes(R_F, 1, 2)
        near = np.concatenate([q[:, ends.joint.q : ends.joint.q + ends.joint.nq] for ends in alike.ends])
        numbers = [motion.values(ends.joint.numbers) for ends in alike.ends]
        given = {name: np.concatenate([stacked(n[name], members) for n in numbers]) for name in rows.shapes}
        normal = np.zeros_like(o_F) if self.plane is None else back @ self.plane.normal
        state = rows.at(back @ R_G, _times(back, o_G - o_F), near, given, normal, self.length)
        values, by_twist = self._rows_in_world(rows, state, R_F)
        for k, (ends, first) in enumerate(zip(alike.ends, alike.first, strict=True)):
            some, joint = slice(k * members, (k + 1) * members), ends.joint
            part = slice(first, first + values.shape[1])
            phi[:, part] = values[some]
            q[:, joint.q : joint.q + joint.nq] = state.q[some]
            to_world = _both(back[some])
            self._spread(ends, by_twist[some], o_G[some], p, J[:, part])
            self._spread(ends, state.follows[some] @ to_world, o_G[some], p, follows[:, joint.v : joint.v + joint.nv])
            parent = self.places[ends.parent.node]
            if parent >= 0:  # rows along the world's axes turn about the parent's with it
                turned = slice(SPEEDS * parent + 3, SPEEDS * parent + 6)
                J[:, part, turned] += self._turning(rows, state, R_F)[some]

    def _rows_in_world(self, rows: JointRows, state: JointState, R_F: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Rows (N, m), those of ways first, and their derivatives (N, m, 6) by twists along the world's axes."""
        to_world = _both(np.swapaxes(R_F, 1, 2))
        parts = [(state.ways, state.ways_by_twist, rows.whole_ways, self._ways),
                 (state.turns, state.turns_by_twist, rows.whole_turns, np.eye(3))]  # fmt: skip
        values, slopes = list[np.ndarray](), list[np.ndarray]()
        for value, slope, whole, axes in parts:
            turned = axes.T @ R_F
            values.append(_times(turned, value) if whole else value)
            slopes.append((turned @ slope if whole else slope) @ to_world)
        return np.concatenate(values, axis=1), np.concatenate(slopes, axis=1)

    def _turning(self, rows: JointRows, state: JointState, R_F: np.ndarray) -> np.ndarray:
        """(N, m, 3) what the turning of the parent adds to rows along the world's axes, as of `_rows_in_world`."""
        parts = [(state.ways, rows.whole_ways, self._ways), (state.turns, rows.whole_turns, np.eye(3))]
        return np.concatenate(
            [
                -axes.T @ skew(_times(R_F, value)) if whole else np.zeros((*value.shape, 3))
                for value, whole, axes in parts
            ],
            axis=1,
        )

    @property
    def _ways(self) -> np.ndarray:
        """(3, k) axes of the world along which ways are barred where all are."""
        return np.eye(3) if self.plane is None else self.plane.axes

    def _spread(self, ends: JointEnds, by_twist: np.ndarray, place: np.ndarray, p: np.ndarray, out: np.ndarray) -> None:
        """Adds to (N, m, 6 nb) what derivatives (N, m, 6) by a twist at a place (N, 3) are by those of both bodies."""
        turn, way = by_twist[..., :3], by_twist[..., 3:]
        for frame, sign in ((ends.child, 1.0), (ends.parent, -1.0)):
            body = self.places[frame.node]
            if body >= 0:
                first = SPEEDS * body
                out[:, :, first : first + 3] += sign * way
                out[:, :, first + 3 : first + 6] += sign * (turn - way @ skew(place - p[:, body]))


def _both_frames(
    ends: JointEnds, motion: FreeBodies, R: np.ndarray, p: np.ndarray
) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
    """Rotation (N, 3, 3) and origin (N, 3) of the parent's frame and of the child's; of a weld, where it puts that."""
    (R_F, o_F), (R_G, o_G) = (_in_world(frame, motion, R, p) for frame in (ends.parent, ends.child))
    if not ends.joint.kind.primitives:
        shift, vector = ends.joint.displacement
        rotation = stacked(motion.params.rotation(ends.joint.matrix, vector), len(R))
        o_F = o_F + _times(R_F, stacked(motion.params.at(shift), len(R)))
        R_F = R_F @ rotation
    return R_F, o_F, R_G, o_G


def _in_world(frame: PlacedFrame, motion: FreeBodies, R: np.ndarray, p: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Rotation (N, 3, 3) and origin (N, 3) of a frame."""
    inside, T = (stacked(part, len(R)) for part in motion.params.frame(frame.frame))
    body = motion.body[frame.node]
    return (inside, T) if body < 0 else (R[:, body] @ inside, p[:, body] + _times(R[:, body], T))


def stacked(values: Any, members: int) -> np.ndarray:
    """(N, ...) of nested lists of numbers and arrays (N,)."""
    if isinstance(values, np.ndarray) or not isinstance(values, list | tuple):
        return np.broadcast_to(np.asarray(values, float), (members,))
    if _constant(values):
        array = np.array(values)
        return np.broadcast_to(array, (members, *array.shape))
    return np.stack([stacked(value, members) for value in values], axis=1)


def _constant(values: Any) -> bool:
    """Whether nested lists hold numbers alone."""
    return all(_constant(x) for x in values) if isinstance(values, list | tuple) else type(values) is float


def skew(v: np.ndarray) -> np.ndarray:
    """(..., 3, 3) matrices of the products v x."""
    out = np.zeros((*v.shape, 3))
    for i, j, k in ((0, 1, 2), (1, 2, 0), (2, 0, 1)):
        out[..., i, j], out[..., j, i] = -v[..., k], v[..., k]
    return out


def _both(R: np.ndarray) -> np.ndarray:
    """(N, 6, 6) turns and ways by one rotation (N, 3, 3)."""
    out = np.zeros((len(R), 6, 6))
    out[:, :3, :3] = out[:, 3:, 3:] = R
    return out


def _times(M: np.ndarray, x: np.ndarray) -> np.ndarray:
    return (M @ x[..., None])[..., 0]


def _across(count: int) -> list[str]:
    return [f"across {k + 1}" for k in range(count)] if count > 1 else ["across"] * count


def _first(values: Any) -> Any:
    """Numbers of the first member, as Python's."""
    if isinstance(values, list | tuple):
        return [_first(value) for value in values]
    return float(np.ravel(values)[0])
