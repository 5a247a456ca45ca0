"""What `drive=` says, as drivers of the model: from there on it is what a file would say. Host code."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import fields, replace
from typing import Any

import numpy as np

from shiftjax.constraints import CONSTRAINTS, ConstantSpeed, FunctionOfTime, TimeFunction
from shiftjax.constraints.drives import TYPES, Drive, number_of, rows_of, type_of
from shiftjax.constraints.pose_drives import PoseDrive
from shiftjax.errors import ModelError, refuse_traced, shown
from shiftjax.field import Field
from shiftjax.forces import FORCES
from shiftjax.mechanism.coordinates import plain_coordinate
from shiftjax.mechanism.edit import rebuilt
from shiftjax.mechanism.fields import numbers_of
from shiftjax.mechanism.frozen_json import FrozenJson
from shiftjax.mechanism.model import Model, unused
from shiftjax.mechanism.paths import child, parts, split
from shiftjax.mechanism.physical import faults
from shiftjax.mechanism.records import Assembly, Element, Joint, walk
from shiftjax.run.closing.host_evaluation import StartLane
from shiftjax.run.start.driven.pose_drives import need_posed, pose_element, posed_joint
from shiftjax.topology.plan import Plan

Drivable = Drive | PoseDrive | TimeFunction | float | np.ndarray | Sequence[float] | Callable[[Any], Any]
MOTIONS = ("position", "velocity", "acceleration")
WHOLE = 1e-9  # of a time: rounding
ALLOWED = (
    "a speed, (B,) speeds, ConstantSpeed, Harmonic, Polynomial, Table, AccelerationTable, or a function f(t) of time"
)


def driven(
    model: Model, drive: Mapping[str, Drivable], axes: str = "first"
) -> tuple[Model, dict[str, np.ndarray], dict[str, TimeFunction]]:
    """The model with a driver for every drive that has numbers.

    Args:
        drive: coordinate of a joint -> its motion. A number is a constant speed [rad/s or m/s], a (B,) array of them
            one a member. A callable f(t) gives the position [rad or m] of a scalar time [s]; forward mode takes both
            its derivatives, so that it is pure and made of operators and functions of `numpy` or `jax.numpy`. That of
            a ball or floating joint is a `PoseTable`, `PoseUniform` or `PoseHarmonic`.
        axes: "first" or "second", of the frames of such a joint: those of the rows of its driver.

    Returns:
        the model, whose new drivers are called `JOINT_drive`, or `JOINT_NAME_drive` of one of several coordinates;
        number path -> (B,) values of those that are arrays;
        coordinate -> the functions, of which no model holds anything.

    Raises:
        ModelError: no such joint, no such coordinate of it, or something that is no motion.
    """
    if not isinstance(drive, Mapping):
        raise ModelError("drive", shown(drive), "a dict of joint -> motion", "Write {joint: motion}.")
    joints, assemblies = dict(model.joints()), {path: assembly for path, assembly, _ in walk(model.assemblies)}
    made: dict[str, list[Element]] = {}  # path of an assembly -> its new drivers
    varied: dict[str, np.ndarray] = {}
    functions: dict[str, TimeFunction] = {}
    for name, given in drive.items():
        where = f"drive {name}"
        if pose := isinstance(given, PoseDrive):
            path = need_posed(model, name, where)
        elif posed_joint(model, name):
            todo = "Give one; in --drive and studies as a text, pose_harmonic(...); or write a driver of the file."
            raise ModelError(where, shown(given), "a PoseTable, PoseUniform or PoseHarmonic", todo)
        else:
            path = plain_coordinate(model, name, "drive")
        motion = given if pose else _motion(name, given)
        if not isinstance(motion, PoseDrive | Drive):
            functions[path] = _checked(motion, where)
            continue
        joint, coordinate = split(path)
        home = joint.rpartition(":")[0]
        taken = {item.name for item in (*assemblies[home].drivers, *made.get(home, ()))}
        called = unused(f"{parts(joint)[-1]}{coordinate.replace('.', '_')}_drive", taken)
        if isinstance(motion, PoseDrive):
            element, arrays = pose_element(called, joints[joint], motion, where, axes)
        else:
            element, arrays = _element(called, path, begins(joints[joint], coordinate), motion, where)
        made.setdefault(home, []).append(element)
        varied |= {f"{child(home, called)}.{place}": values for place, values in arrays.items()}
    if not made:
        return model, varied, functions

    def with_drivers(assembly: Assembly, path: str) -> Assembly:
        return replace(assembly, drivers=(*assembly.drivers, *made.get(path, ())))

    def driven_too(one: Model) -> Model:
        return replace(one, assemblies=rebuilt(one.assemblies, with_drivers))

    origin = driven_too(model.origin) if model.origin else None
    return replace(driven_too(model), origin=origin), varied, functions


def begins(joint: Joint, coordinate: str) -> float:
    """The initial displacement of a coordinate, called ".NAME" where the joint has several."""
    start: Any = joint.initial_displacement
    return float(start[coordinate[1:]] if coordinate else start)


def _motion(name: str, given: Any) -> Any:
    """One of the records, or a `TimeFunction`."""
    if isinstance(given, tuple(TYPES.values())):
        return given
    if isinstance(given, int | float | np.number | np.ndarray | list | tuple) and not isinstance(given, bool):
        return ConstantSpeed(number_of(given, f"drive {name}"))
    if all(callable(getattr(given, method, None)) for method in MOTIONS):
        return given
    if callable(given) and not isinstance(given, type):
        return FunctionOfTime(given)
    raise ModelError(f"drive {name}", shown(given), ALLOWED, "Give one of them.")


def _checked(motion: TimeFunction, where: str) -> TimeFunction:
    """A user's function, called once on the host at time 0."""
    values: list[Any] = []
    todo = "A function of time refers to known numbers only: use a Harmonic, Polynomial or Table of known ones"
    todo += ", and vary={'JOINT_drive.KEY': values} of `simulate`."
    try:
        if isinstance(motion, FunctionOfTime):  # which makes a graph of it
            refuse_traced(where, motion.function(0.0), todo)
        for method in MOTIONS:
            values.append(getattr(motion, method)(0.0))
            refuse_traced(where, values[-1], todo)
        values = [float(value) for value in values]
    except ModelError:
        raise
    except ZeroDivisionError as error:
        text = "position, velocity and acceleration infinite at time 0, by a division by zero"
        raise ModelError(where, text, "finite numbers", "Correct the function.") from error
    except Exception as error:
        text = (str(error).splitlines() or [""])[0][:200]
        todo = "Write it with operators, and functions of numpy or jax.numpy."
        raise ModelError(where, f"{type(error).__name__}: {text}", "one number for a time", todo) from error
    if not np.isfinite(values).all():
        text = "position, velocity and acceleration " + ", ".join(f"{x:g}" for x in values) + " at time 0"
        raise ModelError(where, text, "finite numbers", "Correct the function.")
    return motion


