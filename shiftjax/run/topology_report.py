"""The topology report: what the analysis of a prepared model found, as a dictionary. Host code."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

import shiftjax.run.closing.host_evaluation as host
from shiftjax.algebra import Scalar, Vec
from shiftjax.dynamics.lane import Lane
from shiftjax.errors import ModelError
from shiftjax.mechanism.records import Body, FrameRef
from shiftjax.run.start.prepared import Prepared
from shiftjax.topology.partition import (
    DOUBTFUL_PIVOTS,
    Block,
    Elimination,
    blocks_of,
    complete_pivoting,
    rank_tolerance,
    secondary_combinations,
    secondary_rows,
)
from shiftjax.topology.plan import Plan, row_names

LARGEST = 1e100  # m or rad
IDLE = 1e-9  # a singular value, relative, or a share of a motion below this is rounding
REPEATS = 1e-9  # a coefficient of C below this is rounding


def topology_report(prepared: Prepared) -> dict[str, Any]:
    """The report of `shiftjax info --json`: what a prepared model is made of, at the file's start."""
    model, plan, start = prepared.model, prepared.plan, prepared.file_start
    for number, value in zip(plan.numbers, prepared.file_numbers, strict=True):
        if number.role.of_shape and not abs(value) < LARGEST:  # its square is no number
            raise ModelError(number.path, f"{value:g}", f"lengths and angles below {LARGEST:g}", "Correct it.")
    lane = prepared.file_lane()
    eliminations = [eliminated(lane, start.q, s) for s in range(len(plan.substructures))]
    blocks = [blocks_of(e, plan.substructures[s])[0] for s, (_, e) in enumerate(eliminations)]
    rank = sum(len(block.primary) for block in blocks)
    bodies = sum(1 for node in plan.nodes[1:] if not node.virtual)
    return {
        "bodies": bodies,
        "joints": len(plan.joints),
        "coordinates": plan.nv,
        "loops": len(plan.loops),
        "rank": rank,
        "dof": plan.nv - rank,
        "substructures": [_substructure(plan, s, J, e, blocks[s]) for s, (J, e) in enumerate(eliminations)],
        "tree": _tree(plan),
        "body_list": [_body(path, body) for path, body in model.bodies()],
        "length": prepared.setup.length,
        "gap": float(start.gap[0]),
        "assembled": bool(start.closed[0]),
        "idle": idle_motions(prepared, start.q, [J for J, _ in eliminations]),
        "dangling": list(model.dangling()),
        "not_simulated": [f"{path}: {what}" for path, what in model.unsupported()],
        "warnings": list(model.warnings),
    }


def eliminated(lane: Lane, q: np.ndarray, s: int) -> tuple[np.ndarray, Elimination]:
    _, J = host.closure(lane, q, s)
    return J[0], complete_pivoting(J, rank_tolerance(lane.plan.substructures[s]))


def _substructure(plan: Plan, s: int, J: np.ndarray, elimination: Elimination, block: Block) -> dict[str, Any]:
    structure, names, speeds = plan.substructures[s], row_names(plan, s), plan.speed_names()
    groups = [plan.constraints[k] for k in structure.groups]
    loops = [group for group in groups if group.loop is not None]
    combos = secondary_combinations(J, block.primary)
    secondary = secondary_rows(structure, block)
    redundant = [
        {"row": names[k], "with": [names[i] for i, c in zip(block.primary, combo, strict=True) if abs(c) > REPEATS]}
        for k, combo in zip(secondary, combos, strict=True)
    ]
    rank = int(elimination.rank[0])
    first, last = float(elimination.pivots[0, 0]), float(elimination.pivots[0, rank - 1]) if rank else 0.0
    doubt = [p / first for p in (last, float(elimination.dropped[0])) if first > 0]
    return {
        "loops": len(loops),
        "chords": [group.name for group in loops],
        "constraints": [group.name for group in groups if group.loop is None],
        "rows": structure.rows,
        "columns": len(structure.columns),
        "rank": rank,
        "joints": [plan.joints[k].path for k in structure.joints],
        "dependent": [speeds[k] for k in block.dependent],
        "independent": [speeds[k] for k in block.independent],
        "redundant_rows": redundant,
        "base": sorted({plan.nodes[group.loop.base].path for group in loops if group.loop}),
        "last_pivot": last,
        "dropped_pivot": float(elimination.dropped[0]),
        "tolerance": rank_tolerance(structure),
        "doubtful": any(DOUBTFUL_PIVOTS[0] < p < DOUBTFUL_PIVOTS[1] for p in doubt),
    }


def _body(path: str, body: Body) -> dict[str, Any]:
    frames = [FrameRef(path, frame.name).path for frame in body.frames]
    return {"body": path, "mass": body.mass, "center_of_mass": list(body.center_of_mass), "frames": frames}


