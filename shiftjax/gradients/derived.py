"""Numbers that follow from traced ones: the expressions of `derive` on JAX arrays, which carry derivatives."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jax.core import Tracer
from numpy.lib.mixins import NDArrayOperatorsMixin

from shiftjax.errors import ModelError
from shiftjax.expressions.evaluation import evaluate_number
from shiftjax.expressions.expression import Expression
from shiftjax.mechanism.model import Model
from shiftjax.run.derive import Formula, Numbers, Rule, refuse_determined, rules_of

Array = Any  # of JAX, traced


def derived(
    model: Model,
    design: Mapping[str, Array],
    assign: Mapping[str, float | str] | None,
    derive: Mapping[str, Formula],
) -> tuple[dict[str, Array], dict[str, float | str]]:
    """`run.derive.with_derived` of traced numbers.

    Args:
        design: full path -> (B,) of the varied numbers.

    Returns:
        design and assign with the derived numbers among them; what does not differ between members is assigned.

    Raises:
        ModelError: as there; a function that needs NumPy arrays.
    """
    refuse_determined(model, design, "vary")
    base = model.replace(assign) if assign else model
    rules = rules_of(model, design, assign or (), derive)
    known = {**{path: np.float64(value) for path, value in base.numbers().items()}, **design}
    members = len(next(iter(design.values()), (0.0,)))
    values = _Traced(model, known, rules, members)
    numbers = {path: values[path] for path in rules}
    same = {path: float(value) for path, value in numbers.items() if not value.ndim and not isinstance(value, Tracer)}
    columns = {path: jnp.broadcast_to(value, members) for path, value in numbers.items() if path not in same}
    stated = {path: value for path, value in same.items() if path not in model.expressions}
    return {**design, **columns}, {**(assign or {}), **stated}


class _Traced(Numbers):
    """Numbers of which some are traced."""

    def _value(self, rule: Rule, where: str) -> Any:
        if isinstance(rule, Expression):
            value = evaluate_number(rule, _Operands(self), where)
            return value.values if isinstance(value, _Operand) else value
        try:
            return rule(self)
        except jax.errors.TracerArrayConversionError as error:
            allowed = "a function made of operators and jax.numpy, since JAX traces the numbers"
            raise ModelError(where, "a function made of numpy", allowed, "Write jnp. for np.") from error

    def _array(self, value: Any) -> Any:
        return jnp.asarray(value, float) if isinstance(value, jax.Array) else np.asarray(value, float)


class _Operand(NDArrayOperatorsMixin):
    """A JAX array to which NumPy's functions are those of JAX."""

    def __init__(self, values: Array) -> None:
        self.values = values

    def __array_ufunc__(self, ufunc: np.ufunc, method: str, *inputs: Any, **options: Any) -> _Operand:
        arrays = (each.values if isinstance(each, _Operand) else each for each in inputs)
        return _Operand(getattr(jnp, ufunc.__name__)(*arrays, **options))


class _Operands(Mapping[str, Any]):
    """The numbers as what expressions calculate with."""

    def __init__(self, numbers: Numbers) -> None:
        self._numbers = numbers

    def __getitem__(self, path: str) -> Any:
        value = self._numbers[path]
        return _Operand(value) if isinstance(value, jax.Array) else value

    def __iter__(self) -> Iterator[str]:
        return iter(self._numbers)

    def __len__(self) -> int:
        return len(self._numbers)
