"""The integration methods, as lists of instructions. A new method is one entry."""

from __future__ import annotations

from functools import cache
from typing import Any, Protocol

import numpy as np

from shiftjax.errors import ModelError, need_number, one_of
from shiftjax.kernels.step_program import Call, Combine, Method, combine, explicit, rosenbrock
from shiftjax.registry import Registry
from shiftjax.run.programs.rodas import RODAS5P

_HALVES = ((), (0.5,), (0.0, 0.5), (0.0, 0.0, 1.0))
# Dormand, Prince, A family of embedded Runge-Kutta formulae, J. Comp. Appl. Math. 6 (1980) 19; Hairer, Norsett, Wanner,
# Solving Ordinary Differential Equations I, table II.5.2. The last stage is the end of the step, not yet projected.
_DOPRI = (
    (),
    (1 / 5,),
    (3 / 40, 9 / 40),
    (44 / 45, -56 / 15, 32 / 9),
    (19372 / 6561, -25360 / 2187, 64448 / 6561, -212 / 729),
    (9017 / 3168, -355 / 33, 46732 / 5247, 49 / 176, -5103 / 18656),
    (35 / 384, 0.0, 500 / 1113, 125 / 192, -2187 / 6784, 11 / 84),
)
_TIMES = (0.0, 1 / 5, 3 / 10, 4 / 5, 8 / 9, 1.0, 1.0)
_ESTIMATE = (71 / 57600, 0.0, -71 / 16695, 71 / 1920, -17253 / 339200, 22 / 525, -1 / 40)
# Tolerances; the rounding of a step is a hundredth of that in f64, a tenth in f32: errors fall down to 1e-7 on the
# slider-crank, and stand still from 1e-6 on on the four-bar.
FINEST = {"f64": 1e-14, "f32": 1e-6}
FILE = "file"  # in place of a method: what the integrator block of the model file asks for
# Speeds first, v + h (1 - h da/dv)^-1 a, then coordinates with the new speeds: as "euler", dampers taken implicitly.
_IMPLICIT_EULER = (
    Call("linearize", 0.0),
    combine("dx", "dx0"),
    Call("solve", 0.0),
    combine("x", "x0", {"dx": 1.0}),
    Call("drift", 0.0),
    combine("q", "q0", {"qdot": 1.0}),
)
METHODS: Registry[Method] = Registry(
    "method",
    {
        "rk4": explicit("rk4", _HALVES, (1 / 6, 1 / 3, 1 / 3, 1 / 6), (0.0, 0.5, 0.5, 1.0)),
        # Semi-implicit: speeds first, then coordinates with the new speeds.
        "euler": Method(
            "euler", (combine("x", "x0", {"dx0": 1.0}), Call("drift", 0.0), combine("q", "q0", {"qdot": 1.0}))
        ),
        "dopri5": explicit("dopri5", _DOPRI, (*_DOPRI[6], 0.0), _TIMES, _ESTIMATE),
        "implicit_euler": Method("implicit_euler", _IMPLICIT_EULER, 1.0, of_speeds=True),
        "rosenbrock": rosenbrock("rosenbrock", RODAS5P.gamma, RODAS5P.A, RODAS5P.C, RODAS5P.m, RODAS5P.error),
    },
)

# Paths of poses that drivers lead, of no forces, by the derivatives that they have: no methods of `simulate`. A step
# predicts q + h (v + h a / 2), which the projection that ends it closes; x hands it that change, dx the speeds before.
PATHS = ("positions", "speeds", "accelerations")
_PREDICTED = (
    combine("x", "x0", {"dx0": 0.5}), Call("drift", 0.0), combine("q", "q0", {"qdot": 1.0}),
    combine("x", {}, {"x": 1.0}), combine("dx", "x0"),
)  # fmt: skip


def steps_of(name: str) -> Method:
    """The steps of a program: of a method, or of a path."""
    return Method(name, _PREDICTED, predicts=True) if name in PATHS else METHODS[name]


