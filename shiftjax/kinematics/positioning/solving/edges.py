"""Edges of regions of more important levels, as rows that hold where a step would lead out. Host code."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Protocol, runtime_checkable

import numpy as np

from shiftjax.kinematics.positioning.solving.levels import Answering

NEAR = 1e-10  # m or rad from an edge, where a row is at it


@runtime_checkable
class Regions(Protocol):
    """A level whose rows may have regions, as `rows.GoalRows`: unit (m,) and ends (m, 2)."""

    unit: np.ndarray
    ends: np.ndarray

    def whole(self, answers: Answering, x: np.ndarray, members: np.ndarray) -> np.ndarray:
        """(B, m, 1 + nv) what rows are, and their slopes."""
        ...


@dataclass
class Edges:
    """Rows of regions of some members.

    Attributes:
        off: (B, R) by how much each is off the nearer of its ends, dimensionless; J: (B, R, nv) its slopes. low, high:
            (B, R) whether it is at an end. inside: (B, R) whether it is not beyond one, but for `NEAR`. rows: level ->
            its rows, and their places among all.
    """

    off: np.ndarray
    J: np.ndarray
    low: np.ndarray
    high: np.ndarray
    inside: np.ndarray
    rows: Mapping[int, tuple[np.ndarray, slice]]

    def without(self, level: int, missed: np.ndarray, J: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """What rows of a level are missed by (B, m), and their slopes (B, m, nv), without those that are inside."""
        some, places = self.rows[level]
        missed, J, inside = missed.copy(), J.copy(), self.inside[:, places]
        missed[:, some] = np.where(inside, 0.0, missed[:, some])
        J[:, some] = np.where(inside[:, :, None], 0.0, J[:, some])
        return missed, J

    def leaving(self, change: np.ndarray, bound: np.ndarray) -> np.ndarray:
        """(B, R) which would be led out farthest by a change (B, nv), one at most.

        Args:
            bound: (B, ends) which hold already, edges last.
        """
        rate = (self.J @ change[:, :, None])[:, :, 0]
        out = np.maximum(np.where(self.low, -rate, 0.0), np.where(self.high, rate, 0.0))
        out = np.where(bound[:, bound.shape[1] - rate.shape[1] :], 0.0, out)
        first = np.arange(rate.shape[1]) == np.argmax(out, axis=1)[:, None]
        return np.asarray((out > 0.0) & first)


def edge_rows(levels: Mapping[int, Regions]) -> list[tuple[int, np.ndarray]]:
    """Of levels those that have regions, and which of their rows these are."""
    rows = [(k, np.flatnonzero(one.ends[:, 1] > one.ends[:, 0])) for k, one in levels.items()]
    return [(k, some) for k, some in rows if len(some)]


def edges_at(
    levels: Mapping[int, Regions], rows: Sequence[tuple[int, np.ndarray]], answers: Answering, x: np.ndarray,
    members: np.ndarray, unit: np.ndarray,
) -> Edges:  # fmt: skip
    """Where rows of `edge_rows` stand.

    Args:
        x, members: as of `GoalRows.at`. unit: (nv,) of speeds.
    """
    parts, places, first = [], dict[int, tuple[np.ndarray, slice]](), 0
    for k, some in rows:
        places[k], first = (some, slice(first, first + len(some))), first + len(some)
        level = levels[k]
        whole, (low, high) = level.whole(answers, x, members)[:, some], level.ends[some].T
        value, scale = whole[:, :, 0], level.unit[some]
        nearer = np.where(np.abs(value - low) <= np.abs(value - high), low, high)
        J = whole[:, :, 1:] * scale[:, None] * unit
        inside = (value >= low - NEAR) & (value <= high + NEAR)
        parts.append(((value - nearer) * scale, J, value <= low + NEAR, value >= high - NEAR, inside))
    off, J, at_low, at_high, within = (np.concatenate(part, axis=1) for part in zip(*parts, strict=True))
    return Edges(off, J, at_low, at_high, within, places)
