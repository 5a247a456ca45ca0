"""Metrics of travels, as `range(rocker_pivot)` or `low(a) / turning_margin(b)`: expressions of what `travel` answers.

Host only, no jax.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial
from typing import Any

from shiftjax.expressions.dialects import LANES
from shiftjax.expressions.expression import FunctionCall, Name, written
from shiftjax.kinematics.paths.inputs import units_of
from shiftjax.kinematics.ranges.travel_metric_texts import EXAMPLE
from shiftjax.kinematics.term_metrics import TermMetric, TermWords, term_metrics
from shiftjax.mechanism.coordinates import plain_coordinate
from shiftjax.mechanism.model import Model
from shiftjax.record import record

OF_ENDS = {"low": ("low",), "high": ("high",), "range": ("low", "high")}  # term -> the ends that it needs
OF_DEAD_POINTS = {"at_low": ("low",), "at_high": ("high",)}
TERMS = ("begin", *OF_ENDS, "turning_margin", *OF_DEAD_POINTS)


@record
class TravelTerm:
    """What is asked of the travel of a joint.

    Attributes:
        name: one of `TERMS`. joint: the full path of its coordinate. other: of the one whose place at a dead point is
            meant, "" of other terms. unit: rad or m.
    """

    name: str
    joint: str
    other: str
    unit: str

    def text(self) -> str:
        """What tells it from others."""
        return f"{self.name}({self.joint}{', ' if self.other else ''}{self.other})"

    @property
    def ends(self) -> tuple[str, ...]:
        """Of the travel, which must be there."""
        return {**OF_ENDS, **OF_DEAD_POINTS}.get(self.name, ())


def travel_metrics(model: Model, wanted: Mapping[str, Any] | None) -> dict[str, TermMetric[TravelTerm]]:
    """The metrics of travels of a model's joints.

    Args:
        wanted: name -> a text, or a mapping of it as `of` and of what is good of it.

    Raises:
        ModelError: what is no such metric; no such joint.
    """
    term = partial(_term, model, units_of(model))
    return term_metrics(wanted, TermWords(TERMS, "travels", EXAMPLE, term, _outside))


def _outside(name: str, where: str) -> Exception:
    todo = f"Write range({name}) for how far it goes, or another of {', '.join(TERMS)} of it."
    return LANES.refused(where, f"{name} outside of {', '.join(TERMS)}", "joints inside of these", todo)


def _term(model: Model, units: Mapping[str, str], call: FunctionCall, where: str) -> TravelTerm:
    wanted = 2 if call.function in OF_DEAD_POINTS else 1
    at, given = f"{where}: {call.function}", call.arguments
    if len(given) != wanted or call.options or not all(isinstance(one, Name) for one in given):
        allowed = f"{call.function}({', '.join(('joint', 'other joint')[:wanted])})"
        raise LANES.refused(at, written(call), allowed, f"Write it like {EXAMPLE}.")
    joints = [plain_coordinate(model, one.text, at) for one in given if isinstance(one, Name)]
    unit = "m" if call.function == "turning_margin" else units[joints[-1]]
    return TravelTerm(call.function, joints[0], joints[1] if wanted == 2 else "", unit)
