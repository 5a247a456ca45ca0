"""Small lane programs written by hand, and tables of lanes for them."""

import dataclasses
from collections.abc import Callable, Sequence

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax

from shiftjax.kernels.contract import Group, Kernel
from shiftjax.kernels.lane_program import LaneProgram, Layout, Piece
from shiftjax.kernels.linearly_implicit import linearly_implicit, with_jacobian
from shiftjax.kernels.step_program import Method, explicit
from shiftjax.lanes.code import Code
from shiftjax.lanes.jaxprs import graph_of_jaxpr
from shiftjax.run.programs.integrators import METHODS

DTYPE = {"f64": np.float64, "f32": np.float32}


def piece(
    name: str, function: Callable, inputs: tuple[int, ...], outputs: tuple[int, ...], precision: str = "f64"
) -> Piece:
    """A piece of a scalar function; what decides it is its name, so give different code different names."""

    def build():
        with jax.enable_x64(True):
            traced = jax.make_jaxpr(function)(*[jax.ShapeDtypeStruct((), DTYPE[precision])] * len(inputs))
        return graph_of_jaxpr(traced, precision)

    return Piece(name, Code(build, f"{name}/{precision}"), inputs, outputs)


def advance(
    kernel: Kernel,
    groups: Sequence[tuple[LaneProgram, np.ndarray, np.ndarray]],
    until: float,
    h: float,
    t0: float = 0.0,
    every: int = 0,
    out: np.ndarray | None = None,
) -> None:
    """Runs groups of (program, table, rows of `out`), all of which record into one array."""
    ready = [
        Group(program, lanes, np.full(len(rows), until, lanes.dtype), out, rows) for program, lanes, rows in groups
    ]
    kernel.advance(ready, h=h, t0=t0, every=every)


def slots(layout: Layout, *names: str) -> tuple[int, ...]:
    """The slots of several regions in a row."""
    return tuple(k for name in names for k in layout.slots(name))


def pendulum(method: str = "rk4", precision: str = "f64", observed: bool = True) -> LaneProgram:
    """q'' = -g/l sin q; monitor |v|, residual energy, accumulator max v, channels sin q and v."""
    n = with_jacobian(Layout(nq=1, nx=1, np=2, nm=1, nr=1, na=1, nc=2 if observed else 0, ns=0), METHODS[method])

    def accelerate(q, v, g, length):
        return -g / length * lax.sin(q), lax.abs(v)

    def project(q, v, g, length):
        return q, v, *accelerate(q, v, g, length), 0.5 * v * v - g / length * lax.cos(q)

    def make(name, function, inputs, outputs):
        return piece(f"pendulum {name}", function, slots(n, *inputs), slots(n, *outputs), precision)

    observe = make("observe", lambda q, v: (lax.sin(q), v), ("q", "x"), ("chan",)) if observed else None
    program = LaneProgram(
        n,
        METHODS[method],
        make("drift", lambda v: (v,), ("x",), ("qdot",)),
        (make("accelerate", accelerate, ("q", "x", "p"), ("dx", "mon")),),
        (make("project", project, ("q", "x", "p"), ("q", "x", "dx", "mon", "rep")),),
        (observe,) if observe else (),
        (make("accumulate", lambda a, v: (lax.max(a, v),), ("acc", "x"), ("acc",)),),
    )
    return linearly_implicit(program, precision)


