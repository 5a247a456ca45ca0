"""`singularities`: where on a path of drivers the loops lose rank, and how they go on there. Host code.

Problem: J(q(u)) with the rows of the drivers is square on its primary rows; its determinant vanishes where the path
meets another one, and at the end of a travel. A change of sign between two poses is led back to the zero of the
polynomial through determinants around it, which are good to rounding, unlike poses next to the zero. There, with w J
= 0, z of the null space of the loops alone obeys w . J'(z) z = 0, a quadratic form: its two directions are the
tangents of the curves that cross (Wohlhart, Degrees of shakiness, Mech. Mach. Theory 34 (1999) 1103; Allgower, Georg,
Numerical Continuation Methods, section 8.1).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from scipy.interpolate import BarycentricInterpolator
from scipy.optimize import brentq

import shiftjax.run.closing.host_evaluation as host
from shiftjax.constraints import CoordinateFunction
from shiftjax.dynamics.lane import Lane
from shiftjax.errors import ModelError
from shiftjax.formats.files import load
from shiftjax.kinematics.crossing_slopes import DesignDirections, MeetingPlace
from shiftjax.kinematics.paths.follow import follow
from shiftjax.kinematics.paths.inputs import inputs_of
from shiftjax.kinematics.ranges.travel import travel
from shiftjax.mechanism.model import Model
from shiftjax.outcome import Outcome
from shiftjax.record import record
from shiftjax.run.closing.closer import Rule, closed, least_change
from shiftjax.run.options import options_of
from shiftjax.run.start.prepare import prepare
from shiftjax.run.start.prepared import Prepared
from shiftjax.topology.partition import blocks_of, complete_pivoting, rank_tolerance

AROUND = 8  # poses about a zero through which a polynomial goes
WIDTH = 0.5, 0.05  # of the interval of two poses, and of its parameter, whichever is less, on either side of a zero
BEND = 1e-4  # by which the Jacobian is differenced, dimensionless
SHARP = 1e-6  # of the largest entry of a quadratic form: a smaller discriminant is none
SMALL = 1e-6  # of the largest singular value
ZERO = 1e-9  # the same, of poses of a path that are singular to rounding


@record
class Singularity:
    """A pose at which loops lose rank.

    Attributes:
        kind: "crossing": two curves of poses meet, both in `tangents`; "isolated": no other curve goes through; "cusp":
            the curves touch; "degenerate": more meet, and its place is good to 1e-6 alone; "end": of the travel, beyond
            which the loops do not close.
        parameter: of the path. inputs: driven coordinate -> its place [rad or m]. q: coordinate -> its place; empty at
            an end. tangents: each coordinate -> its speed, the first one along the path, of unit length, dimensionless.
        loops: chords of the substructure that loses rank.
        slopes: number, or direction of numbers, -> slope of the parameter, where they were asked for. NaN where the
            number takes the pose away, nothing says where it goes, or several drivers lead to an end. removed_by: names
            of those that take it away: curves that crossed only come near to each other then.
    """

    kind: str
    parameter: float
    inputs: Mapping[str, float]
    q: Mapping[str, float]
    tangents: tuple[Mapping[str, float], ...]
    loops: tuple[str, ...]
    slopes: Mapping[str, float]
    removed_by: tuple[str, ...]


def singularities(
    model: Model | str,
    drive: Mapping[str, Any],
    *,
    slopes: Sequence[str] | Mapping[str, Mapping[str, float]] = (),
    assign: Mapping[str, float | str] | None = None,
    tie: Mapping[str, CoordinateFunction | str] | None = None,
) -> tuple[Singularity, ...]:
    """Where on a path of drivers the loops lose rank, in the order of the path.

    Args:
        model: a Model, a library name or a path; it needs no masses.
        drive: driven coordinate -> its places along the path, (n,) [rad or m], as of `follow`; between two of them at
            most one pose is singular.
        slopes: paths of numbers by which the parameters of the poses are to have slopes; or name -> number -> its
            share, of numbers that go together, as lengths that keep a parallelogram one.
        assign, tie: as those of `simulate`.

    Returns:
        crossings and cusps, to some 1e-12 of the parameter, and the end of the travel, if the path goes so far: of one
        driver to 1e-10, of several the last pose of the path that is there.

    Raises:
        ModelError: anything that `follow` refuses; a path that cannot be followed; slopes by what is
            no number of the model.
    """
    model = model if isinstance(model, Model) else load(model)
    path = _Followed.of(model, drive, assign, tie)
    path.directions = DesignDirections(path.prepared.model, slopes)
    poses: list[tuple[float, Singularity]] = []
    for s, block in enumerate(path.prepared.plan.substructures):
        if any(path.prepared.plan.constraints[k].prescribes for k in block.groups):
            for k, system in path.changes(s):
                if (one := path.between(system, k)) is not None:
                    poses.append((k, one))
    return (*(one for _, one in sorted(poses, key=lambda pair: pair[0])), *path.end())


@dataclass(frozen=True)
class _System:
    """Rows and columns of a substructure that make its Jacobian square at a regular pose.

    Attributes:
        driving: which of the rows are of drivers.
    """

    index: int
    rows: list[int]
    columns: list[int]
    driving: list[int]


@dataclass
class _Followed:
    """A path that was followed.

    Attributes:
        q: (nq, n) coordinates at its poses; parameter: (n,) of them, and places of drivers: coordinate -> (n,).
        directions: of the numbers by which slopes are wanted.
    """

    model: Model
    assign: Mapping[str, float | str] | None
    tie: Mapping[str, CoordinateFunction | str] | None
    prepared: Prepared
    status: int
    q: np.ndarray
    parameter: np.ndarray
    places: dict[str, np.ndarray]
    directions: DesignDirections | None = None

    @classmethod
    def of(cls, model: Model, drive: Mapping[str, Any], assign: Any, tie: Any) -> _Followed:
        inputs = inputs_of(model, drive, None)
        if any(len(places) > 1 for places in inputs.places.values()):
            raise ModelError("drive", "places of several members", "one path, (n,)", "Call it for each.")
        every = [f"{path}.q" for path, joint in model.joints() if joint.type != "rigid"]
        result = follow(model, drive, channels=every, assign=assign, tie=tie)
        if result.status in (Outcome.not_assembled, Outcome.non_finite):
            raise ModelError("drive", result.messages[0], "a path that begins where the loops close", "Correct it.")
        prepared = prepare(result.model, {}, options_of(tie=tie))
        at = {joint.path: slice(joint.q, joint.q + joint.nq) for joint in prepared.plan.joints}
        q = np.full((prepared.plan.nq, inputs.count), np.nan)
        for path, values in result.channels.items():
            q[at[model.resolve(path[:-2])]] = values.reshape(len(values), -1).T
        known = np.isfinite(q).all(0)
        places = {path: values[0, known] for path, values in inputs.places.items()}
        return cls(model, assign, tie, prepared, int(result.status), q[:, known], inputs.parameter[known], places)

    @cached_property
    def lane(self) -> Lane:
        """With the numbers of the model as it was given, those that are assigned among them."""
        return self.prepared.with_numbers(self.prepared.own_numbers)

    def jacobians(self, s: int, q: np.ndarray) -> np.ndarray:
        """(n, m, k) of a substructure, dimensionless, at coordinates (nq, n)."""
        return host.closure(self.lane, q, s)[1]

    def changes(self, s: int) -> Iterator[tuple[int, _System]]:
        """Poses k between which and the next one a determinant of a substructure vanishes, with its system.

        Its rows and columns are those of complete pivoting at the more regular end: others may become dependent at
        poses at which the loops are regular.
        """
        plan, block = self.prepared.plan, self.prepared.plan.substructures[s]
        J = self.jacobians(s, self.q)
        pivots = complete_pivoting(J, rank_tolerance(block))
        blocks, rank = blocks_of(pivots, block), int(pivots.rank.max())
        sizes = np.linalg.svd(J, compute_uv=False)
        regular = sizes[:, rank - 1] / sizes[:, 0]
        groups = [plan.constraints[k] for k in block.groups for _ in range(plan.constraints[k].rows)]
        for k in range(len(J) - 1):
            which = blocks.blocks[blocks.which[k + int(regular[k + 1] > regular[k])]]
            rows, columns = sorted(which.primary), [block.columns.index(speed) for speed in sorted(which.dependent)]
            before, after = np.sign(np.linalg.det(J[k : k + 2][:, rows][:, :, columns])) * (regular[k : k + 2] > ZERO)
            if before * after <= 0.0 and (before != 0.0 or k == 0):
                yield k, _System(s, rows, columns, [i for i, row in enumerate(rows) if groups[row].prescribes])

    def square(self, system: _System, q: np.ndarray) -> np.ndarray:
        """(n, r, r) of a system, dimensionless, at coordinates (nq, n)."""
        return self.jacobians(system.index, q)[:, system.rows][:, :, system.columns]

    def between(self, system: _System, k: int) -> Singularity | None:
        """The singular pose between poses k and k + 1; None where other rows are regular at the zero of these."""
        s, first, last = system.index, self.parameter[k], self.parameter[k + 1]
        share = self._bracketed(system, k)
        width = min(WIDTH[0], WIDTH[1] / max(abs(last - first), 1e-12))
        nodes = share + width * np.cos(np.pi * (np.arange(AROUND) + 0.5) / AROUND)
        poses = self._poses(s, k, nodes)
        through = BarycentricInterpolator(nodes, np.linalg.det(self.square(system, poses)))
        if through(nodes.min()) * through(nodes.max()) > 0.0:
            return None
        share = _root(lambda x: float(through(x)), (nodes.min(), nodes.max()), 1e-15)
        curve = BarycentricInterpolator(nodes, poses, axis=1)
        q = np.asarray(curve(share))
        sizes = np.linalg.svd(self.jacobians(s, q[:, None])[0], compute_uv=False)
        if sizes[len(system.rows) - 1] > SMALL * sizes[0]:
            return None
        kind, tangents = self._curves(system, q, np.asarray(curve(share + 1e-3 * width)) - q)
        plan = self.prepared.plan
        groups = [plan.constraints[g] for g in plan.substructures[s].groups]
        inputs = {path: float(x[k] + share * (x[k + 1] - x[k])) for path, x in self.places.items()}
        coordinates = {one.path: float(q[one.q]) for one in plan.coordinates if one.nq == 1}
        chords = tuple(group.name for group in groups if group.loop)
        slopes, removed = self._slopes(system, k, q, inputs)
        parameter = float(first + share * (last - first))
        return Singularity(kind, parameter, inputs, coordinates, tangents, chords, slopes, removed)

    def _slopes(
        self, system: _System, k: int, q: np.ndarray, inputs: Mapping[str, float]
    ) -> tuple[Mapping[str, float], tuple[str, ...]]:
        """How the parameter of a singular pose (nq,) between poses k and k + 1 goes with numbers, and which take it
        away."""
        if self.directions is None or not self.directions.paths:
            return {}, ()
        step = float(self.parameter[k + 1] - self.parameter[k])
        lines = {path: (inputs[path], float(x[k + 1] - x[k]) / step) for path, x in self.places.items()}
        place = MeetingPlace(system.index, tuple(system.rows), q, lines)
        return self.directions.of_place(place, self.tie)

    def _bracketed(self, system: _System, k: int) -> float:
        """Where the determinant changes its sign between two poses, to 1e-6 of the way, or the end where it is zero."""

        def determinant(share: float) -> float:
            return float(np.linalg.det(self.square(system, self._poses(system.index, k, np.array([share]))))[0])

        ends = determinant(0.0), determinant(1.0)
        if ends[0] * ends[1] > 0.0:
            return float(abs(ends[1]) < abs(ends[0]))
        return _root(determinant, (0.0, 1.0), 1e-6)

    def _poses(self, s: int, k: int, shares: np.ndarray) -> np.ndarray:
        """(nq, K) poses at shares of the way from pose k to the next one, on the branch of those about them."""
        plan, lane, n = self.prepared.plan, self.lane, self.q.shape[1]
        near = slice(max(0, k - 2), min(n, k + 4))
        guess = BarycentricInterpolator(np.arange(n)[near] - k, self.q[:, near], axis=1)(shares)
        columns = plan.substructures[s].columns
        groups = [plan.constraints[g] for g in plan.substructures[s].groups]
        led = [plan.coordinates[group.coordinates[0]] for group in groups if group.prescribes]
        for one in led:
            places = self.places[one.path]
            guess[one.q] = places[k] + shares * (places[k + 1] - places[k])
        rows = np.flatnonzero([not group.prescribes for group in groups for _ in range(group.rows)])
        loops = host.Loops(plan, lane, s, rows)
        still = [columns.index(one.v) for one in led]
        return closed(loops, np.asarray(guess), least_change(still, None), loops.cap, Rule()).q

    def _curves(self, system: _System, q: np.ndarray, ahead: np.ndarray) -> tuple[str, tuple[dict[str, float], ...]]:
        """What kind of pose it is, and the tangents of the curves through it, that of the path first."""
        s, plan, at = system.index, self.prepared.plan, q[:, None]
        loops, columns = host.Loops(plan, self.lane, s), plan.substructures[s].columns
        J = self.square(system, at)[0]
        w = np.linalg.svd(J)[0][:, -1]
        along = self._speeds(s, ahead)[system.columns]
        direction = J[system.driving] @ along
        direction /= np.linalg.norm(direction)
        across = np.eye(len(direction)) - np.outer(direction, direction)
        rows = np.vstack([np.delete(J, system.driving, axis=0), across @ J[system.driving]])
        _, sizes, right = np.linalg.svd(rows)
        null = right[int((sizes > SMALL * sizes[0]).sum()) :]
        if len(null) != 2:  # more meet than two
            return "degenerate", ()
        form = np.zeros((2, 2))
        for i, z in enumerate(null):
            change = np.zeros((1, len(columns)))
            change[0, system.columns] = BEND * z
            high, low = (loops.moved(at, sign * change) for sign in (1.0, -1.0))
            bend = (self.square(system, high) - self.square(system, low))[0] / (2.0 * BEND)
            form[i] = w @ bend @ null.T
        kind, directions = _zeros(0.5 * (form + form.T))
        tangents = [z @ null for z in directions]
        tangents.sort(key=lambda z: -abs(z @ along) / np.linalg.norm(z))
        names, out = plan.speed_names(), list[dict[str, float]]()
        for z in tangents:
            z = z * (1.0 if direction @ (J[system.driving] @ z) >= 0.0 else -1.0) / np.linalg.norm(z)
            out.append({names[columns[i]]: float(x) for i, x in zip(system.columns, z, strict=True)})
        return kind, tuple(out)

    def _speeds(self, s: int, change: np.ndarray) -> np.ndarray:
        """(k,) a change of plain coordinates (nq,) as speeds of a substructure, dimensionless."""
        plan, units = self.prepared.plan, self.lane.units
        speeds = np.zeros(plan.nv)
        for one in plan.coordinates:
            if one.nq == 1:
                speeds[one.v] = change[one.q] / units[one.v]
        return speeds[list(plan.substructures[s].columns)]

    def end(self) -> tuple[Singularity, ...]:
        """The end of the travel, where the path goes beyond: of one driver exactly, of several the last pose before."""
        if self.status not in (Outcome.locked, Outcome.singular_pose):
            return ()
        if self.status != Outcome.locked or len(self.places) != 1:
            inputs = {path: float(places[-1]) for path, places in self.places.items()}
            none = dict.fromkeys(self.directions.directions if self.directions else (), float("nan"))
            return (Singularity("end", float(self.parameter[-1]), inputs, {}, (), (), none, ()),)
        ((path, places),) = self.places.items()
        reach = travel(self.model, path, assign=self.assign, tie=self.tie, together=True)
        high = bool(places[-1] >= places[0])
        place, slopes = float(reach.high if high else reach.low), dict[str, float]()
        if self.directions is not None and self.directions.paths:
            slopes = self.directions.of_end(path, high=high, model=self.model, assign=self.assign, tie=self.tie)
        return (Singularity("end", place, {path: place}, {}, (), (), slopes, ()),)


def _root(function: Callable[[float], float], between: tuple[float, float], within: float) -> float:
    """Where a function vanishes that changes its sign, by Brent's method."""
    root: Any = brentq(function, *between, xtol=within)
    return float(root)


def _zeros(form: np.ndarray) -> tuple[str, list[np.ndarray]]:
    """What a quadratic form of two variables vanishes on: two directions, one, or none."""
    size = np.abs(form).max()
    (a, b), (_, c) = form / max(size, 1e-300)
    if (inside := b * b - a * c) < -SHARP:
        return "isolated", []
    if inside < SHARP:
        values, vectors = np.linalg.eigh(form)
        return "cusp", [vectors[:, int(np.argmin(np.abs(values)))]]
    root = np.sqrt(inside)
    # a x^2 + 2 b x y + c y^2 = 0: of the two forms of each root the one without cancellation
    q = -(b + np.copysign(root, b))
    return "crossing", [np.array([q, a]), np.array([c, q])]
