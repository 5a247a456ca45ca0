"""Finds the motions that a mechanism can make where a `Poser` stands: one evaluation of its loops and one of its screws
a pose. Host code.

How many freedoms there are beside a pose is counted at one near it, closed again: at poses at which loops lose rank the
tangents alone say more.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Protocol

import numpy as np

import shiftjax.run.closing.host_evaluation as host
from shiftjax.algebra import Scalar, Vec
from shiftjax.dynamics.kinematics import change_between, speed_units
from shiftjax.dynamics.lane import Lane
from shiftjax.editing.posing.pose_history import PoseStep
from shiftjax.editing.velocities.free_motions import BodyTwists, FreeMotions
from shiftjax.kinematics.positioning.goals import JointGoal
from shiftjax.kinematics.positioning.solving.lone_loops import CLOSED, LoneLoops
from shiftjax.kinematics.positioning.solving.projection import DEPENDENT
from shiftjax.kinematics.positioning.solving.still_rows import StillRows
from shiftjax.mechanism.model import Model
from shiftjax.mechanism.records import FIXED, ORIGIN
from shiftjax.run.closing.host_evaluation import AloneOn
from shiftjax.run.start.prepared import Prepared

ASIDE = 0.01  # rad, or of the length: from a pose to the one beside it
CLOSINGS = 12  # iterations that close loops there
OPEN = 1e-6  # residual of loops, dimensionless: less is left of a drag that goes on
MOVED = 1e-9  # rad, or of the length: less is no motion


class PosedMechanism(Protocol):
    """The protocol of `shiftjax.editing.posing.poser.Poser`."""

    model: Model

    @property
    def prepared(self) -> Prepared: ...
    @property
    def coordinates(self) -> np.ndarray: ...
    @property
    def locks(self) -> frozenset[str]: ...
    @property
    def present(self) -> PoseStep: ...
    @property
    def gap(self) -> float: ...
    def refuse_open(self, where: str) -> None: ...


class MotionFinder:
    """The motions of one mechanism, pose after pose.

    Args:
        poser: that holds it.
    """

    def __init__(self, poser: PosedMechanism) -> None:
        self.poser, prepared = poser, poser.prepared
        self._plan, self._lane = prepared.plan, prepared.lane_of(np.arange(1), 1.0)
        self._unit = np.asarray(self._lane.units)
        self._loops = LoneLoops.of(self._lane)
        joints = dict(poser.model.joints())
        self._joints = joints
        plan, nodes = self._plan, {node.path: k for k, node in enumerate(self._plan.nodes) if not node.virtual}
        self._bodies = {path: k for k, path in enumerate((FIXED, *(path for path, _ in poser.model.bodies())))}
        self._carry = np.zeros((len(self._bodies), plan.nv))  # whether a speed moves a body
        for path, k in self._bodies.items():
            for joint in plan.between(nodes[path], 0)[0]:
                self._carry[k, list(plan.joints[joint].speeds)] = 1.0
        self._names = plan.speed_names()
        of = {name: joint.path for joint in plan.joints for name in self._names[joint.v : joint.v + joint.nv]}
        place = {path: (not joint.on_ground, k) for k, (path, joint) in enumerate(joints.items())}
        units = speed_units(plan)
        order = sorted(range(plan.nv), key=lambda k: place[of[self._names[k]]])
        self._units = {self._names[k]: units[k] for k in order}
        self._speed = {name: k for k, name in enumerate(self._names)}
        self._screws = AloneOn(self._lane, ("screws of speeds", *self._bodies), self._screws_of(nodes))
        self._before, self._way = poser.coordinates, np.zeros(plan.nv)
        self._counted: frozenset[str] | None = None  # locks with which the following were found
        self._regular = 0
        self._aside: BodyTwists | None = None

    def here(self) -> FreeMotions:
        """Those of the present pose.

        Raises:
            ModelError: loops that are open.
        """
        if self.poser.gap > OPEN:
            self.poser.refuse_open("free motions")
        q, locks = self.poser.coordinates, self.poser.locks
        here = self._twists(q)
        basis = self._basis(q, locks, here)
        freedoms = self._freedoms(q, locks, basis)
        columns = basis * self._unit[:, None]
        rates = {name: columns[self._speed[name]] for name in self._units}
        last, text = self._last(q, basis, {} if basis.shape[1] > freedoms else rates)
        length = float(self._lane.length)
        return FreeMotions(
            self._bodies, self._along(here, basis), rates, self._units, freedoms, length, self._aside, last, text,
        )  # fmt: skip

    def _screws_of(self, nodes: dict[str, int]) -> Callable[[Lane, Vec], dict[int, Scalar]]:
        plan, paths = self._plan, [*self._bodies]

        def screws(valued: Lane, q: Vec) -> dict[int, Scalar]:
            chain, out = valued.motion(q, None).chain(), list[Scalar]()
            out += chain.point
            for path in paths:
                out += chain.node(nodes[path]).p
            for path in paths:
                out += [x for row in chain.node(nodes[path]).R for x in row]
            for k in range(len(plan.joints)):
                for screw in chain.screws_of(k):
                    out += [*screw.angular, *screw.linear]
            return dict(enumerate(out))

        return screws

    def _twists(self, q: np.ndarray) -> BodyTwists:
        """Bodies, with their twists (nb, 6, nv) for a unit of each speed."""
        every = self._screws(q)
        nb = len(self._bodies)
        point, places, screws = every[:3], every[3 : 3 + 3 * nb].reshape(nb, 3), every[3 + 12 * nb :].reshape(-1, 6)
        w, u = screws[:, :3].T, screws[:, 3:].T  # (3, nv), about the reference point
        at_origins = u[None] + np.cross(w.T[None], places[:, None]).transpose(0, 2, 1)
        twists = np.concatenate([np.broadcast_to(w, at_origins.shape), at_origins], axis=1)
        rotations = every[3 + 3 * nb : 3 + 12 * nb].reshape(nb, 3, 3)
        return BodyTwists(rotations, places + point, twists * self._carry[:, None])

    def _along(self, bodies: BodyTwists, basis: np.ndarray) -> BodyTwists:
        """The same with twists (nb, 6, f) of motions, the columns (nv, f) of a basis, dimensionless."""
        return BodyTwists(bodies.rotations, bodies.origins, bodies.twists @ (basis * self._unit[:, None]))

    def _basis(self, q: np.ndarray, locks: frozenset[str], bodies: BodyTwists) -> np.ndarray:
        """(nv, f) orthonormal, dimensionless: what loops and locks leave free."""
        still = self._still(q)
        basis = still.loops.space.basis if still.loops is not None else _null(still.rows[0])
        rows = self._locked(locks, bodies.origins, bodies.twists) * self._unit
        if not len(rows) or not basis.shape[1]:
            return basis
        return basis @ _null(rows @ basis, float(np.linalg.norm(rows, axis=1).max()))

    def _still(self, q: np.ndarray) -> StillRows:
        """All loops and drivers."""
        nv = self._plan.nv
        if self._loops is not None:
            return StillRows(np.zeros((1, 0)), np.zeros((1, 0, nv)), self._loops.at(q))
        phi, J = [np.zeros((1, 0))], [np.zeros((1, 0, nv))]
        for s, block in enumerate(self._plan.substructures):
            values, slopes = host.closure(self._lane, q[:, None], s)
            wide = np.zeros((1, slopes.shape[1], nv))
            wide[:, :, list(block.columns)] = slopes
            phi.append(values)
            J.append(wide)
        return StillRows(np.concatenate(phi, axis=1), np.concatenate(J, axis=1))

    def _locked(self, locks: frozenset[str], origins: np.ndarray, twists: np.ndarray) -> np.ndarray:
        """(r, nv) rows of what is locked: of coordinates, joints that turn any way, bodies."""
        rows = [np.zeros((0, self._plan.nv))]
        for name in sorted(locks):
            if name in self._units:
                rows.append(np.eye(self._plan.nv)[[self._speed[name]]])
                continue
            body = name.removesuffix(f":{ORIGIN}")
            pair = (body, FIXED)
            if name in self._joints:
                pair = self._joints[name].child.body, self._joints[name].parent.body
            one, other = (self._bodies[path] for path in pair)
            seen = twists[one] - twists[other]
            seen[3:] -= np.cross(twists[other, :3].T, origins[one] - origins[other]).T
            rows.append(seen / np.repeat([1.0, float(self._lane.length)], 3)[:, None])
        return np.concatenate(rows)

    def _freedoms(self, q: np.ndarray, locks: frozenset[str], basis: np.ndarray) -> int:
        """How many the mechanism has with these locks: at the present pose, or at one beside it.

        What was locked, let go and locked again stands elsewhere: it is counted anew.
        """
        here = basis.shape[1]
        if locks != self._counted:
            self._counted, self._regular, self._aside = locks, here, None
            rng = np.random.default_rng(0)
            change = basis @ rng.standard_normal(here)
            aside = self._moved(q, ASIDE * change / max(float(np.linalg.norm(change)), 1e-300))
            for _ in range(CLOSINGS):
                still = self._still(aside)
                if float(still.worst[0]) <= CLOSED:
                    there = self._twists(aside)
                    self._aside = self._along(there, free := self._basis(aside, locks, there))
                    self._regular = free.shape[1]
                    break
                aside = self._moved(aside, still.restoring()[0])
        self._regular = min(here, self._regular)
        return self._regular

    def _moved(self, q: np.ndarray, change: np.ndarray) -> np.ndarray:
        """Coordinates (nq,) after a dimensionless change (nv,)."""
        return host.retract(self._plan, q[:, None], (change * self._unit)[:, None])[:, 0]

    def _last(
        self, q: np.ndarray, basis: np.ndarray, rates: dict[str, np.ndarray]
    ) -> tuple[np.ndarray | None, str]:  # fmt: skip
        """Weights of the last motion that was made, or that a hand wants of a joint, and what it is.

        Args:
            rates: name of a speed -> (f,), where each sum of columns is a motion.
        """
        way = np.array(change_between(self._plan, [*self._before], [*q]), float) / self._unit
        self._before = q
        if float(np.abs(way).max(initial=0.0)) > MOVED:
            self._way = way
        weights = basis.T @ self._way
        size, hand = float(np.linalg.norm(weights)), self.poser.present.hand
        last = weights / size if size > MOVED else None
        if hand and isinstance(goal := hand[0], JointGoal):
            row = rates.get(goal.coordinate)
            if row is not None and float(np.linalg.norm(row)) > MOVED * self._unit[self._speed[goal.coordinate]]:
                return row / (row @ row), f"of {goal.coordinate}, as it was turned last"
        return last, "of the last drag" if hand else "of the last way that it went"


def _null(rows: np.ndarray, size: float = 0.0) -> np.ndarray:
    """(n, f) orthonormal: what rows (r, n) leave free.

    Args:
        size: the largest singular value of what they are a part of.
    """
    n = rows.shape[1]
    if not len(rows):
        return np.eye(n)
    _, sizes, Vt = np.linalg.svd(rows, full_matrices=True)
    return Vt[int((sizes > DEPENDENT * max(sizes.max(initial=0.0), size, 1e-300)).sum()) :].T
