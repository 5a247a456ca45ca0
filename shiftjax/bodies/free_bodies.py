"""What constraints ask of a state, answered for bodies that move freely: a `MotionView` whose speeds are their twists.

The speeds are, for each body, three of its origin and three of its turning, along the world's axes; after them those of
the coordinates of joints, which follow from the poses. Nothing here knows a tree, a loop or a cut. Host code on NumPy,
members last in each scalar.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from shiftjax.algebra import Mat, Scalar, Vec, cross, matmul, matvec, minus, plus, transpose, zeros
from shiftjax.dynamics.kinematics import Parameters
from shiftjax.errors import ModelError
from shiftjax.plan_elements import ORIGIN, WORLD, ForceElement, Named, PlacedFrame
from shiftjax.topology.plan import Plan

UNITS = ((1.0, 0.0, 0.0), (0.0, 1.0, 0.0), (0.0, 0.0, 1.0))
SPEEDS = 6  # of a body

Columns = dict[int, Vec]


class FreeBodies:
    """One state of free bodies.

    Args:
        body: node of the plan -> place of its body; -1 of ground.
        R, p: of each body rotation (B, 3, 3) and origin (B, 3) in the world. q: (nq, B) coordinates of joints. t: time.
    """

    def __init__(
        self,
        plan: Plan,
        params: Parameters,
        body: Mapping[int, int],
        poses: Sequence[tuple[Mat, Vec]],
        q: Sequence[Scalar],
        t: Scalar,
        functions: Sequence[Any],
    ) -> None:
        self.plan, self.params, self.body, self.poses = plan, params, body, poses
        self.q, self.t, self.functions = q, t, functions
        self.v: Sequence[Scalar] | None = None  # poses only

    def chain(self, base: int = 0) -> Any:
        todo = "Ask `motion.pose(frame, relative=other)` and the like."
        raise ModelError("motion.chain", "bodies that move freely", "what frames do", todo)

    def world(self, frame: PlacedFrame) -> tuple[Mat, Vec]:
        """Rotation and origin of a frame in the world."""
        inside, T = self.params.frame(frame.frame)
        if self.body[frame.node] < 0:
            return inside, T
        R, p = self.poses[self.body[frame.node]]
        return matmul(R, inside), plus(p, matvec(R, T))

    def pose(self, frame: PlacedFrame, *, relative: PlacedFrame = WORLD) -> tuple[Mat, Vec]:
        (R, p), (axes, origin) = self.world(frame), self.world(relative)
        back = transpose(axes)
        return matmul(back, R), matvec(back, minus(p, origin))

    def point(self, frame: PlacedFrame, p: Sequence[Scalar] = ORIGIN, *, relative: PlacedFrame = WORLD) -> Vec:
        R, origin = self.pose(frame, relative=relative)
        return plus(origin, matvec(R, p))

    def velocity(self, frame: PlacedFrame, p: Sequence[Scalar] = ORIGIN, *, relative: PlacedFrame = WORLD) -> Vec:
        return zeros()

    def angular_velocity(self, frame: PlacedFrame, *, relative: PlacedFrame = WORLD) -> Vec:
        return zeros()

    def bias(self, frame: PlacedFrame, p: Sequence[Scalar] = ORIGIN, *, relative: PlacedFrame = WORLD) -> Vec:
        return zeros()

    def angular_bias(self, frame: PlacedFrame, *, relative: PlacedFrame = WORLD) -> Vec:
        return zeros()

    def jacobian(self, frame: PlacedFrame, p: Sequence[Scalar] = ORIGIN, *, relative: PlacedFrame = WORLD) -> Columns:
        R, origin = self.world(frame)
        axes, _ = self.world(relative)
        place, back, columns = plus(origin, matvec(R, p)), transpose(axes), Columns()
        for first, sign, body in self._moving(frame, relative):
            arm = minus(place, self.poses[body][1])
            for k, axis in enumerate(UNITS):
                columns[first + k] = matvec(back, [sign * x for x in axis])
                columns[first + 3 + k] = matvec(back, [sign * x for x in cross(axis, arm)])
        return columns

    def angular_jacobian(self, frame: PlacedFrame, *, relative: PlacedFrame = WORLD) -> Columns:
        back = transpose(self.world(relative)[0])
        return {
            first + 3 + k: matvec(back, [sign * x for x in axis])
            for first, sign, _ in self._moving(frame, relative)
            for k, axis in enumerate(UNITS)
        }

    def _moving(self, frame: PlacedFrame, relative: PlacedFrame) -> list[tuple[int, float, int]]:
        """First speed, sign and place of the bodies whose motion the one frame sees of the other."""
        one, other = self.body[frame.node], self.body[relative.node]
        if one == other:
            return []
        return [(SPEEDS * body, sign, body) for body, sign in ((one, 1.0), (other, -1.0)) if body >= 0]

    def values(self, numbers: Named) -> Mapping[str, Any]:
        return {name: self.params.at(places) for name, places in numbers}

    def coordinate(self, index: int) -> Scalar:
        return self.q[self.plan.coordinates[index].q]

    def speed(self, index: int) -> Scalar:
        return 0.0

    def speeds(self, index: int) -> list[Scalar]:
        return [0.0 for _ in self.plan.coordinates[index].speeds]

    def speed_index(self, index: int) -> int:
        return self.first_speed_of_joints + self.plan.coordinates[index].v

    def first_speed(self, joint: int) -> int:
        return self.first_speed_of_joints + self.plan.joints[joint].v

    @property
    def first_speed_of_joints(self) -> int:
        """Where the speeds of joints follow those of bodies."""
        return SPEEDS * len(self.poses)

    def borne(self, element: ForceElement) -> Scalar:
        return 0.0


def scalars(R: np.ndarray, p: np.ndarray) -> tuple[Mat, Vec]:
    """A pose (B, 3, 3), (B, 3) as nested lists of arrays (B,)."""
    return [[R[:, i, j] for j in range(3)] for i in range(3)], [*p.T]
