"""Lane functions as scalar jaxprs, traced only when a kernel finds nothing compiled."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import jax
import numpy as np

from shiftjax.algebra import Scalar, Vec


def tracer(function: Callable[[list[Scalar]], Vec], count: int, dtype: str) -> Callable[[], Any]:
    """Defers tracing `function` of `count` scalars to a closed jaxpr."""

    def trace() -> Any:
        with jax.enable_x64(dtype == "float64"):
            arguments = [jax.ShapeDtypeStruct((), np.dtype(dtype))] * count
            return jax.make_jaxpr(
                lambda *s: [np.asarray(x, dtype) if type(x) is float else x for x in function(list(s))]
            )(*arguments)

    return trace