def particle(method: str = "rk4") -> LaneProgram:
    """m q'' = f cos(w t) - k q, and the work of f; two monitors |q|, |v|; pieces in two parts through scratch."""
    n = with_jacobian(Layout(nq=1, nx=2, np=4, nm=2, nr=0, na=0, nc=2, ns=1), METHODS[method])

    def force(f, w, t):
        return (f * lax.cos(w * t),)

    def accelerate(q, v, _work, m, k, force):
        return (force - k * q) / m, force * v, lax.abs(q), lax.abs(v)

    def project(q, v, work, m, k, force):
        return q, v, work, *accelerate(q, v, work, m, k, force)

    def make(name, function, inputs, outputs):
        return piece(f"particle {name}", function, inputs, outputs)

    p, t, scratch = n.slots("p"), n.slots("t")[0], n.slots("scratch")[0]
    inputs = (*slots(n, "q", "x"), p[0], p[1], scratch)
    applied = make("force", force, (p[2], p[3], t), (scratch,))
    program = LaneProgram(
        n,
        METHODS[method],
        make("drift", lambda v, _work: (v,), slots(n, "x"), slots(n, "qdot")),
        (applied, make("accelerate", accelerate, inputs, slots(n, "dx", "mon"))),
        (applied, make("project", project, inputs, slots(n, "q", "x", "dx", "mon"))),
        (make("observe", lambda q, t: (q, t), (0, t), slots(n, "chan")),),
        (),
    )
    return linearly_implicit(program, "f64")


def wheel(method: str = "rk4") -> LaneProgram:
    """A direction (c, s) turned at speed w, which grows: the rates of the coordinates take arithmetic."""
    n = with_jacobian(Layout(nq=2, nx=1, np=1, nm=0, nr=1, na=0, nc=0, ns=0), METHODS[method])

    def project(c, s, w, torque):
        norm = lax.sqrt(c * c + s * s)
        return c / norm, s / norm, w, torque * c, norm - 1.0

    def make(name, function, inputs, outputs):
        return piece(f"wheel {name}", function, slots(n, *inputs), slots(n, *outputs))

    program = LaneProgram(
        n,
        METHODS[method],
        make("drift", lambda c, s, w: (-s * w, c * w), ("q", "x"), ("qdot",)),
        (make("accelerate", lambda c, _s, _w, torque: (torque * c,), ("q", "x", "p"), ("dx",)),),
        (make("project", project, ("q", "x", "p"), ("q", "x", "dx", "rep")),),
        (),
        (),
    )
    return linearly_implicit(program, "f64")


def masses(count: int, method: str = "rk4") -> LaneProgram:
    """Unit masses in a row, each tied to the next by a spring that hardens and a damper, the first one to a wall."""
    n = with_jacobian(Layout(nq=count, nx=count, np=2, nm=0, nr=0, na=0, nc=0, ns=0), METHODS[method])

    def accelerate(*numbers):
        q, x, (stiffness, damping) = numbers[:count], numbers[count : 2 * count], numbers[2 * count :]
        stretch = [a - b for a, b in zip(q, (0.0, *q), strict=False)]
        growth = [a - b for a, b in zip(x, (0.0, *x), strict=False)]
        pull = [stiffness * (s + s * s * s) + damping * g for s, g in zip(stretch, growth, strict=True)]
        return tuple(after - before for before, after in zip(pull, (*pull[1:], 0.0 * stiffness), strict=True))

    def project(*numbers):
        return (*numbers[: 2 * count], *accelerate(*numbers))

    def make(name, function, inputs, outputs):
        return piece(f"{count} masses {name}", function, slots(n, *inputs), slots(n, *outputs))

    program = LaneProgram(
        n,
        METHODS[method],
        make("drift", lambda *x: x, ("x",), ("qdot",)),
        (make("accelerate", accelerate, ("q", "x", "p"), ("dx",)),),
        (make("project", project, ("q", "x", "p"), ("q", "x", "dx")),),
        (),
        (),
    )
    return linearly_implicit(program, "f64")


def table(program: LaneProgram, lanes: int, precision: str = "f64", **rows) -> np.ndarray:
    """A table with the given rows (a number, (lanes,) or a list of these), every monitor armed and unlimited."""
    layout = program.layout
    result = np.zeros((layout.row_count, lanes), DTYPE[precision])
    rows = {
        "fraction": 1.0,
        "armed": [1.0] * layout.nm,
        "limit": [np.inf] * layout.nm,
        "watched": [1.0] * layout.ne,
    } | rows
    for name, values in rows.items():
        values = values if isinstance(values, list) else [values]
        for row, value in zip(layout.rows(name), values, strict=True):
            result[row] = value
    return result


