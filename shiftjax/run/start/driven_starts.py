"""Starts that drivers decide: what the user may not ask for beside them, and what is said of stated ones. Host code."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence

import numpy as np

from shiftjax.constraints import RowGroup
from shiftjax.errors import ModelError
from shiftjax.mechanism.model import Model
from shiftjax.mechanism.paths import split
from shiftjax.mechanism.records import Joint
from shiftjax.run.closing.closer import CLOSED
from shiftjax.run.closing.host_evaluation import (
    StartLane,
    closure,
    coordinates_of_numbers,
    deciding_drivers,
    drives_places,
    prescribed_coordinates,
)
from shiftjax.run.closing.poses import close
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
    led = _led_by_poses(lane.plan)
    if not led:
        return []
    stated, out = coordinates_of_numbers(lane, q.shape[1]), list[str]()
    for driver, (path, coordinates) in led.items():
        far, members = _apart(lane.plan, q, stated, coordinates, closed)
        if far and joints[path].states("initial_displacement", ""):
            out.append(
                f"{path} starts where its driver {driver} does, up to {far} from its initial_displacement"
                f" in {members} members"
            )
    return out


def put_on_drivers(
    lane: StartLane, q: np.ndarray, good: np.ndarray, limit: float
) -> tuple[np.ndarray, tuple[str, ...]]:
    """Where an earlier run has left members, moved to where their drivers of poses begin, and notes of it.

    Projections of a step take the sines of half turns for small ones; here residuals are logarithms, and a change is at
    most 10 degrees at once, so that loops stay on their branch.

    Args:
        lane: at the time at which the run begins. q: (nq, B). good: (B,) members that go on.
        limit: rows of drivers that are off by less stay, dimensionless.

    Returns:
        (nq, B) coordinates; those of members that cannot be moved there as they were.
    """
    plan, before, q = lane.plan, q, q.copy()
    led = _led_by_poses(plan)
    for s, block in enumerate(plan.substructures):
        groups = [plan.constraints[k] for k in block.groups]
        rows = np.repeat([group.name in led for group in groups], [group.rows for group in groups])
        if not rows.any():
            continue
        away = np.flatnonzero(good & (np.abs(closure(lane, q, s)[0][:, rows]).max(1) > limit))
        if not len(away):
            continue
        part = lane.of(away)
        assert isinstance(part, StartLane)
        moved, places = q[:, away], prescribed_coordinates(part)
        for k in (k for group in groups if group.name in led for k in led[group.name][1]):
            for place in range(plan.nq)[plan.coordinates[k].places]:
                moved[place] = places[place]
        # A body that carries loops takes them along; one within a loop is brought there from where it was.
        within = np.abs(closure(part, moved, s)[0]).max(1) > limit
        moved[:, within] = q[:, away[within]]
        moved, size = close(plan, part, moved, s, ())
        q[:, away] = np.where(size <= CLOSED, moved, q[:, away])
    notes: list[str] = []
    for driver, (path, coordinates) in led.items():
        far, members = _apart(plan, q, before, coordinates, good & (q != before).any(0))
        if far:
            notes.append(
                f"{path} goes on where its driver {driver} begins, up to {far} from where the run before has left it"
                f" in {members} members"
            )
    return q, tuple(notes)


def _led_by_poses(plan: Plan) -> dict[str, tuple[str, list[int]]]:
    """Driver of a pose -> its joint, and the coordinates of that of which it decides."""
    led: dict[str, tuple[str, list[int]]] = {}
    for k, driver in deciding_drivers(plan).items():
        if not driver.prescribes:
            led.setdefault(driver.name, (plan.joints[plan.coordinates[k].joint].path, []))[1].append(k)
    return led


def _apart(
    plan: Plan, q: np.ndarray, others: np.ndarray, coordinates: Sequence[int], judged: np.ndarray
) -> tuple[str, int]:
    """By how far coordinates (nq, B) of one joint are from others at most, as "4 m and 2 rad", and in how many members.

    Args:
        judged: (B,) members that count.
    """
    far = np.nan_to_num(distances(plan, q, others, coordinates))
    elsewhere = (far > REPORTED).any(0) & judged
    most: dict[str, float] = {}
    for k, row in zip(coordinates, far, strict=True):
        unit = plan.coordinates[k].unit
        most[unit] = max(most.get(unit, 0.0), row[elsewhere].max(initial=0.0))
    return " and ".join(f"{x:.3g} {unit}" for unit, x in most.items() if x > REPORTED), int(elsewhere.sum())
