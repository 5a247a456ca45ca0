"""Which machine runs: the fastest there is, unless one is named."""

from __future__ import annotations

from shiftjax.kernels import xla
from shiftjax.kernels.llvm import cpu

BACKENDS = ("cpu", "xla")


def make_kernel(backend: str | None, precision: str, threads: int | None = None) -> cpu.Kernel | xla.Kernel:
    """A kernel of the named backend; the vector units of the processor where none is named.

    Args:
        backend: one of `BACKENDS` or None. precision: "f64" or "f32". threads: of the cpu kernel, all cores for None.
    """
    return xla.Kernel(precision) if backend == "xla" else cpu.Kernel(precision, threads)
