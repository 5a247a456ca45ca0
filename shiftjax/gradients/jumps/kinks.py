"""What the steps of a method miss of a force that bends within them: the instants, and why. NumPy.

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

import numpy as np

SECANTS = 4  # from a line: the instant is right to the step to the fourth


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
