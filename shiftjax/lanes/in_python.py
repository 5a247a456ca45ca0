"""A graph as one Python function of NumPy's scalars, for one member that is evaluated again and again. Host code.

An operation takes 0.05 us so, and 0.26 us from a list; a line takes 10 us to be compiled, 0.1 s for the loops of 270
joints. Arithmetic and rounding are those of `InNumpy` of one member.
"""

from __future__ import annotations

import operator
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import numpy as np

from shiftjax.lanes.in_numpy import OF_SCALARS, InNumpy

OFTEN = 64  # evaluations of one member: a compiled line takes 10 us once, and 0.2 us less each time
WRITTEN = {
    operator.add: "{} + {}", operator.sub: "{} - {}", operator.mul: "{} * {}", operator.truediv: "{} / {}",
    operator.lt: "{} < {}", operator.le: "{} <= {}", operator.neg: "-{}", OF_SCALARS[np.where]: "{1} if {0} else {2}",
}  # fmt: skip


@dataclass
class OftenAsked:
    """A list of operations, and how often it was asked of one member alone, up to `OFTEN`."""

    run: InNumpy
    asked: int = field(default=0, init=False)

    def into(self, values: Sequence[np.ndarray], out: Sequence[np.ndarray]) -> None:
        """`InNumpy.into`, with the same bits; one member is soon evaluated by `of_one`."""
        if not out or len(out[0]) != 1:
            self.run.into(values, out)
        elif self.asked < OFTEN:
            self.asked += 1
            self.run.into(values, out)
        else:
            for target, value in zip(out, self.of_one([x[0] for x in values]), strict=True):
                target[0] = value

    @cached_property
    def of_one(self) -> Callable[[Sequence[Any]], Sequence[Any]]:
        """Results of one member, which is evaluated again and again, by its values, NumPy's numbers."""
        return in_python(self.run)


def in_python(run: InNumpy) -> Callable[[Sequence[Any]], Sequence[Any]]:
    """The outputs of one member by its values, NumPy's numbers, one for each input; as `InNumpy.of_one`."""
    if run.apart:
        return run.of_one
    registers, lines = run.alone
    names: dict[Any, str] = {}
    text = ["def function(values):"]
    text += [f" r{place} = values[{k}]" for place, k in run.inputs]
    given = {place for place, _ in run.inputs}
    for place, number in enumerate(registers):
        if place not in given and isinstance(number, float):
            text.append(f" r{place} = {names.setdefault(('number', number.hex()), f'n{len(names)}')}")
    for function, read, written in lines:
        form = WRITTEN.get(function)
        if form is None:
            form = f"{names.setdefault(function, f'f{len(names)}')}({', '.join('{}' for _ in read)})"
        text.append(f" r{written} = {form.format(*(f'r{k}' for k in read))}")
    text.append(f" return [{', '.join(f'r{k}' for k in run.outputs)}]")
    known: dict[str, Any] = {
        name: np.float64(float.fromhex(what[1])) if isinstance(what, tuple) else what for what, name in names.items()
    }
    exec(compile("\n".join(text), "<a graph of one member>", "exec"), known)
    compiled: Callable[[Sequence[Any]], Sequence[Any]] = known["function"]

    def quietly(values: Sequence[Any]) -> Sequence[Any]:
        with np.errstate(all="ignore"):
            return compiled(values)

    return quietly
