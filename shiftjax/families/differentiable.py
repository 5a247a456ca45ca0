"""The motion of linkages as a function that JAX differentiates in all ways: compiled code, called from the host."""

from __future__ import annotations

from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from shiftjax.errors import ModelError
from shiftjax.families.dyad import components
from shiftjax.families.family import Family, Turn, split
from shiftjax.families.motion import FamilyMotion, motion_of
from shiftjax.families.order import Solvability
from shiftjax.gradients.transforms import differentiable


class HostFamily:
    """`gradients.transforms.Differentiable` of points (B, 2 N) to all rows of results (B, R T)."""

    def __init__(self, family: Family, nodes: int, turn: Turn, order: int, chosen: np.ndarray | None) -> None:
        self.family, self.nodes, self.turn, self.order, self.chosen = family, nodes, turn, order, chosen
        self.wanted = nodes if chosen is None else chosen.shape[1]
        self.outputs = (components(order) * self.wanted + 1) * turn.poses

    def run(self, x: np.ndarray) -> np.ndarray:
        """(B, R T) of (B, 2 N)."""
        family, points, turn, chosen = self._members(x)
        out = family.follow(points, turn, self.order, chosen)
        return out[..., : turn.poses].reshape(len(x), -1)

    def tangent(self, x: np.ndarray, dx: np.ndarray) -> np.ndarray:
        """(B, R T) of (B, 2 N) and as many changes."""
        family, points, turn, chosen = self._members(x)
        out = family.tangent(points, dx.reshape(points.shape), turn, self.order)
        kinds, margin = split(out, turn, self.order)
        if chosen is not None:
            kinds = [np.take_along_axis(kind, chosen[:, :, None, None], 1) for kind in kinds]
        return np.concatenate([*(kind.reshape(len(x), -1) for kind in kinds), margin], 1)

    def adjoint(self, x: np.ndarray, y_bar: np.ndarray) -> np.ndarray:
        """(B, 2 N) of (B, 2 N) and (B, R T)."""
        family, points, turn, chosen = self._members(x)
        bars, margin_bar = split(y_bar.reshape(len(x), -1, turn.poses), turn, self.order)
        return family.adjoint(points, bars, margin_bar, turn, chosen).reshape(x.shape)

    def _members(self, x: np.ndarray) -> tuple[Family, np.ndarray, Turn, np.ndarray | None]:
        """The family and what belongs to its members, repeated as often as rows of x are."""
        members = len(self.family.counts)
        index = np.arange(len(x)) % members
        whole = len(x) == members
        turn, chosen = self.turn, self.chosen
        if not whole and len(turn.cos) > 1:
            turn = Turn(turn.cos[index], turn.sin[index], turn.poses)
        if chosen is not None and len(chosen) > 1:
            chosen = chosen[index]
        return self.family if whole else self.family.members(index), x.reshape(len(x), -1, 2), turn, chosen


def traced_motion(
    family: Family, points: Any, angles: np.ndarray, order: int, chosen: np.ndarray | None
) -> FamilyMotion:
    """The motion of points that JAX traces; whether a dyad is drawn flat is not known: its curves are NaN."""
    if not jax.config.jax_enable_x64:  # type: ignore[attr-defined]
        allowed = 'jax.config.update("jax_enable_x64", True)'
        raise ModelError("x0", "points that JAX traces in f32", allowed, "Write it at the beginning of the program.")
    members, nodes, _ = points.shape
    host = HostFamily(family, nodes, Turn.of(angles), order, chosen)
    rows = differentiable(host)(points.reshape(members, 2 * nodes)).reshape(members, -1, host.turn.poses)
    kinds, margin = split(rows, host.turn, order)
    solved = family.order.status == Solvability.solved
    valid = jnp.logical_and((margin > 0).all(1), solved)
    return motion_of(
        family, points, angles, chosen, [jnp.moveaxis(kind, 3, 1) for kind in kinds], margin, family.order.status, valid
    )
