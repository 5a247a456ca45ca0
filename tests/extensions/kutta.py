"""Kutta's 3/8 rule.

Hairer, Norsett, Wanner, Solving Ordinary Differential Equations I,
table II.1.2.
"""

from shiftjax.kernels.step_program import explicit
from shiftjax.run.programs.integrators import METHODS

STAGES, WEIGHTS = (
    ((), (1 / 3,), (-1 / 3, 1.0), (1.0, -1.0, 1.0)),
    (1 / 8, 3 / 8, 3 / 8, 1 / 8),
)
METHODS["kutta"] = explicit("kutta", STAGES, WEIGHTS, (0.0, 1 / 3, 2 / 3, 1.0))
