"""An embedded pair of orders three and two, which takes a tolerance.

Bogacki, Shampine, Appl. Math. Lett. 2, 1989.
"""

from shiftjax.kernels.step_program import explicit
from shiftjax.run.programs.integrators import METHODS

STAGES = ((), (1 / 2,), (0.0, 3 / 4), (2 / 9, 1 / 3, 4 / 9))
WEIGHTS = (2 / 9, 1 / 3, 4 / 9, 0.0)
ERROR = (
    -5 / 72,
    1 / 12,
    1 / 9,
    -1 / 8,
)  # those weights less the ones of order two
METHODS["bs32"] = explicit(
    "bs32", STAGES, WEIGHTS, (0.0, 1 / 2, 3 / 4, 1.0), ERROR
)
