"""The integration methods, as tables. A new explicit method is one entry."""

from __future__ import annotations

from shiftjax.errors import ModelError, one_of
from shiftjax.kernels.lane_program import Method
from shiftjax.table import Table

_RK4 = ((), (0.5,), (0.0, 0.5), (0.0, 0.0, 1.0))
_SIXTHS = (1 / 6, 1 / 3, 1 / 3, 1 / 6)
METHODS: Table[Method] = Table(
    "method",
    {
        "rk4": Method("rk4", _RK4, _RK4, _SIXTHS, _SIXTHS, (0.0, 0.5, 0.5, 1.0), (True,) * 4),
        # Semi-implicit: speeds first, then coordinates with the new speeds.
        "euler": Method("euler", ((), (1.0,)), ((), (0.0,)), (1.0, 0.0), (0.0, 1.0), (0.0, 0.0), (True, False)),
    },
)


def check_method(name: str) -> None:
    """Refuses what is no method, and methods that control their step size, which whole runs do not drive yet.

    Raises:
        ModelError: naming it.
    """
    one_of("method", name, METHODS)
    if METHODS[name].error:
        fixed = [known for known, method in METHODS.items() if not method.error]
        todo = "Methods with an error estimate run in the kernels only."
        raise ModelError("method", f"{name!r}, which controls its step size", ", ".join(fixed), todo)
