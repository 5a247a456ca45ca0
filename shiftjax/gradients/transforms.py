"""A simulation on the host as a JAX function: three primitives of our own around functions of NumPy arrays.

`run` is y of x, `run_tangent` dy of x and dx, `run_adjoint` x_bar of x and y_bar. The jvp of the run is the tangent;
the transpose of the tangent is the adjoint, that of the adjoint the tangent; a batch axis of x becomes more members,
one of dx or y_bar alone more directions. So one host call serves a whole vmap, and grad, jvp, jacfwd, jacrev,
linearize, jit, scan and checkpoint compose. (`custom_vjp` would forbid jvp, `custom_jvp` grad, `linear_call` vmap of
grad.)

Knows no mechanics. Axes: B members, P numbers, M outputs, K directions.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Protocol

import jax
import jax.numpy as jnp
import numpy as np
from jax.core import ShapedArray, Tracer
from jax.extend.core import Primitive
from jax.interpreters import ad, batching, mlir

from shiftjax.errors import ModelError
from shiftjax.run.programs.precision import need_x64

Array = Any  # of JAX, traced or not


class Differentiable(Protocol):
    """Functions of NumPy arrays in f64, row by row: what one member gives does not depend on the others.

    They may run in another thread than the caller's, inside a program of JAX that waits for them: they may not compute
    with JAX arrays, for which the same threads may be needed.

    Attributes:
        outputs: M.
        directions: optional; True where `tangent` and `adjoint` take (K, B, P) and (K, B, M), K directions at the same
            x, and give as many. Else x is repeated for each.
        refuse: optional; called where JAX differentiates without knowing x, as inside of jit: raises what is refused
            whatever x is, so that the error is the caller's.
    """

    outputs: int

    def run(self, x: np.ndarray) -> np.ndarray:
        """y (B, M) of x (B, P)."""
        ...

    def tangent(self, x: np.ndarray, dx: np.ndarray) -> np.ndarray:
        """dy (B, M) of x (B, P) and dx (B, P): the derivative of `run` at x times dx."""
        ...

    def adjoint(self, x: np.ndarray, y_bar: np.ndarray) -> np.ndarray:
        """x_bar (B, P) of x (B, P) and y_bar (B, M): y_bar times the derivative of `run` at x."""
        ...


def differentiable(host: Differentiable, *, precision: str = "f64") -> Callable[[Array], Array]:
    """The JAX function of a simulation on the host.

    Called outside of jit the host functions run at once, in the caller's thread, and their errors are the caller's;
    from compiled code they are called back, and JAX wraps what they raise into an error of its own that quotes it.

    Args:
        host: kept alive by what is compiled with it; the same object is compiled once.
        precision: of the run, "f64" or "f32".

    Returns:
        y (..., M) of x (..., P), in f64 where JAX is set to it, else in f32. It has first derivatives.

    Raises:
        ModelError: when called: f64 while JAX computes in f32; a second derivative.
    """
    static = Same(host)

    def function(x: Array) -> Array:
        need_x64(precision)
        x = jnp.asarray(x, float)
        y = run_p.bind(x.reshape(-1, x.shape[-1]), static=static)
        return y.reshape(*x.shape[:-1], host.outputs)

    return function


class Same:
    """A thing as a parameter: equal to itself alone, whatever its own class thinks of equality."""

    def __init__(self, thing: Any) -> None:
        self.thing = thing

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Same) and other.thing is self.thing

    def __hash__(self) -> int:
        return id(self.thing)

    def __repr__(self) -> str:
        return type(self.thing).__name__


HostCall = Callable[..., np.ndarray]  # of a host and arrays


def _run(host: Differentiable, x: np.ndarray) -> np.ndarray:
    return host.run(x)


def _tangent(host: Differentiable, x: np.ndarray, dx: np.ndarray) -> np.ndarray:
    return _along(host, host.tangent, x, dx)


def _adjoint(host: Differentiable, x: np.ndarray, y_bar: np.ndarray) -> np.ndarray:
    return _along(host, host.adjoint, x, y_bar)


def _along(host: Differentiable, function: HostCall, x: np.ndarray, many: np.ndarray) -> np.ndarray:
    """A linear function at x (B, P) of many (K, B, n): K directions at once, or x repeated K times."""
    if getattr(host, "directions", False):
        return function(x, many)
    count, members, _ = many.shape
    products = function(np.tile(x, (count, 1)), many.reshape(count * members, -1))
    return products.reshape(count, members, -1)


def _primitive(name: str, call: HostCall, shape: Callable[..., tuple[int, ...]]) -> Primitive:
    """A primitive that calls the host.

    Args:
        call: of the host and f64 arrays of its own. shape: of the result, from the host and the shapes of the arrays.
    """
    primitive = Primitive(name)

    def compute(static: Same, values: Sequence[Any], dtype: Any) -> np.ndarray:
        # Copies: those of a callback are gone when it returns, and a host may remember them.
        return np.asarray(call(static.thing, *(np.array(value, float) for value in values)), dtype)

    def evaluate(*values: Any, static: Same) -> Array:
        return jnp.asarray(compute(static, values, values[0].dtype))

    def abstract(*avals: Any, static: Same) -> Any:
        return ShapedArray(shape(static.thing, *(aval.shape for aval in avals)), avals[0].dtype)

    def lower(context: Any, *operands: Any, static: Same) -> Any:
        dtype = context.avals_out[0].dtype

        # `pure_callback` would put the arrays onto a device for the function to read them back: JAX at work inside of
        # its own callback, which it advises against. These are NumPy arrays.
        def callback(*values: Any) -> tuple[np.ndarray]:
            return (compute(static, values, dtype),)

        results, _, _ = mlir.emit_python_callback(
            context, callback, None, list(operands), context.avals_in, context.avals_out,
            has_side_effect=False, returns_token=False,
        )  # fmt: skip
        return results

    primitive.def_impl(evaluate)
    primitive.def_abstract_eval(abstract)
    mlir.register_lowering(primitive, lower)
    return primitive


run_p = _primitive("run", _run, lambda host, x: (x[0], host.outputs))  # x (B, P) -> (B, M)
tangent_p = _primitive("run_tangent", _tangent, lambda host, x, dx: (*dx[:2], host.outputs))  # dx (K, B, P)
adjoint_p = _primitive("run_adjoint", _adjoint, lambda host, x, y_bar: (*y_bar[:2], x[1]))  # y_bar (K, B, M)


def _batch_run(values: Sequence[Array], axes: Sequence[Any], *, static: Same) -> tuple[Array, int]:
    x = jnp.moveaxis(values[0], axes[0], 0)
    y = run_p.bind(x.reshape(-1, x.shape[2]), static=static)
    return y.reshape(*x.shape[:2], -1), 0


def _batch_along(primitive: Primitive) -> Callable[..., tuple[Array, int]]:
    """The batching rule of a linear primitive: at one x more directions, else more members."""

    def rule(values: Sequence[Array], axes: Sequence[Any], *, static: Same) -> tuple[Array, int]:
        (x, many), (x_axis, axis) = values, axes
        if x_axis is None:
            many = jnp.moveaxis(many, axis, 0)  # (b, K, B, n)
            products = primitive.bind(x, many.reshape(-1, *many.shape[2:]), static=static)
            return products.reshape(*many.shape[:2], *products.shape[1:]), 0
        x = jnp.moveaxis(x, x_axis, 0)  # (b, B, P)
        size = x.shape[0]
        if axis is None:
            many = jnp.broadcast_to(many[:, None], (many.shape[0], size, *many.shape[1:]))
        else:
            many = jnp.moveaxis(many, axis, 1)  # (K, b, B, n)
        count, _, members, n = many.shape
        flat = many.reshape(count, size * members, n)
        products = primitive.bind(x.reshape(-1, x.shape[2]), flat, static=static)
        return products.reshape(count, size, members, -1), 1

    return rule


def _zero(value: Array) -> ad.Zero:
    return ad.Zero(jax.typeof(value).to_tangent_aval())


def _jvp_run(primals: Sequence[Array], tangents: Sequence[Any], *, static: Same) -> tuple[Array, Any]:
    (x,), (dx,) = primals, tangents
    y = run_p.bind(x, static=static)
    if type(dx) is ad.Zero:
        return y, _zero(y)
    if isinstance(x, Tracer) and (refuse := getattr(static.thing, "refuse", None)) is not None:
        with jax.ensure_compile_time_eval():  # it computes with numbers that are known
            refuse()
    return y, jax.lax.squeeze(tangent_p.bind(x, jax.lax.expand_dims(dx, (0,)), static=static), (0,))


def _jvp_along(primitive: Primitive) -> Callable[..., tuple[Array, Any]]:
    """The jvp of a linear primitive in what it is linear in; in x it would be a second derivative."""

    def rule(primals: Sequence[Array], tangents: Sequence[Any], *, static: Same) -> tuple[Array, Any]:
        (x, many), (dx, change) = primals, tangents
        if type(dx) is not ad.Zero:
            raise ModelError(
                "derivative",
                "a second derivative of a run, as jax.hessian or grad of grad take it",
                "first derivatives",
                "Take finite differences of jax.grad, or a method that needs no Hessian (Gauss-Newton, BFGS).",
            )
        product = primitive.bind(x, many, static=static)
        return product, _zero(product) if type(change) is ad.Zero else primitive.bind(x, change, static=static)

    return rule


def _transpose_along(other: Primitive) -> Callable[..., tuple[None, Any]]:
    """The transpose of a linear primitive is the other one at the same x."""

    def rule(cotangent: Any, x: Array, many: Any, *, static: Same) -> tuple[None, Any]:
        if type(cotangent) is ad.Zero:
            return None, ad.Zero(many.aval)
        return None, other.bind(x, cotangent, static=static)

    return rule


batching.primitive_batchers[run_p] = _batch_run
ad.primitive_jvps[run_p] = _jvp_run
for linear_p, transposed_p in ((tangent_p, adjoint_p), (adjoint_p, tangent_p)):
    batching.primitive_batchers[linear_p] = _batch_along(linear_p)
    ad.primitive_jvps[linear_p] = _jvp_along(linear_p)
    ad.primitive_transposes[linear_p] = _transpose_along(transposed_p)
