"""A graph evaluated by NumPy, members last: the operations in their order, without the Python of lane code between.

Evaluated as it is written, a closure of a four-bar calls 3 000 Python functions for 80 operations on arrays. Registers
are used again as soon as nobody reads them any more (Aho, Lam, Sethi, Ullman, Compilers, chapter 8). One member alone
is calculated with NumPy's scalars: their arithmetic is the same to the bit, and takes 0.1 us where that of arrays takes
0.6. Host code.
"""

from __future__ import annotations

import operator
from collections.abc import Callable, Sequence
from functools import cached_property
from typing import Any

import numpy as np

from shiftjax.lanes.bits_in_numpy import OPERATIONS as BIT_OPERATIONS
from shiftjax.lanes.graph import Graph

MEMBERS = 4096  # at a time: some thirty arrays of so many stay in a core's second cache

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


def _extreme_of_scalars(better: Callable[[Any, Any], Any]) -> Callable[[Any, Any], Any]:
    return lambda a, b: a if a != a or better(a, b) else b


# What does the same to NumPy's scalars, faster; functions of NumPy that are not here take scalars, too.
OF_SCALARS: dict[Callable[..., Any], Callable[..., Any]] = {
    **{np.add: operator.add, np.subtract: operator.sub, np.multiply: operator.mul, np.divide: operator.truediv},
    **{np.negative: operator.neg, np.abs: operator.abs, np.less: operator.lt, np.less_equal: operator.le},
    **{OPERATIONS["max"]: _extreme_of_scalars(operator.gt), OPERATIONS["min"]: _extreme_of_scalars(operator.lt)},
    np.where: lambda condition, yes, no: yes if condition else no,
}


class InNumpy:
    """A graph as a list of NumPy operations.

    Attributes:
        inputs: register, and number of the input that it takes. outputs: registers. apart: whether one member alone
            would be rounded otherwise by NumPy's scalars.
    """

    def __init__(self, graph: Graph) -> None:
        lines, outputs = _lines(graph)
        last = [-1] * len(lines)  # line that reads a line last
        for k, (_, read, _) in enumerate(lines):
            for j in read:
                last[j] = k
        for j in outputs:
            last[j] = len(lines)
        self._registers: list[Any] = []
        self.inputs: list[tuple[int, int]] = []
        self._lines: list[Line] = []
        place: list[int] = []
        spare: list[int] = []
        for k, (function, read, given) in enumerate(lines):
            if function is not None:
                for j in read:
                    if last[j] == k and lines[j][0] is not None:
                        spare.append(place[j])
                        last[j] = -1  # once, though it is read twice
            if function is None or not spare:
                place.append(len(self._registers))
                self._registers.append(given)
            else:
                place.append(spare.pop())
            if function is not None:
                self._lines.append((function, tuple([place[j] for j in read]), place[k]))
            elif isinstance(given, int):
                self.inputs.append((place[k], given))
        self.outputs = [place[k] for k in outputs]
        # Of arrays to a known power NumPy takes squares and roots, which are rounded otherwise than powers of scalars.
        self.apart = any(function is OPERATIONS["pow"] for function, _, _ in self._lines)

    @cached_property
    def alone(self) -> tuple[list[Any], list[Line]]:
        """Registers and operations for one member: numbers of NumPy's, which divide by zero."""
        registers = [np.float64(given) if type(given) is float else given for given in self._registers]
        return registers, [
            (OF_SCALARS.get(function, function), read, written) for function, read, written in self._lines
        ]

    def __call__(self, values: Sequence[Any]) -> list[Any]:
        """The outputs; what is no number is NaN, as in compiled code, and warns nobody.

        Args:
            values: one number or array (B,) for each input.
        """
        return self._evaluated(list(self._registers), self._lines, values)

    def _evaluated(self, registers: list[Any], lines: list[Line], values: Sequence[Any]) -> list[Any]:
        for place, k in self.inputs:
            registers[place] = values[k]
        with np.errstate(all="ignore"):
            for function, read, written in lines:
                if len(read) == 2:
                    one, other = read
                    registers[written] = function(registers[one], registers[other])
                else:
                    registers[written] = function(*[registers[k] for k in read])
        return [registers[place] for place in self.outputs]

    def of_one(self, values: Sequence[Any]) -> list[Any]:
        """The outputs of one member, to the bit those that it has among many.

        Args:
            values: one of NumPy's numbers for each input.
        """
        if self.apart:
            return [np.ravel(x)[0] for x in self([np.array([x]) for x in values])]
        registers, lines = self.alone
        return self._evaluated([*registers], lines, values)

    def into(self, values: Sequence[np.ndarray], out: Sequence[np.ndarray]) -> None:
        """Writes the outputs for all members, some thousand at a time.

        Args:
            values: (B,) or (1,) each. out: (B,) each, written.
        """
        members = len(out[0]) if out else 0
        if members == 1:
            for target, value in zip(out, self.of_one([x[0] for x in values]), strict=True):
                target[0] = value
            return
        for first in range(0, members, MEMBERS):
            some = slice(first, first + MEMBERS)
            for target, value in zip(out, self([x[some] if len(x) == members else x for x in values]), strict=True):
                target[some] = value


def _lines(graph: Graph) -> tuple[list[tuple[Callable[..., Any] | None, tuple[int, ...], Any]], list[int]]:
    """(function, lines read, None) of operations, (None, (), number) of inputs (int) and constants (float); outputs."""
    lines: list[tuple[Callable[..., Any] | None, tuple[int, ...], Any]] = []
    at = [-1] * (2 * len(graph.nodes))  # reference -> line

    def get(ref: int) -> int:
        if at[ref] < 0:
            number = graph.value(ref)
            at[ref] = len(lines)
            lines.append((None, (), number) if number is not None else (np.negative, (at[ref & ~1],), None))
        return at[ref]

    for k, (name, *parts) in enumerate(graph.nodes):
        if name == "in":
            line: tuple[Callable[..., Any] | None, tuple[int, ...], Any] = None, (), parts[0]
        elif name == "add" and (parts[0] ^ parts[1]) & 1:
            first, second = sorted(parts, key=lambda ref: ref & 1)
            line = np.subtract, (get(first), get(second ^ 1)), None
        elif name != "const":
            line = OPERATIONS[name], tuple([get(ref) for ref in parts]), None
        else:
            continue
        at[2 * k] = len(lines)
        lines.append(line)
    return lines, [get(ref) for ref in graph.outputs]
