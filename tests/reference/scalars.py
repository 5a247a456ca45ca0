"""A jaxpr of scalars evaluated operation by operation in NumPy, lanes as arrays: what every machine must agree with."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from shiftjax.kernels.lane_program import LaneProgram, Piece

OPERATIONS: dict[str, Callable[..., Any]] = {
    "add": np.add,
    "sub": np.subtract,
    "mul": np.multiply,
    "div": np.divide,
    "neg": np.negative,
    "abs": np.abs,
    "max": np.maximum,
    "min": np.minimum,
    "sin": np.sin,
    "cos": np.cos,
    "sqrt": np.sqrt,
    "lt": np.less,
    "select_n": lambda which, *cases: np.where(which, cases[1], cases[0]),
    "integer_pow": lambda x, y: x**y,
    "convert_element_type": lambda x, new_dtype, **_: np.asarray(x, new_dtype),
}
INNER = ("jit", "pjit", "closed_call", "custom_jvp_call")


def evaluate(closed: Any, inputs: list[np.ndarray]) -> list[Any]:
    """Outputs of a closed jaxpr."""
    return _run(closed.jaxpr, closed.consts, inputs)


def _run(jaxpr: Any, consts: Any, inputs: list[Any]) -> list[Any]:
    known: dict[Any, Any] = dict(zip([*jaxpr.constvars, *jaxpr.invars], [*consts, *inputs], strict=True))

    def value(atom: Any) -> Any:
        return atom.val if hasattr(atom, "val") else known[atom]

    for equation in jaxpr.eqns:
        name, given = equation.primitive.name, [value(atom) for atom in equation.invars]
        if name in INNER:
            inner = equation.params.get("jaxpr") or equation.params["call_jaxpr"]
            results = evaluate(inner, given)
        else:
            options = {k: equation.params[k] for k in ("y", "new_dtype") if k in equation.params}
            results = [OPERATIONS[name](*given, **options)]
        known.update(zip(equation.outvars, results, strict=True))
    return [value(atom) for atom in jaxpr.outvars]


def run_phase(program: LaneProgram, phase: str, slots: np.ndarray, trace: Callable[[Piece], Any]) -> None:
    """Runs the pieces of one phase on a workspace (slots, B) in place."""
    for piece in program.phase(phase):
        results = evaluate(trace(piece), [slots[k].copy() for k in piece.inputs])
        for slot, result in zip(piece.outputs, results, strict=True):
            slots[slot] = result
