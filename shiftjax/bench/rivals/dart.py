"""DART: a skeleton of hinges, loops closed by its dynamic joint constraints; semi-implicit Euler.

How fast a constraint takes an error back is one number of the whole code, its error reduction parameter: the part of
the error that goes in a step, 0.01 by default and 1 at most; the other one is the softness of its solver.
"""

# dartpy is no dependency
# pyright: reportMissingImports=false, reportAttributeAccessIssue=false

from __future__ import annotations

from collections.abc import Mapping

import dartpy as dart
import numpy as np

from shiftjax.bench.rivals.hinge_tree import (
    HingeTree,
    centre,
    depth_first,
    hinge_points,
    inertia_W,
    split,
    start_speeds,
    twin_speeds,
)  # fmt: skip
from shiftjax.bench.rivals.in_turn import InTurn
from shiftjax.bench.rivals.rival import Race

DEFAULTS = {"ErrorReductionParameter": 0.01, "ConstraintForceMixing": 1e-9, "MaxErrorReductionVelocity": 10.0}
TUNED = {"ErrorReductionParameter": 1.0, "ConstraintForceMixing": 1e-9, "MaxErrorReductionVelocity": 1e3}


class DartMechanism:
    """See `in_turn.Single`."""

    def __init__(self, tree: HingeTree, step: float, kind: str, numbers: Mapping[str, float]) -> None:
        self._numbers = numbers
        speeds = start_speeds(tree)
        whole, pairs = (tree, []) if kind == "ball" else split(tree)
        self._speeds = np.array([*speeds, *(twin_speeds(tree, speeds) if kind == "weld" else [])])
        self._world = dart.simulation.World()
        self._world.setTimeStep(step)
        self._world.setGravity(tree.gravity)
        skeleton = dart.dynamics.Skeleton("mechanism")
        bodies = {}
        anchors = [*(link.anchor_W for link in whole.links), np.zeros(3)]  # the last one is that of ground, -1
        for k in depth_first(whole):
            link = whole.links[k]
            hinge, body = skeleton.createRevoluteJointAndBodyNodePair(bodies.get(link.parent))
            hinge.setAxis(link.axis_W)
            carrier = dart.math.Isometry3()
            carrier.set_translation(link.anchor_W - anchors[link.parent])
            hinge.setTransformFromParentBodyNode(carrier)
            inertia = dart.dynamics.Inertia(link.share * link.body.mass, centre(link) - link.anchor_W, inertia_W(link))
            body.setInertia(inertia)
            body.setCollidable(False)
            bodies[k] = body
        joints = [bodies[k].getParentJoint() for k in range(len(whole.links))]
        self._places = np.array([joint.getIndexInSkeleton(0) for joint in joints])
        self._count = len(tree.links)
        self._skeleton = skeleton
        self._world.addSkeleton(skeleton)
        solver = self._world.getConstraintSolver()
        for cut in tree.cuts if kind == "ball" else ():
            for x in hinge_points(tree, cut):
                ends = [bodies[k] for k in sorted((cut.first, cut.second), reverse=True) if k >= 0]
                solver.addConstraint(dart.constraint.BallJointConstraint(*ends, x))
        for first, second in pairs:
            solver.addConstraint(dart.constraint.WeldJointConstraint(bodies[first], bodies[second]))
        self.restart()

    def restart(self) -> None:
        """See `in_turn.Single.restart`."""
        for name, value in self._numbers.items():
            getattr(dart.constraint.BallJointConstraint, f"set{name}")(value)
        self._skeleton.resetAccelerations()
        speeds = np.zeros(len(self._speeds))
        speeds[self._places] = self._speeds
        self._skeleton.setPositions(np.zeros(len(speeds)))
        self._skeleton.setVelocities(speeds)

    def advance(self, steps: int) -> None:
        """See `in_turn.Single.advance`."""
        for _ in range(steps):
            self._world.step()

    def now(self) -> tuple[np.ndarray, np.ndarray]:
        """See `in_turn.Single.now`."""
        angles, speeds = self._skeleton.getPositions(), self._skeleton.getVelocities()
        places = self._places[: self._count]
        return angles[places], speeds[places]


class DartRival:
    """See `rival.Rival`."""

    settings: Mapping[str, str] = {
        f"{kind} {tightness}": f"semi-implicit Euler, {kind} constraints, {part:g} of an error taken back a step"
        for tightness, part in (("default", 0.01), ("tuned", 1.0))
        for kind in ("ball", "weld")
    }

    def enter(self, race: Race, setting: str) -> InTurn:
        """See `rival.Rival.enter`."""
        kind, tightness = setting.split()
        numbers = TUNED if tightness == "tuned" else DEFAULTS
        return InTurn(race, lambda tree: DartMechanism(tree, race.step, kind, numbers))
