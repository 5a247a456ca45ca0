"""Which machine runs: the fastest there is, unless one is named. A new machine is one folder and one entry."""

from __future__ import annotations

from collections.abc import Callable

from shiftjax.kernels import xla
from shiftjax.kernels.contract import Kernel
from shiftjax.kernels.llvm import cpu
from shiftjax.table import Table

BACKENDS: Table[Callable[[str, int | None], Kernel]] = Table("backend", {"cpu": cpu.Kernel, "xla": xla.Kernel})


def make_kernel(backend: str | None, precision: str, threads: int | None = None) -> Kernel:
    """A kernel of the named backend; the vector units of the processor where none is named.

    Args:
        backend: a key of `BACKENDS` or None. precision: "f64" or "f32". threads: all cores for None.
    """
    return BACKENDS[backend or "cpu"](precision, threads)
