"""The words of a goal in a study's `[goals]`, whose members are put where these want them.

A goal is a table: of a `frame` with a place `T` or a rotation vector `R`, of a `coordinate` or an expression `of` with
a `value`, of the `center` of mass with a `T`, or `potential = true`. Numbers are in SI, or texts with their units.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from shiftjax.errors import ModelError, nearest, need_mapping, need_number, shown
from shiftjax.kinematics.positioning.goals import CenterGoal, FrameGoal, FunctionGoal, Goal, JointGoal, PotentialGoal
from shiftjax.quantities import in_si

KINDS = ("frame", "coordinate", "of", "center", "potential")  # keys, one of which each goal has
ALSO = {
    "frame": ("T", "R", "relative_to", "along", "about", "box", "turn", "level", "weight"),
    "coordinate": ("value", "box", "level", "weight"),
    "of": ("value", "box", "level", "weight"),
    "center": ("T", "relative_to", "along", "box", "level", "weight"),
    "potential": ("level",),
}
ARRAYS = {"T": 3, "R": 3, "value": 1}  # what is a number of the model, and how many
EXAMPLE = '{ frame = "tool", T = [0.3, 0, "200 mm"] }'
NUMBER = {"anyOf": [{"type": "number"}, {"type": "string"}]}
VECTOR = {"type": "array", "items": NUMBER, "minItems": 3, "maxItems": 3}
ENDS = {"type": "array", "items": NUMBER, "minItems": 2, "maxItems": 2}
REGION = {"anyOf": [NUMBER, {"type": "array", "items": {"anyOf": [NUMBER, ENDS]}}]}
TEXT = {"type": "string"}
SCHEMA = {
    "type": "object",
    "additionalProperties": False,
    "properties": {
        "frame": TEXT, "coordinate": TEXT, "of": TEXT, "potential": {"const": True},
        "center": {"anyOf": [{"const": True}, TEXT, {"type": "array", "items": TEXT}]},
        "T": VECTOR, "R": VECTOR, "value": NUMBER, "relative_to": TEXT, "along": TEXT, "about": TEXT, "box": REGION,
        "turn": REGION, "level": NUMBER, "weight": {"type": "number", "exclusiveMinimum": 0},
    },
}  # fmt: skip
LIMITS = {"type": "array", "items": NUMBER, "minItems": 2, "maxItems": 2}
FREE = "-"  # an end of limits that is none


def goal_of(words: Any, where: str, unit: str | None = None) -> tuple[Goal, dict[str, list[float]]]:
    """A goal without its numbers, and these: T and a rotation vector R (3,), value (1,), in SI.

    Args:
        unit: rad or m, of the coordinate that a goal is of; None takes any unit.

    Raises:
        ModelError: what is no goal.
    """
    need_mapping(where, words)
    kinds = [name for name in KINDS if name in words]
    if len(kinds) != 1:
        raise ModelError(where, shown(dict(words)), f"one of {', '.join(KINDS)}", f"Write it like {EXAMPLE}.")
    (kind,) = kinds
    for name in words:
        if name not in (kind, *ALSO[kind]):
            todo = nearest(name, ALSO[kind]) or "Leave it out."
            raise ModelError(f"{where}.{name}", f"a key of a goal with {kind!r}", ", ".join(ALSO[kind]), todo)
    arrays = {
        name: _numbers(words[name], count, f"{where}.{name}", "rad" if name == "R" else unit if count == 1 else "m")
        for name, count in ARRAYS.items() if name in words
    }  # fmt: skip
    given = {name: words[name] for name in ("relative_to", "along", "about", "level", "weight") if name in words}
    along = {"box": "m" if kind in ("frame", "center") else unit, "turn": "rad"}
    given |= {name: _region(words[name], f"{where}.{name}", one) for name, one in along.items() if name in words}
    if kind == "frame":
        if not arrays:
            raise ModelError(where, "neither T nor R", "a place, a rotation vector, or both", f"As in {EXAMPLE}.")
        return FrameGoal(words["frame"], **given), arrays
    if kind == "potential":
        if words["potential"] is not True:
            raise ModelError(f"{where}.potential", shown(words["potential"]), "true", "Leave the goal out.")
        return PotentialGoal(**given), arrays
    wanted = "T" if kind == "center" else "value"
    if wanted not in arrays and kind != "of":
        raise ModelError(where, f"no {wanted}", f"a {wanted} of a goal with {kind!r}", "Say what is wanted.")
    if kind == "center":
        of = words["center"]
        return CenterGoal((0.0, 0.0, 0.0), None if of is True else of, **given), arrays
    arrays.setdefault("value", [0.0])
    return (JointGoal if kind == "coordinate" else FunctionGoal)(words[kind], **given), arrays


def limits_of(words: Any, where: str, unit: str | None = None) -> tuple[float, float]:
    """Both ends of limits in SI, infinite where there is none.

    Raises:
        ModelError: no pair of numbers.
    """
    if not isinstance(words, list | tuple) or len(words) != 2:
        raise ModelError(where, shown(words), "[low, high]", f'Write ["-90deg", "90deg"], or "{FREE}" for no end.')
    low, high = words
    ends = [free if end == FREE else _number(end, f"{where}[{k}]", unit)
            for k, (end, free) in enumerate(((low, -np.inf), (high, np.inf)))]  # fmt: skip
    return ends[0], ends[1]


def _numbers(given: Any, count: int, where: str, unit: str | None) -> list[float]:
    if count == 1:
        return [_number(given, where, unit)]
    if not isinstance(given, list | tuple) or len(given) != count:
        raise ModelError(where, shown(given), f"a list of {count} numbers", 'Write [0.3, 0, "200 mm"].')
    return [_number(one, f"{where}[{k}]", unit) for k, one in enumerate(given)]


def _region(given: Any, where: str, unit: str | None) -> Any:
    """A region as goals take it, in SI."""
    if isinstance(given, list | tuple):
        return [_region(one, f"{where}[{k}]", unit) for k, one in enumerate(given)]
    return _number(given, where, unit)


def _number(given: Any, where: str, unit: str | None) -> float:
    if isinstance(given, str):
        return in_si(given, unit, where)
    need_number(where, given, "a finite number")
    return float(given)
