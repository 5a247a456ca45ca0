"""Which poses of a mechanism are of one assembly branch, and where that ends. Host code.

Problem: with their inputs standing, loops close in several ways, which `branches` names by the signs of determinants,
one of each group of joints that is solved together. Poses at which all of these have the signs of a name are a part of
the surface of closed poses; it ends where a determinant vanishes, since there assemblies meet (Gosselin, Angeles, IEEE
Transactions on Robotics and Automation 6, 1990: singularities of the second kind). With w a unit vector, w J = 0 of the
group's square block J of the Jacobian says so, smoothly, beside the closures. Refused: mechanisms without loops, and
those whose assemblies no signs tell apart.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from shiftjax.algebra import Scalar, Vec
from shiftjax.constraints import scales
from shiftjax.dynamics.lane import Lane
from shiftjax.errors import ModelError
from shiftjax.run.assemblies.branch_starts import on_branch, stated_parts
from shiftjax.run.beginning import start_from, unsound
from shiftjax.run.start.prepared import Prepared
from shiftjax.run.start.stated import Start


@dataclass(frozen=True)
class BranchEnd:
    """Where assemblies meet: a group of joints that is solved together becomes singular.

    Attributes:
        part: substructure. rows: of its closures, and speeds: of the plan, of the square block of the Jacobian.
        sign: 1 or -1, of the block's determinant on the branch that is asked for.
    """

    part: int
    rows: tuple[int, ...]
    speeds: tuple[int, ...]
    sign: int

    @property
    def key(self) -> tuple[int, tuple[int, ...]]:
        """What its equations depend on."""
        return self.part, self.rows

    def block(self, lane: Lane, q: Vec) -> list[Vec]:
        """The block at coordinates (nq,), dimensionless; lane code."""
        motion = lane.motion(q, None)
        rows = lane.rows(motion, self.part)
        sizes = scales(rows.unit, lane.length)
        return [[self._entry(rows.J[i].get(k), lane.units[k] / sizes[i]) for k in self.speeds] for i in self.rows]

    @staticmethod
    def _entry(value: Scalar | None, unit: float) -> Scalar:
        return 0.0 if value is None else value * unit

    def lost(self, lane: Lane, q: Vec, w: Vec) -> Vec:
        """What vanishes where the block times w does, and w is a unit vector; lane code."""
        lines, length = self.block(lane, q), -1.0
        sums: list[Scalar] = [0.0] * len(self.speeds)
        for weight, line in zip(w, lines, strict=True):
            sums = [total + weight * entry for total, entry in zip(sums, line, strict=True)]
            length = length + weight * weight
        return [*sums, length]


def begun_on_branch(prepared: Prepared) -> tuple[Start, dict[int, tuple[BranchEnd, ...]], str]:
    """The starts of members on the branches that they are asked on, where that of each that begins ends, and a note.

    Raises:
        ModelError: a mechanism of which nothing follows from inputs, or whose assemblies signs do not tell apart; as of
            `on_branch`.
    """
    faulty = unsound(prepared, 0.0, 0.0, strict=False)
    stated = start_from(prepared, None, faulty, massless=True, moving=False)
    refuse_open(prepared, stated)
    began, parts = on_branch(prepared, stated, faulty), stated_parts(prepared, stated)
    names, plan = prepared.branch * (prepared.members if len(prepared.branch) == 1 else 1), prepared.plan
    every, numbered = dict[int, tuple[BranchEnd, ...]](), False
    for member in map(int, np.flatnonzero(began.closed)):
        name, places = names[member], list[BranchEnd]()
        for part, word in zip(parts, name.split(), strict=True):
            signs, number = word[: len(part.blocks)], word[len(part.blocks) :]
            if not signs or "0" in signs:
                fault = f"{name!r}, " + ("a pose at which assemblies meet" if signs else "which is a number alone")
                todo = "Leave branch out: all assemblies count then."
                raise ModelError("branch", fault, "names of signs + and -, which tell where branches end", todo)
            numbered = numbered or bool(number)
            columns = plan.substructures[part.index].columns
            places += [
                BranchEnd(part.index, tuple(rows), tuple(columns[k] for k in some), 1 if sign == "+" else -1)
                for sign, (rows, some) in zip(signs, part.blocks, strict=True)
            ]
        every[member] = tuple(places)
    note = "of all assemblies that have the signs of the branch: numbers tell them apart at one place of the inputs"
    return began, every, note if numbered else ""


def refuse_open(prepared: Prepared, start: Start) -> None:
    """Raises where a branch is asked for of a mechanism of which nothing follows from inputs."""
    if not stated_parts(prepared, start):
        fault = f"{prepared.branch[0]!r}, of a mechanism in which no joint follows others by a loop"
        raise ModelError("branch", fault, "no branch of an open chain: there is one assembly", "Leave it out.")


def margins(places: Sequence[BranchEnd], blocks: np.ndarray) -> np.ndarray:
    """(K, B) smallest singular values of blocks, negative off the branch.

    Args:
        blocks: (B, E) the entries of the blocks of K places, one block after the other.
    """
    out, first = np.empty((len(places), len(blocks))), 0
    for row, place in zip(out, places, strict=True):
        m = len(place.rows)
        square = blocks[:, first : first + m * m].reshape(-1, m, m)
        first += m * m
        row[:] = place.sign * np.linalg.slogdet(square)[0] * np.linalg.svd(square, compute_uv=False)[:, -1]
    return out
