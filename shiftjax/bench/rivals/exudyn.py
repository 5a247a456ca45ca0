"""Exudyn: free bodies with Euler parameters, every hinge a joint with multipliers, its implicit solvers.

A loop's last hinge holds its point in the plane alone where all hinges are parallel, so that no row is redundant; in
space it is a whole hinge, and rows that depend on others are left to the dense solver, which may ignore them.
"""

# exudyn is no dependency
# pyright: reportMissingImports=false, reportAttributeAccessIssue=false

from __future__ import annotations

from collections.abc import Mapping

import exudyn
import numpy as np
from exudyn.utilities import RigidBodyInertia, SensorBody

from shiftjax.bench.rivals.hinge_tree import Cut, HingeTree, Link, centre, inertia_W, start_speeds, with_mass
from shiftjax.bench.rivals.in_turn import MEMBERS
from shiftjax.bench.rivals.judge import applied, bodies_of
from shiftjax.bench.rivals.rival import Bodies, Path, Race

RELATIVE, ABSOLUTE = 1e-12, 1e-12  # of Newton's iterations where they are tuned; 1e-8 and 1e-10 by default
VARIABLES = ("Position", "RotationMatrix", "AngularVelocity", "Velocity")


class ExudynMechanism:
    """One member; bodies have their origins in their centres of mass, and axes of the world at the start."""

    def __init__(self, tree: HingeTree, step: float, setting: str) -> None:
        self._tree, self._step, self._setting = tree, step, setting
        self._container = exudyn.SystemContainer()
        self._system = system = self._container.AddSystem()
        still = np.zeros((1, 1, len(tree.links)))
        start = bodies_of(tree, (still, start_speeds(tree)[None, None]))
        ground = system.CreateGround()
        bodies = [
            system.CreateRigidBody(
                inertia=RigidBodyInertia(link.body.mass, inertia_W(link), inertiaTensorAtCOM=True),
                referencePosition=centre(link),
                initialVelocity=start.velocity[0, 0, k],
                initialAngularVelocity=start.omega[0, 0, k],
                gravity=tree.gravity,
            )
            for k, link in enumerate(tree.links)
        ]
        ends = [*bodies, ground]  # the last one is that of ground, -1
        for k, link in enumerate(tree.links):
            self._hinge(link, [ends[link.parent], ends[k]])
        for cut in tree.cuts:
            self._hinge(cut, [ends[cut.first], ends[cut.second]], in_plane=tree.planar)
        kinds = [getattr(exudyn.OutputVariableType, name) for name in VARIABLES]
        self._sensors = [
            [system.AddSensor(SensorBody(bodyNumber=b, storeInternal=True, outputVariableType=one)) for b in bodies]
            for one in kinds
        ]
        system.Assemble()

    def _hinge(self, hinge: Link | Cut, items: list, in_plane: bool = False) -> None:
        if not in_plane:
            self._system.CreateRevoluteJoint(itemNumbers=items, position=hinge.anchor_W, axis=hinge.axis_W)
            return
        across = np.linalg.svd(hinge.axis_W[None])[2][1:]
        axes = np.array([*across, np.cross(*across)]).T
        self._system.CreateGenericJoint(
            itemNumbers=items,
            position=hinge.anchor_W,
            rotationMatrixAxes=axes,
            constrainedAxes=[1, 1, 0, 0, 0, 0],
        )

    def advance(self, steps: int, every: int) -> None:
        """From the start, noting a state every so many steps."""
        settings = exudyn.SimulationSettings()
        times = settings.timeIntegration
        times.endTime, times.numberOfSteps = steps * self._step, steps
        settings.solutionSettings.writeSolutionToFile = False
        settings.solutionSettings.sensorsWritePeriod = every * self._step
        settings.linearSolverType = exudyn.LinearSolverType.EigenDense
        settings.linearSolverSettings.ignoreSingularJacobian = not self._tree.planar
        if self._setting != "default":
            times.newton.relativeTolerance, times.newton.absoluteTolerance = RELATIVE, ABSOLUTE
        kind = exudyn.DynamicSolverType
        solver = kind.TrapezoidalIndex2 if self._setting == "index 2 tuned" else kind.GeneralizedAlpha
        if not self._system.SolveDynamic(settings, solverType=solver):
            raise RuntimeError("its solver failed")

    def states(self) -> tuple[np.ndarray, ...]:
        """(variables of `VARIABLES`) each (instants, links, components), of the last run."""
        return tuple(
            np.stack([self._system.GetSensorStoredData(sensor)[:, 1:] for sensor in sensors], axis=1)
            for sensors in self._sensors
        )


class ExudynEntrant:
    """See `rival.Entrant`."""

    precision, device = "f64", "cpu"

    def __init__(self, race: Race, setting: str) -> None:
        self.masses, self._tree = race.some(MEMBERS), race.tree
        trees = [with_mass(race.tree, race.varied, float(mass)) for mass in self.masses]
        self._members = [ExudynMechanism(tree, race.step, setting) for tree in trees]

    def run(self, steps: int) -> None:
        """See `rival.Entrant.run`."""
        for member in self._members:
            member.advance(steps, steps)

    def path(self, steps: int, every: int) -> Path:
        """See `rival.Entrant.path`."""
        for member in self._members:
            member.advance(steps, every)
        parts = zip(*(member.states() for member in self._members), strict=True)
        places, turns, omega, velocity = (np.stack(part, axis=1) for part in parts)
        R = turns.reshape(*turns.shape[:-1], 3, 3)
        centres = np.stack([centre(link) for link in self._tree.links])
        return Bodies(R, places - applied(R, centres), omega, velocity)


class ExudynRival:
    """See `rival.Rival`."""

    settings: Mapping[str, str] = {
        "default": "generalized alpha, index 3, spectral radius 0.9, tolerances as they are",
        "tuned": f"generalized alpha, index 3, spectral radius 0.9, tolerances {RELATIVE:g}",
        "index 2 tuned": f"trapezoidal rule, index 2, tolerances {RELATIVE:g}",
    }

    def enter(self, race: Race, setting: str) -> ExudynEntrant:
        """See `rival.Rival.enter`."""
        return ExudynEntrant(race, setting)
