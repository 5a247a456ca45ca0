"""Numbers that JAX traces, whose values are not known yet."""

from __future__ import annotations

from jax.core import Tracer


def is_traced(values: object) -> bool:
    """Whether JAX traces an array, or a number of a list."""
    return any(isinstance(each, Tracer) for each in (values if isinstance(values, list | tuple) else (values,)))
