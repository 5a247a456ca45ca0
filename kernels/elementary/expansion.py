"""Graphs without elementary functions: each replaced by operations that every processor has.

LLVM calls the system's libm for them, lane by lane, and knows none for graphics processors. Written out, they are
within 2 ulp of the exact value, the same on every system and for every width of vectors. Graphs, digests and
derivatives stay in terms of the functions; only emitted text is of what is here.
"""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np

from shiftjax.algebra import LaneValue, Scalar
from shiftjax.kernels.elementary.arcs import arc_cosine, arc_sine, arc_tangent, arc_tangent_of
from shiftjax.kernels.elementary.exponential import cosh, exp, sinh, tanh
from shiftjax.kernels.elementary.logarithm import log, power
from shiftjax.lanes.graph import Graph, copied, without_dead_code

DTYPES = {"f64": np.float64, "f32": np.float32}
FUNCTIONS: dict[str, Callable[..., Scalar]] = {
    **{"exp": exp, "sinh": sinh, "cosh": cosh, "tanh": tanh, "log": log, "pow": power},
    **{"asin": arc_sine, "acos": arc_cosine, "atan": arc_tangent, "atan2": arc_tangent_of},
}


def expanded(graph: Graph, precision: str) -> Graph:
    """The same function without elementary functions, sines apart, which emitters write themselves.

    Args:
        precision: "f64" or "f32", of the kernel.
    """
    if not any(node[0] in FUNCTIONS for node in graph.nodes):
        return graph
    new = Graph(signed_zeros=graph.signed_zeros, single=graph.single, level=graph.level, count=graph.count)
    new.outer = graph.outer
    copies: list[int] = []

    def at(ref: int) -> int:
        return copies[ref >> 1] ^ (ref & 1)

    def scalars(name: str, refs: list[int]) -> list[Scalar]:
        values: list[Scalar] = [LaneValue(new, ref) for ref in refs]
        number = new.value(refs[-1])
        if name == "pow" and number and math.isfinite(number):  # much is known of a known exponent but 0
            values[-1] = float(DTYPES[precision](number))
        elif name == "atan2" and number == 1.0:  # so tyres have their arc tangents
            values[-1] = number
        return values

    for name, *arguments in graph.nodes:
        if name in FUNCTIONS:
            copies.append(FUNCTIONS[name](*scalars(name, [at(ref) for ref in arguments]), precision).ref)
        elif name == "in":
            copies.append(new.node("in", arguments[0]))
        else:
            copies.append(copied(new, name, arguments, at))
    new.outputs = [at(ref) for ref in graph.outputs]
    return without_dead_code(new)