def check_method(name: str) -> None:
    """Refuses what is no method, and methods that only control their step size.

    Raises:
        ModelError: naming it.
    """
    one_of("method", name, METHODS)
    if not takes_fixed_steps(METHODS[name]):
        fixed = [known for known, method in METHODS.items() if takes_fixed_steps(method)]
        todo = "A run of simulate with a tolerance takes it."
        raise ModelError("method", f"{name!r}, which controls its step size", ", ".join(fixed), todo)


def takes_fixed_steps(method: Method) -> bool:
    """Whether a method is for steps of one size, too: linearly implicit ones are for both."""
    return not method.controls or method.gamma != 0.0


class Numerics(Protocol):
    """What decides the method: the options of a run have it, and the definition of a study."""

    @property
    def method(self) -> str | None: ...
    @property
    def tolerance(self) -> float | None: ...
    @property
    def step(self) -> float | None: ...
    @property
    def precision(self) -> str | None: ...


def method_of(numerics: Numerics) -> str:
    """The method of a run: "rk4" where none is named, with a tolerance "dopri5"; or `FILE`.

    Raises:
        ModelError: no method; one that needs a tolerance without; one that estimates no errors with a tolerance; what
            is no tolerance or does not go with one, or with the file's.
    """
    if numerics.method == FILE:
        for name, value in (("step", numerics.step), ("tolerance", numerics.tolerance)):
            if value is not None:
                todo = "Leave one of them out: the file's integrator decides the steps."
                raise ModelError(name, f"{value:g} beside method={FILE!r}", "one of them", todo)
        return FILE
    if numerics.tolerance is None:
        name = numerics.method or "rk4"
        check_method(name)
        return name
    precision = numerics.precision or "f64"
    finest = FINEST[precision]
    allowed = f"a number of at least {finest:g} in {precision}, in rad and parts of the length"
    need_number("tolerance", numerics.tolerance, allowed, least=finest)
    if numerics.step is not None:
        given, todo = f"{numerics.step:g} s and a tolerance", "Leave one of them out: the tolerance decides the steps."
        raise ModelError("step", given, "one of them", todo)
    name = numerics.method or "dopri5"
    one_of("method", name, METHODS)
    if not METHODS[name].controls:
        estimating = [known for known, method in METHODS.items() if method.controls]
        todo = "Leave the method out, or the tolerance."
        raise ModelError("method", f"{name!r}, whose steps are fixed, with a tolerance", ", ".join(estimating), todo)
    return name


@cache
def order_of(method: Method) -> int:
    """The order of a method, from an oscillator over the same time with three steps.

    A linearly implicit one may be of a higher order on what is linear: its are damped pendulums, -sin q - q'^3 / 4.
    """
    starts: tuple[Any, Any] = 1.0, 0.0
    if method.gamma:
        starts = np.linspace(-2.0, 2.0, 9), np.linspace(1.5, -1.0, 9)  # several: the error of one may pass zero

    def rate(q: Any, v: Any) -> Any:
        return -np.sin(q) - 0.25 * v**3 if method.gamma else -q

    def end(steps: int) -> np.ndarray:
        lane, h = {"q": starts[0], "x": starts[1], "dx": rate(*starts), "ft": 0.0 * starts[0]}, 2.0 / steps
        for _ in range(steps):
            state = lane["q"], lane["x"]
            for one in method.instructions:
                if isinstance(one, Combine):
                    base, rates = (sum(a * lane[name] for name, a in part) for part in (one.base, one.rates))
                    lane[one.target] = base + h * rates
                elif one.phase == "drift":
                    lane["qdot"] = lane["x"]
                elif one.phase == "solve":
                    g, r = method.gamma * h, lane.get("qdot", 0.0)
                    by_q, by_v = 0.0 if method.of_speeds else -np.cos(state[0]), -0.75 * state[1] ** 2
                    lane["dx"] = (lane["dx"] + g * by_q * r) / (1.0 - g * by_v - g * g * by_q)
                    lane["qdot"] = r + g * lane["dx"]
                elif one.phase in ("accelerate", "project"):
                    lane["dx"] = rate(lane["q"], lane["x"])
        return np.array([lane["q"], lane["x"]])

    coarse, middle, fine = (end(steps) for steps in (20, 40, 80))
    return max(1, round(np.log2(np.linalg.norm(coarse - middle) / np.linalg.norm(middle - fine))))
