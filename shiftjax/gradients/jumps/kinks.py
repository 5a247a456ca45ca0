"""What the steps of a method miss of a force that bends within them: instants, stages and shares. NumPy.

Problem: where the argument g of a force passes a knot at which its law bends, the stages beyond the knot know of the
new law, and their weights are not the share of the step that is beyond. A run is off by the square of the step, but its
derivative by the step, since the stages that know do not change with the instant: through a stop that throws a body
back within n steps by about pi / n of itself.
The result must: take that error away, as follows from the stages of any method, not from a list of methods.
Used: of a force that bends by k per unit of g, at a share s of the step, the derivative lacks the impulse h w k dg,
where w = (1 - s) - sum of the weights of stages beyond. What is left is off by the square of the step over the stay.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from typing import NamedTuple

import numpy as np

from shiftjax.kernels.step_program import Combine, Method, registers

SECANTS = 4  # from a line: the instant is right to the step to the fourth


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
    lane = {name: zero for name in ("q", "x", "dx", "qdot", *registers(method))}
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


def passing(g: Callable[[np.ndarray], np.ndarray], begin: np.ndarray, rate: np.ndarray) -> np.ndarray:
    """(K,) shares of the step at which arguments are 0, by secants.

    Args:
        g: (K,) shares -> the arguments. begin: (K,) they are at the beginning. rate: (K,) a step, there.
    """
    with np.errstate(all="ignore"):
        old, value = np.zeros_like(begin), begin
        share = np.clip(np.nan_to_num(-begin / rate), 0.0, 1.0)
        for _ in range(SECANTS):
            there = g(share)
            slope = (there - value) / (share - old)
            better = np.where(np.isfinite(slope) & (slope != 0.0), share - there / slope, share)
            old, value, share = share, there, np.clip(better, 0.0, 1.0)
    return share
