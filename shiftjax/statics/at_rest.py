"""Generalized forces of mechanisms at rest, their slopes along motions that loops allow, and masses. Host code.

At rest M a = f(q) + J^T lambda with J a = 0. About a pose the motions that loops allow are Z y, J Z = 0, and along them
the forces, those of the loops included, change by Z^T d(f + J^T lambda) Z with lambda as it is: no derivative of Z is
needed, since Z^T J^T = 0 all along (Haug, Computer Aided Kinematics, ch. 10; Nocedal, Wright, section 18.1). Speeds are
dimensionless, metres in parts of the model's length, so that all forces are in N m.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields, replace
from typing import Any

import numpy as np

import shiftjax.run.closing.host_evaluation as host
from shiftjax.algebra import Scalar, Vec, is_zero, largest
from shiftjax.constraints import CONSTRAINTS, scales
from shiftjax.dynamics.kinematics import coordinate_rates
from shiftjax.dynamics.lane import Lane
from shiftjax.dynamics.tree import composite_mass_matrix, tree_terms
from shiftjax.run.closing.closer import CLOSED, Rule, closed, least_change
from shiftjax.run.closing.host_functions import NO_TANGENTS, Bend, evaluate
from shiftjax.topology.partition import free_speeds, rank_tolerance
from shiftjax.topology.plan import Plan

LOST = 1e-9  # of the largest singular value: a rate that depends less on the states does not settle


@dataclass
class Linear:
    """Mechanisms about poses, by the motions y that loops allow.

    Attributes:
        Z: (B, nv, k) speeds of y. force: (B, k) at the pose [N m]. K, C, M: (B, k, k) of M y'' + C y' + K y = force
            where states of forces follow at once [N m, N m s, kg m^2]. size: (B,) of the forces and slopes that add up
            to these [N m]: what is 1e-9 of it is rounding. rates: (B, ns) of states, settled where they can be.
        first_order: (B, k + ns, 2 k + ns) M y'' and the rates of states by y, y' and the states.
        potential: (B,) of gravity and springs [J]. multipliers: (B, rows) lambda of every row, dimensionless.
    """

    Z: np.ndarray
    force: np.ndarray
    K: np.ndarray
    C: np.ndarray
    M: np.ndarray
    size: np.ndarray
    rates: np.ndarray
    first_order: np.ndarray
    potential: np.ndarray
    multipliers: np.ndarray

    def some(self, members: np.ndarray) -> Linear:
        """Those of some members."""
        return Linear(*(getattr(self, one.name)[members] for one in fields(self)))


@dataclass
class Change:
    """How mechanisms at rest change along one direction.

    Attributes:
        numbers: place in the plan -> (B,) of numbers of the model. motion: (B, nv) of coordinates, dimensionless
            speeds.
        states: (ns, B) of forces. multipliers: (B, rows).
    """

    numbers: Mapping[int, np.ndarray]
    motion: np.ndarray
    states: np.ndarray
    multipliers: np.ndarray


@dataclass
class AtRest:
    """Mechanisms at rest, of one plan, whose loops all have the same ranks.

    Attributes:
        lane: with the numbers of all members. ranks: of every substructure.
    """

    plan: Plan
    lane: Lane
    ranks: tuple[int, ...]

    def of(self, members: np.ndarray) -> AtRest:
        """Those of some members."""
        return replace(self, lane=self.lane.of(members))

    @property
    def units(self) -> np.ndarray:
        """(nv,) what makes speeds dimensionless."""
        return np.asarray(self.lane.units)

    @property
    def freedoms(self) -> int:
        """How many motions loops allow: k."""
        return self.plan.nv - sum(self.ranks)

    def motions(self, q: np.ndarray) -> tuple[np.ndarray, list[tuple[np.ndarray, ...]]]:
        """Z (B, nv, k) at coordinates (nq, B), and the leading singular values and vectors of every substructure."""
        free, members = free_speeds(self.plan), q.shape[1]
        Z, parts = np.zeros((members, self.plan.nv, self.freedoms)), []
        Z[:, list(free), range(len(free))] = 1.0
        first = len(free)
        for s, (block, rank) in enumerate(zip(self.plan.substructures, self.ranks, strict=True)):
            J = host.closure(self.lane, q, s)[1]
            U, sizes, Vt = np.linalg.svd(np.where(all_finite(J)[:, None, None], J, 0.0))
            parts.append((U[:, :, :rank], np.where(sizes > 0.0, sizes, np.inf)[:, :rank], Vt[:, :rank]))
            width = len(block.columns) - rank
            Z[:, list(block.columns), first : first + width] = Vt[:, rank:].transpose(0, 2, 1)
            first += width
        return Z, parts

    def forces(self, q: np.ndarray, states: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """(B, nv) forces f [N m], (B, ns) rates of their states, (B,) potential energy [J].

        Args:
            q: (nq, B) coordinates. states: (ns, B).
        """
        unit, B = self.units, q.shape[1]
        f, rates, potential = np.zeros((B, self.plan.nv)), np.zeros((B, self.plan.ns)), np.zeros(B)

        def function(valued: Lane, at: Vec) -> dict[Any, Scalar]:
            motion = valued.motion(at[: self.plan.nq], [0.0] * self.plan.nv)
            tree = tree_terms(motion, valued.gravity(), at[self.plan.nq :])
            out: dict[Any, Scalar] = {("f", k): x * float(unit[k]) for k, x in enumerate(tree.force)}
            return out | {("rate", k): x for k, x in enumerate(tree.rates)} | {"potential": tree.potential}

        def target(label: Any) -> np.ndarray:
            return potential if label == "potential" else (f if label[0] == "f" else rates)[:, label[1]]

        host.evaluate_on(self.lane, np.concatenate([q, states]), "forces at rest", function, target)
        return f, rates, potential

    def settled(self, q: np.ndarray, states: np.ndarray) -> np.ndarray:
        """(ns, B) states of forces at which their rates vanish, where these depend on them."""
        if not self.plan.ns:
            return states
        rates = self.forces(q, states)[1]
        slopes = self._rate_slopes(q, states)
        return states - (_inverse(slopes) @ rates[:, :, None])[:, :, 0].T

    def balance(self, q: np.ndarray, states: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Z (B, nv, k), and the forces along its motions (B, k) [N m]."""
        Z, _ = self.motions(q)
        return Z, along(Z, self.forces(q, states)[0])

    def linear(self, q: np.ndarray, states: np.ndarray) -> Linear:
        """About coordinates (nq, B) with states of forces (ns, B) that have settled."""
        return self.about(q, states)[0]

    def about(self, q: np.ndarray, states: np.ndarray) -> tuple[Linear, list[tuple[np.ndarray, ...]]]:
        """`linear`, and what `motions` says of the substructures."""
        plan, unit, B, k = self.plan, self.units, q.shape[1], self.freedoms
        f, rates, potential = self.forces(q, states)
        Z, parts = self.motions(q)
        multipliers = self.borne(parts, f)
        n, ns = 2 * k, plan.ns
        slope, rate_slope = np.zeros((B, plan.nv, n + ns)), np.zeros((B, ns, n + ns))  # by y, y' and states
        for j in range(k):
            speeds = Z[:, :, j].T * unit[:, None]
            for column, way in ((j, {"q": speeds}), (k + j, {"v": speeds})):
                slope[:, :, column], rate_slope[:, :, column] = self.slopes(q, states, multipliers, way)
        for j in range(ns):
            way = {"states": _unit(ns, j, B)}
            slope[:, :, n + j], rate_slope[:, :, n + j] = self.slopes(q, states, multipliers, way)
        whole = np.concatenate([Z.transpose(0, 2, 1) @ slope, rate_slope], axis=1)
        following = whole[:, :k, :n]
        if ns:
            following = following - whole[:, :k, n:] @ _inverse(whole[:, k:, n:]) @ whole[:, k:, :n]
        size = np.maximum(np.abs(f).max(1, initial=0.0), np.abs(slope[:, :, :k]).max((1, 2), initial=0.0))
        M = Z.transpose(0, 2, 1) @ self.masses(q) @ Z
        K, C = -following[:, :, :k], -following[:, :, k:]
        return Linear(Z, along(Z, f), K, C, M, size, rates, whole, potential, multipliers), parts

    def borne(self, parts: Sequence[tuple[np.ndarray, ...]], f: np.ndarray) -> np.ndarray:
        """(B, rows) lambda of every row, with which loops bear forces f (B, nv); parts as of `motions`."""
        borne = []
        for block, (U, sizes, Vt) in zip(self.plan.substructures, parts, strict=True):
            carried = (Vt @ f[:, list(block.columns), None])[:, :, 0] / sizes
            borne.append(-(U @ carried[:, :, None])[:, :, 0])
        return np.concatenate(borne, axis=1) if borne else np.zeros((len(f), 0))

    def masses(self, q: np.ndarray) -> np.ndarray:
        """(B, nv, nv) of the mechanism cut open [kg m^2]."""
        H = np.zeros((q.shape[1], self.plan.nv, self.plan.nv))
        host.evaluate_on(self.lane, q, "masses", self._masses, lambda place: H[:, place[0], place[1]])
        return H

    def _masses(self, valued: Lane, at: Vec) -> dict[tuple[int, int], Scalar]:
        unit = self.units
        columns = composite_mass_matrix(valued.motion(at, None))
        return {(i, j): x * float(unit[i] * unit[j]) for i, column in enumerate(columns) for j, x in column.items()}

    def led(self, q: np.ndarray) -> np.ndarray:
        """(constraints, B) whether they lead their joints in time where these stand still."""
        plan, out = self.plan, np.zeros((len(self.plan.constraints), q.shape[1]))

        def function(valued: Lane, at: Vec) -> dict[Any, Scalar]:
            motion, sizes = valued.motion(at, [0.0] * plan.nv), {}
            for k, group in enumerate(plan.constraints):
                if group.time_dependent:
                    rows = CONSTRAINTS[group.kind].rows(group, motion)
                    sizes[k] = largest([abs(x) for x in (*rows.nu, *rows.gamma)])
            return sizes

        if plan.time_dependent:
            host.evaluate_on(self.lane, q, "led", function, lambda k: out[k])
        return out != 0.0

    def closed(self, q: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Coordinates (nq, B) with the loops closed by the least change, and (B,) whether they are."""
        good = np.ones(q.shape[1], bool)
        for s in range(len(self.plan.substructures)):
            loops = host.Loops(self.plan, self.lane, s)
            there = closed(loops, q, least_change((), None), loops.cap, Rule())
            q, good = there.q, good & (there.size < CLOSED)
        return q, good

    def moved(self, q: np.ndarray, change: np.ndarray) -> np.ndarray:
        """Coordinates (nq, B) after a dimensionless change (B, nv)."""
        return host.retract(self.plan, q, change.T * self.units[:, None])

    def shifted(
        self, parts: Sequence[tuple[np.ndarray, ...]], q: np.ndarray, numbers: Mapping[int, np.ndarray]
    ) -> np.ndarray:
        """(B, nv) the least motion by which loops stay closed while numbers of the model change.

        Args:
            parts: as of `motions` at coordinates q (nq, B). numbers: place in the plan -> (B,) tangents.
        """
        out = np.zeros((q.shape[1], self.plan.nv))
        for s, (block, (U, sizes, Vt)) in enumerate(zip(self.plan.substructures, parts, strict=True)):
            phi = host.closure_slopes(self.lane, q, s, {self.plan.nq + place: x for place, x in numbers.items()})[0]
            carried = (U.transpose(0, 2, 1) @ phi[:, :, None])[:, :, 0] / sizes
            out[:, list(block.columns)] = -(Vt.transpose(0, 2, 1) @ carried[:, :, None])[:, :, 0]
        return out

    def coordinate_rates(
        self, q: np.ndarray, v: np.ndarray, change: Mapping[int, np.ndarray] = NO_TANGENTS
    ) -> np.ndarray:
        """(nq, B) of coordinates at speeds (nv, B); with changes (B,) of coordinates, by number, how they change."""
        plan, out = self.plan, np.zeros_like(q)

        def rates(values: Vec) -> dict[int, Scalar]:
            return dict(enumerate(coordinate_rates(plan, values[: plan.nq], values[plan.nq :])))

        evaluate([*q, *v], "coordinate rates", (plan,), rates, lambda row: out[row], change)
        return out

    def mass_slopes(self, q: np.ndarray, change: Change) -> np.ndarray:
        """(B, nv, nv) how `masses` change."""
        out = np.zeros((q.shape[1], self.plan.nv, self.plan.nv))
        host.evaluate_on(
            self.lane, q, "masses", self._masses, lambda place: out[:, place[0], place[1]], self._tangents(q, change)
        )
        return out

    def closure_slopes(self, q: np.ndarray, s: int, change: Change) -> np.ndarray:
        """(B, m, n) how the Jacobian of a substructure changes."""
        return host.closure_slopes(self.lane, q, s, self._tangents(q, change))[1]

    def potential_slopes(self, q: np.ndarray, states: np.ndarray, change: Change) -> np.ndarray:
        """(B,) how the potential energy changes."""
        out, plan = np.zeros(q.shape[1]), self.plan

        def function(valued: Lane, at: Vec) -> dict[str, Scalar]:
            motion = valued.motion(at[: plan.nq], [0.0] * plan.nv)
            return {"potential": tree_terms(motion, valued.gravity(), at[plan.nq :]).potential}

        rates = self.coordinate_rates(q, change.motion.T * self.units[:, None])
        tangents = dict(enumerate([*rates, *change.states]))
        tangents |= {plan.nq + plan.ns + place: row for place, row in change.numbers.items()}
        host.evaluate_on(self.lane, np.concatenate([q, states]), "potential", function, lambda _: out, tangents)
        return out

    def _tangents(self, q: np.ndarray, change: Change) -> dict[int, np.ndarray]:
        """Those of functions of coordinates alone."""
        rates = self.coordinate_rates(q, change.motion.T * self.units[:, None])
        return dict(enumerate(rates)) | {self.plan.nq + place: row for place, row in change.numbers.items()}

    def _rate_slopes(self, q: np.ndarray, states: np.ndarray) -> np.ndarray:
        """(B, ns, ns) of rates of states by states."""
        B, ns = q.shape[1], self.plan.ns
        none, out = np.zeros((B, self.plan.rows)), np.zeros((B, ns, ns))
        for j in range(ns):
            out[:, :, j] = self.slopes(q, states, none, {"states": _unit(ns, j, B)})[1]
        return out

    def slopes(
        self,
        q: np.ndarray,
        states: np.ndarray,
        multipliers: np.ndarray,
        way: Mapping[str, np.ndarray],
        numbers: Mapping[int, np.ndarray] = NO_TANGENTS,
        change: Change | None = None,
    ) -> tuple[np.ndarray, np.ndarray]:
        """How f + J^T lambda (B, nv) and rates of states (B, ns) change along a direction, or how these changes do.

        Args:
            multipliers: (B, rows) lambda. way: "q" speeds (nv, B) with which coordinates move, "v" changes of speeds
                (nv, B), "states" (ns, B). numbers: place in the plan -> (B,) tangents of numbers of the model, which
                are arrays in the lane. The rest is still.
            change: along which the changes are to be differentiated, while `way` stays as it is.
        """
        plan, unit, B = self.plan, self.units, q.shape[1]
        whole = {"q": q, "v": np.zeros((plan.nv, B)), "states": states, "lambda": multipliers.T}
        places, first = {}, 0
        for name, rows in whole.items():
            places[name] = slice(first, first := first + len(rows))
        moved = {name: self.coordinate_rates(q, rows) if name == "q" else rows for name, rows in way.items()}
        tangents = {places[name].start + k: row for name, rows in moved.items() for k, row in enumerate(rows)}
        tangents |= {first + place: row for place, row in numbers.items()}
        bend = None if change is None else self._bend(q, way, change, places, first)
        g, rates = np.zeros((B, plan.nv)), np.zeros((B, plan.ns))

        def function(valued: Lane, at: Vec) -> dict[Any, Scalar]:
            motion = valued.motion(at[places["q"]], at[places["v"]])
            tree = tree_terms(motion, valued.gravity(), at[places["states"]])
            total, multiplier = list(tree.force), iter(at[places["lambda"]])
            for s in range(len(plan.substructures)):
                rows = valued.rows(motion, s)
                for line, size in zip(rows.J, scales(rows.unit, valued.length), strict=True):
                    push = next(multiplier) * (1.0 / size)
                    for speed, entry in line.items():
                        total[speed] += push * entry if not is_zero(entry) else 0.0
            out: dict[Any, Scalar] = {("g", k): x * float(unit[k]) for k, x in enumerate(total)}
            return out | {("rate", k): x for k, x in enumerate(tree.rates)}

        host.evaluate_on(
            self.lane, np.concatenate(list(whole.values())), ("slopes at rest", *way), function,
            lambda label: (g if label[0] == "g" else rates)[:, label[1]], tangents, bend,
        )  # fmt: skip
        return g, rates

    def _bend(
        self, q: np.ndarray, way: Mapping[str, np.ndarray], change: Change, places: Mapping[str, slice], numbers: int
    ) -> Bend:
        """A change as a second direction of `slopes`, whose values stand at places, numbers of the model behind."""
        rates = self.coordinate_rates(q, change.motion.T * self.units[:, None])
        parts = {"q": rates, "states": change.states, "lambda": change.multipliers.T}
        values = {places[name].start + k: row for name, rows in parts.items() for k, row in enumerate(rows)}
        values |= {numbers + place: row for place, row in change.numbers.items()}
        turned = self.coordinate_rates(q, way["q"], dict(enumerate(rates))) if "q" in way else ()
        return Bend(values, {places["q"].start + k: row for k, row in enumerate(turned)})


def ranks_at(plan: Plan, lane: Lane, q: np.ndarray) -> np.ndarray:
    """(B, S) ranks of the substructures at coordinates (nq, B)."""
    out = np.zeros((q.shape[1], len(plan.substructures)), int)
    for s, block in enumerate(plan.substructures):
        J = host.closure(lane, q, s)[1]
        sizes = np.linalg.svd(np.where(all_finite(J)[:, None, None], J, 0.0), compute_uv=False)
        if sizes.shape[1]:
            out[:, s] = (sizes > rank_tolerance(block) * sizes[:, :1]).sum(1)
    return out


def along(Z: np.ndarray, f: np.ndarray) -> np.ndarray:
    """(B, k) parts of vectors (B, nv) along columns of Z (B, nv, k)."""
    return (Z.transpose(0, 2, 1) @ f[:, :, None])[:, :, 0]


def all_finite(matrices: np.ndarray) -> np.ndarray:
    """(B,) whether all entries of matrices (B, m, n) are."""
    return np.asarray(np.isfinite(matrices).all((1, 2)))


def _inverse(slopes: np.ndarray) -> np.ndarray:
    """(B, ns, ns) of the slopes of rates by states, none along states on which no rate depends."""
    return np.linalg.pinv(np.where(all_finite(slopes)[:, None, None], slopes, 0.0), rcond=LOST)


def _unit(count: int, place: int, members: int) -> np.ndarray:
    """(count, B) one at a place."""
    out = np.zeros((count, members))
    out[place] = 1.0
    return out
