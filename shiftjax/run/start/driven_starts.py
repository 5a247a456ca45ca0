"""Starts that drivers decide: what the user may not ask for beside them, and what is said of stated ones. Host code."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence

import numpy as np

from shiftjax.constraints import RowGroup
from shiftjax.errors import ModelError
from shiftjax.mechanism.model import Model
from shiftjax.mechanism.paths import split
from shiftjax.mechanism.records import Joint
from shiftjax.run.closing.host_evaluation import StartLane, coordinates_of_numbers, deciding_drivers, drives_places
from shiftjax.run.start.branches import distances
from shiftjax.topology.plan import Plan, flat

REPORTED = 1e-6  # a start that differs this much from what the user said is reported [rad or m]


def refuse_driven(
    plan: Plan, holding: Sequence[int], moved: Sequence[int], thrown: Sequence[int], named: Collection[int]
) -> None:
    """Raises where the user asks for a start of a coordinate that its driver decides.

    Args:
        holding, moved, thrown: coordinates that are held, or whose initial displacement or speed was named.
        named: places of the numbers that were named.
    """
    drivers = deciding_drivers(plan)
    asked = (("hold", holding), ("initial_displacement of", moved), ("initial_velocity of", thrown))
    for where, coordinates in asked:
        for k in coordinates:
            if k in drivers and not (coordinates is moved and _starts_freely(plan, k, drivers[k], named)):
                fault = f"a joint that the driver {drivers[k].name} moves"
                todo = "Leave it out, or change the driver."
                raise ModelError(f"{where} {plan.coordinates[k].path}", fault, "joints that start freely", todo)


def _starts_freely(plan: Plan, k: int, driver: RowGroup, named: Collection[int]) -> bool:
    """Whether none of the numbers named is of a start that the driver of a coordinate overrides."""
    if driver.prescribes:
        return plan.coordinates[k].start[0] in dict(driver.numbers).values()
    *_, rotation = plan.joints[plan.coordinates[k].joint].displacement  # all coordinates name all numbers of a pose
    return not drives_places(driver) and not {*flat(rotation)} & {*named}


def moved_by_drivers(lane: StartLane, q: np.ndarray, closed: np.ndarray, model: Model) -> list[str]:
    """Notes of joints that start elsewhere than the model says, since their drivers do.

    Args:
        q: (nq, B) at the start. closed: (B,) whose loops are.
    """
    joints = dict(model.joints())
    out: list[str] = []
    for group in lane.plan.constraints:
        for coordinate in (lane.plan.coordinates[k] for k in group.coordinates if group.prescribes):
            stated = np.asarray(lane.params.at(coordinate.start[0]))
            far = np.abs(q[coordinate.q] - stated)
            path, name = split(coordinate.path)
            elsewhere = (far > REPORTED) & closed & joints[path].states("initial_displacement", name[1:])
            if elsewhere.any():
                driver = group.name if group.function < 0 else "of drive="
                out.append(
                    f"{coordinate.path} starts where its driver {driver} does, up to {far[elsewhere].max():.3g}"
                    f" from its initial_displacement in {elsewhere.sum()} members"
                )
    return [*out, *_poses_moved(lane, q, closed, joints)]


def _poses_moved(lane: StartLane, q: np.ndarray, closed: np.ndarray, joints: Mapping[str, Joint]) -> list[str]:
    """The same of balls and floating bodies: by how far their places and their orientations differ."""
    plan, out = lane.plan, list[str]()
    drivers = {k: one for k, one in deciding_drivers(plan).items() if not one.prescribes}
    if not drivers:
        return out
    stated = coordinates_of_numbers(lane, q.shape[1])
    for driver in dict.fromkeys(drivers.values()):
        led = [k for k, one in drivers.items() if one is driver]
        path = plan.joints[plan.coordinates[led[0]].joint].path
        far = np.nan_to_num(distances(plan, q, stated, led))
        elsewhere = (far > REPORTED).any(0) & closed
        if not elsewhere.any() or not joints[path].states("initial_displacement", ""):
            continue
        units = [plan.coordinates[k].unit for k in led]
        most = {unit: max(far[row][elsewhere].max() for row, x in enumerate(units) if x == unit) for unit in units}
        size = " and ".join(f"{value:.3g} {unit}" for unit, value in most.items() if value > REPORTED)
        out.append(
            f"{path} starts where its driver {driver.name} does, up to {size} from its initial_displacement"
            f" in {elsewhere.sum()} members"
        )
    return out
