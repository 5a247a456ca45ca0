"""A simulation on the host as a JAX function: every transformation against the same function in plain JAX."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable
from functools import cache
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from shiftjax.errors import ModelError
from shiftjax.gradients.transforms import differentiable

ROUNDING = 1e-13  # the same formulas in NumPy and in XLA, relative to the largest value
M = 7
K = np.arange(1.0, M + 1)
WEIGHTS = np.linspace(0.1, 1.0, M)
X = np.array([[0.3, 1.2, 0.7], [0.5, -0.2, 1.1]])
MANY = np.stack([X, 2 * X, -X])


def exact(x: Any) -> Any:
    """The toy in plain JAX, (..., 3) -> (..., M)."""
    k = K.reshape((1,) * (x.ndim - 1) + (M,))  # ranks are not promoted in tests
    return jnp.sin(x[..., :1] * k) * x[..., 1:2] + x[..., 2:] ** 2 * k


class Toy:
    """The toy on the host; `calls` notes what was called and with which shapes."""

    outputs = M

    def __init__(self, *, directions: bool = False) -> None:
        self.directions = directions
        self.calls: list[tuple[str, tuple[int, ...]]] = []

    def _called(self, name: str, *values: np.ndarray) -> None:
        self.calls.append((name, values[-1].shape))
        assert all(type(value) is np.ndarray and value.dtype == float for value in values)

    def run(self, x: np.ndarray) -> np.ndarray:
        self._called("run", x)
        return np.sin(x[:, :1] * K) * x[:, 1:2] + x[:, 2:] ** 2 * K

    def tangent(self, x: np.ndarray, dx: np.ndarray) -> np.ndarray:
        self._called("tangent", x, dx)
        parts = (np.cos(x[:, :1] * K) * K * x[:, 1:2], np.sin(x[:, :1] * K), 2 * x[:, 2:] * K)
        return sum((part * dx[..., k : k + 1] for k, part in enumerate(parts)), np.zeros(1))

    def adjoint(self, x: np.ndarray, y_bar: np.ndarray) -> np.ndarray:
        self._called("adjoint", x, y_bar)
        parts = (np.cos(x[:, :1] * K) * K * x[:, 1:2], np.sin(x[:, :1] * K), 2 * x[:, 2:] * K)
        return np.stack([(part * y_bar).sum(-1) for part in parts], -1)


def loss(f: Any) -> Callable[[Any], Any]:
    return lambda x: (jnp.tanh(f(x)) @ WEIGHTS).sum()


def descent(f: Any) -> Callable[[Any], Any]:
    """Three steps down the gradient."""
    step = lambda x, _: (x - 0.01 * jax.grad(loss(f))(x), None)  # noqa: E731
    return lambda x: jax.lax.scan(step, x, None, length=3)[0]


RUN, TANGENT, ADJOINT = "run", "tangent", "adjoint"
# name -> of a function f the function that is computed, its argument, and what is called on the host
CASES: dict[str, tuple[Callable[[Any], Callable[..., Any]], np.ndarray, list[str]]] = {
    "plain": (lambda f: f, X, [RUN]),
    "jit": (jax.jit, X, [RUN]),
    "more axes": (lambda f: f, MANY, [RUN]),
    "one member": (lambda f: f, X[0], [RUN]),
    "vmap": (jax.vmap, MANY, [RUN]),
    "vmap of vmap": (lambda f: jax.vmap(jax.vmap(f)), np.stack([MANY, MANY + 1]), [RUN]),
    "vmap over the last axis": (lambda f: jax.vmap(f, in_axes=2, out_axes=1), np.moveaxis(MANY, 0, 2), [RUN]),
    "grad": (lambda f: jax.grad(loss(f)), X, [RUN, ADJOINT]),
    "jit of grad": (lambda f: jax.jit(jax.grad(loss(f))), X, [RUN, ADJOINT]),
    "value and grad": (lambda f: lambda x: jax.value_and_grad(loss(f))(x)[1], X, [RUN, ADJOINT]),
    "vmap of grad": (lambda f: jax.vmap(jax.grad(loss(f))), MANY, [RUN, ADJOINT]),
    "jit of vmap of grad": (lambda f: jax.jit(jax.vmap(jax.grad(loss(f)))), MANY, [RUN, ADJOINT]),
    "grad of vmap": (lambda f: jax.grad(lambda x: jax.vmap(loss(f))(x).sum()), MANY, [RUN, ADJOINT]),
    "jvp": (lambda f: lambda x: jax.jvp(f, (x,), (2 * x,))[1], X, [RUN, TANGENT]),
    "jit of jvp": (lambda f: jax.jit(lambda x: jax.jvp(f, (x,), (2 * x,))[1]), X, [TANGENT]),
    "jacfwd": (jax.jacfwd, X, [RUN, TANGENT]),
    "jacrev": (jax.jacrev, X, [RUN, ADJOINT]),
    "jit of jacrev": (lambda f: jax.jit(jax.jacrev(f)), X, [ADJOINT]),
    "vmap of jacfwd": (lambda f: jax.vmap(jax.jacfwd(f)), MANY, [RUN, TANGENT]),
    "jacfwd of vmap": (lambda f: jax.jacfwd(jax.vmap(f)), MANY, [RUN, TANGENT]),
    "vmap of jacrev": (lambda f: jax.vmap(jax.jacrev(f)), MANY, [RUN, ADJOINT]),
    "linearize": (lambda f: lambda x: jax.linearize(f, x)[1](2 * x), X, [RUN, TANGENT]),
    "vjp": (lambda f: lambda x: jax.vjp(f, x)[1](jnp.ones((2, M)))[0], X, [RUN, ADJOINT]),
    "scan": (descent, X, [RUN, ADJOINT] * 3),
    "jit of scan": (lambda f: jax.jit(descent(f)), X, [RUN, ADJOINT] * 3),
    "vmap of scan": (lambda f: jax.vmap(descent(f)), MANY, [RUN, ADJOINT] * 3),
    "checkpoint": (lambda f: jax.grad(jax.checkpoint(loss(f))), X, [RUN, RUN, ADJOINT]),
    "jit of checkpoint": (
        lambda f: jax.jit(lambda x: jax.value_and_grad(jax.checkpoint(loss(f)))(x)[1]), X, [RUN, ADJOINT]
    ),
    "cond": (lambda f: jax.grad(lambda x: jax.lax.cond(x[0, 0] > 0, loss(f), jnp.sum, x)), X, [RUN, ADJOINT]),
    "map": (lambda f: lambda x: jax.lax.map(f, x), MANY, [RUN] * 3),
    "grad of a jvp, x fixed": (
        lambda f: jax.grad(lambda d: (jax.jvp(f, (jnp.asarray(X),), (d,))[1] @ WEIGHTS).sum()),
        X, [RUN, TANGENT, ADJOINT],
    ),
    "jvp of a grad, linear in the run": (
        lambda f: lambda w: jax.jvp(lambda w: jax.grad(lambda x: (f(x) * w).sum())(jnp.asarray(X)), (w,), (2 * w,))[1],
        np.ones((2, M)), [RUN, ADJOINT, ADJOINT],
    ),
    "grad of a grad, linear in the run": (
        lambda f: jax.grad(lambda w: (jax.grad(lambda x: (f(x) * w).sum())(jnp.asarray(X)) ** 2).sum()),
        np.ones((2, M)), [RUN, ADJOINT, TANGENT],
    ),
}  # fmt: skip


@cache
def in_plain_jax(name: str) -> np.ndarray:
    """What a case is: the same for a host with directions and without."""
    transformation, x, _ = CASES[name]
    return np.asarray(transformation(exact)(jnp.asarray(x)))


@pytest.mark.parametrize("directions", [False, True])
@pytest.mark.parametrize("name", CASES)
def test_transformations(name: str, directions: bool) -> None:
    """Values as of plain JAX, and no more calls of the host than stated: none is repeated, none is a loop."""
    transformation, x, calls = CASES[name]
    toy = Toy(directions=directions)
    found = np.asarray(transformation(differentiable(toy))(jnp.asarray(x)))
    wanted = in_plain_jax(name)
    assert found.shape == wanted.shape and found.dtype == wanted.dtype
    assert np.abs(found - wanted).max() <= ROUNDING * np.abs(wanted).max()
    assert [call for call, _ in toy.calls] == calls


def test_what_does_not_depend_on_the_run_costs_nothing() -> None:
    """Zero tangents stay symbolic: no tangent or adjoint is called for them, and a constant run has no derivative."""
    toy = Toy()
    f = differentiable(toy)
    fixed = jnp.asarray(X)
    jax.jvp(lambda z: f(fixed) * z, (jnp.ones((2, M)),), (jnp.ones((2, M)),))
    jax.grad(lambda z: (f(fixed) * z).sum())(jnp.ones((2, M)))
    jax.grad(lambda x: (jax.lax.stop_gradient(f(x)) * x.sum()).sum())(fixed)
    assert [name for name, _ in toy.calls] == [RUN] * 3


@pytest.mark.parametrize(("directions", "shape"), [(False, (M * 2 * 2, M)), (True, (M * 2, 2, M))])
def test_directions_at_the_same_numbers(directions: bool, shape: tuple[int, ...]) -> None:
    """A Jacobian asks for its rows at the same x: a host that can takes them as directions, not as more members."""
    toy = Toy(directions=directions)
    jax.jacrev(differentiable(toy))(jnp.asarray(X))
    assert toy.calls == [("run", (2, 3)), ("adjoint", shape)]


@pytest.mark.parametrize(
    "second",
    [
        lambda f: jax.hessian(loss(f)),
        lambda f: jax.jit(jax.hessian(loss(f))),
        lambda f: jax.grad(lambda x: (jax.grad(loss(f))(x) ** 2).sum()),
        lambda f: jax.jacfwd(jax.jacfwd(f)),
        lambda f: jax.jacrev(jax.jacrev(f)),
        lambda f: lambda x: jax.jvp(lambda x: jax.jvp(f, (x,), (x,))[1], (x,), (x,)),
        lambda f: jax.grad(lambda x: descent(f)(x).sum()),
    ],
)
def test_second_derivatives_are_refused(second: Callable[[Any], Callable[[Any], Any]]) -> None:
    with pytest.raises(ModelError, match=r"second derivative of a run.*Take finite differences of jax\.grad"):
        second(differentiable(Toy()))(jnp.asarray(X))


class Failing(Toy):
    """Raises what it was made with."""

    def __init__(self, error: BaseException) -> None:
        super().__init__()
        self.error = error

    def adjoint(self, x: np.ndarray, y_bar: np.ndarray) -> np.ndarray:
        raise self.error


@pytest.mark.parametrize("error", [ModelError("rod.mass", "none", "a number", "Give one."), KeyboardInterrupt("key")])
def test_errors_of_the_host(error: BaseException) -> None:
    """Outside of jit the very same exception; from compiled code one of JAX that quotes it."""
    gradient = jax.grad(loss(differentiable(Failing(error))))
    with pytest.raises(type(error)) as found:
        gradient(jnp.asarray(X))
    assert found.value is error
    with pytest.raises(RuntimeError, match=f"{type(error).__name__}: {error}"):
        np.asarray(jax.jit(gradient)(jnp.asarray(X)))


class Equal(Toy):
    """Equal to all others of its kind, and not hashable."""

    __hash__ = None  # type: ignore[assignment]

    def __init__(self, factor: float) -> None:
        super().__init__()
        self.factor = factor

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Equal)

    def run(self, x: np.ndarray) -> np.ndarray:
        return self.factor * super().run(x)


def test_a_host_is_told_by_its_identity() -> None:
    """Hosts that call themselves equal are not mixed up; one host is the same in every program."""
    first, second = Equal(1.0), Equal(2.0)
    whole = jax.jit(lambda x: (differentiable(first)(x), differentiable(second)(x)))
    one, two = whole(jnp.asarray(X))
    assert np.array_equal(2 * np.asarray(one), np.asarray(two))

    def static(host: Equal) -> Any:
        return jax.make_jaxpr(differentiable(host))(jnp.asarray(X)).eqns[0].params["static"]

    assert static(first) == static(first) and hash(static(first)) == hash(static(first))
    assert static(first) != static(second)


CROWD = """
import os
os.sched_setaffinity(0, {min(os.sched_getaffinity(0))})
import jax, jax.numpy as jnp, numpy as np
from shiftjax.gradients.transforms import differentiable
jax.config.update("jax_enable_x64", True)

class First:
    outputs = 50
    def run(self, x): return np.repeat(x[:, :1], 50, 1)
    def adjoint(self, x, y_bar): return np.stack([y_bar.sum(1)] * x.shape[1], 1)

runs = [differentiable(First()) for _ in range(8)]
gradient = jax.jit(jax.grad(lambda x: sum((f(x * k) ** 2).sum() for k, f in enumerate(runs))))
for _ in range(3):
    found = np.asarray(gradient(jnp.ones((50_000, 3))))
print(found[0, 0], 2 * 50 * sum(k * k for k in range(8)))
"""


def test_many_callbacks_on_one_core() -> None:
    """Eight hosts in one program and large arrays, all threads of JAX on one core: nothing waits for itself."""
    done = subprocess.run([sys.executable, "-c", CROWD], capture_output=True, text=True, timeout=120)
    assert done.returncode == 0, done.stderr
    found, wanted = done.stdout.split()
    assert float(found) == float(wanted)
