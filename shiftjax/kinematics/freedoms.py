"""Freedoms that drivers leave: what a path of poses cannot have, but for bodies that move by themselves. Host code."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from shiftjax.errors import ModelError
from shiftjax.mechanism.paths import listed
from shiftjax.run.start.prepared import Prepared
from shiftjax.topology.partition import free_speeds


def refuse_freedoms(prepared: Prepared, report: Mapping[str, Any], *, idle: bool = True) -> None:
    """Raises where drivers leave a freedom at the drawn pose.

    Args:
        report: the topology report. idle: whether motions of one body that leave all others where they are may be left,
            as of a rod that spins between two balls.

    Raises:
        ModelError: how many, and of which coordinates.
    """
    plan = prepared.plan
    missing = report["dof"] - (len(report["idle"]) if idle else 0)
    if missing <= 0:
        return
    left = [plan.speed_names()[k] for k in free_speeds(plan)]
    for block in report["substructures"]:
        left += [*block["independent"], *block["dependent"]] if block["independent"] else []
    driven = {plan.coordinates[k].path for group in plan.constraints if group.prescribes for k in group.coordinates}
    fault = f"{missing} freedom{'s' * (missing > 1)} that no driver leads"
    todo = f"Drive {missing} more of {listed([name for name in left if name not in driven])}."
    raise ModelError("drive", fault, "as many drivers as freedoms", todo)


def idle_note(report: Mapping[str, Any]) -> tuple[str, ...]:
    """What is said of motions that are left, and stand still along a path."""
    if not report["idle"]:
        return ()
    bodies = listed(list(dict.fromkeys(motion["body"] for motion in report["idle"])))
    return (
        f"{bodies} can move alone, with all others where they are: no driver leads that motion, and it is not made",
    )
