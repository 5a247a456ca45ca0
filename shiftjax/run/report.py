"""The topology report: what the analysis found, as a dictionary, as text, as tables and as a graph. Host code."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

import shiftjax.run.host_evaluation as host
from shiftjax.dynamics.kinematics import Motion
from shiftjax.dynamics.lane import Lane
from shiftjax.errors import ModelError
from shiftjax.mechanism.model import Model
from shiftjax.run.prepare import Prepared, prepare
from shiftjax.topology.partition import (
    DOUBTFUL_PIVOTS,
    RANK_TOLERANCE,
    Block,
    Elimination,
    blocks_of,
    complete_pivoting,
    secondary_combinations,
)
from shiftjax.topology.plan import Plan, row_names

LARGEST = 1e100  # m or rad
IDLE = 1e-9  # a singular value, relative, or a share of a motion below this is rounding
REPEATS = 1e-9  # a coefficient of C below this is rounding


def info(model: Model, cut: Sequence[str] = (), *, cluster: bool = True) -> dict[str, Any]:
    """What a model is made of: the report of `shiftjax info --json`; coordinates are counted in speeds.

    Raises:
        ModelError: cutting joints that leave a body without a way to ground.
    """
    return report_of(prepare(model, {}, cut=cut, cluster=cluster, refuse=False))


def report_of(prepared: Prepared) -> dict[str, Any]:
    """The same of a model that is prepared already."""
    model, plan, start = prepared.model, prepared.plan, prepared.file_start
    for number, value in zip(plan.numbers, prepared.file_numbers, strict=True):
        if number.role.of_shape and not abs(value) < LARGEST:  # its square is no number
            raise ModelError(number.path, f"{value:g}", f"lengths and angles below {LARGEST:g}", "Correct it.")
    lane = prepared.file_lane()
    found = [_eliminated(lane, start.q, s) for s in range(len(plan.substructures))]
    blocks = [blocks_of(e, plan.substructures[s])[0] for s, (_, e) in enumerate(found)]
    rank = sum(len(block.primary) for block in blocks)
    bodies = sum(1 for node in plan.nodes[1:] if not node.virtual)
    return {
        "bodies": bodies,
        "joints": len(plan.joints),
        "coordinates": plan.nv,
        "loops": len(plan.loops),
        "rank": rank,
        "dof": plan.nv - rank,
        "substructures": [_substructure(plan, s, J, e, blocks[s]) for s, (J, e) in enumerate(found)],
        "tree": _tree(plan),
        "length": prepared.setup.length,
        "gap": float(start.gap[0]),
        "assembled": bool(start.closed[0]),
        "idle": idle_motions(prepared, start.q, [J for J, _ in found]),
        "dangling": list(model.dangling()),
        "not_simulated": [f"{path}: {what}" for path, what in model.unsupported()],
        "warnings": list(model.warnings),
    }


def _eliminated(lane: Lane, q: np.ndarray, s: int) -> tuple[np.ndarray, Elimination]:
    _, J = host.closure(lane, q, s)
    return J[0], complete_pivoting(J, RANK_TOLERANCE["f64"])


def _substructure(plan: Plan, s: int, J: np.ndarray, found: Elimination, block: Block) -> dict[str, Any]:
    structure, names, speeds = plan.substructures[s], row_names(plan, s), plan.speed_names()
    groups = [plan.constraints[k] for k in structure.groups]
    loops = [group for group in groups if group.loop is not None]
    combos = secondary_combinations(J, block.primary)
    secondary = [k for k in range(structure.rows) if k not in block.primary]
    redundant = [
        {"row": names[k], "with": [names[i] for i, c in zip(block.primary, combo, strict=True) if abs(c) > REPEATS]}
        for k, combo in zip(secondary, combos, strict=True)
    ]
    rank = int(found.rank[0])
    first, last = float(found.pivots[0, 0]), float(found.pivots[0, rank - 1]) if rank else 0.0
    doubt = [p / first for p in (last, float(found.dropped[0])) if first > 0]
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
        "dropped_pivot": float(found.dropped[0]),
        "tolerance": RANK_TOLERANCE["f64"],
        "doubtful": any(DOUBTFUL_PIVOTS[0] < p < DOUBTFUL_PIVOTS[1] for p in doubt),
    }


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
    motion = prepared.file_lane().motion(list(q), None)
    real = [k for k, node in enumerate(plan.nodes) if k and not node.virtual]
    out: list[dict[str, Any]] = []
    for body in real if len(real) > 1 else []:
        path = plan.nodes[body].path
        columns = sorted(speed for k in joints[path] for speed in plan.joints[k].speeds)
        blocks = sorted({block_of[speed] for speed in columns if speed in block_of})
        if not blocks:
            continue
        still = [_some_columns(jacobians[s], plan.substructures[s].columns, columns) for s in blocks]
        still += [_twist(prepared, motion, body, k, columns) for k in joints[path] if plan.joints[k].near == body]
        rows = np.concatenate(still)
        if not np.isfinite(rows).all():
            found = "motions at the start that are not finite"
            raise ModelError(path, found, "finite ones", "Correct the lengths and angles at this body.")
        _, size, right = np.linalg.svd(rows)
        size = np.concatenate([size, np.zeros(len(right) - len(size))])
        for x in right[size < IDLE * max(1.0, float(size.max()))]:
            moving = [speed for speed, amount in zip(columns, np.abs(x), strict=True) if amount > IDLE]
            if any(speed in block_of for speed in moving):
                out.append({"body": path, "joints": [speeds[speed] for speed in moving]})
    return out


def _some_columns(J: np.ndarray, own: Sequence[int], wanted: Sequence[int]) -> np.ndarray:
    """(m, n) columns of a Jacobian for the wanted speeds, zero where it has none."""
    out = np.zeros((len(J), len(wanted)))
    place = {speed: k for k, speed in enumerate(own)}
    for k, speed in enumerate(wanted):
        if speed in place:
            out[:, k] = J[:, place[speed]]
    return out


def _twist(prepared: Prepared, motion: Motion, body: int, child: int, columns: Sequence[int]) -> np.ndarray:
    """(6, n) motion of the body beyond joint `child` of `body` for unit dimensionless speeds of the joints at it."""
    plan, unit = prepared.plan, prepared.file_lane().units
    out = np.zeros((6, len(columns)))
    if plan.joints[child].chord:  # a cut end: the Jacobian says that it stays
        return out
    for index in (plan.nodes[body].joint, child):
        for i, screw in enumerate(motion.chain().screws_of(index)):
            speed = plan.joints[index].v + i
            out[:, columns.index(speed)] = unit[speed] * host.per_member([*screw.angular, *screw.linear], 1)[:, 0]
    return out


def text(model: Model) -> str:
    """The report as a person reads it."""
    found = info(model)
    lines = [
        f"{model.name or 'model'}: {found['bodies']} bodies, {found['joints']} joints,"
        f" {found['coordinates']} coordinates, {found['loops']} loops, rank {found['rank']},"
        f" {found['dof']} degrees of freedom",
    ]
    for k, s in enumerate(found["substructures"]):
        lines += [
            f"substructure {k}: {s['loops']} loops, {s['rows']} rows x {s['columns']} columns, rank {s['rank']}"
            + (f", on {', '.join(s['base'])}" if s["base"] else ""),
            f"  dependent:   {', '.join(s['dependent'])}",
            f"  independent: {', '.join(s['independent']) or 'none'}",
            *([f"  tied by:     {', '.join(s['constraints'])}"] if s["constraints"] else []),
        ]
        for row in s["redundant_rows"]:
            reason = f"repeats {', '.join(row['with'])}" if row["with"] else "holds by itself"
            lines.append(f"  redundant:   {row['row']} ({reason})")
        if s["doubtful"]:
            lines.append(f"  rank doubtful: last pivot {s['last_pivot']:.1e}, first dropped {s['dropped_pivot']:.1e}")
    for motion in found["idle"]:
        lines.append(f"idle motion: {motion['body']} moves alone, carried by {', '.join(motion['joints'])}")
    if not found["assembled"]:
        lines.append(f"the loops do not close: {found['gap']:.3g} (m or rad) stays open")
    lines += [f"left out: {path} touches something switched off" for path in found["dangling"]]
    lines += [f"cannot be simulated yet: {item}" for item in found["not_simulated"]]
    lines += [f"warning: {message}" for message in found["warnings"]]
    return "\n".join(lines)


def dot(model: Model, *, whole: bool = False) -> str:
    """A Graphviz drawing, substructures coloured; `whole` draws it before the loops are cut."""
    plan = prepare(model, {}, refuse=False).plan
    colours = ("crimson", "royalblue", "forestgreen", "darkorange", "purple", "teal")
    colour = {j: colours[s % len(colours)] for s, block in enumerate(plan.substructures) for j in block.joints}
    ids = {
        k: (node.path if whole or not node.virtual else f"{node.path} (virtual {k})")
        for k, node in enumerate(plan.nodes)
    }
    lines = [
        "graph mechanism {",
        "  node [shape=box, style=rounded];",
        '  "fixed" [style=filled, fillcolor=lightgray];',
    ]
    lines += [f'  "{ids[k]}" [style=dashed];' for k, node in enumerate(plan.nodes) if node.virtual and not whole]
    for k, joint in enumerate(plan.joints):
        lines.append(
            f'  "{ids[joint.near]}" -- "{ids[joint.far]}" [label="{joint.path}", color={colour.get(k, "black")}];'
        )
    if not whole:
        lines += [
            f'  "{ids[loop.virtual]}" -- "{ids[loop.real]}" [style=dotted, label="chord"];' for loop in plan.loops
        ]
    return "\n".join([*lines, "}"])


def tables(model: Model) -> dict[str, Any]:
    """The permutation and scatter tables of the Plan and of the nominal partition, in ints."""
    prepared = prepare(model, {}, refuse=False)
    plan, start, lane = prepared.plan, prepared.file_start, prepared.file_lane()
    out: list[Mapping[str, Any]] = []
    for s, block in enumerate(plan.substructures):
        _, found = _eliminated(lane, start.q, s)
        own = blocks_of(found, block)[0]
        out.append(
            {
                "first_row": block.first_row,
                "rows": block.rows,
                "columns": list(block.columns),
                "primary_rows": [block.first_row + k for k in own.primary],
                "secondary_rows": [block.first_row + k for k in range(block.rows) if k not in own.primary],
                "dependent": list(own.dependent),
                "independent": list(own.independent),
            }
        )
    file_order = {path: k for k, (path, _) in enumerate(model.joints())}
    return {
        "joint_of_file": [file_order[joint.path] for joint in plan.joints],
        "first_coordinate": [joint.q for joint in plan.joints],
        "first_speed": [joint.v for joint in plan.joints],
        "near": [joint.near for joint in plan.joints],
        "far": [joint.far for joint in plan.joints],
        "sense": [-1 if joint.reverse else 1 for joint in plan.joints],
        "levels": [node.level for node in plan.nodes],
        "substructures": out,
    }
