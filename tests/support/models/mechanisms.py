"""Mechanisms and closed states that several test files share. Fixed seeds, no tolerances here."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from shiftjax.dynamics.equations import Acceleration, accelerate
from shiftjax.dynamics.equations import null_space as columns_of_z
from shiftjax.dynamics.lane import Lane
from shiftjax.dynamics.reduced import DensePart, sparse_product
from shiftjax.dynamics.tree import composite_mass_matrix, tree_terms
from shiftjax.formats.builder import ModelBuilder
from shiftjax.mechanism.model import Model
from shiftjax.run.closing import host_evaluation as host
from shiftjax.run.closing.holding import null_space
from shiftjax.run.closing.poses import close
from shiftjax.run.start.partitions import partitions
from shiftjax.run.start.prepare import prepare
from shiftjax.run.start.prepared import Prepared
from shiftjax.topology.partition import Block, free_speeds
from shiftjax.topology.plan import Plan

CRANK, COUPLER, ROCKER, GROUND = 0.2, 0.5, 0.4, 0.5  # m, a Grashof crank-rocker


def rod(length: float, mass: float = 1.0) -> dict[str, Any]:
    """Keywords of a thin uniform rod along x from the body's origin to its frame `tip`."""
    across = mass * length**2 / 12
    return {
        "mass": mass,
        "center_of_mass": (length / 2, 0, 0),
        "inertia": (0.01 * across, across, across),
        "frames": {"tip": (length, 0, 0)},
    }


def four_bars(count: int = 1, crank: float = CRANK, speed: float = 1.0) -> Model:
    """Independent planar four-bars a metre apart, in the assemblies bar0, bar1, ...: one substructure each."""
    builder = ModelBuilder(gravity=(0.0, 0.0, -9.81))
    for i in range(count):
        builder.frame(f"crank{i}", T=(0.0, float(i), 0.0)).frame(f"rocker{i}", T=(GROUND, float(i), 0.0))
        bar = builder.assembly(f"bar{i}")
        for name, length in (("crank", crank), ("coupler", COUPLER), ("rocker", ROCKER)):
            bar.body(name, **rod(length))
        bar.joint("pivot", "Ry", parent=("fixed", f"crank{i}"), child="crank", initial_displacement=-1.0)
        bar.joint("pin", "Ry", parent=("crank", "tip"), child="coupler", initial_displacement=0.5)
        bar.joint("hinge", "Ry", parent=("fixed", f"rocker{i}"), child="rocker", initial_displacement=-1.5)
        bar.joint("joint", "Ry", parent=("coupler", "tip"), child=("rocker", "tip"), initial_displacement=-1.0)
        bar.entry["joints"][0]["initial_velocity"] = speed
    return builder.build()


def pendulum(**joint: Any) -> Model:
    """A rod of 1 m and 1 kg on one revolute joint about y, gravity along -z; hanging at an angle of +pi / 2."""
    builder = ModelBuilder(gravity=(0.0, 0.0, -9.81))
    builder.assembly("a").body("rod", **rod(1.0)).joint("pivot", "Ry", child="rod", **joint)
    return builder.build()


def closed_states(
    model: Model, count: int, seed: int, steps: int = 6, reach: float = 0.15
) -> tuple[Prepared, np.ndarray, np.ndarray]:
    """Random states of a model with closed loops and consistent speeds.

    Walks from the file's start along random motions of the mechanism, `steps` times by about `reach` rad (or parts of
    the model's size), closing every time.

    Returns:
        the prepared model, q (nq, count) and v (nv, count).
    """
    prepared = prepare(model, {})
    return prepared, *walked(prepared, count, seed, steps, reach)


def walked(
    prepared: Prepared, count: int, seed: int, steps: int = 6, reach: float = 0.15
) -> tuple[np.ndarray, np.ndarray]:
    """q (nq, count) and v (nv, count) of `closed_states`, for the file's numbers."""
    lane, plan = prepared.file_lane(), prepared.plan
    rng = np.random.default_rng(seed)
    q = np.repeat(prepared.file_start.q, count, axis=1)
    for _ in range(steps):
        q = host.retract(plan, q, random_motion(plan, lane, q, rng) * reach)
        for s in range(len(plan.substructures)):
            q, _ = close(plan, lane, q, s, ())
    return q, random_motion(plan, lane, q, rng)


def random_motion(plan: Plan, lane: Lane, q: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    """(nv, B) speeds that the loops allow, of about 1 rad/s or one size of the model a second."""
    members, unit = q.shape[1], np.asarray(lane.units)
    v = rng.standard_normal((plan.nv, members)) * unit[:, None]
    for s, block in enumerate(plan.substructures):
        _, J = host.closure(lane, q, s)
        columns = list(block.columns)
        for k in range(members):
            Z = null_space(J[k])
            v[columns, k] = unit[columns] * (Z @ rng.standard_normal(Z.shape[1]))
    return v


def host_acceleration(
    prepared: Prepared, q: np.ndarray, v: np.ndarray, blocks: Sequence[Block], lane: Lane | None = None
) -> tuple[np.ndarray, Acceleration]:
    """(nv, B) accelerations of states (nq, B), (nv, B) by the lane functions on NumPy arrays, and the rest.

    Internal states of forces have the initial values of the file.
    """
    lane, plan = lane or prepared.file_lane(), prepared.plan
    motion = lane.motion(list(q), list(v))
    rows = [lane.rows(motion, s) for s in range(len(blocks))]
    solved = [lane.solve(block, r, r.gamma) for block, r in zip(blocks, rows, strict=True)]
    particular = {k: x for solution in solved for k, x in solution.particular.items()}
    out = accelerate(
        lane, motion, prepared.file_lane().states(), columns_of_z(solved, free_speeds(plan)), particular, None, blocks
    )
    return host.per_member(out.a, q.shape[1]), out


def nominal_blocks(prepared: Prepared) -> list[Block]:
    """The partition of the file's start."""
    return [block[0] for block in partitions(prepared, prepared.file_start, 2.0)]


def summed_terms(prepared: Prepared, q: np.ndarray, v: np.ndarray, blocks: Sequence[Block]) -> np.ndarray:
    """(B,) largest sum of absolute terms in a = Z M^-1 Z^T (force - H a0), the scale of its rounding error."""
    lane, plan, members = prepared.file_lane(), prepared.plan, q.shape[1]
    motion = lane.motion(list(q), list(v))
    rows = [lane.rows(motion, s) for s in range(len(blocks))]
    solved = [lane.solve(block, r, r.gamma) for block, r in zip(blocks, rows, strict=True)]
    H = composite_mass_matrix(motion)
    reduced = DensePart(H, columns_of_z(solved, free_speeds(plan)))
    force = host.per_member(tree_terms(motion, lane.gravity(), ()).force, members)
    drag = sparse_product(H, {k: x for one in solved for k, x in one.particular.items()})
    force = np.abs(force) + np.abs(host.per_member([drag.get(k, 0.0) for k in range(plan.nv)], members))
    dense = [[column.get(k, 0.0) for column in reduced.Z] for k in range(plan.nv)]
    Z = np.abs(host.matrices_per_member(dense, members))
    inverse = np.abs(np.linalg.inv(host.matrices_per_member(reduced.mass, members)))
    return (Z @ (inverse @ (Z.transpose(0, 2, 1) @ force.T[:, :, None])))[:, :, 0].max(1)
