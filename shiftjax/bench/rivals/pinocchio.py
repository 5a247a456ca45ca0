"""Pinocchio: accelerations of a tree with loop constraints by its proximal solver, stepped by RK4 from Python.

Pinocchio has dynamics and no time integration; the loop around it is NumPy, as its users write it. A cut hinge is a
constraint of points (3D) in a plane, and of a frame (6D) on the twin of a body otherwise. With `projected`, the loops
are closed again after each step by one step of Newton's method, with its Jacobians.
"""

# pin is no dependency
# pyright: reportMissingImports=false, reportAttributeAccessIssue=false

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
import pinocchio as pin

from shiftjax.bench.rivals.hinge_tree import (
    HingeTree,
    centre,
    depth_first,
    hinge_points,
    inertia_W,
    start_speeds,
)
from shiftjax.bench.rivals.in_turn import InTurn
from shiftjax.bench.rivals.rival import Race

ACCURACY, MU, ITERATIONS = 1e-12, 1e-10, 20  # of the proximal solver
RANK = 1e-9  # of the largest singular value: rows of a loop that is planar are not all independent


class PinocchioMechanism:
    """See `in_turn.Single`."""

    def __init__(self, tree: HingeTree, step: float, setting: str) -> None:
        self._step, self._projected = step, setting == "projected"
        self.model = pin.Model()
        self.model.gravity.linear = tree.gravity
        joints = {-1: 0}
        anchors = [link.anchor_W for link in tree.links]
        for k in depth_first(tree):
            link = tree.links[k]
            offset = link.anchor_W - (anchors[link.parent] if link.parent >= 0 else 0.0)
            hinge = pin.JointModelRevoluteUnaligned(link.axis_W)
            joints[k] = self.model.addJoint(joints[link.parent], hinge, pin.SE3(np.eye(3), offset), f"j{k}")
            inertia = pin.Inertia(link.share * link.body.mass, centre(link) - link.anchor_W, inertia_W(link))
            self.model.appendBodyToJoint(joints[k], inertia, pin.SE3.Identity())
        self._places = np.array([self.model.joints[joints[k]].idx_v for k in range(len(tree.links))])
        self._loops = pin.StdVec_RigidConstraintModel()
        for cut in tree.cuts:
            for x in hinge_points(tree, cut):
                ends = []
                for k in (cut.first, cut.second):
                    ends += [joints[k], pin.SE3(np.eye(3), x - (anchors[k] if k >= 0 else 0.0))]
                loop = pin.RigidConstraintModel(pin.ContactType.CONTACT_3D, self.model, *ends, pin.LOCAL_WORLD_ALIGNED)
                self._loops.append(loop)
        self.data = self.model.createData()
        self._loop_data = pin.StdVec_RigidConstraintData()
        for loop in self._loops:
            self._loop_data.append(loop.createData())
        pin.initConstraintDynamics(self.model, self.data, self._loops, self._loop_data)
        self._proximal = pin.ProximalSettings(ACCURACY, MU, ITERATIONS)
        self._speeds, self._torque = np.zeros(self.model.nv), np.zeros(self.model.nv)
        self._speeds[self._places] = start_speeds(tree)
        self.restart()

    def restart(self) -> None:
        """See `in_turn.Single.restart`."""
        self.q, self.v = np.zeros(self.model.nq), self._speeds.copy()

    def advance(self, steps: int) -> None:
        """See `in_turn.Single.advance`."""
        h = self._step
        for _ in range(steps):
            q, v = self.q, self.v
            a1 = self._acceleration(q, v)
            v2 = v + 0.5 * h * a1
            a2 = self._acceleration(q + 0.5 * h * v, v2)
            v3 = v + 0.5 * h * a2
            a3 = self._acceleration(q + 0.5 * h * v2, v3)
            v4 = v + h * a3
            a4 = self._acceleration(q + h * v3, v4)
            self.q = q + h / 6.0 * (v + 2.0 * v2 + 2.0 * v3 + v4)
            self.v = v + h / 6.0 * (a1 + 2.0 * a2 + 2.0 * a3 + a4)
            if self._projected:
                self._project()

    def now(self) -> tuple[np.ndarray, np.ndarray]:
        """See `in_turn.Single.now`."""
        return self.q[self._places], self.v[self._places]

    def _acceleration(self, q: np.ndarray, v: np.ndarray) -> np.ndarray:
        a = pin.constraintDynamics(
            self.model, self.data, q, v, self._torque, self._loops, self._loop_data, self._proximal
        )
        return a.copy()

    def _project(self) -> None:
        """Closes loops and speeds by the changes that are least in the metric of the masses."""
        M = pin.crba(self.model, self.data, self.q, pin.Convention.WORLD)
        M = np.triu(M) + np.triu(M, 1).T  # it fills the upper half
        J = self._jacobian(self.q)
        self.q = self.q - _least(M, J, np.concatenate([self._gap(loop) for loop in self._loops]))
        J = self._jacobian(self.q)
        self.v = self.v - _least(M, J, J @ self.v)

    def _jacobian(self, q: np.ndarray) -> np.ndarray:
        """(3 points, hinges), with the bodies put to where these angles have them."""
        pin.computeJointJacobians(self.model, self.data, q)
        return pin.getConstraintsJacobian(self.model, self.data, self._loops, self._loop_data)

    def _gap(self, loop: pin.RigidConstraintModel) -> np.ndarray:
        """(3,) [m], with the sign of the Jacobian's rows."""
        first, second = self.data.oMi[loop.joint1_id], self.data.oMi[loop.joint2_id]
        return first.act(loop.joint1_placement.translation) - second.act(loop.joint2_placement.translation)


def _least(M: np.ndarray, J: np.ndarray, rows: np.ndarray) -> np.ndarray:
    """The smallest x in the metric M with J x = rows."""
    W = np.linalg.solve(M, J.T)
    return W @ np.linalg.lstsq(J @ W, rows, rcond=RANK)[0]


class PinocchioRival:
    """See `rival.Rival`."""

    settings: Mapping[str, str] = {
        "default": "RK4, point constraints, accelerations alone",
        "projected": "RK4, loops and speeds closed after each step",
    }

    def enter(self, race: Race, setting: str) -> InTurn:
        """See `rival.Rival.enter`."""
        return InTurn(race, lambda tree: PinocchioMechanism(tree, race.step, setting))
