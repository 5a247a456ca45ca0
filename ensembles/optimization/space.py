"""Bounded numbers as places in a box, and functions of one member for many. Run-time, JAX."""

from __future__ import annotations

import functools
from collections.abc import Callable, Hashable, Sequence
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jax.extend.core import ClosedJaxpr, Jaxpr, Literal, jaxpr_as_fun

Array = Any  # of JAX, or NumPy
BLOCK = 64  # members of one call of a compiled function
PROGRAMS = 64  # compiled ones that are remembered
ADDRESS = " at 0x"  # in the text of what refers to a function of the host
# Tiny functions, called once an iteration: what counts is how fast XLA compiles them. A step of L-BFGS takes 0.2 s of
# processor time with these and 1.4 s without, each call of it 0.3 ms and 0.2 ms.
OPTIONS = {
    "cpu": {
        "xla_cpu_use_fusion_emitters": False,
        "xla_backend_optimization_level": 0,
        "xla_cpu_parallel_codegen_split_count": 1,
    }
}


@functools.cache
def _known_options(backend: str) -> dict[str, Any]:
    """Those of `OPTIONS` that this version of XLA knows: it refuses all others, and versions drop some."""
    identity, options = jax.jit(lambda x: x).lower(np.float32(0.0)), OPTIONS.get(backend, {})

    def knows(some: dict[str, Any]) -> bool:
        try:
            identity.compile(compiler_options=some)
        except jax.errors.JaxRuntimeError:
            return False
        return True

    return options if knows(options) else {name: value for name, value in options.items() if knows({name: value})}


_programs: dict[str, Callable[..., Any]] = {}  # by the text of their operations, the last used one last


class BoxSpace:
    """Numbers x (P,) measured from a bound in parts of the distance of the bounds, u (P,): x = origin + size u, with
    lower <= u <= upper. Designs may stand at a bound.

    Args:
        low, high: (P,), infinite where there is no bound. scale: (P,) the size of numbers without two bounds.
    """

    def __init__(self, low: np.ndarray, high: np.ndarray, scale: np.ndarray) -> None:
        self.low, self.high = low, high
        above, below = np.isfinite(low), np.isfinite(high)
        both = above & below
        self._origin = np.where(above, low, np.where(below, high, 0.0))
        self._size = np.where(both, np.where(both, high, 1.0) - np.where(both, low, 0.0), scale)
        self.lower = np.where(above, 0.0, -np.inf)
        self.upper = np.where(both, 1.0, np.where(below, 0.0, np.inf))

    def numbers(self, u: Array) -> Array:
        """x (..., P) of u (..., P); at the bounds to the last bit."""
        x = self._origin + self._size * u
        return jnp.where(
            u <= self.lower, self.low, jnp.where(u >= self.upper, self.high, jnp.clip(x, self.low, self.high))
        )

    def slopes(self, u: Array) -> Array:
        """dx/du (..., P)."""
        return jnp.broadcast_to(self._size, jnp.shape(u))

    def free(self, x: np.ndarray) -> np.ndarray:
        """u (..., P) of x (..., P); what is beyond a bound is moved to it."""
        return np.clip((x - self._origin) / self._size, self.lower, self.upper)

    def inside(self, u: Array) -> Array:
        """The nearest place in the box."""
        return jnp.clip(u, self.lower, self.upper)

    def projected(self, u: Array, gradient: Array) -> Array:
        """The way (P,) down that stays in the box, max and min of the bounds and u - gradient: 0 at an optimum only."""
        return self.inside(u - gradient) - u


class MemberwiseFunction:
    """A function of the arrays of one member, called member by member, so that no bit of what one member gives depends
    on the others or on how many there are.

    It is compiled with the arrays that it has from around it as arguments: functions that differ in those alone, as of
    optimisations in other boxes, share one program.

    Args:
        function: of arrays of one member, in nested tuples or dicts.
    """

    def __init__(self, function: Callable[..., Any]) -> None:
        self._function = function
        self._traced: dict[Hashable, _TracedFunction] = {}  # by the structure, shapes and types of its arguments

    def __call__(self, *rows: Any) -> Any:
        """What the function gives, with the axis (N,) of members in front of all its arrays, in NumPy."""
        members = len(jax.tree.leaves(rows)[0])
        blocks = []
        # Optax mixes types and shapes, which strict settings of a caller's JAX refuse.
        with jax.enable_x64(True), jax.numpy_dtype_promotion("standard"), jax.numpy_rank_promotion("allow"):
            for first in range(0, members, BLOCK):
                which = np.minimum(np.arange(first, first + BLOCK), members - 1)
                some = jax.tree.map(lambda values, which=which: np.asarray(values)[which], rows)
                count = min(BLOCK, members - first)
                blocks.append(jax.tree.map(lambda values, count=count: np.asarray(values)[:count], self._mapped(some)))
        return jax.tree.map(lambda *parts: np.concatenate(parts), *blocks)

    def _mapped(self, rows: Any) -> Any:
        leaves, structure = jax.tree.flatten(rows)
        key = structure, tuple((leaf.shape, leaf.dtype.str) for leaf in leaves)
        if key not in self._traced:
            mapped = jax.make_jaxpr(lambda rows: jax.lax.map(lambda row: self._function(*row), rows), return_shape=True)
            closed, shapes = mapped(rows)
            self._traced[key] = _TracedFunction(_program(closed.jaxpr), closed.consts, jax.tree.structure(shapes))
        traced = self._traced[key]
        return jax.tree.unflatten(traced.structure, traced.program(traced.constants, leaves))


class _TracedFunction(NamedTuple):
    """A function for arguments of some shapes: its program, the arrays from around it, the structure of its results."""

    program: Callable[..., Any]
    constants: list[Any]
    structure: Any


def _program(jaxpr: Any) -> Callable[..., Any]:
    """Compiled operations, of constants and arguments; the last ones are remembered.

    Their text says all that decides what they do, numbers with all their digits, but for functions of the host, of
    some of which it has the addresses, and arrays inside: what has one is compiled by itself.
    """

    def run(constants: Sequence[Any], leaves: Sequence[Any]) -> Any:
        return jaxpr_as_fun(ClosedJaxpr(jaxpr, constants))(*leaves)

    text = str(jaxpr)
    program = _programs.pop(text, None) or jax.jit(run, compiler_options=_known_options(jax.default_backend()))
    if ADDRESS not in text and not _says_too_little(jaxpr):
        _programs[text] = program
    for old in list(_programs)[: len(_programs) - PROGRAMS]:
        _programs.pop(old, None)
    return program


def _says_too_little(jaxpr: Any) -> bool:
    """Whether there are calls of the host, or arrays in operations, of which the text gives the shape alone."""
    for equation in jaxpr.eqns:
        if "callback" in equation.primitive.name:  # a method is told apart from another object's by no address
            return True
        if any(isinstance(value, Literal) and np.ndim(value.val) for value in equation.invars):
            return True
        for value in equation.params.values():
            for part in value if isinstance(value, tuple | list) else (value,):
                if isinstance(part, np.ndarray | jax.Array) or (isinstance(part, ClosedJaxpr) and part.consts):
                    return True
                if isinstance(part, ClosedJaxpr | Jaxpr) and _says_too_little(getattr(part, "jaxpr", part)):
                    return True
    return False
