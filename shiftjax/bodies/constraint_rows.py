"""The rows of a constraint between free bodies: its Phi, and derivatives of forward mode. Host code on NumPy.

The Jacobian that a kind writes is not asked for, so that this one checks it.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from shiftjax.algebra import Mat, Scalar, Vec, identity, zeros
from shiftjax.bodies.free_bodies import SPEEDS, FreeBodies
from shiftjax.constraints import CONSTRAINTS
from shiftjax.dynamics.kinematics import Parameters
from shiftjax.dynamics.lane import Lane
from shiftjax.lanes.building import graph_of
from shiftjax.lanes.forward import forward
from shiftjax.lanes.in_numpy import InNumpy
from shiftjax.plan_elements import RowGroup
from shiftjax.run.closing.host_evaluation import per_member
from shiftjax.topology.plan import Plan

POSE = 12  # entries of a rotation by rows, and of an origin


class ConstraintRows:
    """The rows of one constraint.

    Args:
        places: node of the plan -> place of its body; -1 of ground. bodies: how many there are.
        lane: by whose numbers it is known which are one for all states, and which vary.
    """

    def __init__(self, plan: Plan, group: RowGroup, places: Mapping[int, int], bodies: int, lane: Lane) -> None:
        self.plan, self.group, self.places, self.bodies, self.lane = plan, group, places, bodies, lane
        self.moving = sorted({places[frame.node] for frame in group.frames} - {-1})
        self.coordinates = list(dict.fromkeys(group.coordinates))
        self.varied = [k for k, x in enumerate(lane.params.numbers) if isinstance(x, np.ndarray)]
        wrt = POSE * len(self.moving) + len(self.coordinates)
        count = wrt + 1 + len(self.varied)
        self.directions = SPEEDS * len(self.moving) + len(self.coordinates)
        graph = graph_of(self._phi, count)
        self._run = InNumpy(forward(graph, count, range(wrt), range(group.rows), self.directions))

    def at(
        self, lane: Lane, R: np.ndarray, p: np.ndarray, q: np.ndarray, follows: np.ndarray
    ) -> tuple[np.ndarray, np.ndarray]:
        """Phi (N, m) and its Jacobian (N, m, 6 nb) by twists of bodies.

        Args:
            R, p: (N, nb, 3, 3), (N, nb, 3) of all bodies. q: (N, nq) coordinates of joints.
            follows: (N, nv, 6 nb) changes of their displacements for a unit of each twist.
        """
        members, rows = len(R), self.group.rows
        ways = [self.plan.coordinates[k] for k in self.coordinates]
        poses = [x for body in self.moving for x in (*R[:, body].reshape(members, 9).T, *p[:, body].T)]
        numbers = [lane.params.numbers[k] for k in self.varied]
        inputs = [*poses, *(q[:, one.q] for one in ways), lane.t, *numbers, *self._seeds(R).reshape(-1, members)]
        out = per_member(self._run(inputs), members)
        slopes = np.moveaxis(out[rows:].reshape(self.directions, rows, members), (0, 1, 2), (2, 1, 0))
        J = np.zeros((members, rows, follows.shape[2]))
        for k, body in enumerate(self.moving):
            J[..., SPEEDS * body : SPEEDS * (body + 1)] = slopes[..., SPEEDS * k : SPEEDS * (k + 1)]
        for k, one in enumerate(ways, SPEEDS * len(self.moving)):
            J += slopes[..., k, None] * follows[:, None, one.v]
        return out[:rows].T, J

    def _seeds(self, R: np.ndarray) -> np.ndarray:
        """(directions, inputs, N) rates of poses and coordinates: velocities, turns, and each coordinate alone."""
        first = POSE * len(self.moving)
        seeds = np.zeros((self.directions, first + len(self.coordinates), len(R)))
        for k, body in enumerate(self.moving):
            for i, axis in enumerate(np.eye(3)):
                seeds[SPEEDS * k + i, POSE * k + 9 : POSE * (k + 1)] = axis[:, None]
                turned = np.cross(axis, R[:, body], axisb=1, axisc=1).reshape(-1, 9).T
                seeds[SPEEDS * k + 3 + i, POSE * k : POSE * k + 9] = turned
        for k in range(len(self.coordinates)):
            seeds[SPEEDS * len(self.moving) + k, first + k] = 1.0
        return seeds

    def _phi(self, x: list[Scalar]) -> Sequence[Scalar]:
        """Lane code of all inputs: poses of the bodies it names, coordinates, time, and the numbers that vary."""
        rest = iter(x)
        poses: list[tuple[Mat, Vec]] = [(identity(), zeros())] * self.bodies
        for body in self.moving:
            R = [[next(rest) for _ in range(3)] for _ in range(3)]
            poses[body] = R, [next(rest) for _ in range(3)]
        q: list[Any] = [0.0] * self.plan.nq
        for k in self.coordinates:
            q[self.plan.coordinates[k].q] = next(rest)
        t, numbers = next(rest), list(self.lane.params.numbers)
        for k in self.varied:
            numbers[k] = next(rest)
        params = Parameters(numbers, self.lane.params.matrices)
        motion = FreeBodies(self.plan, params, self.places, poses, q, t, self.lane.functions)
        return CONSTRAINTS[self.group.kind].rows(self.group, motion).phi
