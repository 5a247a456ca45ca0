"""All real assemblies of one substructure, with certificates and names. Host code."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass

import numpy as np

from shiftjax.errors import ModelError
from shiftjax.kinematics.branches.certificate import Certificate, certified
from shiftjax.kinematics.branches.groups import in_its_space
from shiftjax.kinematics.branches.of_plan import reason_against, tie_of
from shiftjax.kinematics.branches.roots import all_roots, too_large
from shiftjax.kinematics.branches.skeleton import reduced
from shiftjax.mechanism.paths import listed
from shiftjax.run.closing.closer import CLOSED, Rule, closed, least_change
from shiftjax.run.closing.holding import columns_of
from shiftjax.run.closing.host_evaluation import Loops, StartLane
from shiftjax.run.start.branches import blocks_of_signs, signs, spread_poses
from shiftjax.topology.partition import RANK
from shiftjax.topology.plan import Plan

REAL = 1e-6  # imaginary part of the values of a real root
SAME = 1e-6  # of coordinates of one pose: sines, lengths
SEARCHED = 200  # poses from which assemblies are sought where closures are no such system


@dataclass
class PartAssemblies:
    """Of B designs, A assemblies of one substructure; those of one design next to each other.

    Attributes:
        rows: coordinates that it has. q: (rows, A); member, h, radius, alone, margin, residual, names: (A,).
        total, lost: (B,) all poses, complex ones, too; paths without one. lacking, sources: as of `Roots`.
    """

    rows: list[int]
    q: np.ndarray
    member: np.ndarray
    h: np.ndarray
    radius: np.ndarray
    alone: np.ndarray
    margin: np.ndarray
    residual: np.ndarray
    names: np.ndarray
    total: np.ndarray
    lost: np.ndarray
    lacking: tuple[str, ...]
    sources: tuple[str, ...]


def part_of(plan: Plan, lane: StartLane, index: int, q: np.ndarray, fixed: Collection[int]) -> PartAssemblies | None:
    """The assemblies of a substructure whose coordinates `fixed` stand as in q (nq, B); None where all do."""
    here = plan.coordinates_in(index)
    free = [k for k in here if k not in fixed]
    if not free:
        return None
    system = _TiedJoints(plan, lane, index, q, [k for k in here if k in fixed], free)
    return system.solved()


@dataclass
class _TiedJoints:
    plan: Plan
    lane: StartLane
    index: int
    q: np.ndarray
    fixed: list[int]
    free: list[int]

    def solved(self) -> PartAssemblies:
        """By roots where closures are a square system of polynomials, else by search."""
        against = reason_against(self.plan, self.index, self.fixed)
        if against:
            return self._searched(against)
        tie = tie_of(self.plan, self.lane, self.index, self.q.shape[1])
        everyone = np.arange(self.q.shape[1])
        X = tie.values(self.plan, self.q, everyone)
        places = [tie.coordinates.index(k) for k in self.free]
        part, numbers = reduced(tie.skeleton, tie.numbers, X, places, range(len(tie.skeleton.closures)))
        skeleton, numbers = in_its_space(part, numbers)
        columns = skeleton.first_column[-1]
        if columns > skeleton.rows:
            self._refuse_freedoms(columns - skeleton.rows)
        if columns < skeleton.rows:
            return self._searched(
                f"{skeleton.rows} equations of {columns} unknowns, of which only some depend on others"
            )
        if large := too_large(skeleton):
            return self._searched(large)
        roots = all_roots(skeleton, numbers)
        real = np.abs(np.imag(roots.X)).max(1, initial=0.0) < REAL
        member = roots.member[real]
        values = X[member]
        at = [i for k in places for i in range(tie.skeleton.first_value[k], tie.skeleton.first_value[k + 1])]
        values[:, at] = roots.X[real]
        q = tie.coordinates_at(self.plan, np.real(values), self.q[:, member], member)
        q, residual, J = self._polished(q, member)
        closes = residual <= CLOSED
        again = np.real(tie.values(self.plan, q, member)[:, at])
        sure = certified(skeleton, numbers.of(member), again)
        lacking = roots.lacking if closes.all() else (*roots.lacking, "the model's closures are open at some roots")
        order = self._apart(q, member, np.flatnonzero(closes), sure)
        repeated = np.delete(member, np.concatenate([order, np.flatnonzero(~closes)]))
        total = np.bincount(roots.member, minlength=len(everyone)) - np.bincount(repeated, minlength=len(everyone))
        return self._part(
            q[:, order],
            member[order],
            residual[order],
            J[order],
            sure.of(order),
            total,
            roots.lost,
            lacking,
            roots.sources,
        )

    def _refuse_freedoms(self, count: int) -> None:
        paths = [self.plan.coordinates[k].path for k in self.free]
        fault = f"inputs that leave {count} freedom{'s' * (count > 1)} among {listed(paths)}"
        todo = f"Name {count} of them in `at`, or drive them; a rod between two balls needs a universal joint for one."
        raise ModelError("at", fault, "as many inputs as freedoms", todo)

    def _loops(self, member: np.ndarray) -> tuple[Loops, list[int], list[int]]:
        """Closures of assemblies, columns that stay and those that do not."""
        columns = self.plan.substructures[self.index].columns
        still = columns_of(self.plan, self.index, self.fixed)
        loops = Loops(self.plan, self.lane, self.index, self._closing_rows())
        return loops.of(member), still, [k for k in range(len(columns)) if k not in still]  # type: ignore[return-value]

    def _closing_rows(self) -> np.ndarray:
        """Rows of constraints other than the drivers of what stands."""
        groups = [self.plan.constraints[k] for k in self.plan.substructures[self.index].groups]
        closing = [not (group.coordinates and set(group.coordinates) <= {*self.fixed}) for group in groups]
        return np.flatnonzero(np.repeat(closing, [group.rows for group in groups]))

    def _polished(self, q: np.ndarray, member: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Coordinates (nq, A) moved to rounding, the residual (A,), the Jacobian of what is free (A, rows, columns)."""
        loops, still, moving = self._loops(member)
        if not q.shape[1]:
            return q, np.zeros(0), np.zeros((0, 1, len(moving)))
        pose = closed(loops, q, least_change(still, None), loops.cap, Rule())
        return pose.q, pose.size, loops.at(pose.q)[1][:, :, moving]

    def _searched(self, why: str) -> PartAssemblies:
        """Assemblies that spread poses come to: there may be others."""
        B = self.q.shape[1]
        members = np.arange(B)
        loops, still, _ = self._loops(members)
        poses, designs = [self.q[:, :0]], [members[:0]]
        rows = [row for k in self.free for row in range(self.plan.nq)[self.plan.coordinates[k].places]]
        for spread in spread_poses(self.plan, self.q[:, 0], self.free, self.lane.length, SEARCHED):
            pose = self.q.copy()
            pose[rows] = spread[rows, None]
            there = closed(loops, pose, least_change(still, None), loops.cap, Rule())
            good = there.size <= CLOSED
            poses.append(there.q[:, good])
            designs.append(members[good])
        q, member = np.concatenate(poses, axis=1), np.concatenate(designs)
        order = self._first_of_each(q, member)
        q, member = q[:, order], member[order]
        q, residual, J = self._polished(q, member)
        if len(member) and (ranks := np.linalg.matrix_rank(J, tol=RANK)).max() < J.shape[2]:
            self._refuse_freedoms(J.shape[2] - int(ranks.max()))
        nothing = np.full(len(member), np.nan)
        sure = Certificate(nothing, nothing, nothing)
        lacking = (f"sought from {SEARCHED} poses, since {why}",)
        counts = np.bincount(member, minlength=B)
        return self._part(q, member, residual, J, sure, counts, np.zeros(B, int), lacking, ())

    def _apart(self, q: np.ndarray, member: np.ndarray, order: np.ndarray, sure: Certificate) -> np.ndarray:
        """Assemblies but for repeated ones of double roots, which have no certificate."""
        doubtful = np.flatnonzero(~sure.good[order])
        first = order[doubtful][self._first_of_each(q[:, order[doubtful]], member[order[doubtful]])]
        return np.sort(np.concatenate([np.delete(order, doubtful), first])).astype(int)

    def _first_of_each(self, q: np.ndarray, member: np.ndarray) -> np.ndarray:
        """Assemblies of which none is another one of the same design."""
        lines = []
        for k in self.free:
            one = self.plan.coordinates[k]
            if one.plain and one.unit == "rad":
                lines += [np.cos(q[one.q]), np.sin(q[one.q])]
            elif one.plain:
                lines.append(q[one.q] / self.lane.length)
            else:
                lines += [np.abs(row) for row in q[one.places]]
        features, order, by_design = np.array(lines), list[int](), dict[int, list[int]]()
        for k in range(q.shape[1]):
            others = by_design.setdefault(int(member[k]), [])
            if not others or np.abs(features[:, others] - features[:, [k]]).max(0).min() > SAME:
                order.append(k)
                others.append(k)
        return np.array(order, int)

    def _part(
        self, q: np.ndarray, member: np.ndarray, residual: np.ndarray, J: np.ndarray, sure: Certificate,
        total: np.ndarray, lost: np.ndarray, lacking: tuple[str, ...], sources: tuple[str, ...],
    ) -> PartAssemblies:  # fmt: skip
        """In the order of designs, names and the first free coordinate."""
        names = self._names(q, member, J)
        rows = [
            row
            for k in self.plan.coordinates_in(self.index)
            for row in range(self.plan.nq)[self.plan.coordinates[k].places]
        ]
        first = q[self.plan.coordinates[self.free[0]].q]
        order = np.lexsort((first, names.astype(str), member))
        q, member, names = q[:, order], member[order], _numbered(names[order], member[order])
        sizes = np.linalg.svd(J[order], compute_uv=False)
        margin = sizes[:, -1] if J.shape[1] >= J.shape[2] else np.zeros(len(order))
        sure = sure.of(order)
        return PartAssemblies(
            rows, q[rows], member, sure.h, sure.radius, sure.alone, margin, residual[order], names, total, lost,
            lacking, sources,
        )  # fmt: skip

    def _names(self, q: np.ndarray, member: np.ndarray, J: np.ndarray) -> np.ndarray:
        """(A,) signs of the determinants of the blocks of the Jacobian of what is free."""
        if not len(member):
            return np.zeros(0, dtype=object)
        judged = columns_of(self.plan, self.index, self.free)
        loops, *_ = self._loops(member)
        whole = Loops(self.plan, loops.lane, self.index).at(q)[1]
        return signs(loops.lane, q, self.index, blocks_of_signs(whole[0], judged), whole)


def _numbered(names: np.ndarray, member: np.ndarray) -> np.ndarray:
    """Names, in the order of designs and names, with a number where a design has several assemblies of one sign."""
    new = np.ones(len(names), bool)
    new[1:] = (member[1:] != member[:-1]) | (names[1:] != names[:-1])
    first = np.flatnonzero(new)
    counts = np.diff(np.append(first, len(names)))
    place = np.arange(len(names)) - np.repeat(first, counts) + 1
    numbered = (np.repeat(counts, counts) > 1) | (names == "")
    return np.where(numbered, names + place.astype(str).astype(object), names)
