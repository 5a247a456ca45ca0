"""Linkages as arrays for the compiled programs: topologies, numbers of drawn points, motions and their derivatives.

B linkages of at most N nodes, M dyads at most of one, T poses. Linear maps of points, `tangent` and its transpose
`adjoint`, are exact derivatives of `follow`.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from shiftjax.families.dyad import LENGTHS, components
from shiftjax.families.kernel import aligned, row_length, run, width
from shiftjax.families.order import Order, Solvability, solution_order
from shiftjax.families.reading import Given
from shiftjax.record import record


@record
class Turn:
    """Angles of the motor's bar, from the x axis.

    Attributes:
        cos, sin: (1 or B, L) of all poses, the last one repeated to the length of a row. poses: T.
    """

    cos: np.ndarray
    sin: np.ndarray
    poses: int

    @staticmethod
    def of(angles: np.ndarray) -> Turn:
        """Of angles (T,) or (B, T) [rad]."""
        angles = np.atleast_2d(angles)
        full = aligned((len(angles), row_length(angles.shape[1])))
        full[:, : angles.shape[1]], full[:, angles.shape[1] :] = angles, angles[:, -1:]
        cos, sin = aligned(full.shape), aligned(full.shape)
        return Turn(np.cos(full, out=cos), np.sin(full, out=sin), angles.shape[1])


@record
class DyadBars:
    """The bars of all dyads as drawn.

    Attributes:
        AP, BP: (B, M, 2) from the ends to the node. p, q: (B, M) their lengths squared. double: (B, M) twice the
            product of their lengths.
    """

    AP: np.ndarray
    BP: np.ndarray
    p: np.ndarray
    q: np.ndarray
    double: np.ndarray


@record
class Family:
    """What linkages are without their points.

    Attributes:
        order: the dyads of each. fixed: (B, N) bool. motor: (B, 2) the fixed node and the moving one of its bar.
        counts: (B, 2) of fixed nodes and of dyads. fixed_list: (B, N) the fixed nodes, first in their row.
        threads: that run them; None for all cores.
    """

    order: Order
    fixed: np.ndarray
    motor: np.ndarray
    counts: np.ndarray
    fixed_list: np.ndarray
    threads: int | None

    @staticmethod
    def of(given: Given, threads: int | None = None) -> Family:
        """Of linkages as they are given, in the order in which their nodes are solved."""
        order, fixed = solution_order(given.adjacency, given.fixed, given.present, given.motor), given.fixed
        counts = np.stack([fixed.sum(1), order.counts], 1).astype(np.int64)
        listed = np.argsort(~fixed, axis=1, kind="stable").astype(np.int64)
        return Family(order, fixed, np.ascontiguousarray(given.motor, np.int64), counts, listed, threads)

    def members(self, index: np.ndarray) -> Family:
        """Some of the linkages, in some order."""
        order = self.order
        return replace(
            self, order=Order(order.dyads[index], order.counts[index], order.status[index]), fixed=self.fixed[index],
            motor=self.motor[index], counts=self.counts[index], fixed_list=self.fixed_list[index],
        )  # fmt: skip

    def numbers(self, points: np.ndarray) -> np.ndarray:
        """(B, M, 5) `NUMBERS` of every dyad, of drawn points (B, N, 2); those beyond a linkage's count mean nothing."""
        bars = self._bars(points)
        AP, BP, p, q = bars.AP, bars.BP, bars.p, bars.q
        sign = np.sign(AP[..., 0] * BP[..., 1] - AP[..., 1] * BP[..., 0])
        with np.errstate(divide="ignore"):
            return np.stack([p - q, p + q, bars.double, 1.0 / bars.double, sign], -1)

    def cranks(self, points: np.ndarray) -> np.ndarray:
        """(B, 3) centre and length of the motor's bar."""
        centre, arm = self.arms(points)
        return np.concatenate([centre, np.hypot(*arm.T)[:, None]], 1)

    def follow(
        self, points: np.ndarray, turn: Turn, order: int, chosen: np.ndarray | None = None, *, stop: bool = False,
        out: np.ndarray | None = None,
    ) -> np.ndarray:  # fmt: skip
        """(B, R, L) rows of all results, poses first in each; see `split`.

        Args:
            points: (B, N, 2) drawn. chosen: (1 or B, K) nodes whose results are wanted; all of them where left out.
            stop: True leaves a linkage at its first dyad that does not close in all poses. out: what is returned, where
                it is there already.
        """
        length, nodes = turn.cos.shape[1], points.shape[1]
        out = aligned(self.shape(points, turn, order, chosen)) if out is None else out
        job = self._job(points, turn, np.arange(nodes)[None] if chosen is None else chosen)
        job |= {"out": out, "member": out.shape[1] * length, "stop": int(stop)}
        run("values", order, len(points), job, (components(order) * nodes + 1) * length, self.threads)
        out[self._lost(job)] = np.nan
        return out

    @staticmethod
    def shape(points: np.ndarray, turn: Turn, order: int, chosen: np.ndarray | None) -> tuple[int, int, int]:
        """(B, R, L) of what `follow` returns."""
        nodes = points.shape[1] if chosen is None else chosen.shape[1]
        return len(points), components(order) * nodes + 1, turn.cos.shape[1]

    def _lost(self, job: dict[str, Any]) -> np.ndarray:
        """(B,) linkages that are not solved, or drawn so that a dyad has no branch or the motor's bar no length."""
        flat = ((job["numbers"][..., -1] == 0.0) & self.order.live).any(1) | (job["crank"][:, 2] == 0.0)
        return (self.order.status != Solvability.solved) | flat

    def tangent(self, points: np.ndarray, dots: np.ndarray, turn: Turn, order: int) -> np.ndarray:
        """(B, R, L) the derivative of `follow` of all nodes along changes (B, N, 2) of the points."""
        rows = components(order) * points.shape[1] + 1
        out = aligned((len(points), 2 * rows, turn.cos.shape[1]))
        centre_dot, arm_dot = self.arms(dots)
        arm = self.arms(points)[1]
        with np.errstate(divide="ignore", invalid="ignore"):
            length_dot = (arm * arm_dot).sum(1, keepdims=True) / np.hypot(*arm.T)[:, None]
        bars, moved = self._bars(points), self._bars(dots)
        p_dot, q_dot = 2.0 * (bars.AP * moved.AP).sum(-1), 2.0 * (bars.BP * moved.BP).sum(-1)
        with np.errstate(divide="ignore", invalid="ignore"):
            double_dot = 2.0 * (bars.q * p_dot + bars.p * q_dot) / bars.double
            numbers_dot = np.stack([p_dot - q_dot, p_dot + q_dot, double_dot, -double_dot / bars.double**2], -1)
        dotted = {
            "x0_dot": np.ascontiguousarray(dots),
            "crank_dot": np.concatenate([centre_dot, length_dot], 1),
            "numbers_dot": numbers_dot,
        }
        job = {**self._job(points, turn, None), **dotted, "out": out, "member": out.shape[1] * out.shape[2]}
        run("tangents", order, len(points), job, 0, self.threads)
        out[self._lost(job)] = np.nan
        return out[:, rows:]

    def adjoint(
        self, points: np.ndarray, bars: Sequence[np.ndarray | None], margin_bar: np.ndarray | None, turn: Turn,
        chosen: np.ndarray | None = None,
    ) -> np.ndarray:  # fmt: skip
        """(B, N, 2) cotangents of the points.

        Args:
            bars: of each derivative (B, K, 2, T), or None; cotangents where a node has no place do not count.
            margin_bar: (B, T) or None. chosen: as of `follow`.
        """
        members, nodes, _ = points.shape
        order, most = len(bars) - 1, self.order.dyads.shape[1]
        sums = {
            "x0_bar": np.zeros(points.shape),
            "crank_bar": np.zeros((members, 3)),
            "numbers_bar": np.zeros((members, most, LENGTHS)),
        }
        chosen = np.arange(nodes)[None] if chosen is None else chosen
        job = {**self._job(points, turn, chosen), **sums}
        for k, bar in enumerate(bars):
            if bar is not None:
                bar = bar if bar.strides[-1] == 8 and bar.dtype == np.float64 else np.ascontiguousarray(bar, float)
                strides = zip(("_member", "_node", "_row"), bar.strides, strict=False)
                job |= {f"bar{k}": bar, **{f"bar{k}{part}": stride // 8 for part, stride in strides}}
        if margin_bar is not None:
            margin_bar = np.ascontiguousarray(margin_bar, float)
            job |= {"margin_bar": margin_bar, "margin_bar_member": margin_bar.shape[1]}
        rows = 2 * components(order) * nodes + most + 2
        run("cotangents", order, members, job, rows * turn.cos.shape[1], self.threads)
        slopes = self._points_bar(points, **sums)
        slopes[self._lost(job)] = 0.0
        return slopes

    def _points_bar(
        self, points: np.ndarray, x0_bar: np.ndarray, crank_bar: np.ndarray, numbers_bar: np.ndarray
    ) -> np.ndarray:
        """(B, N, 2) of the cotangents of fixed nodes, cranks and dyads' numbers."""
        members, nodes, _ = points.shape
        bars = self._bars(points)
        f, g, m, inverse = np.moveaxis(numbers_bar, -1, 0)
        with np.errstate(divide="ignore", invalid="ignore"):
            m = 2.0 * (m - inverse / bars.double**2) / bars.double
            AP_bar = 2.0 * (f + g + m * bars.q)[..., None] * bars.AP
            BP_bar = 2.0 * (g - f + m * bars.p)[..., None] * bars.BP
        of_nodes = np.stack([AP_bar + BP_bar, -AP_bar, -BP_bar], 2)  # P, A, B
        live = self.order.live
        where = (self.order.dyads + nodes * np.arange(members)[:, None, None])[live].ravel()
        weights = of_nodes[live].reshape(-1, 2)
        for k in range(2):
            x0_bar[..., k] += np.bincount(where, weights[:, k], members * nodes).reshape(members, nodes)
        arm = self.arms(points)[1]
        with np.errstate(divide="ignore", invalid="ignore"):
            along = crank_bar[:, 2:] * arm / np.hypot(*arm.T)[:, None]
        every = np.arange(members)
        x0_bar[every, self.motor[:, 0]] += crank_bar[:, :2] - along
        x0_bar[every, self.motor[:, 1]] += along
        return x0_bar

    def _bars(self, points: np.ndarray) -> DyadBars:
        places = self.order.dyads + points.shape[1] * np.arange(len(points))[:, None, None]
        # as complex numbers, which are gathered in a third of the time
        nodes = np.ascontiguousarray(points).reshape(-1, 2).view(complex)[:, 0].take(places)
        AP, BP = ((nodes[..., 0] - nodes[..., end])[..., None].view(float) for end in (1, 2))
        p, q = (AP * AP).sum(-1), (BP * BP).sum(-1)
        return DyadBars(AP, BP, p, q, 2.0 * np.sqrt(p * q))

    def arms(self, points: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """(B, 2) the motor's centre, and what points from it to its moving node."""
        every = np.arange(len(points))
        centre = points[every, self.motor[:, 0]]
        return centre, points[every, self.motor[:, 1]] - centre

    def _job(self, points: np.ndarray, turn: Turn, chosen: np.ndarray | None) -> dict[str, Any]:
        nodes, dyads = points.shape[1], self.order.dyads
        return {
            "chosen": chosen,
            "chosen_member": 0 if chosen is None or len(chosen) == 1 else chosen.shape[1],
            "chosen_count": nodes if chosen is None else chosen.shape[1],
            "step": turn.cos.shape[1],
            "poses": turn.poses,
            "vectors": -(-turn.poses // width()),
            "nodes": nodes,
            "counts": self.counts,
            "fixed": self.fixed_list,
            "x0": np.ascontiguousarray(points, float),
            "crank": self.cranks(points),
            "crank_node": np.ascontiguousarray(self.motor[:, 1]),
            "dyads": dyads,
            "numbers": self.numbers(points),
            "most": dyads.shape[1],
            "cos": turn.cos,
            "sin": turn.sin,
            "turn": 0 if len(turn.cos) == 1 else turn.cos.shape[1],
        }


def split(out: np.ndarray, turn: Turn, order: int) -> tuple[list[np.ndarray], np.ndarray]:
    """The results of `Family.follow`: of each derivative (B, K, 2, T), and the margin (B, T); views."""
    rows = out[..., : turn.poses]
    kinds = [rows[:, part] for part in _parts(out.shape[1], order)]
    return [kind.reshape(len(out), kind.shape[1] // 2, 2, turn.poses) for kind in kinds], rows[:, -1]


def _parts(rows: int, order: int) -> list[slice]:
    """Where the rows of each derivative are."""
    size = (rows - 1) // (order + 1)
    return [slice(size * k, size * (k + 1)) for k in range(order + 1)]
