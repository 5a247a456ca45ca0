"""Another assembly of a mechanism that stands somewhere: the same inputs, loops closed in another way. Host code."""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from contextlib import suppress

import numpy as np

from shiftjax.access.common_partition import common_partition
from shiftjax.errors import ModelError, one_of
from shiftjax.kinematics.traced_branches import branches
from shiftjax.mechanism.model import Model
from shiftjax.mechanism.paths import listed, split
from shiftjax.run.assemblies.table import Branches
from shiftjax.run.start.prepared import Prepared
from shiftjax.topology.plan import Plan
from shiftjax.watching import Progress, nobody


def other_assembly(
    model: Model,
    prepared: Prepared,
    q: np.ndarray,
    name: str,
    locks: Collection[str],
    allows: Callable[[np.ndarray], bool],
    progress: Progress = nobody,
    driving: Sequence[str] = (),
) -> tuple[str, np.ndarray]:
    """The name and the coordinates (nq,) of another assembly, in which the inputs stand where they are: what is locked
    before what drives sublinkages, then joints of ground, and these before others.

    Args:
        model: that begins where it stands. prepared: of its plan. q: (nq,) there. name: of the assembly; the next one
            where left out. locks: coordinates that are. allows: whether limits and locks let coordinates (nq,) be.
        progress: as of `branches`. driving: coordinates that lead others, in their order.

    Raises:
        ModelError: inputs that are no plain coordinates; no other assembly, or none of that name.
    """
    plan, inputs = prepared.plan, _inputs(model, prepared, q, locks, driving)
    if not inputs:
        raise ModelError(
            "flip", "nothing that moves", "a mechanism with loops that close in several ways", "Free a joint."
        )
    table = branches(model, inputs, progress=progress)
    every = np.array([_coordinates(table, plan, k) for k in range(len(table))])
    present = int(np.argmin([_distance(plan, one, q) for one in every]))
    if len(table) < 2:
        fault = f"one assembly with these inputs ({table.complete})"
        raise ModelError("flip", fault, "a mechanism that closes in several ways", "Move the inputs elsewhere.")
    if name:
        one_of("flip", name, table.names)
    others = [table.names.index(name)] if name else [(present + k) % len(table) for k in range(1, len(table))]
    for which in others:
        if allows(there := _unwound(plan, every[which], q)):
            return table.names[which], there
    fault = (
        f"{len(others)} other assembl{'y' if len(others) == 1 else 'ies'}, beyond limits or where what is locked moves"
    )
    raise ModelError("flip", fault, "one within limits and locks", "Free what is locked, or change a limit.")


def _inputs(
    model: Model, prepared: Prepared, q: np.ndarray, locks: Collection[str], driving: Sequence[str]
) -> dict[str, float]:
    """Coordinates that lead all others, those of joints of ground where loops leave them free, and where they stand."""
    plan, everyone = prepared.plan, np.ones(1, bool)
    ground = {path for path, joint in model.joints() if joint.on_ground}
    partition, chosen = common_partition(prepared, q[:, None], everyone, (), ()), list[int]()
    rank = {path: k for k, path in enumerate(driving)}
    for one in sorted(plan.coordinates, key=lambda one: (one.path not in locks, rank.get(one.path, len(rank)))):
        if one.nq == 1 and (one.path in locks or one.path in rank or split(one.path)[0] in ground):
            with suppress(ModelError):  # loops do not leave these free together
                partition = common_partition(prepared, q[:, None], everyone, (*chosen, one.v), ())
                chosen.append(one.v)
    dependent = {k for block in partition.blocks for k in block.dependent}
    place = {one.v: one for one in plan.coordinates if one.nq == 1}
    missing = [plan.speed_names()[k] for k in range(plan.nv) if k not in dependent and k not in place]
    if missing:
        fault = f"{listed(missing)} among what leads the others, no coordinate of one number"
        raise ModelError("flip", fault, "inputs of one number each", "Use `branches`, and `pose` of what it gives.")
    return {one.path: float(q[one.q]) for k, one in place.items() if k not in dependent}


def _coordinates(table: Branches, plan: Plan, which: int) -> np.ndarray:
    """(nq,) of an assembly."""
    return np.concatenate([np.atleast_1d(table.q[one.path][which]) for one in plan.coordinates])


def _distance(plan: Plan, some: np.ndarray, others: np.ndarray) -> float:
    """Of two poses: turns count by less than half of one."""
    apart = some - others
    for one in plan.coordinates:
        if one.nq == 1 and one.unit == "rad":
            apart[one.q] = np.remainder(apart[one.q] + np.pi, 2.0 * np.pi) - np.pi
    return float(np.abs(apart).max())


def _unwound(plan: Plan, q: np.ndarray, before: np.ndarray) -> np.ndarray:
    """The same pose with angles as near as turns let them to what they were."""
    out = q.copy()
    for one in plan.coordinates:
        if one.nq == 1 and one.unit == "rad":
            out[one.q] += 2.0 * np.pi * np.round((before[one.q] - q[one.q]) / (2.0 * np.pi))
    return out
