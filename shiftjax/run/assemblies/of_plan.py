"""The skeleton of a substructure and its numbers, by the kinematics of runs at the reference pose. Host code.

Refused: constraints that are no closures of these, and screws; `reason_against` tells.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from shiftjax.constraints import CONSTRAINTS, DriverKind, RowGroup
from shiftjax.dynamics.kinematics import Motion
from shiftjax.joints.primitives import Ball, Rotation, RotationVector, Translation
from shiftjax.lanes.member_values import MemberValues
from shiftjax.rotations import quaternion_of_vector, vector_of_quaternion
from shiftjax.run.assemblies.skeleton import (
    BALL,
    DISTANCE,
    LOOP,
    POINT,
    SHIFT,
    SPATIAL,
    TURN,
    Closure,
    ScrewNumbers,
    Skeleton,
)
from shiftjax.run.assemblies.standing import within_half_a_turn
from shiftjax.run.closing.host_evaluation import StartLane, matrices_per_member, motion_of, per_member
from shiftjax.topology.plan import Plan

MOTIONS = {Rotation: TURN, Translation: SHIFT, Ball: BALL, RotationVector: BALL}
TIES = {"loop": LOOP, "distance": DISTANCE, "coincident": POINT}


@dataclass
class Tie:
    """A substructure as closures.

    Attributes:
        coordinates: of the plan, of every motion. frames: (P, motions, 3, 3) axes of balls. reversed: whether the tree
            runs through a motion from the child to the parent.
        length: [m], by which lengths are dimensionless.
    """

    skeleton: Skeleton
    numbers: ScrewNumbers
    coordinates: tuple[int, ...]
    frames: np.ndarray
    backwards: tuple[bool, ...]
    length: float

    def values(self, plan: Plan, q: np.ndarray, members: np.ndarray) -> np.ndarray:
        """(P, values) of coordinates (nq, P) of the members that stand in `members` (P,)."""
        X = np.tile(self.skeleton.still, (q.shape[1], 1))
        for i, (k, at) in enumerate(zip(self.coordinates, self.skeleton.first_value, strict=False)):
            one = plan.coordinates[k]
            if one.plain:
                X[:, at] = q[one.q] / (self.length if one.unit == "m" else 1.0)
                continue
            quaternion = np.array(quaternion_of_vector([*q[one.places]])) if one.vector else q[one.places]
            vector = (self.frames[members, i] @ quaternion[1:].T[:, :, None])[:, :, 0]
            X[:, at], X[:, at + 1 : at + 4] = quaternion[0], -vector if self.backwards[i] else vector
        return X

    def coordinates_at(self, plan: Plan, X: np.ndarray, q: np.ndarray, members: np.ndarray) -> np.ndarray:
        """(nq, P) coordinates of real values (P, values), the others as in q (nq, P)."""
        out = q.copy()
        for i, (k, at) in enumerate(zip(self.coordinates, self.skeleton.first_value, strict=False)):
            one = plan.coordinates[k]
            if one.plain:
                angle = X[:, at] * (self.length if one.unit == "m" else 1.0)
                out[one.q] = angle if one.unit == "m" else within_half_a_turn(angle)
                continue
            vector = (np.swapaxes(self.frames[members, i], 1, 2) @ X[:, at + 1 : at + 4, None])[:, :, 0]
            quaternion = np.concatenate([X[:, at : at + 1], -vector if self.backwards[i] else vector], axis=1).T
            quaternion = np.where(quaternion[0] < 0.0, -quaternion, quaternion)
            out[one.places] = np.array(vector_of_quaternion([*quaternion])) if one.vector else quaternion
        return out


def reason_against(plan: Plan, index: int, fixed: Sequence[int]) -> str:
    """Why a substructure is none of closures of turns, shifts and balls; "" where it is."""
    for k in plan.substructures[index].groups:
        group = plan.constraints[k]
        if group.kind not in TIES and not isinstance(CONSTRAINTS[group.kind], DriverKind):
            return f"{group.name} is a constraint of kind {group.kind}, which is no polynomial here"
    for k in plan.coordinates_in(index):
        one = plan.coordinates[k]
        joint = plan.joints[one.joint]
        primitive = next(c.primitive for c in joint.kind.coordinates if joint.q + c.q == one.q)
        if type(primitive) not in MOTIONS and k not in fixed:
            return f"{joint.path} moves by {type(primitive).__name__.lower()}, which is no polynomial of its angle"
    return ""


def tie_of(plan: Plan, lane: StartLane, index: int, members: int) -> Tie:
    """The substructure of all members, at the reference pose: all its coordinates 0, balls not turned."""
    q = np.zeros((plan.nq, members))
    for one in plan.coordinates:
        if one.quaternion:
            q[one.q] = 1.0
    motion, values = motion_of(lane, q)
    coordinates = plan.coordinates_in(index)
    reader = _SkeletonReader(plan, motion, values, members, {k: i for i, k in enumerate(coordinates)}, lane.length)
    motions, axis, center, frames, backwards = zip(*(reader.motion_of(k) for k in coordinates), strict=True)
    groups = [plan.constraints[k] for k in plan.substructures[index].groups if plan.constraints[k].kind in TIES]
    closures, R, p, other, size = zip(*(reader.closure_of(group) for group in groups), strict=True)
    stacked = (np.stack(x, axis=1).astype(complex) for x in (axis, center, R, p, other, size))
    skeleton = Skeleton(tuple(motions), tuple(closures), SPATIAL)
    return Tie(
        skeleton, ScrewNumbers(*stacked), tuple(coordinates), np.stack(frames, axis=1), tuple(backwards), lane.length
    )


@dataclass
class _SkeletonReader:
    """ScrewNumbers of motions and closures, by members; lengths dimensionless."""

    plan: Plan
    motion: Motion
    values: MemberValues
    members: int
    place: Mapping[int, int]
    length: float

    def _vector(self, scalars: Sequence) -> np.ndarray:
        return per_member(self.values.numbers(scalars), self.members).T

    def _matrix(self, rows: Sequence[Sequence]) -> np.ndarray:
        return matrices_per_member([self.values.numbers(row) for row in rows], self.members)

    def motion_of(self, k: int) -> tuple[str, np.ndarray, np.ndarray, np.ndarray, bool]:
        one = self.plan.coordinates[k]
        joint = self.plan.joints[one.joint]
        part = next(c for c in joint.kind.coordinates if joint.q + c.q == one.q)
        kind = MOTIONS.get(type(part.primitive), TURN)
        screws = self.motion.chain().screws_of(one.joint)[part.v : part.v + part.nv]
        center = self._vector(screws[0].point) / self.length
        if kind == BALL:
            columns = np.stack([self._vector(screw.angular) for screw in screws], axis=2)
            frame = -columns if joint.reverse else columns
            return kind, np.zeros((self.members, 3)), center, frame, joint.reverse
        axis = self._vector(screws[0].angular if kind == TURN else screws[0].velocity)
        none = np.broadcast_to(np.eye(3), (self.members, 3, 3))
        return kind, axis, center if kind == TURN else np.zeros_like(center), none, joint.reverse

    def closure_of(self, group: RowGroup) -> tuple[Closure, np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
        """The closure, then turn and place of its first end, place of its second and square of its distance."""
        chain, nothing = self.motion.chain(), np.zeros((self.members, 3))
        if group.loop is not None:
            ends = [(chain.node(group.loop.virtual).R, chain.node(group.loop.virtual).p), chain.frame(group.frames[0])]
            (R, p), (S, r) = ((self._matrix(R), self._vector(p) / self.length) for R, p in ends)
            relative = R @ np.swapaxes(S, 1, 2)
            branches = (group.loop.virtual_branch, group.loop.real_branch)
            shift = p - (relative @ r[:, :, None])[:, :, 0]
            return self._closure(LOOP, branches), relative, shift, nothing, np.zeros(self.members)
        first, second = group.frames
        places = [self._vector(chain.frame(frame)[1]) / self.length for frame in (first, second)]
        *ways, _ = self.plan.between(first.node, second.node)
        kind, size = TIES[group.kind], np.zeros(self.members)
        if kind == DISTANCE:
            size += (self._vector([self.motion.values(group.numbers)["length"]])[:, 0] / self.length) ** 2
        turn = np.broadcast_to(np.eye(3), (self.members, 3, 3))
        return self._closure(kind, tuple(way[::-1] for way in ways)), turn, places[0], places[1], size

    def _closure(self, kind: str, branches: Sequence[Sequence[int]]) -> Closure:
        """Of branches of joints, in their order; those of no substructure do not move the ends apart."""
        first, second = (tuple(k for joint in branch for k in self._motions(joint)) for branch in branches)
        return Closure(kind, (first, second))

    def _motions(self, joint: int) -> list[int]:
        places = [
            self.place[k] for k, one in enumerate(self.plan.coordinates) if one.joint == joint and k in self.place
        ]
        return places[::-1] if self.plan.joints[joint].reverse else places
