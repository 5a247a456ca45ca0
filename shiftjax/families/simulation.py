"""Planar linkages of one freedom, each with a topology of its own, simulated in one call.

Linkages are given as arrays, as the public data set LINKS has them. They are solved dyad by dyad in closed form, by
code that is compiled once for all topologies: a topology is a list of numbers that this code reads.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from shiftjax.errors import ModelError, need_count, refuse_traced, shown
from shiftjax.families.differentiable import traced_motion
from shiftjax.families.family import Family, Turn, split
from shiftjax.families.motion import FamilyMotion, motion_of
from shiftjax.families.order import Solvability
from shiftjax.families.reading import given_angles, given_linkages, given_nodes
from shiftjax.families.value_program import ORDERS
from shiftjax.gradients.traced import is_traced


def simulate(
    adjacency: Any,
    x0: Any,
    node_types: Any,
    *,
    motor: Any = (0, 1),
    poses: int = 200,
    angles: Any = None,
    order: int = 1,
    nodes: Sequence[int] | np.ndarray | None = None,
    stop: bool = False,
    out: FamilyMotion | None = None,
    threads: int | None = None,
) -> FamilyMotion:
    """The curves of all nodes of many planar linkages, with their derivatives by the motor's angle.

    A linkage has bars between nodes, of which some are fixed; one bar from a fixed node is turned by a motor. Every
    other moving node must be the joint of a dyad: two bars to nodes that are solved before it. Each dyad stays on the
    branch that is drawn. Nothing is compiled for a topology.

    Args:
        adjacency: (B, N, N) or lists of (N, N), 1 where a bar is; (N, N) for all.
        x0: (B, N, 2) or lists of (N, 2), the nodes as they are drawn, in any unit. Lengths are taken from it. Where JAX
            traces it, results have derivatives in both modes.
        node_types: (B, N) or lists of (N,), 1 for fixed nodes, 0 for moving ones; (N,) for all.
        motor: the fixed and the moving node of the driven bar, or (B, 2) of them.
        poses: T, equally spaced over one turn of the motor's bar from the x axis on, both ends included, as of LINKS.
        angles: (T,) or (B, T) of the motor's bar from the x axis [rad], in place of `poses`.
        order: of derivatives: 0 for curves, 1 with velocities, 2 with accelerations.
        nodes: (K,) or (B, K) whose curves are wanted, -1 for the last one; all of them where left out.
        stop: True leaves a linkage at its first dyad that does not close in all poses, for candidates that are thrown
            away then: nodes from there on have no place.
        threads: that share the linkages; as many as there are cores where left out.

    Returns:
        Lists of linkages of several sizes have N of the largest one; nodes beyond a linkage's own have no place.

    Raises:
        ModelError: arrays that are no linkages. Linkages that are not made of dyads have a `status` instead.
    """
    need_count("poses", poses, 1)
    if threads is not None:
        need_count("threads", threads, 1)
    if order not in range(ORDERS) or isinstance(order, bool):
        raise ModelError("order", shown(order), "0, 1 or 2", "Choose one of them.")
    for name, value in (("adjacency", adjacency), ("node_types", node_types), ("motor", motor), ("angles", angles)):
        refuse_traced(name, value, "Only x0 has derivatives.")
    traced = is_traced(x0)
    given = given_linkages(adjacency, x0, node_types, motor, traced=traced)
    members, count, _ = given.points.shape
    angles, chosen = given_angles(angles, poses, members), given_nodes(nodes, members, count)
    family = Family.of(given, threads)
    if traced:
        if stop or out is not None:
            where = "stop" if stop else "out"
            raise ModelError(where, "a call that JAX traces", "a call with known points", "Leave it out.")
        return traced_motion(family, given.points, angles, order, chosen)
    turn = Turn.of(angles)
    rows = None if out is None else _again(out, family.shape(given.points, turn, order, chosen))
    rows = family.follow(given.points, turn, order, chosen, stop=stop, out=rows)
    kinds, margin = split(rows, turn, order)
    status = family.order.status
    lost = np.isnan(margin[:, 0]) & (status == Solvability.solved)
    status = np.where(lost, Solvability.drawn_flat, status).astype(np.int8)
    _blank(kinds, given.present, chosen)
    valid = (margin > 0.0).all(1)
    curves = [kind.transpose(0, 3, 1, 2) for kind in kinds]
    return motion_of(family, given.points, angles, chosen, curves, margin, status, valid, rows)


def _again(out: object, shape: tuple[int, int, int]) -> np.ndarray:
    """The memory of an earlier outcome."""
    rows = out._rows if isinstance(out, FamilyMotion) else None
    if rows is None or rows.shape != shape:
        raise ModelError(
            "out", type(out).__name__, "an outcome of as many linkages, nodes, poses and orders", "Omit it."
        )
    return rows


def _blank(kinds: Sequence[np.ndarray], present: np.ndarray, chosen: np.ndarray | None) -> None:
    """Nodes that a linkage does not have get no place."""
    if not present.all():
        members = np.arange(len(present))[:, None]
        absent = ~(present if chosen is None else present[members, chosen])
        for kind in kinds:
            kind[absent] = np.nan
