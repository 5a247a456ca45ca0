"""What CUDA's driver says of this machine, asked without any Python package."""

from __future__ import annotations

import ctypes
from collections.abc import Callable
from typing import Any

from shiftjax.record import record

LIBRARIES = ("libcuda.so.1", "libcuda.so", "nvcuda.dll")
MAJOR, MINOR = 75, 76  # CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR and _MINOR
REFUSALS = {3: "not initialised", 35: "driver too old for this library", 46: "device unavailable", 100: "no device",
            999: "unknown error"}  # fmt: skip


@record
class DriverReport:
    """The driver and its GPUs.

    Attributes:
        library: the file that was loaded. version: of CUDA, as "13.0". problem: why no GPU can be used, "" for none.
    """

    library: str
    version: str
    problem: str
    gpus: tuple[GpuReport, ...] = ()


@record
class GpuReport:
    """One GPU; memory in bytes, `free` 0 where its memory cannot be asked for."""

    name: str
    capability: str  # as "9.0"
    memory: int
    free: int


def driver_report(load: Callable[[str], Any] = ctypes.CDLL) -> DriverReport | None:
    """What the driver says; None where there is none."""
    for name in LIBRARIES:
        try:
            library = load(name)
        except OSError:
            continue
        return _reported(name, library)
    return None


def _reported(name: str, library: Any) -> DriverReport:
    number = ctypes.c_int(0)
    library.cuDriverGetVersion(ctypes.byref(number))
    version = f"{number.value // 1000}.{number.value % 1000 // 10}"
    code = library.cuInit(0) or library.cuDeviceGetCount(ctypes.byref(number))
    if code:
        return DriverReport(name, version, f"error {code}, {REFUSALS.get(code, 'see the manual of CUDA')}")
    gpus = tuple(_gpu(library, k) for k in range(number.value))
    return DriverReport(name, version, "" if gpus else "it sees no GPU", gpus)


def _gpu(library: Any, number: int) -> GpuReport:
    device, text, parts = ctypes.c_int(0), ctypes.create_string_buffer(128), [ctypes.c_int(0), ctypes.c_int(0)]
    library.cuDeviceGet(ctypes.byref(device), number)
    library.cuDeviceGetName(text, len(text), device)
    for part, attribute in zip(parts, (MAJOR, MINOR), strict=True):
        library.cuDeviceGetAttribute(ctypes.byref(part), attribute, device)
    total, free = ctypes.c_size_t(0), ctypes.c_size_t(0)
    library.cuDeviceTotalMem_v2(ctypes.byref(total), device)
    context = ctypes.c_void_p(0)
    if library.cuDevicePrimaryCtxRetain(ctypes.byref(context), device) == 0:
        library.cuCtxSetCurrent(context)
        library.cuMemGetInfo_v2(ctypes.byref(free), ctypes.byref(total))
        library.cuDevicePrimaryCtxRelease_v2(device)
    capability = f"{parts[0].value}.{parts[1].value}"
    return GpuReport(text.value.decode(errors="replace"), capability, total.value, free.value)