def _tree(plan: Plan) -> list[dict[str, Any]]:
    return [
        {
            "joint": joint.path,
            "kind": joint.type,
            "from": plan.nodes[joint.near].path,
            "to": plan.nodes[joint.far].path,
            "level": plan.nodes[joint.far].level,
            "chord": joint.chord,
            "reversed": joint.reverse,
        }
        for joint in plan.joints
    ]


def idle_motions(prepared: Prepared, q: np.ndarray, jacobians: Sequence[np.ndarray]) -> list[dict[str, Any]]:
    """Motions of one body that leave every other body where it is, such as a rod spinning between two balls.

    Only the joints at the body move then, so each body is a small problem of its own.
    """
    plan, speeds = prepared.plan, prepared.plan.speed_names()
    block_of = {speed: s for s, block in enumerate(plan.substructures) for speed in block.columns}
    joints: dict[str, list[int]] = {}  # at each body, cut ends counted as the body
    for index, joint in enumerate(plan.joints):
        for node in (joint.near, joint.far):
            joints.setdefault(plan.nodes[node].path, []).append(index)
    real = [k for k, node in enumerate(plan.nodes) if k and not node.virtual]
    columns_at = {
        body: sorted(speed for k in joints[plan.nodes[body].path] for speed in plan.joints[k].speeds)
        for body in (real if len(real) > 1 else [])
    }
    columns_at = {body: columns for body, columns in columns_at.items() if any(one in block_of for one in columns)}
    near = {body: [k for k in joints[plan.nodes[body].path] if plan.joints[k].near == body] for body in columns_at}
    screws = _screws(prepared.file_lane(), q, near)
    out: list[dict[str, Any]] = []
    for body, columns in columns_at.items():
        path = plan.nodes[body].path
        blocks = sorted({block_of[speed] for speed in columns if speed in block_of})
        still = [_some_columns(jacobians[s], plan.substructures[s].columns, columns) for s in blocks]
        still += [_twist(plan, screws, body, k, columns) for k in near[body]]
        rows = np.concatenate(still)
        if not np.isfinite(rows).all():
            fault = "motions at the start that are not finite"
            raise ModelError(path, fault, "finite ones", "Correct the lengths and angles at this body.")
        _, size, right = np.linalg.svd(rows)
        size = np.concatenate([size, np.zeros(len(right) - len(size))])
        for x in right[size < IDLE * max(1.0, float(size.max()))]:
            moving = [speed for speed, amount in zip(columns, np.abs(x), strict=True) if amount > IDLE]
            if any(speed in block_of for speed in moving):
                out.append({"body": path, "joints": [speeds[speed] for speed in moving]})
    return out


def _some_columns(J: np.ndarray, columns: Sequence[int], wanted: Sequence[int]) -> np.ndarray:
    """(m, n) columns of a Jacobian for the wanted speeds, zero where it has none."""
    out = np.zeros((len(J), len(wanted)))
    place = {speed: k for k, speed in enumerate(columns)}
    for k, speed in enumerate(wanted):
        if speed in place:
            out[:, k] = J[:, place[speed]]
    return out


def _screws(lane: Lane, q: np.ndarray, near: Mapping[int, Sequence[int]]) -> dict[int, np.ndarray]:
    """Speed -> (6,) the motion of what its joint carries for a dimensionless unit of it: of joints of some bodies.

    Args:
        near: body -> joints that begin at it.
    """
    plan = lane.plan
    beside = {k for body, children in near.items() for k in (plan.nodes[body].joint, *children)}
    wanted = tuple(k for k in sorted(beside) if not plan.joints[k].chord)

    def function(valued: Lane, at: Vec) -> dict[tuple[int, int], Scalar]:
        chain = valued.motion(at, None).chain()
        return {
            (plan.joints[k].v + i, row): value
            for k in wanted
            for i, screw in enumerate(chain.screws_of(k))
            for row, value in enumerate((*screw.angular, *screw.linear))
        }

    screws = {speed: np.zeros(6) for k in wanted for speed in plan.joints[k].speeds}
    host.evaluate_on(lane, q, ("screws", wanted), function, lambda at: screws[at[0]][at[1] : at[1] + 1])
    return {speed: lane.units[speed] * screw for speed, screw in screws.items()}


def _twist(plan: Plan, screws: Mapping[int, np.ndarray], body: int, child: int, columns: Sequence[int]) -> np.ndarray:
    """(6, n) motion of the body beyond joint `child` of `body` for unit dimensionless speeds of the joints at it."""
    out = np.zeros((6, len(columns)))
    if plan.joints[child].chord:  # a cut end: the Jacobian says that it stays
        return out
    for index in (plan.nodes[body].joint, child):
        for speed in plan.joints[index].speeds:
            out[:, columns.index(speed)] = screws[speed]
    return out
