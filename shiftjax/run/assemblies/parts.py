"""All real assemblies of one substructure, with certificates and names. Host code."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from shiftjax.errors import ModelError
from shiftjax.mechanism.paths import listed
from shiftjax.run.assemblies.certificate import Certificate, certified
from shiftjax.run.assemblies.groups import in_its_space
from shiftjax.run.assemblies.of_plan import reason_against, tie_of
from shiftjax.run.assemblies.roots import all_roots, too_large
from shiftjax.run.assemblies.skeleton import reduced
from shiftjax.run.assemblies.standing import closing_rows, features
from shiftjax.run.closing.closer import CLOSED, Rule, closed, least_change
from shiftjax.run.closing.holding import columns_of
from shiftjax.run.closing.host_evaluation import Loops, StartLane
from shiftjax.run.start.branches import signs, spread_poses
from shiftjax.run.start.tied import SignBlock
from shiftjax.topology.partition import RANK
from shiftjax.topology.plan import Plan
from shiftjax.watching import tell

REAL = 1e-6  # imaginary part of the values of a real root
SAME = 1e-6  # of coordinates of one pose: sines, lengths
EMPTY: Mapping[str, int] = {}
SEARCHED = 200  # poses from which assemblies are sought where closures are no such system


@dataclass
class PartAssemblies:
    """Of B designs, A assemblies of one substructure; those of one design next to each other.

    Attributes:
        rows: coordinates that it has. q: (rows, A); member, h, radius, alone, margin, residual, names: (A,); those of
            one design in the order of signs, then of the first free coordinate.
        signs: (A,) those of the determinants of its groups, a text each. by_signs: whether they tell all apart.
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
    signs: np.ndarray
    by_signs: bool
    total: np.ndarray
    lost: np.ndarray
    lacking: tuple[str, ...]
    sources: tuple[str, ...]


def part_of(
    plan: Plan, lane: StartLane, index: int, q: np.ndarray, fixed: Collection[int], blocks: Sequence[SignBlock]
) -> PartAssemblies | None:
    """The assemblies of a substructure whose coordinates `fixed` stand as in q (nq, B); None where all do.

    Args:
        blocks: of the Jacobian, whose signs are names.
    """
    here = plan.coordinates_in(index)
    free = [k for k in here if k not in fixed]
    if not free:
        return None
    system = _TiedJoints(plan, lane, index, q, [k for k in here if k in fixed], free, blocks)
    return system.solved()


@dataclass
class _TiedJoints:
    plan: Plan
    lane: StartLane
    index: int
    q: np.ndarray
    fixed: list[int]
    free: list[int]
    blocks: Sequence[SignBlock]

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
        if large := too_large(skeleton, numbers):
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
            by_signs=roots.by_signs,
        )

    def _refuse_freedoms(self, count: int) -> None:
        paths = [self.plan.coordinates[k].path for k in self.free]
        fault = f"inputs that leave {count} freedom{'s' * (count > 1)} among {listed(paths)}"
        todo = f"Name {count} of them with a value in `at` (--at JOINT=VALUE), or drive them; a rod between two ball "
        todo += "joints, which turns about its own axis, needs a universal joint in place of one."
        raise ModelError("at", fault, "as many inputs as freedoms", todo)

    def _loops(self, member: np.ndarray) -> tuple[Loops, list[int], list[int]]:
        """Closures of assemblies, columns that stay and those that do not."""
        columns = self.plan.substructures[self.index].columns
        still = columns_of(self.plan, self.index, self.fixed)
        loops = Loops(self.plan, self.lane, self.index, closing_rows(self.plan, self.index, self.fixed))
        return loops.of(member), still, [k for k in range(len(columns)) if k not in still]  # type: ignore[return-value]

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
        spread_out = spread_poses(self.plan, self.q[:, 0], self.free, self.lane.length, SEARCHED)
        for k, spread in enumerate(spread_out):
            tell(k / SEARCHED)
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
        return self._part(q, member, residual, J, sure, counts, np.zeros(B, int), lacking, (), by_signs=False)

    def _apart(self, q: np.ndarray, member: np.ndarray, order: np.ndarray, sure: Certificate) -> np.ndarray:
        """Assemblies but for repeated ones of double roots, which have no certificate."""
        doubtful = np.flatnonzero(~sure.good[order])
        first = order[doubtful][self._first_of_each(q[:, order[doubtful]], member[order[doubtful]])]
        return np.sort(np.concatenate([np.delete(order, doubtful), first])).astype(int)

    def _first_of_each(self, q: np.ndarray, member: np.ndarray) -> np.ndarray:
        """Assemblies of which none is another one of the same design."""
        values = features(self.plan, self.free, q, self.lane.length)
        order, by_design = list[int](), dict[int, list[int]]()
        for k in range(q.shape[1]):
            others = by_design.setdefault(int(member[k]), [])
            if not others or np.abs(values[:, others] - values[:, [k]]).max(0).min() > SAME:
                order.append(k)
                others.append(k)
        return np.array(order, int)

    def _part(
        self, q: np.ndarray, member: np.ndarray, residual: np.ndarray, J: np.ndarray, sure: Certificate,
        total: np.ndarray, lost: np.ndarray, lacking: tuple[str, ...], sources: tuple[str, ...], *, by_signs: bool,
    ) -> PartAssemblies:  # fmt: skip
        """In the order of designs, signs and the first free coordinate."""
        lane, none = self.lane.of(member), np.zeros(0, dtype=object)
        texts = signs(lane, q, self.index, self.blocks) if len(member) else none
        rows = [
            row
            for k in self.plan.coordinates_in(self.index)
            for row in range(self.plan.nq)[self.plan.coordinates[k].places]
        ]
        first = q[self.plan.coordinates[self.free[0]].q]
        order = np.lexsort((first, texts.astype(str), member))
        q, member, texts = q[:, order], member[order], texts[order]
        names = texts if by_signs else numbered(texts, member)
        sizes = np.linalg.svd(J[order], compute_uv=False)
        margin = sizes[:, -1] if J.shape[1] >= J.shape[2] else np.zeros(len(order))
        sure = sure.of(order)
        return PartAssemblies(
            rows, q[rows], member, sure.h, sure.radius, sure.alone, margin, residual[order], names, texts, by_signs,
            total, lost, lacking, sources,
        )  # fmt: skip


def numbered(signs: np.ndarray, member: np.ndarray, after: Mapping[str, int] = EMPTY) -> np.ndarray:
    """Signs, in the order of designs and signs, each with its number among those of a design that are alike.

    Args:
        after: signs -> the last number that is taken; none where left out.
    """
    new = np.ones(len(signs), bool)
    new[1:] = (member[1:] != member[:-1]) | (signs[1:] != signs[:-1])
    first = np.flatnonzero(new)
    counts = np.diff(np.append(first, len(signs)))
    place = np.arange(len(signs)) - np.repeat(first, counts) + 1
    place += np.array([after.get(text, 0) for text in signs], int)
    return signs + place.astype(str).astype(object)
