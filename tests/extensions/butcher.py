"""Butcher's method of order six in seven stages.

Butcher, On Runge-Kutta processes of high order, 1964.
"""

from shiftjax.kernels.step_program import explicit
from shiftjax.run.programs.integrators import METHODS

STAGES = (
    (), (1 / 3,), (0.0, 2 / 3), (1 / 12, 1 / 3, -1 / 12),
    (-1 / 16, 9 / 8, -3 / 16, -3 / 8), (0.0, 9 / 8, -3 / 8, -3 / 4, 1 / 2),
    (9 / 44, -9 / 11, 63 / 44, 18 / 11, 0.0, -16 / 11),
)  # fmt: skip
WEIGHTS = (11 / 120, 0.0, 27 / 40, 27 / 40, -4 / 15, -4 / 15, 11 / 120)
TIMES = tuple(sum(row) for row in STAGES)
METHODS["butcher"] = explicit("butcher", STAGES, WEIGHTS, TIMES)
