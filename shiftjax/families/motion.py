"""The motion of many linkages: curves, margins, and where they lock."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from shiftjax.errors import ModelError, refuse_traced
from shiftjax.families.family import Family, Turn
from shiftjax.families.locks import Locks, locks_of
from shiftjax.families.order import REASON, Solvability
from shiftjax.numerics.real_arrays import real_array
from shiftjax.record import record

Array = Any  # of NumPy, or of JAX where points are traced


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
        refuse_traced("points", self._points, "Let JAX differentiate the results.")
        results = {"curves": self.curves, "velocities": self.velocities, "accelerations": self.accelerations}
        slopes = {"curves": curves, "velocities": velocities, "accelerations": accelerations}
        bars = [_slopes(name, slopes[name], results[name]) for name in slopes]
        orders = sum(values is not None for values in results.values())
        moved = [None if bar is None else np.moveaxis(bar, 1, -1) for bar in bars[:orders]]
        row = _slopes("margin", margin, self.margin)
        return self._family.adjoint(self._points, moved, row, Turn.of(self.angles), np.atleast_2d(self.nodes))

    def locks(self) -> Locks:
        """Where linkages lock, to the last bits of the angle, also between poses that both close."""
        refuse_traced("points", self._points, "Ask for locks in a call with known points.")
        return locks_of(self._family, np.asarray(self._points, float), self.angles, np.asarray(self.margin))


def _slopes(name: str, given: Any, of: np.ndarray | None) -> np.ndarray | None:
    """Slopes of a number with some results, in their shape."""
    if given is None:
        return None
    plain = isinstance(given, np.ndarray) and given.dtype == np.float64
    array = given if plain else real_array(given)
    if of is None or array is None or array.shape != of.shape:
        allowed = "none: the order is lower" if of is None else f"shape {of.shape}, that of the results"
        raise ModelError(name, f"shape {np.shape(given)}", allowed, "Correct it.")
    return array


def motion_of(
    family: Family, points: Array, angles: np.ndarray, chosen: np.ndarray | None, kinds: Sequence[Array], margin: Array,
    status: np.ndarray, valid: Array, rows: np.ndarray | None = None,
) -> FamilyMotion:  # fmt: skip
    """The record of results: of each derivative (B, T, K, 2); rows: the array that they are views of."""
    nodes = np.arange(points.shape[1]) if chosen is None else chosen[0] if len(chosen) == 1 else chosen
    curves, velocities, accelerations = [*kinds, None, None][:3]
    return FamilyMotion(angles, nodes, curves, velocities, accelerations, margin, status, valid, family, points, rows)
