"""Whether JAX computes in the precision of a run; nothing here changes what it is set to."""

from __future__ import annotations

import jax

from shiftjax.errors import ModelError


def need_x64(precision: str) -> None:
    """Raises where a run in f64 would be handed to JAX while it rounds all numbers to f32.

    Args:
        precision: "f64" or "f32".

    Raises:
        ModelError: what to do about it.
    """
    if precision == "f64" and not jax.config.jax_enable_x64:  # type: ignore[attr-defined]
        raise ModelError(
            "precision",
            "f64 while JAX computes in f32",
            'jax.config.update("jax_enable_x64", True), or precision="f32"',
            "Write the first at the beginning of the program; f32 is for rough answers.",
        )
