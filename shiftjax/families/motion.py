"""The motion of many linkages: curves, margins, and where they lock."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from shiftjax.errors import refuse_traced
from shiftjax.families.family import Family, Turn, split
from shiftjax.families.order import REASON, Solvability
from shiftjax.record import record

Array = Any  # of NumPy, or of JAX where points are traced
PARTS = 32  # of an angle between two poses, in which a lock is looked for
ROUNDS = 12  # after which 2 pi is divided beyond the last bit


@record
class Locks:
    """Where dyads stop closing, one entry a lock, by members and angles.

    Attributes:
        member: (L,) linkages. angle: (L,) of the motor's bar [rad], at which the dyad's bars lie on one line.
        node: (L,) the node that has no place beyond. ends: (L,) True where the linkage closes before this angle and not
            behind it, False where it begins to close there.
    """

    member: np.ndarray
    angle: np.ndarray
    node: np.ndarray
    ends: np.ndarray


@record
class FamilyMotion:
    """The outcome of `families.simulate`: B linkages in T poses of their motors, of N nodes, of which K were asked for.

    Positions are in the unit of x0, derivatives are by the motor's angle, per radian: times its speed w they are
    velocities, and accelerations where it is constant (w^2). Where a node has no place, all is NaN and the margin says
    so.

    Attributes:
        angles: (T,) or (B, T) of the motor's bar from the x axis [rad]. nodes: (K,) or (B, K) whose curves follow.
        curves: (B, T, K, 2). velocities, accelerations: (B, T, K, 2), None beyond the order that was asked for.
        margin: (B, T) the smallest 1 - |cos(angle between the bars)| of all dyads whose ends have a place: 1 at right
            angles, 0 where one locks, negative where one cannot be closed.
        status: (B,) of `Solvability`: 0 for linkages of dyads; all others have no curves.
        valid: (B,) whether all of a linkage closes in all poses.
    """

    angles: np.ndarray
    nodes: np.ndarray
    curves: Array
    velocities: Array
    accelerations: Array
    margin: Array
    status: np.ndarray
    valid: Array
    _family: Family
    _points: Array
    _rows: np.ndarray | None

    def __repr__(self) -> str:
        members, poses = self.margin.shape
        lines = [f"{members} linkages in {poses} poses, {len(self.nodes.T)} curves each"]
        for code, reason in REASON.items():
            count = int((self.status == code).sum())
            if code and count:
                lines.append(f"{count} {code.name}: {reason}")
        if isinstance(self.valid, np.ndarray):
            lines.append(f"{int(self.valid.sum())} close in all poses")
        return "\n".join(lines)

    @property
    def closed(self) -> Array:
        """(B, T) whether all of a linkage closes."""
        return self.margin > 0.0

    def message(self, member: int) -> str:
        """Why a linkage has no curves, "" where it has."""
        return REASON[Solvability(int(self.status[member]))]

    def path(self, member: int) -> list[tuple[int, int, int]]:
        """The dyads of a linkage in the order in which they are solved: a node and the two ends that it hangs on."""
        order = self._family.order
        return [tuple(dyad) for dyad in order.dyads[member, : order.counts[member]].tolist()]

    def pullback(
        self, curves: Any = None, velocities: Any = None, accelerations: Any = None, margin: Any = None
    ) -> np.ndarray:
        """The gradient with respect to all points, exact: what `jax.vjp` would give, without JAX.

        Args:
            curves, velocities, accelerations: (B, T, K, 2) slopes of a number with these results; margin: (B, T). What
                does not count is left out; slopes where a node has no place do not count.

        Returns:
            (B, N, 2) slopes of that number with x0.
        """
        bars = [curves, velocities, accelerations][
            : 1 + (self.velocities is not None) + (self.accelerations is not None)
        ]
        bars = [None if bar is None else np.moveaxis(np.asarray(bar, float), 1, -1) for bar in bars]
        chosen = np.atleast_2d(self.nodes)
        return self._family.adjoint(self._points, bars, margin, Turn.of(self.angles), chosen)

    def locks(self) -> Locks:
        """Where linkages lock, to the last bits of the angle: between poses one of which closes and the other not."""
        refuse_traced("points", self._points, "Ask for locks in a call with known points.")
        closed = self.closed
        member, pose = np.nonzero((closed[:, 1:] != closed[:, :-1]) & (self.status == 0)[:, None])
        angles = np.broadcast_to(self.angles, closed.shape)
        low, high = angles[member, pose], angles[member, pose + 1]
        ends = closed[member, pose]
        family, points = self._family.members(member), np.asarray(self._points)[member]
        for _ in range(ROUNDS):
            grid = low[:, None] + (high - low)[:, None] * np.linspace(0.0, 1.0, PARTS + 1)
            margin = split(family.follow(points, Turn.of(grid), 0), Turn.of(grid), 0)[1]
            changed = (margin > 0.0) != ends[:, None]
            changed[:, -1] = True
            first = np.maximum(changed.argmax(1), 1)
            every = np.arange(len(member))
            low, high = grid[every, first - 1], grid[every, first]
        node = _unplaced(family, points, np.where(ends, high, low))
        return Locks(member, 0.5 * (low + high), node, ends)


def _unplaced(family: Family, points: np.ndarray, angles: np.ndarray) -> np.ndarray:
    """(L,) the first node in each linkage's order that has no place at an angle."""
    (places,), _ = split(family.follow(points, Turn.of(angles[:, None]), 0), Turn.of(angles[:, None]), 0)
    missing = np.isnan(places[:, :, 0, 0])
    nodes = family.order.dyads[..., 0]
    hit = np.take_along_axis(missing, nodes, 1) & (np.arange(nodes.shape[1]) < family.order.counts[:, None])
    return nodes[np.arange(len(nodes)), hit.argmax(1)]


def motion_of(
    family: Family, points: Array, angles: np.ndarray, chosen: np.ndarray | None, kinds: Sequence[Array], margin: Array,
    status: np.ndarray, valid: Array, rows: np.ndarray | None = None,
) -> FamilyMotion:  # fmt: skip
    """The record of results: of each derivative (B, T, K, 2); rows: the array that they are views of."""
    nodes = np.arange(points.shape[1]) if chosen is None else chosen[0] if len(chosen) == 1 else chosen
    curves, velocities, accelerations = [*kinds, None, None][:3]
    return FamilyMotion(angles, nodes, curves, velocities, accelerations, margin, status, valid, family, points, rows)