def _element(name: str, path: str, start: float, motion: Drive, where: str) -> tuple[Element, dict[str, np.ndarray]]:
    """The driver of a record, and its arrays by the steps to their numbers.

    Where a number is an array, the model holds what keeps the coordinate at `start`: no member decides for another one.
    """
    type_ = type_of(motion)
    kind = CONSTRAINTS[type_]
    values: dict[str, Any] = {}
    arrays: dict[str, np.ndarray] = {}

    def number(given: Any, at: str, otherwise: float) -> float:
        given_number = number_of(given, f"{where}.{at}")
        if isinstance(given_number, np.ndarray):
            arrays[at] = given_number
            return otherwise
        return given_number

    known = {field.name: getattr(motion, field.name) for field in fields(motion)}
    for field in kind.numbers():
        given = known[field.name]
        if given is None:
            values[field.name] = None
        elif field.shape == "number":
            values[field.name] = number(given, field.name, start if field.name == "offset" else 0.0)
        else:
            rows = rows_of(given, f"{where}.{field.name}")
            still = [start if field.name == "values" or not k else 0.0 for k in range(len(rows))]
            values[field.name] = tuple(number(row, f"{field.name}[{k}]", still[k]) for k, row in enumerate(rows))
    if any(at.startswith("times") for at in arrays):
        raise ModelError(f"{where}.times", "arrays", "one number each, the same for all members", "Vary the values.")
    for word in kind.words:
        values[word.name] = known[word.name]
    given_number = Element(name, type_, (path,), values=FrozenJson(values))
    for fault in faults(given_number, numbers_of(given_number)):
        if fault.bad[0]:
            raise ModelError(where, fault.found(0), fault.allowed, fault.todo)
    return given_number, arrays


def covered(plan: Plan, lane: StartLane) -> tuple[float, float, str, Sequence[Field]]:
    """From when to when tables that refuse other times last [s]; the path of the shortest, and words of its kind."""
    first, last, name, words = -np.inf, np.inf, "", tuple[Field, ...]()
    elements = [(group.name, group, CONSTRAINTS[group.kind].words) for group in plan.constraints]
    for path, element, known in [*elements, *((force.path, force, FORCES[force.kind].words) for force in plan.forces)]:
        if ("outside", "refuse") in element.words:
            times: Any = dict(element.numbers)["times"]
            begins, ends = (lane.params.at(times[k]) for k in (0, -1))
            if np.max(begins) > first or np.min(ends) < last:
                first, last = max(first, float(np.max(begins))), min(last, float(np.min(ends)))
                name, words = path, known
    return first, last, name, words


def refuse_beyond_tables(plan: Plan, lane: StartLane, begin: float, end: float) -> None:
    """Raises where a run leaves a table that says nothing of other times."""
    first, last, name, words = covered(plan, lane)
    if begin < first - WHOLE * abs(first) or end > last + WHOLE * abs(last):
        fault = f"a table from {first:g} to {last:g} s, and a run from {begin:g} to {end:g} s"
        others = [
            f'"{word}"' for field in words if field.name == "outside" for word in field.choices if word != "refuse"
        ]
        todo = (
            f'Choose another span, or say "outside": {", ".join(others[:-1])}{" or " * (len(others) > 1)}{others[-1]}.'
        )
        raise ModelError(name, fault, "a table as long as the run", todo)
