"""Which machine runs: the fastest there is, unless one is named."""

from __future__ import annotations

from typing import Any

BACKENDS = ("cpu", "xla")


def make_kernel(backend: str | None, precision: str, threads: int | None = None) -> Any:
    """A kernel of the named backend; the vector units of the processor where none is named.

    Raises:
        KeyError: a name that is none of `BACKENDS`.
    """
    name = backend or "cpu"
    if name not in BACKENDS:
        raise KeyError(name)
    if name == "xla":
        from shiftjax.kernels.xla import Kernel

        return Kernel(precision)
    from shiftjax.kernels.cpu import Kernel

    return Kernel(precision, threads)
