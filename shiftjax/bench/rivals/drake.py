"""Drake: a discrete `MultibodyPlant`, whose solver SAP closes loops by ball or weld constraints; semi-implicit Euler.

How stiff these constraints are cannot be set: SAP fixes it (near rigid, beta 0.1), so that each has one setting.
"""

# pydrake is no dependency
# pyright: reportMissingImports=false, reportAttributeAccessIssue=false

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
from pydrake.math import RigidTransform
from pydrake.multibody.plant import DiscreteContactApproximation, MultibodyPlant
from pydrake.multibody.tree import FixedOffsetFrame, RevoluteJoint, RigidBody, RotationalInertia, SpatialInertia
from pydrake.systems.analysis import Simulator

from shiftjax.bench.rivals.hinge_tree import (
    HingeTree,
    Link,
    centre,
    hinge_points,
    inertia_W,
    split,
    start_speeds,
    twin_speeds,
)
from shiftjax.bench.rivals.in_turn import InTurn
from shiftjax.bench.rivals.rival import Race


class DrakeMechanism:
    """See `in_turn.Single`."""

    def __init__(self, tree: HingeTree, step: float, kind: str) -> None:
        self._step, self._count = step, len(tree.links)
        if kind == "ball" and any(min(cut.first, cut.second) < 0 for cut in tree.cuts):
            raise ValueError("a ball constraint with ground ends the process")  # Drake 1.51, of a pendulum, too
        speeds = start_speeds(tree)
        whole, pairs = (tree, []) if kind == "ball" else split(tree)
        self._plant = plant = MultibodyPlant(step)
        plant.set_discrete_contact_approximation(DiscreteContactApproximation.kLagged)
        plant.mutable_gravity_field().set_gravity_vector(tree.gravity)
        bodies: list[RigidBody] = []
        for k, link in enumerate(whole.links):
            bodies.append(plant.AddRigidBody(f"b{k}", inertia_of(link)))
        origins = [*(link.anchor_W for link in whole.links), np.zeros(3)]  # the last one is that of ground, -1
        bodies.append(plant.world_body())
        joints = []
        for k, link in enumerate(whole.links):
            offset = RigidTransform(link.anchor_W - origins[link.parent])
            carrier = plant.AddFrame(FixedOffsetFrame(f"f{k}", bodies[link.parent], offset))
            joints.append(plant.AddJoint(RevoluteJoint(f"j{k}", carrier, bodies[k].body_frame(), link.axis_W)))
        for cut in tree.cuts if kind == "ball" else ():
            for x in hinge_points(tree, cut):
                first, second = cut.first, cut.second
                plant.AddBallConstraint(bodies[first], x - origins[first], bodies[second], x - origins[second])
        for first, second in pairs:
            at = [RigidTransform(origins[first] - origins[k]) for k in (first, second)]
            plant.AddWeldConstraint(bodies[first], at[0], bodies[second], at[1])
        plant.Finalize()
        self._joints = joints[: self._count]
        self._simulator = Simulator(plant)
        self._context = self._simulator.get_mutable_context()
        self._speeds = np.zeros(plant.num_velocities())
        twins = twin_speeds(tree, speeds) if kind == "weld" else []
        for joint, speed in zip(joints, [*speeds, *twins], strict=True):
            self._speeds[joint.velocity_start()] = speed
        self._places = np.array([joint.velocity_start() for joint in self._joints])
        self.restart()

    def restart(self) -> None:
        """See `in_turn.Single.restart`."""
        self._context.SetTime(0.0)
        self._plant.SetPositions(self._context, np.zeros(len(self._speeds)))
        self._plant.SetVelocities(self._context, self._speeds)
        self._simulator.Initialize()

    def advance(self, steps: int) -> None:
        """See `in_turn.Single.advance`."""
        done = round(self._context.get_time() / self._step)
        self._simulator.AdvanceTo((done + steps) * self._step)

    def now(self) -> tuple[np.ndarray, np.ndarray]:
        """See `in_turn.Single.now`."""
        angles, speeds = self._plant.GetPositions(self._context), self._plant.GetVelocities(self._context)
        return angles[self._places], speeds[self._places]


def inertia_of(link: Link) -> SpatialInertia:
    """Of the share that the link has, about its hinge."""
    mass, J = link.share * link.body.mass, inertia_W(link)
    about_centre = RotationalInertia(*np.diag(J), J[0, 1], J[0, 2], J[1, 2])
    return SpatialInertia.MakeFromCentralInertia(mass, centre(link) - link.anchor_W, about_centre)


class DrakeRival:
    """See `rival.Rival`."""

    settings: Mapping[str, str] = {
        kind: f"semi-implicit Euler, SAP, {kind} constraints, as stiff as it has them" for kind in ("ball", "weld")
    }

    def enter(self, race: Race, setting: str) -> InTurn:
        """See `rival.Rival.enter`."""
        return InTurn(race, lambda tree: DrakeMechanism(tree, race.step, setting))