def get(program: LaneProgram, lanes: np.ndarray, name: str, index: int = 0) -> np.ndarray:
    """One row of a table."""
    return lanes[program.layout.rows(name)[index]]


def pendulums(program: LaneProgram, lanes: int, precision: str = "f64") -> np.ndarray:
    """Pendulums of many lengths and starts."""
    rng = np.random.default_rng(1)
    return table(program, 1000, precision, q=rng.uniform(-2, 2, 1000), p=[9.81, rng.uniform(0.5, 2, 1000)])[
        :, :lanes
    ].copy()


BOGACKI = explicit(  # Bogacki, Shampine, A 3(2) pair of Runge-Kutta formulas, Appl. Math. Lett. 2 (1989) 321
    "bogacki",
    ((), (0.5,), (0.0, 0.75), (2 / 9, 1 / 3, 4 / 9)),
    (2 / 9, 1 / 3, 4 / 9, 0.0),
    (0.0, 0.5, 0.75, 1.0),
    (2 / 9 - 7 / 24, 1 / 3 - 1 / 4, 4 / 9 - 1 / 3, -1 / 8),
)


def orbit(method: Method = METHODS["rk4"], events: bool = True, precision: str = "f64") -> LaneProgram:
    """A unit mass around a unit centre in the plane; the time integral of its radius is a quadrature.

    Events: the mass passes y = 0, the radius passes the parameter. Channels: x, y, t. With an embedded method the step
    follows the error in parts of the parameter `tolerance`.
    """
    n = with_jacobian(Layout(2, 3, 2, 1, 0, 1, 3, 0, ne=2 if events else 0, controlled=method.controls), method)

    def radius(x, y):
        return lax.sqrt(x * x + y * y)

    def accelerate(x, y):
        r = radius(x, y)
        return -x / (r * r * r), -y / (r * r * r), r, r

    def error(eq0, eq1, ex0, ex1, tolerance):
        size = lax.max(lax.max(lax.abs(eq0), lax.abs(eq1)), lax.max(lax.abs(ex0), lax.abs(ex1))) / tolerance
        return size, jnp.clip(0.9 * (size + 1e-10) ** (-1 / 3), 0.2, 5.0)

    def make(name, function, inputs, outputs):
        return piece(f"orbit {name}", function, inputs, outputs, precision)

    q, x, ex, p = n.slots("q"), n.slots("x"), n.slots("ex"), n.slots("p")

    def passes(x, y, u, v, far):
        r = radius(x, y)
        return y, r - far, v, (x * u + y * v) / r

    passing = (make("events", passes, (*q, *x[:2], p[0]), slots(n, "event", "event_rate")),)
    control = (make("error", error, (*n.slots("eq"), *ex[:2], p[1]), slots(n, "control")),)
    program = LaneProgram(
        n,
        method,
        make("drift", lambda u, v: (u, v), x[:2], slots(n, "qdot")),
        (make("accelerate", accelerate, q, slots(n, "dx", "mon")),),
        (make("project", lambda x, y, u, v, s: (x, y, u, v, s, *accelerate(x, y)), (*q, *x),
              slots(n, "q", "x", "dx", "mon")),),
        (make("observe", lambda x, y, t: (x, y, t), (*q, *n.slots("t")), slots(n, "chan")),),
        (make("accumulate", lambda a, x: (a + 1.0 + 0.0 * x,), (*n.slots("acc"), q[0]), slots(n, "acc")),),
        passing if events else (),
        control if method.controls else (),
    )  # fmt: skip
    return linearly_implicit(program, "f64")


def untraceable(program: LaneProgram) -> LaneProgram:
    """The same program whose pieces cannot be built."""

    def fail():
        raise AssertionError("built although compiled code was there")

    def sealed_one(piece):
        return dataclasses.replace(piece, code=Code(fail, piece.code.text))

    def sealed(pieces):
        return tuple(map(sealed_one, pieces))

    phases = {name: sealed(getattr(program, name)) for name in ("accelerate", "project", "observe", "accumulate")}
    return dataclasses.replace(program, drift=sealed_one(program.drift), **phases)
