"""Two methods that no Runge-Kutta table states.

One of two registers, and one that projects its middle.

Williamson, Low-storage Runge-Kutta schemes, J. Comput. Phys. 35 (1980) 48,
case 7, of third order: every stage adds to the register k what the state takes
a part of, so that two numbers are kept for each of the state.
"""

from shiftjax.kernels.step_program import Call, Instruction, Method, combine
from shiftjax.run.programs.integrators import METHODS

STAGES = (  # of k, of the state, time
    (0.0, 1 / 3, 0.0),
    (-5 / 9, 15 / 16, 1 / 3),
    (-153 / 128, 8 / 15, 3 / 4),
)


def two_registers() -> Method:
    """k = a k + h f(y), y = y + b k, stage by stage.

    The first stage takes the rates of the last projection.
    """
    body: list[Instruction] = []
    for a, b, c in STAGES:
        body += [Call("drift", c), *([Call("accelerate", c)] if c else [])]
        body += [
            combine("kx", {"kx": a}, {"dx": 1.0}),
            combine("kq", {"kq": a}, {"qdot": 1.0}),
        ]
        body += [
            combine("x", {"x": 1.0, "kx": b}),
            combine("q", {"q": 1.0, "kq": b}),
        ]
    return Method("williamson", tuple(body))


def projected_midpoint() -> Method:
    """The midpoint rule, its middle projected before its rates are taken."""
    half = (combine("x", "x0", {"dx0": 0.5}), combine("q", "q0", {"qdot": 0.5}))
    whole = (combine("x", "x0", {"dx": 1.0}), combine("q", "q0", {"qdot": 1.0}))
    return Method(
        "midpoint",
        (
            Call("drift", 0.0),
            *half,
            Call("project", 0.5),
            Call("drift", 0.5),
            *whole,
        ),
    )


METHODS["williamson"] = two_registers()
METHODS["midpoint"] = projected_midpoint()
