"""The integration methods, as lists of instructions. A new method is one entry."""

from __future__ import annotations

from shiftjax.errors import ModelError, one_of
from shiftjax.kernels.step_program import Call, Method, combine, explicit
from shiftjax.table import Table

_HALVES = ((), (0.5,), (0.0, 0.5), (0.0, 0.0, 1.0))
METHODS: Table[Method] = Table(
    "method",
    {
        "rk4": explicit("rk4", _HALVES, (1 / 6, 1 / 3, 1 / 3, 1 / 6), (0.0, 0.5, 0.5, 1.0)),
        # Semi-implicit: speeds first, then coordinates with the new speeds.
        "euler": Method(
            "euler", (combine("x", "x0", {"dx0": 1.0}), Call("drift", 0.0), combine("q", "q0", {"qdot": 1.0}))
        ),
    },
)


def check_method(name: str) -> None:
    """Refuses what is no method, and methods that control their step size, which whole runs do not drive yet.

    Raises:
        ModelError: naming it.
    """
    one_of("method", name, METHODS)
    if METHODS[name].controls:
        fixed = [known for known, method in METHODS.items() if not method.controls]
        todo = "Methods with an error estimate run in the kernels only."
        raise ModelError("method", f"{name!r}, which controls its step size", ", ".join(fixed), todo)
