"""Which machine runs the lanes of a call that names none: a GPU where one is and the call is large, else the processor.

The rule looks at the call alone, so that it is the same on every machine with a GPU, and a result does not depend on
it: both have the same bits. Its figures are of `docs/gpu.md` and `benchmarks/results/gpu_2026-11-26.jsonl`, an NVIDIA
H200 beside 16 cores.
"""

from __future__ import annotations

import importlib.util
from typing import NamedTuple

from shiftjax.errors import ModelError
from shiftjax.kernels.gpu.cuda_device import cuda_device
from shiftjax.kernels.gpu.device import Device

# A step takes a GPU as long however few members there are: 2 048 four-bars make 0.78e9 steps a second there, twice what
# 16 cores make, 1 024 as many as these.
LEAST_MEMBERS = 2_048
# Steps of all members. A whole call of 1e8 took 5.6 s on 16 cores and 1.9 s on the GPU; to open a device and assemble a
# program costs half a second of a four-bar, and some of larger models, whose steps are as much longer.
LEAST_STEPS = 100_000_000
MEASURED = ("rk4",)  # methods whose fixed steps were compared and timed on a device


class BackendChoice(NamedTuple):
    """A backend and why it is that one; nothing is said where there is no GPU to choose."""

    backend: str
    why: str = ""


def chosen(backend: str | None, members: int, steps: int, method: str, *, controlled: bool = False) -> BackendChoice:
    """The backend of a call.

    Args:
        backend: what the caller names, which is taken. members, steps: of the call. method: by its name.
        controlled: whether a tolerance chooses the steps.
    """
    if backend is not None or not has_bindings():
        return BackendChoice(backend or "cpu")
    call = f"{members} members over {steps} steps"
    if controlled or method not in MEASURED:
        how = "of a tolerance" if controlled else f"of {method}"
        return BackendChoice(
            "cpu", f"cpu: a GPU is taken for fixed steps of {' and '.join(MEASURED)} alone, these are {how}"
        )
    if members < LEAST_MEMBERS:
        return BackendChoice(
            "cpu", f"cpu: of {call} fewer than {LEAST_MEMBERS} members, with which a GPU is not faster"
        )
    if members * steps < LEAST_STEPS:
        return BackendChoice("cpu", f"cpu: {call} are fewer than {LEAST_STEPS:.0e} steps, which are soon done")
    device = usable_device()
    if isinstance(device, str):
        return BackendChoice("cpu", f"cpu: {device}")
    return BackendChoice("gpu", f"gpu: {call} on {device.name}; backend='cpu' gives the same bits")


def has_bindings() -> bool:
    """Whether a GPU could be opened, by what is installed: it costs nothing to ask."""
    try:
        return importlib.util.find_spec("cuda.bindings") is not None
    except ModuleNotFoundError:  # no `cuda` at all
        return False


def usable_device() -> Device | str:
    """The first GPU, or why there is none: no driver, or a process that was forked from one that used it."""
    try:
        device = cuda_device()
        device.free_bytes()
    except ModelError as error:
        return error.found
    except RuntimeError as error:  # of the driver
        return f"no GPU that can be used: {error}"
    return device
