"""Two linearly implicit methods: a table, and one written stage by stage.

Rodas4, of orders four and three: Hairer, Wanner, Solving Ordinary Differential
Equations II, section VI.4. The linearly implicit Euler method, section IV.9.
"""

from shiftjax.kernels.step_program import Call, Method, combine, rosenbrock
from shiftjax.run.programs.integrators import METHODS

LAST = (
    1.221224509226641,
    6.019134481288629,
    12.53708333332087,
    -0.687886036105895,
)
A = (
    (),
    (1.544,),
    (0.9466785280815826, 0.2557011698983284),
    (3.314825187068521, 2.896124015972201, 0.9986419139977817),
    LAST,
    (*LAST, 1.0),
)
C = (
    (),
    (-5.6688,),
    (-2.430093356833875, -0.2063599157091915),
    (-0.1073529058151375, -9.594562251023355, -20.47028614809616),
    (
        7.496443313967647,
        -10.24680431464352,
        -33.99990352819905,
        11.7089089320616,
    ),
    (
        8.083246795921522,
        -7.981132988064893,
        -31.52159432874371,
        16.31930543123136,
        -6.058818238834054,
    ),
)
WEIGHTS = (*LAST, 1.0, 1.0)
ERROR = (0.0, 0.0, 0.0, 0.0, 0.0, 1.0)
METHODS["rodas4"] = rosenbrock("rodas4", 0.25, A, C, WEIGHTS, ERROR)

METHODS["backward"] = Method(  # u = (1 - h J)^-1 f, y + h u
    "backward",
    (
        Call("drift", 0.0),
        Call("linearize", 0.0),
        combine("dx", "dx0", {"ft": 1.0}),
        Call("solve", 0.0),
        combine("x", "x0", {"dx": 1.0}),
        combine("q", "q0", {"qdot": 1.0}),
    ),
    gamma=1.0,
)
