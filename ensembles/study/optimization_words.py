"""The words of a study's `[optimize]`: what is made small, by which numbers, with which method. Host only, no jax."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from enum import IntEnum
from typing import Any

from shiftjax.ensembles.study.spec import assigned
from shiftjax.errors import ModelError, nearest, need, need_count, need_mapping, need_number, one_of, refuse_text, shown
from shiftjax.expressions.dialects import LANES
from shiftjax.expressions.expression import RELATIONS, Expression, Operation, parts
from shiftjax.expressions.grammar import parse
from shiftjax.record import record

LEAST_SQUARES = ("levenberg_marquardt", "gauss_newton")
MONOTONE = ("lbfgs",)
QUADRATIC = ("sqp",)
OPTAX = ("adam", "adamw", "adabelief", "adagrad", "adamax", "lion", "nadam", "radam", "rmsprop", "sgd", "yogi")
METHODS = (*OPTAX, *MONOTONE, *QUADRATIC, *LEAST_SQUARES)
RATE = 0.05  # of a quarter of the distance of bounds: a step of 1/80 of it


class DescentEnding(IntEnum):
    """How a start ended."""

    going = 0  # all its iterations are used up, or not yet
    converged = 1  # the gradient is below the tolerance
    stalled = 2  # no better point along its way, however near
    infeasible = 3  # no design that runs was found


@record
class Constraint:
    """An inequality, or an equality: an expression of metrics, and numbers in braces, that is 0 at most, or 0."""

    text: str
    excess: Expression
    equal: bool


@record
class Wanted:
    """What `[optimize]` asks for.

    Attributes:
        objective: an expression of names of metrics, which is made small; empty for least squares.
        residuals: expressions of names of metrics, or channels that `data` has, the sum of whose squares is made small.
        sigmas: residual -> its standard deviation, by which it is divided; 1 where left out.
        data: a .csv file of what channels should be, one instant a line, its first column `time`.
        parameters: those of the varied paths that are changed, all where empty.
        bounds: path -> smallest and largest value in SI, None for none; those of its law where left out.
        constraints: on metrics, and on numbers of the design, in braces.
        expressions: the objective, the constraints' `excess` and residuals of metrics by their texts, read.
        starts: how many; as many as the study has members where None.
        method: one of `METHODS`. options: of the optimiser of optax.
        learning_rate, final_learning_rate: of the first and of the last iteration; the same where None.
        iterations: at most. tolerance: of the norm of the gradient; a start that is below it has ended.
        penalty: of constraints, at the beginning. constraint_tolerance: by which they may be off.
        correction_every: iterations between corrections of the multipliers of constraints.
    """

    objective: str
    residuals: tuple[str, ...]
    sigmas: tuple[tuple[str, float], ...]
    data: str | None
    parameters: tuple[str, ...]
    bounds: tuple[tuple[str, float | None, float | None], ...]
    constraints: tuple[Constraint, ...]
    expressions: tuple[tuple[str, Expression], ...]
    starts: int | None
    method: str
    options: tuple[tuple[str, Any], ...]
    learning_rate: float
    final_learning_rate: float | None
    iterations: int
    tolerance: float
    penalty: float
    constraint_tolerance: float
    correction_every: int


def wanted(words: Mapping[str, Any], where: str = "optimize") -> Wanted:
    """What a table asks for.

    Raises:
        ModelError: an unknown key, a value that cannot be used, neither an objective nor residuals.
    """
    need_mapping(where, words)
    for key in words:
        if key not in SCHEMA["properties"]:
            known = SCHEMA["properties"]
            raise ModelError(
                f"{where}.{key}", "an unknown key", ", ".join(known), nearest(key, known) or "Leave it out."
            )
    objective, residuals = words.get("objective", ""), _texts(f"{where}.residuals", words.get("residuals", ()))
    need(f"{where}.objective", objective, str, "an expression of names of metrics")
    if bool(objective) == bool(residuals):
        given = "both" if objective else "neither"
        todo = "Give objective, or residuals for least squares."
        raise ModelError(f"{where}.objective", f"{given} objective and residuals", "one of them", todo)
    default = "levenberg_marquardt" if residuals else "sqp" if words.get("constraints") else "adam"
    method = words.get("method", default)
    one_of(f"{where}.method", method, LEAST_SQUARES if residuals else (*OPTAX, *MONOTONE, *QUADRATIC))
    constraints = tuple(
        _constraint(f"{where}.constraints", text) for text in _texts(where, words.get("constraints", ()))
    )
    if constraints and residuals:
        todo = "Make an objective of the residuals."
        raise ModelError(f"{where}.constraints", f"with {method}", "with a method of optax", todo)
    data = words.get("data")
    need(f"{where}.data", data, (str, type(None)), "the path of a .csv file")
    expressions = {"objective": parse(objective, f"{where}.objective", LANES)} if objective else {}
    expressions |= {constraint.text: constraint.excess for constraint in constraints}
    if data is None:
        expressions |= {text: parse(text, f"{where}.residuals", LANES) for text in residuals}
    return Wanted(
        objective, residuals, _sigmas(f"{where}.sigmas", words.get("sigmas", {}), residuals), data,
        _texts(f"{where}.parameters", words.get("parameters", ())),
        _bounds(f"{where}.bounds", words.get("bounds", {})), constraints,
        tuple(expressions.items()),
        _count(where, words, "starts", None), method, _options(f"{where}.options", words.get("options", {})),
        _number(where, words, "learning_rate", 1.0 if method in MONOTONE else RATE),
        _number(where, words, "final_learning_rate", None), _count(where, words, "iterations", 100) or 0,
        _number(where, words, "tolerance", 1e-8, zero=True), _number(where, words, "penalty", 10.0),
        _number(where, words, "constraint_tolerance", 1e-6), _count(where, words, "correction_every", 10) or 0,
    )  # fmt: skip


def _texts(where: str, value: Any) -> tuple[str, ...]:
    refuse_text(where, value)
    return tuple(value)


def _count(where: str, words: Mapping[str, Any], name: str, default: int | None) -> int | None:
    value = words.get(name, default)
    if value is not None:
        need_count(f"{where}.{name}", value, 1)
    return value


def _number(where: str, words: Mapping[str, Any], name: str, default: Any, *, zero: bool = False) -> Any:
    value = words.get(name, default)
    if value is not None:
        allowed = "a number from 0" if zero else "a number above 0"
        need_number(f"{where}.{name}", value, allowed, **({"least": 0.0} if zero else {"above": 0.0}))
    return value


def _sigmas(where: str, words: Any, residuals: Sequence[str]) -> tuple[tuple[str, float], ...]:
    need_mapping(where, words)
    for name, value in words.items():
        one_of(where, name, residuals)
        need_number(f"{where}.{name}", value, "a number above 0", above=0.0)
    return tuple(words.items())


def _options(where: str, words: Any) -> tuple[tuple[str, Any], ...]:
    need_mapping(where, words)
    for name, value in words.items():
        need(f"{where}.{name}", value, (int, float, bool), "a number, or true or false")
    return tuple(words.items())


def _bounds(where: str, words: Any) -> tuple[tuple[str, float | None, float | None], ...]:
    need_mapping(where, words)
    bounds = []
    for path, pair in words.items():
        if isinstance(pair, str) or not isinstance(pair, Sequence) or len(pair) != 2:
            todo = 'Write "-inf" or "inf" for no bound.'
            raise ModelError(f"{where}.{path}", shown(pair), "[smallest, largest]", todo)
        low, high = (_bound(f"{where}.{path}", value, free) for value, free in zip(pair, ("-inf", "inf"), strict=True))
        if low is not None and high is not None and low >= high:
            raise ModelError(f"{where}.{path}", repr(list(pair)), "[smallest, largest]", "Turn them round.")
        bounds.append((path, low, high))
    return tuple(bounds)


def _bound(where: str, value: Any, free: str) -> float | None:
    return None if value in (free, float(free)) else assigned(value, where)[0]


def _constraint(where: str, text: str) -> Constraint:
    relation = parse(text, where, LANES)
    if not (isinstance(relation, Operation) and relation.sign in ("<=", ">=", "==")) or any(
        isinstance(side, Operation) and side.sign in RELATIONS for side in parts(relation)
    ):
        allowed = 'a relation of metrics, as "swing >= 0.5", or of numbers, as "{crank:tip.T[0]} <= 0.2"'
        raise ModelError(where, shown(text), allowed, "Make two of a range.")
    small, large = (relation.right, relation.left) if relation.sign == ">=" else (relation.left, relation.right)
    return Constraint(text, Operation("-", small, large), relation.sign == "==")


TEXT, POSITIVE = {"type": "string"}, {"type": "number", "exclusiveMinimum": 0}
COUNT = {"type": "integer", "minimum": 1}
BOUND = {"anyOf": [{"type": "number"}, TEXT]}
SCHEMA: dict[str, Any] = {
    "type": "object",
    "properties": {
        "objective": TEXT,
        "residuals": {"type": "array", "items": TEXT},
        "sigmas": {"type": "object", "additionalProperties": POSITIVE},
        "data": TEXT,
        "parameters": {"type": "array", "items": TEXT},
        "bounds": {
            "type": "object",
            "additionalProperties": {"type": "array", "items": BOUND, "minItems": 2, "maxItems": 2},
        },
        "constraints": {"type": "array", "items": TEXT},
        "starts": COUNT,
        "method": {"enum": list(METHODS)},
        "options": {"type": "object", "additionalProperties": {"type": ["number", "boolean"]}},
        "learning_rate": POSITIVE,
        "final_learning_rate": POSITIVE,
        "iterations": COUNT,
        "tolerance": {"type": "number", "minimum": 0},
        "penalty": POSITIVE,
        "constraint_tolerance": POSITIVE,
        "correction_every": COUNT,
    },
    "additionalProperties": False,
}
