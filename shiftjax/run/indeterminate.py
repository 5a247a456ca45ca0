"""Reactions that equilibrium alone does not determine: which rows leave them open, and whose they are. Host code.

Problem: an overconstrained joint (a planar loop modelled in space, three hinges of a door) is loaded by how its parts
yield, which a rigid body does not say. `dynamics.redundancy` chooses; here it is told where.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np

import shiftjax.run.closing.host_evaluation as host
from shiftjax.algebra import scale
from shiftjax.dynamics.kinematics import Motion
from shiftjax.dynamics.reactions import redundancy_at
from shiftjax.dynamics.redundancy import ROWS, Multipliers, Redundancy
from shiftjax.forces import FORCES
from shiftjax.lanes.member_values import MemberValues
from shiftjax.measures.channel import Channel
from shiftjax.mechanism.paths import listed
from shiftjax.run.start.prepared import Prepared
from shiftjax.run.topology_report import eliminated
from shiftjax.topology.partition import blocks_of, secondary_rows
from shiftjax.topology.plan import Plan, row_names

OPEN = 1e-6  # of the largest load of an unknown: a joint with less is determinate but for rounding
LOADS = ("reaction_force", "reaction_moment", "drive_load", "multiplier")


def indeterminate(prepared: Prepared) -> list[dict[str, Any]]:
    """What hangs together of it, at the file's start.

    Returns:
        of each: `rows` that are redundant, the `joints` whose reactions they leave open, and the `constraints` that are
        no loops whose multipliers they leave open; the `friction` that depends on such reactions.
    """
    plan, lane, q = prepared.plan, prepared.file_lane(), prepared.file_start.q
    blocks = [blocks_of(eliminated(lane, q, s)[1], one)[0] for s, one in enumerate(plan.substructures)]
    motion, values = host.motion_of(lane, q)
    redundancy, names = redundancy_at(lane, blocks, motion), []
    for s, block in enumerate(blocks):
        every = row_names(plan, s)
        names += [every[row] for row in secondary_rows(plan.substructures[s], block)]
    for unknown in redundancy.unknowns[len(names) :: ROWS]:  # of loops of welds
        group = plan.constraints[next(iter(unknown))]
        names += [f"{group.name} {row}" for row in group.row_names]
    out: list[dict[str, Any]] = []
    for cluster in redundancy.clusters:
        joints: set[int] = set()
        others: set[str] = set()
        for unknown in (redundancy.unknowns[k] for k in cluster):
            rest = [k for k in unknown if plan.constraints[k].loop is None]
            loads = {(True, joint): wrench for joint, wrench in redundancy.on_joints(unknown).items()}
            loads |= {(False, k): unknown[k] for k in rest}
            for of_joint, k in _large({key: values.numbers(numbers) for key, numbers in loads.items()}):
                joints |= {k} if of_joint else set(plan.constraints[k].coupled)
                others |= set() if of_joint else {plan.constraints[k].name}
        frictions = _frictions(plan, motion, values, [redundancy.unknowns[k] for k in cluster], redundancy)
        rows, paths = [names[k] for k in cluster], [plan.joints[k].path for k in sorted(joints)]
        out.append({"rows": rows, "joints": paths, "constraints": sorted(others), "friction": frictions})
    return out


def _frictions(
    plan: Plan, motion: Motion, values: MemberValues, unknowns: Sequence[Multipliers], redundancy: Redundancy
) -> list[str]:
    """Which forces that grow with what their joints bear do so with a unit of any of some unknowns."""
    out: list[str] = []
    for element in plan.forces if plan.bears else ():
        if not element.bears:
            continue
        kind, n, (joint, axis) = FORCES[element.kind], motion.values(element.numbers), motion.seat(element)
        for wrench in filter(None, (redundancy.on_joints(unknown).get(joint) for unknown in unknowns)):
            pressed = kind.pressed(n, axis, wrench[:3], scale(1.0 / redundancy.length, wrench[3:]))
            parts = values.numbers([x for weight, vector in pressed.parts for x in scale(weight, vector)])
            if any(np.abs(part).max() > OPEN * max(np.abs(x).max() for x in values.numbers(wrench)) for part in parts):
                out.append(element.path)
                break
    return out


def _large(loads: dict[tuple[bool, int], list[Any]]) -> list[tuple[bool, int]]:
    """Those that are not rounding beside the largest."""
    sizes = {key: max((float(np.max(np.abs(value))) for value in loads[key]), default=0.0) for key in loads}
    return [key for key, size in sizes.items() if size > OPEN * max(sizes.values())]


def notes_of_reactions(prepared: Prepared, observed: Sequence[Channel]) -> Iterator[str]:
    """What is one choice of many among the reactions and loads of drives that a run records or measures."""
    plan = prepared.plan
    asked = [channel for channel in observed if channel.path.rpartition(".")[2] in LOADS]
    if not asked and not plan.bears:
        return
    for part in indeterminate(prepared):
        driven = {k for group in plan.constraints if group.name in part["constraints"] for k in group.coordinates}
        if any(
            channel.target in driven if channel.path.endswith(".drive_load")
            else plan.constraints[channel.target].name in part["constraints"] if channel.path.endswith(".multiplier")
            else plan.joints[channel.target].path in part["joints"]
            for channel in asked
        ):  # fmt: skip
            what = [*part["joints"], *(name for name in part["constraints"] if name not in part["joints"])]
            verb = "are" if len(part["rows"]) > 1 else "is"
            yield (
                f"reactions of {listed(what)} are statically indeterminate, since {listed(part['rows'])} {verb} "
                "redundant: of all that balance, those of least norm are given"
            )
        if part["friction"]:
            yield (
                f"friction of {listed(part['friction'])} depends on reactions that are statically indeterminate, since "
                f"{listed(part['rows'])} {'are' if len(part['rows']) > 1 else 'is'} redundant: of all that balance, it "
                "is that of those of least norm"
            )
