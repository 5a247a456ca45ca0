"""What operators and functions of expressions do: to scalars of lane code, and to arrays of numbers. A new function is
one entry of `FUNCTIONS`.
"""

from __future__ import annotations

import math
import operator
from collections.abc import Callable, Mapping
from dataclasses import replace
from functools import reduce
from typing import Any

import numpy as np

from shiftjax.algebra import (
    Scalar,
    atan2,
    cos,
    dot,
    exp,
    known,
    larger,
    log,
    norm_squared,
    ratio,
    select,
    sin,
    sqrt,
    tanh,
)
from shiftjax.errors import ModelError
from shiftjax.record import record


@record
class Function:
    """A function of so many arguments.

    Attributes:
        on_lanes: of scalars; of vectors where `of_vectors`.
        on_arrays: of NumPy's arrays, made of its `ufunc`s, so that traced arrays of JAX go through; None where arrays
            are one number each, and it is of vectors.
        unit: of its value: "kept" where it is that of the arguments.
    """

    on_lanes: Callable[..., Scalar]
    on_arrays: Callable[..., Any] | None
    count: int = 1
    unit: str = "1"
    of_vectors: bool = False


FUNCTIONS: dict[str, Function] = {
    "sin": Function(sin, np.sin),
    "cos": Function(cos, np.cos),
    "sqrt": Function(sqrt, np.sqrt),
    "exp": Function(exp, np.exp),
    "log": Function(log, np.log),
    "tanh": Function(tanh, np.tanh),
    "abs": Function(abs, np.abs, unit="kept"),
    "tan": Function(lambda x: sin(x) / cos(x), np.tan),
    "asin": Function(lambda x: atan2(x, sqrt(1.0 - x * x)), np.arcsin, unit="rad"),
    "acos": Function(lambda x: atan2(sqrt(1.0 - x * x), x), np.arccos, unit="rad"),
    "atan": Function(lambda x: atan2(x, 1.0), np.arctan, unit="rad"),
    "atan2": Function(atan2, np.arctan2, 2, "rad"),
    "min": Function(lambda a, b: select(a < b, a, b), np.minimum, 2, "kept"),
    "max": Function(larger, np.maximum, 2, "kept"),
    "norm": Function(lambda x: sqrt(norm_squared(x)), None, unit="kept", of_vectors=True),
    "dot": Function(dot, None, 2, of_vectors=True),
}


@record
class Dialect:
    """How trees are evaluated in one place of use, and what is said of a text that cannot be.

    Attributes:
        number: what a plain number becomes.
        operations: sign -> function of two values. negative: of one.
        functions: name -> function of values or vectors, from `FUNCTIONS`.
        vectors: whether a name may have several values; without, it stands in braces, and there are no lists.
        ingredients: what an expression is made of beside functions. example: one of them.
    """

    number: Callable[[float], Any]
    operations: Mapping[str, Callable[[Any, Any], Any]]
    negative: Callable[[Any], Any]
    functions: Mapping[str, Callable[..., Any]]
    vectors: bool
    ingredients: str
    example: str

    @property
    def allowed(self) -> str:
        return f"{self.ingredients} and {', '.join(self.functions)}"

    def over_names(self, names: str, example: str) -> Dialect:
        """The same language where names without braces stand for numbers."""
        return replace(self, ingredients=f"numbers, {names}, + - * / **, pi", example=example)

    def refused(self, where: str, fault: str, allowed: str, todo: str = "") -> ModelError:
        """The error of a part that cannot be read or evaluated."""
        return ModelError(where, fault, allowed, todo or f"Write it like {self.example}.")


def _power(a: Scalar, b: Scalar) -> Scalar:
    if known(b) and b in (1.0, 2.0, 3.0, 4.0):
        return reduce(operator.mul, [a] * int(b))
    if known(b) and b == 0.5:
        return sqrt(a)
    if known(a) and known(b) and a < 0.0 and not float(b).is_integer():
        return math.nan  # as of arrays, not a complex number
    return a**b


ARITHMETIC = {"+": operator.add, "-": operator.sub, "*": operator.mul, "/": operator.truediv}
LANES = Dialect(
    number=float,
    operations={**ARITHMETIC, "/": ratio, "**": _power},
    negative=operator.neg,
    functions={name: function.on_lanes for name, function in FUNCTIONS.items()},
    vectors=True,
    ingredients="channels by path, numbers, t, pi, + - * / **, [k], lists",
    example="peak_to_peak(rocker_pivot.q)",
)
NUMBERS = Dialect(
    number=np.float64,
    operations={**ARITHMETIC, "**": operator.pow},
    negative=operator.neg,
    functions={name: function.on_arrays for name, function in FUNCTIONS.items() if function.on_arrays is not None},
    vectors=False,
    ingredients="numbers, paths in braces, + - * / **, pi",
    example="7.8 * {rod:tip.T[0]}",
)
