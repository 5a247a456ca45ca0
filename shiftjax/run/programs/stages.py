"""What a step of a method is made of: its stages, as sums of the first speed and of the accelerations of the stages.

Follows from the instructions of any method, not from a list of methods. NumPy.
"""

from __future__ import annotations

from functools import cache
from typing import NamedTuple

import numpy as np

from shiftjax.kernels.step_program import Combine, Method, registers
from shiftjax.run.programs.integrators import order_of

_FOUR = ((0.0, 0.5 - 0.05**0.5, 0.5 + 0.05**0.5, 1.0), (1 / 12, 5 / 12, 5 / 12, 1 / 12))
_THREE = ((0.0, 0.5, 1.0), (1 / 6, 2 / 3, 1 / 6))
OF_ORDER = (((0.0, 1.0), (0.0, 1.0)), ((0.0, 1.0), (0.5, 0.5)), _THREE, _THREE, _FOUR)  # nodes and weights


class Stage(NamedTuple):
    """One at which a method computes accelerations.

    Attributes:
        weight: in the speeds at the end. at: its time [steps]. drift: by how many steps of the first speed its
            coordinates have moved. bend: by how many steps squared of the acceleration. gain: its speeds, by how many
            steps of it.
    """

    weight: float
    at: float
    drift: float
    bend: float
    gain: float


@cache
def stages(method: Method) -> tuple[Stage, ...]:
    """Those of a step: its instructions on the coefficients of the first speed and of every stage's acceleration."""
    calls = [one for one in method.instructions if not isinstance(one, Combine) and one.phase == "accelerate"]
    zero, unit = np.zeros(2 + len(calls)), np.eye(2 + len(calls))
    lane = {name: zero for name in ("q", "x", "dx", "qdot", "ft", *registers(method))}
    lane |= {"x": unit[0], "dx": unit[1]}
    seen = [(0.0, zero, unit[0])]
    for one in method.instructions:
        if isinstance(one, Combine):
            lane[one.target] = sum((a * lane[name] for name, a in (*one.base, *one.rates)), zero)
        elif one.phase == "drift":
            lane["qdot"] = lane["x"]
        elif one.phase == "accelerate":
            seen.append((one.at, lane["q"], lane["x"]))
            lane["dx"] = unit[len(seen)]
    weights = lane["x"][1:]
    return tuple(
        Stage(float(weight), at, float(q[0]), float(q[1:].sum()), float(x[1:].sum()))
        for weight, (at, q, x) in zip(weights, seen, strict=True)
    )


def quadrature(method: Method) -> tuple[np.ndarray, np.ndarray]:
    """Nodes (n,), the first one 0 and the last one 1, and weights (n,) of what a method makes of a function of time.

    A linearly implicit one takes the function's slope at the beginning, too: in its place stands the end of the step,
    or a rule of Lobatto's that is at least of its order (Abramowitz, Stegun, Handbook of Mathematical Functions,
    25.4.32).
    """
    if method.gamma:
        nodes, weights = OF_ORDER[min(order_of(method), len(OF_ORDER)) - 1]
        return np.array(nodes), np.array(weights)
    every = stages(method)
    return np.array([*(stage.at for stage in every), 1.0]), np.array([*(stage.weight for stage in every), 0.0])
