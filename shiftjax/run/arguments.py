"""What the arguments of a run may be: wrong kinds are refused by name before anything is made of them. Host code."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

import numpy as np

from shiftjax.constraints import CoordinateFunction
from shiftjax.errors import (
    ModelError,
    need,
    need_count,
    need_function,
    need_mapping,
    need_number,
    one_of,
    refuse_text,
    shown,
)
from shiftjax.kernels.backends import BACKENDS
from shiftjax.kernels.lane_program import DTYPES
from shiftjax.mechanism.events import written_events
from shiftjax.run.advance.repeats import ACCURACIES
from shiftjax.run.advance.schedule import Schedule
from shiftjax.run.advance.settings import SINGULAR
from shiftjax.run.options import Options
from shiftjax.run.programs.integrators import FILE, METHODS
from shiftjax.run.results.result import Result

Check = Callable[[str, Any], None]
LARGEST = float(np.finfo(float).max)


def _optional(check: Check) -> Check:
    return lambda where, value: None if value is None else check(where, value)


def _flag(where: str, value: Any) -> None:
    need(where, value, bool, "True or False")


def _backend(where: str, value: Any) -> None:
    if value is not None:
        need(where, value, str, "the name of a backend")
        one_of(where, value or "cpu", BACKENDS)


def _tie(where: str, value: Any) -> None:
    need_mapping(where, value)
    for name, function in value.items():
        need(f"{where} {name}", function, (CoordinateFunction, str), "a CoordinateFunction, or an equation as a text")


def _branch(where: str, value: Any) -> None:
    one = isinstance(value, str) or not isinstance(value, Sequence)
    for name in [value] if one else value:
        number = isinstance(name, int | np.integer) and not isinstance(name, bool) and 0 < name <= LARGEST
        if not number and not (isinstance(name, str) and name.strip()):
            todo = "Take one of those that `shiftjax.branches` of the model at these inputs shows."
            raise ModelError(where, shown(value), "the name of a branch, or one for each member", todo)


def _limit(where: str, value: Any) -> None:
    if (
        isinstance(value, bool)
        or not isinstance(value, int | float | np.number)
        or not (0 < value <= LARGEST or value == np.inf)
    ):
        raise ModelError(where, shown(value), "a positive number", "Give one, or math.inf for no limit.")


CHECKS: dict[str, Check] = {
    **dict.fromkeys(("vary", "assign", "derive", "drive"), _optional(need_mapping)),
    "tie": _optional(_tie),
    **dict.fromkeys(("metrics", "events"), _optional(need_mapping)),
    **dict.fromkeys(("channels", "hold", "independent", "cut"), refuse_text),
    **dict.fromkeys(
        ("log_jacobian", "extremes", "repartition", "move_steps", "cluster", "strict_start", "strict_inertia"), _flag
    ),
    "branch": _optional(_branch),
    "start": _optional(lambda where, value: need(where, value, Result, "a Result")),
    "schedule": _optional(lambda where, value: need(where, value, Schedule, "the schedule of a Result")),
    "method": _optional(lambda where, value: one_of(where, value, [*METHODS, FILE])),
    **dict.fromkeys(("energy_limit", "angle_limit"), _limit),
    "gap_limit": _optional(_limit),
    "singular": lambda where, value: one_of(where, value, SINGULAR),
    "accuracy": _optional(lambda where, value: one_of(where, value, ACCURACIES)),
    "error_growth": _optional(lambda where, value: need_number(where, value, "a number of at least 1", least=1.0)),
    "backend": _backend,
    "precision": lambda where, value: one_of(where, value, DTYPES),
    "threads": _optional(lambda where, value: need_count(where, value, 1)),
    "tape_memory": _optional(lambda where, value: need_number(where, value, "a number of bytes", least=0.0)),
    "announce": lambda where, value: need_function(
        where, None if isinstance(value, type) else value, "a function of the memory that is needed"
    ),
    "watch": lambda where, value: need_function(
        where, None if isinstance(value, type) else value, "a function of the lanes at their start"
    ),
    "progress": lambda where, value: need_function(where, value, "a function of the fraction done"),
}


def check_arguments(**given: Any) -> None:
    """Raises `ModelError` where an argument of a run is of a wrong kind; what depends on others is checked later."""
    for name, value in given.items():
        if name in CHECKS:
            CHECKS[name](name, value)


def stated_settings(options: Options, names: Iterable[str]) -> dict[str, Any]:
    """Options of a run as a result tells them: collections of its own, functions as texts, the backend by name."""
    given = options.flat()
    return {name: WRITTEN.get(name, lambda value: value)(given[name]) for name in names}


def _described(functions: Mapping[str, Any] | None) -> dict[str, str]:
    """Functions as text: their numbers where they show them, else their names."""
    plain = {path: str(getattr(f, "__qualname__", None) or f) for path, f in (functions or {}).items()}
    return {path: re.sub(r" at 0x[0-9a-f]+", "", text) for path, text in plain.items()}


def _branches(given: Any) -> str | list[str]:
    """Names of branches as texts."""
    return str(given) if isinstance(given, int) else [str(name) for name in given]


def _ties(ties: Mapping[str, Any] | None) -> dict[str, Any]:
    """Equations as {"of": text}, from which a run can be repeated; functions as text."""
    texts = {name: {"of": tie} for name, tie in (ties or {}).items() if isinstance(tie, str)}
    functions = _described({name: tie for name, tie in (ties or {}).items() if name not in texts})
    return {name: texts.get(name, functions.get(name)) for name in ties or {}}


WRITTEN: dict[str, Callable[[Any], Any]] = {
    "assign": lambda value: dict(value or {}),
    **dict.fromkeys(("hold", "independent", "cut"), list),
    "branch": lambda value: value if value is None or isinstance(value, str) else _branches(value),
    "drive": _described,
    "tie": _ties,
    "events": written_events,
    "backend": lambda value: value or "cpu",
}
