"""A graph evaluated by NumPy, members last: the operations in their order, without the Python of lane code between.

Evaluated as it is written, a closure of a four-bar calls 3 000 Python functions for 80 operations on arrays. Registers
are used again as soon as nobody reads them any more (Aho, Lam, Sethi, Ullman, Compilers, chapter 8). Host code.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from shiftjax.lanes.bits_in_numpy import OPERATIONS as BIT_OPERATIONS
from shiftjax.lanes.graph import Graph

MEMBERS = 2048  # at a time: some hundred arrays of so many stay in a core's second cache

Line = tuple[Callable[..., Any], tuple[int, ...], int]  # what is called, registers read, register written


def extreme(better: Callable[[Any, Any], Any], arithmetic: Any = np) -> Callable[[Any, Any], Any]:
    """The better of two numbers, the second one at a tie; NaN where the first is, as compiled code takes it.

    Args:
        arithmetic: `numpy` or `jax.numpy`.
    """
    return lambda a, b: arithmetic.where(arithmetic.isnan(a), a, arithmetic.where(better(a, b), a, b))


OPERATIONS: dict[str, Callable[..., Any]] = {
    **{"add": np.add, "mul": np.multiply, "div": np.divide, "pow": lambda a, b: a**b, "atan2": np.arctan2},
    **{"lt": np.less, "le": np.less_equal, "eq": np.equal, "ne": np.not_equal},
    **{"and": np.logical_and, "or": np.logical_or, "not": np.logical_not},
    **{"max": extreme(np.greater), "min": extreme(np.less)},
    **{"true": lambda: np.True_, "false": lambda: np.False_},
    **{"select": np.where, "is_finite": np.isfinite, "abs": np.abs, "sign": np.sign},
    **{name: getattr(np, name) for name in ("floor", "ceil", "sin", "cos", "sqrt", "exp", "log", "tanh")},
    **{name: getattr(np, name) for name in ("sinh", "cosh")},
    **{f"a{name}": getattr(np, f"arc{name}") for name in ("sin", "cos", "tan")},
    **BIT_OPERATIONS,
}


class InNumpy:
    """A graph as a list of NumPy operations."""

    def __init__(self, graph: Graph) -> None:
        lines, outputs = _lines(graph)
        last = dict.fromkeys(outputs, len(lines))
        for k, (_, read, _) in enumerate(lines):
            last.update((value, k) for value in read if last.get(value, 0) < len(lines))
        self._registers: list[Any] = []
        self._inputs: list[tuple[int, int]] = []  # register, number of the input
        self._lines: list[Line] = []
        place: dict[int, int] = {}
        spare: list[int] = []
        for k, (function, read, given) in enumerate(lines):
            if function is not None:
                spare += [place[j] for j in set(read) if last[j] == k and lines[j][0] is not None]
            if function is None or not spare:
                self._registers.append(given)
                place[k] = len(self._registers) - 1
            else:
                place[k] = spare.pop()
            if function is not None:
                self._lines.append((function, tuple(place[j] for j in read), place[k]))
            elif isinstance(given, int):
                self._inputs.append((place[k], given))
        self._outputs = [place[k] for k in outputs]

    def __call__(self, values: Sequence[Any]) -> list[Any]:
        """The outputs; what is no number is NaN, as in compiled code, and warns nobody.

        Args:
            values: one number or array (B,) for each input.
        """
        registers = list(self._registers)
        for place, k in self._inputs:
            registers[place] = values[k]
        with np.errstate(all="ignore"):
            for function, read, written in self._lines:
                registers[written] = function(*[registers[k] for k in read])
        return [registers[place] for place in self._outputs]

    def into(self, values: Sequence[np.ndarray], out: Sequence[np.ndarray]) -> None:
        """Writes the outputs for all members, some thousand at a time.

        Args:
            values: (B,) or (1,) each. out: (B,) each, written.
        """
        members = len(out[0]) if out else 0
        for first in range(0, members, MEMBERS):
            some = slice(first, first + MEMBERS)
            for target, value in zip(out, self([x[some] if len(x) == members else x for x in values]), strict=True):
                target[some] = value


def _lines(graph: Graph) -> tuple[list[tuple[Callable[..., Any] | None, tuple[int, ...], Any]], list[int]]:
    """(function, lines read, None) of operations, (None, (), number) of inputs (int) and constants (float); outputs."""
    lines: list[tuple[Callable[..., Any] | None, tuple[int, ...], Any]] = []
    at: dict[int, int] = {}  # reference -> line

    def put(function: Callable[..., Any] | None, read: Sequence[int], given: Any = None) -> int:
        lines.append((function, tuple(read), given))
        return len(lines) - 1

    def get(ref: int) -> int:
        if ref not in at:
            number = graph.value(ref)
            at[ref] = put(None, (), number) if number is not None else put(np.negative, (at[ref & ~1],))
        return at[ref]

    for k, (name, *parts) in enumerate(graph.nodes):
        if name == "in":
            at[2 * k] = put(None, (), parts[0])
        elif name == "add" and (parts[0] ^ parts[1]) & 1:
            first, second = sorted(parts, key=lambda ref: ref & 1)
            at[2 * k] = put(np.subtract, (get(first), get(second ^ 1)))
        elif name != "const":
            at[2 * k] = put(OPERATIONS[name], [get(ref) for ref in parts])
    return lines, [get(ref) for ref in graph.outputs]
