"""The table of backends and the default one. A new backend is one folder and one entry."""

from __future__ import annotations

import os
from collections.abc import Callable

import numpy as np

from shiftjax.disk_cache import LIMIT_NAME, NO_LIMIT, is_limit
from shiftjax.errors import ModelError, shown
from shiftjax.kernels.contract import Backward, Kernel, Reversible
from shiftjax.kernels.llvm import backward
from shiftjax.registry import Registry


def _gpu(precision: str, threads: int | None) -> Kernel:
    from shiftjax.kernels.gpu.backward import ReversibleGpuKernel  # a tenth of what a run imports

    return ReversibleGpuKernel(precision, threads)


def _xla(precision: str, threads: int | None) -> Kernel:
    from shiftjax.kernels.xla_backward import ReversibleXlaKernel  # with JAX, half a second, for this backend alone

    return ReversibleXlaKernel(precision, threads)


BACKENDS: Registry[Callable[[str, int | None], Kernel]] = Registry(
    "backend",
    {"cpu": backward.ReversibleCpuKernel, "gpu": _gpu, "xla": _xla},
)
MOST_THREADS = 4096  # more than any machine has


def make_kernel(backend: str | None, precision: str, threads: int | None = None) -> Kernel:
    """A kernel of the named backend; by default that of the processor's vector units.

    Args:
        backend: a key of `BACKENDS` or None. precision: "f64" or "f32". threads: all cores for None.

    Raises:
        ModelError: no such backend, threads that cannot be, or a limit of the cache of compiled code that is none.
    """
    if not is_limit(limit := os.environ.get(LIMIT_NAME, "").strip()):
        raise ModelError(LIMIT_NAME, repr(limit), f"a whole number of MiB above 0, or {NO_LIMIT}", "Correct it.")
    if threads is not None and not (isinstance(threads, int | np.integer) and 0 < threads <= MOST_THREADS):
        allowed = f"a whole number from 1 to {MOST_THREADS}"
        raise ModelError("threads", shown(threads), allowed, "Leave it out for all cores.")
    return BACKENDS[backend or "cpu"](precision, threads)


def slowness_note(backend: str | None, work: float) -> str:
    """What is said before a run on a backend that another does much faster; "" where nothing is.

    Args:
        work: members times steps.
    """
    if backend != "xla":
        return ""
    from shiftjax.kernels import xla

    return xla.slowness_note(work)


def make_backward(kernel: Kernel, memory: float | None = None) -> Backward | None:
    """What carries cotangents back over the steps of a kernel; None for a backend that has nothing of the kind.

    Args:
        memory: as of `contract.Reversible`.
    """
    return kernel.backward(memory) if isinstance(kernel, Reversible) else None
