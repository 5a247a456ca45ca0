"""How steps of the damped method are shortened and lengthened, when they end, and where members then stand. Host code.

Damping follows what is missed (Sugihara, Solvability-unconcerned inverse kinematics by the Levenberg-Marquardt method,
2011): mu^2 = d |e|^2, so that a goal that can be met is met quadratically, and an arm stretched towards one out of
reach does not swing; d becomes smaller with steps that succeed and larger with those that do not.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

REACHED = 1e-9  # dimensionless: a goal that is missed by less is met
MET = 1e-14  # what is missed by less is met, dimensionless
STATIONARY = 1e-9  # slope of |e| below which it is as small as it can be: |e| is then to some 1e-16 of it
FIRST, LEAST, MOST = 0.1, 1e-12, 1e8  # damping d
EASY = 0.7  # of what was missed: where less is left damping falls quickly


@dataclass
class Positioned:
    """Where members stand.

    Attributes:
        q: (nq, B). value: (K, B) of each level: |e|, or the energy. iterations: (B,) steps tried, of all levels.
        unfinished: (K, B) whether a level was still on its way after the most iterations.
    """

    q: np.ndarray
    value: np.ndarray
    iterations: np.ndarray
    unfinished: np.ndarray

    @classmethod
    def at(cls, q: np.ndarray, levels: int) -> Positioned:
        """At coordinates (nq, B), nothing tried."""
        shape = levels, q.shape[1]
        return cls(q.copy(), np.full(shape, np.nan), np.zeros(q.shape[1], int), np.zeros(shape, bool))


def following(damping: np.ndarray, taken: np.ndarray, easily: np.ndarray) -> np.ndarray:
    """(B,) damping of the next steps, after ones that were taken (B,) or not, some of them easily."""
    return np.maximum(damping * np.where(easily, 0.1, np.where(taken, 0.5, 8.0)), LEAST)
