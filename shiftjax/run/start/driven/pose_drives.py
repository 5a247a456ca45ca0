"""What `drive=` says of balls and floating bodies, as drivers of poses of the model. Host code."""

from __future__ import annotations

from typing import Any

import numpy as np

from shiftjax.algebra import matmul
from shiftjax.constraints import CONSTRAINTS
from shiftjax.constraints.pose_drives import POSE_TYPES, PoseDrive, numbers_of_pose
from shiftjax.errors import ModelError, nearest
from shiftjax.joints import KINDS
from shiftjax.mechanism.coordinates import Joints
from shiftjax.mechanism.fields import numbers_of
from shiftjax.mechanism.frozen_json import FrozenJson
from shiftjax.mechanism.physical import faults
from shiftjax.mechanism.records import Element, Joint, Placement
from shiftjax.rotations import rotation_of_vector, vector_of_rotation

Arrays = dict[str, np.ndarray]  # steps to a number of an element -> (B,) values
PLACES = ("position", "velocity", "acceleration", "position_amplitude", "positions")
TURNS, WHOLE = 3, 6  # freedoms of a ball, and of a floating body


def is_posed(joint: Joint) -> bool:
    """Whether a joint is a ball, or lets a body float: its motion is a pose."""
    kind = KINDS[joint.type]
    return kind.placed and kind.nv in (TURNS, WHOLE) and kind.shifts in (0, 3)


def posed_joint(model: Joints, name: str) -> str | None:
    """The path of the ball or floating joint that a path of the user names; None where it names another thing."""
    path = model.resolve(name)
    joint = dict(model.joints()).get(path)
    return path if joint is not None and is_posed(joint) else None


def need_posed(model: Joints, name: str, where: str) -> str:
    """As `posed_joint`.

    Raises:
        ModelError: it names another thing.
    """
    path = posed_joint(model, name)
    if path is None:
        known = [joint for joint, item in model.joints() if is_posed(item)]
        allowed = f"one of {known}" if known else "a ball or floating joint, of which this model has none"
        path = model.resolve(name)
        near = "" if path in dict(model.joints()) else nearest(path, known)
        todo = near or "Name such a joint; others take a Table, a Harmonic, a Polynomial."
        raise ModelError(where, f"a motion of a pose, of {name!r}", allowed, todo)
    return path


def pose_element(called: str, joint: Joint, motion: PoseDrive, where: str, axes: str) -> tuple[Element, Arrays]:
    """The driver of a motion, between the frames of the joint.

    Where a number is an array, the model holds that of where the joint starts: no member decides for another one.

    Args:
        called: its name. axes: "first" or "second", of its rows.

    Returns:
        the driver, and the arrays of its numbers.

    Raises:
        ModelError: places of a ball, none of a floating body; numbers that cannot be.
    """
    whole = KINDS[joint.type].nv == WHOLE
    law = next(name for name, one in POSE_TYPES.items() if isinstance(motion, one))
    type_ = f"{'pose' if whole else 'orientation'}_{law}"
    given = numbers_of_pose(motion, where)
    moved = next((name for name in PLACES if _not_zero(given.get(name, 0.0))), None)
    if moved and not whole:
        raise ModelError(f"{where}.{moved}", "places of a ball", "its orientation alone", "Leave it out.")
    if law == "table" and whole and "positions" not in given:
        raise ModelError(f"{where}.positions", "none of a floating body", "(n, 3) places", "Give them.")
    kind, start, arrays = CONSTRAINTS[type_], _start_of(joint), Arrays()
    values: dict[str, Any] = {}
    for field in kind.numbers():
        if field.name in given:
            at_start = start.get(field.name.rstrip("s"), (0.0,) * 3)
            values[field.name] = _without_arrays(given[field.name], field.name, at_start, arrays)
    if any(at.startswith("times") for at in arrays):
        raise ModelError(f"{where}.times", "arrays", "one number each, the same for all members", "Vary the poses.")
    values |= {word.name: getattr(motion, word.name, axes) for word in kind.words}
    element = Element(called, type_, (), (joint.parent, joint.child), FrozenJson(values))
    for fault in faults(element, numbers_of(element)):
        if fault.bad[0]:
            raise ModelError(where, fault.found(0), fault.allowed, fault.todo)
    return element, arrays


def _not_zero(given: Any) -> bool:
    """Whether there is another number than 0 in nested lists of numbers and arrays."""
    return any(map(_not_zero, given)) if isinstance(given, list | tuple) else bool(np.any(given))


def _start_of(joint: Joint) -> dict[str, tuple[float, ...]]:
    """Where a joint starts: its position [m] and rotation [rad]."""
    start = joint.initial_displacement
    if not isinstance(start, Placement):
        return {}
    R = matmul([list(row) for row in start.R], rotation_of_vector(start.rotation))
    return {"position": tuple(start.T), "rotation": tuple(float(x) for x in vector_of_rotation(R))}


def _without_arrays(given: Any, at: str, start: Any, arrays: Arrays) -> Any:
    """Numbers, in their nesting, with those of the start where they are arrays, which are noted by their steps."""
    if isinstance(given, np.ndarray):
        arrays[at] = given
        return float(start) if np.ndim(start) == 0 else 0.0
    if isinstance(given, list):
        nested = [list(start)] * len(given) if given and isinstance(given[0], list) else list(start)
        nested = nested if len(nested) == len(given) else [0.0] * len(given)
        return tuple(_without_arrays(x, f"{at}[{k}]", nested[k], arrays) for k, x in enumerate(given))
    return given
