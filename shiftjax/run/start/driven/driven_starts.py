"""Starts that drivers decide: what the user may not ask for beside them, and what is said of stated ones. Host code."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from typing import NamedTuple

import numpy as np

from shiftjax.constraints import CONSTRAINTS, RowGroup, scales
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
    prescribed_speeds,
)
from shiftjax.run.closing.poses import close
from shiftjax.run.start.branches import distances
from shiftjax.topology.plan import Plan, flat

STRIDES = 10  # of 80 changes of at most 10 degrees each: 22 turns
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
                out.append(
                    f"{coordinate.path} starts where its driver {_name(group)} does, up to {far[elsewhere].max():.3g}"
                    f" from its initial_displacement in {elsewhere.sum()} members"
                )
    return [*out, *_poses_moved(lane, q, closed, joints)]


def _poses_moved(lane: StartLane, q: np.ndarray, closed: np.ndarray, joints: Mapping[str, Joint]) -> list[str]:
    """The same of balls and floating bodies: by how far their places and their orientations differ."""
    led = {driver: what for driver, what in _led(lane.plan).items() if not driver.prescribes}
    if not led:
        return []
    stated, out = coordinates_of_numbers(lane, q.shape[1]), list[str]()
    for driver, (path, coordinates) in led.items():
        far, members = _apart(lane.plan, q, stated, coordinates, closed)
        if far and joints[path].states("initial_displacement", ""):
            out.append(
                f"{path} starts where its driver {driver.name} does, up to {far} from its initial_displacement"
                f" in {members} members"
            )
    return out


class OnDrivers(NamedTuple):
    """Where members go on that an earlier run has left elsewhere than their drivers begin."""

    q: np.ndarray  # (nq, B)
    notes: tuple[str, ...]
    lost: np.ndarray  # (B,) whose loops do not allow it, or are too far away: they stay as they were


def put_on_drivers(lane: StartLane, q: np.ndarray, v: np.ndarray, good: np.ndarray, limit: float) -> OnDrivers:
    """Where an earlier run has left members, moved to where drivers and ties in time begin, and notes of it.

    Projections of a step take the sines of half turns for small ones; here residuals are logarithms, and a change is at
    most 10 degrees at once, so that loops stay on their branch.

    Args:
        lane: at the time at which the run begins. q: (nq, B); v: (nv, B). good: (B,) members that go on.
        limit: rows that are off by less stay, dimensionless.
    """
    plan, before, q = lane.plan, q, q.copy()
    led, others, lost = _led(plan), dict[str, Sequence[int]](), np.zeros(q.shape[1], bool)
    for s, block in enumerate(plan.substructures):
        groups = [plan.constraints[k] for k in block.groups]
        rows = np.repeat([group.time_dependent for group in groups], [group.rows for group in groups])
        if not rows.any():
            continue
        away = np.flatnonzero(good & (np.abs(closure(lane, q, s)[0][:, rows]).max(1) > limit))
        if not len(away):
            continue
        part = lane.of(away)
        assert isinstance(part, StartLane)
        moved, places = q[:, away], prescribed_coordinates(part)
        for k in (k for group in groups if group in led for k in led[group].coordinates):
            for place in range(plan.nq)[plan.coordinates[k].places]:
                moved[place] = places.get(place, moved[place])
        # A body that carries loops takes them along; one within a loop is brought there from where it was.
        within = np.abs(closure(part, moved, s)[0]).max(1) > limit
        moved[:, within] = q[:, away[within]]
        moved, size = _closed(part, moved, s)
        q[:, away] = np.where(size <= CLOSED, moved, q[:, away])
        lost[away] |= size > CLOSED
        of_block = plan.coordinates_in(s)
        others |= {group.name: of_block for group in groups if group.time_dependent and group not in led}
    judged = good & (q != before).any(0)
    notes = [*_begins_elsewhere(plan, q, before, judged, led, others), *_sets_off(lane, q, v, good & ~lost, limit, led)]
    return OnDrivers(q, tuple(notes), lost)


def _closed(lane: StartLane, q: np.ndarray, index: int) -> tuple[np.ndarray, np.ndarray]:
    """As `close`, over turns of what drives too."""
    moved, size = close(lane.plan, lane, q, index, ())
    for _ in range(STRIDES):
        open_ = np.flatnonzero(size > CLOSED)
        if not len(open_):
            break
        moved[:, open_], size[open_] = close(lane.plan, lane.of(open_), moved[:, open_], index, ())
    return moved, size


def _begins_elsewhere(
    plan: Plan,
    q: np.ndarray,
    before: np.ndarray,
    judged: np.ndarray,
    led: Mapping[RowGroup, _Led],
    others: Mapping[str, Sequence[int]],
) -> Iterator[str]:
    """Notes of what goes on from other places (nq, B) than those before.

    Args:
        others: name of another driver -> the coordinates of its loops.
    """
    for driver, (path, coordinates) in led.items():
        far, members = _apart(plan, q, before, coordinates, judged)
        if far:
            yield (
                f"{path} goes on where its driver {_name(driver)} begins, up to {far} from where the run before has "
                f"left it in {members} members"
            )
    for name, coordinates in others.items():
        far, members = _apart(plan, q, before, coordinates, judged)
        if far:
            yield (
                f"{name} begins elsewhere than the run before has ended: joints go on up to {far} from where that has "
                f"left them in {members} members"
            )


def _sets_off(
    lane: StartLane, q: np.ndarray, v: np.ndarray, good: np.ndarray, limit: float, led: Mapping[RowGroup, _Led]
) -> Iterator[str]:
    """Notes of drivers whose speeds are not those (nv, B) of the run before: these jump, which takes an impulse."""
    plan, units = lane.plan, np.asarray(lane.units)
    for s, block in enumerate(plan.substructures):
        groups = [plan.constraints[k] for k in block.groups]
        if not any(group.time_dependent for group in groups):
            continue
        columns, nu = [*block.columns], prescribed_speeds(lane, q, s)
        J = closure(lane, q, s)[1]
        with np.errstate(all="ignore"):  # members that have failed
            off = np.abs((J @ (v[columns] / units[columns, None]).T[:, :, None])[:, :, 0] - nu)
            off = np.where((off > limit * np.maximum(1.0, np.abs(nu))) & good[:, None], off, 0.0)
        first = 0
        for group in groups:
            rows, first = off[:, first : first + group.rows], first + group.rows
            if group.time_dependent and rows.any():
                row_units = CONSTRAINTS[group.kind].row_units(group)
                most = dict.fromkeys(row_units, 0.0)
                for unit, size, far in zip(row_units, scales(row_units, lane.length), rows.max(0), strict=True):
                    most[unit] = max(most[unit], size * float(far))
                jump = " and ".join(f"{x:.3g} {unit}/s" for unit, x in most.items() if x)
                what = f"{led[group].path} goes on with the speed of its driver {_name(group)}" if group in led else ""
                what = what or f"{group.name} goes on with other speeds"
                yield f"{what}, a jump of up to {jump} from the end of the run before in {rows.any(1).sum()} members"


def _name(driver: RowGroup) -> str:
    return driver.name if driver.function < 0 else "of drive="


class _Led(NamedTuple):
    """What a driver decides: a joint, or one coordinate of it."""

    path: str
    coordinates: list[int]


def _led(plan: Plan) -> dict[RowGroup, _Led]:
    """Driver -> what it decides."""
    led: dict[RowGroup, _Led] = {}
    for k, driver in deciding_drivers(plan).items():
        one = plan.coordinates[k]
        path = one.path if driver.prescribes else plan.joints[one.joint].path
        led.setdefault(driver, _Led(path, [])).coordinates.append(k)
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
