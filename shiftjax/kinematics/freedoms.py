"""Freedoms that drivers leave: what a path of poses cannot have, but for bodies that move by themselves. Host code."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from shiftjax.algebra import is_zero
from shiftjax.constraints import CONSTRAINTS
from shiftjax.errors import ModelError
from shiftjax.lanes.member_values import MemberValues
from shiftjax.mechanism.paths import listed
from shiftjax.run.start.prepared import Prepared
from shiftjax.topology.partition import free_speeds
from shiftjax.topology.plan import Plan


def refuse_freedoms(prepared: Prepared, report: Mapping[str, Any], index: int | None = None) -> None:
    """Raises where drivers leave a freedom at the drawn pose, but for bodies that can move alone.

    Args:
        report: the topology report. index: the substructure that counts; all, and what is in none, where left out.

    Raises:
        ModelError: how many, and of which coordinates.
    """
    plan, names = prepared.plan, prepared.plan.speed_names()
    blocks = report["substructures"] if index is None else [report["substructures"][index]]
    left = [names[k] for k in free_speeds(plan)] if index is None else []
    missing = len(left)
    for block in blocks:
        inside = {*block["independent"], *block["dependent"]}
        idle = sum(bool(inside.intersection(motion["joints"])) for motion in report["idle"])
        if (free := len(block["independent"]) - idle) > 0:
            missing += free
            left += [*block["independent"], *block["dependent"]]
    if missing:
        driven = {plan.coordinates[k].path for group in plan.constraints if group.prescribes for k in group.coordinates}
        names = [name for name in left if name not in driven]
        if idle_drives := _idle_drives(plan, blocks):
            fault = f"{listed(idle_drives)}, whose drive moves nothing here: a dead point, or other rows say the same"
            todo = f"State another start (`initial_displacement` of a joint), or drive one of {listed(names)} instead."
            raise ModelError("drive", fault, "a drive that moves the mechanism", todo)
        fault = f"{missing} freedom{'s' * (missing > 1)} that no driver leads"
        todo = f"Drive {missing} more of {listed(names)}, or hold by an equation (`tie`) what stays: "
        todo += f"tie={{'still': '{names[0]}.q == 0.5'}}, --tie 'still={names[0]}.q == 0.5'."
        raise ModelError("drive", fault, "as many drivers as freedoms", todo)


def _idle_drives(plan: Plan, blocks: Sequence[Mapping[str, Any]]) -> list[str]:
    """Coordinates whose drivers say what other rows of their substructures say at the drawn pose."""
    repeated = [row["row"] for block in blocks for row in block["redundant_rows"]]
    return [
        plan.coordinates[group.coordinates[0]].path
        for group in plan.constraints
        if group.prescribes and group.coordinates and any(row.startswith(f"{group.name} ") for row in repeated)
    ]


def refuse_laws_in_time(prepared: Prepared, drivers: Collection[int], index: int | None = None) -> None:
    """Raises where something of the model follows time, which poses have not.

    Args:
        drivers: the constraints that may. index: the substructure that counts; all where left out.
    """
    plan, values = prepared.plan, MemberValues()
    blocks = plan.substructures if index is None else [plan.substructures[index]]
    lane = replace(prepared.file_lane(), t=np.zeros(1)).in_graph(values)
    motion = lane.motion([0.0] * plan.nq, None)
    for k in (k for block in blocks for k in block.groups if k not in drivers):
        group = plan.constraints[k]
        if group.time_dependent and not all(map(is_zero, CONSTRAINTS[group.kind].rows(group, motion).nu)):
            todo = 'Set "active": false on it, and give the places of what it drives by `drive`.'
            raise ModelError(group.name, "a constraint that follows time", "drivers that `drive` gives", todo)


def idle_note(report: Mapping[str, Any]) -> tuple[str, ...]:
    """What is said of motions that are left, and stand still along a path."""
    if not report["idle"]:
        return ()
    bodies = listed(list(dict.fromkeys(motion["body"] for motion in report["idle"])))
    return (
        f"{bodies} can move alone, with all others where they are: no driver leads that motion, and it is not made",
    )
