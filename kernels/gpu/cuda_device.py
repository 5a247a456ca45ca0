"""A GPU by CUDA's driver; the only file that imports its bindings."""

from __future__ import annotations

import ctypes
import functools
import os
from collections.abc import Callable, Sequence
from contextlib import suppress
from typing import Any

import numpy as np

from shiftjax.errors import ModelError
from shiftjax.kernels import object_cache as disk
from shiftjax.kernels.gpu.device import Device, Launch

INSTALL = (
    "Install the extra `cuda` on such a machine (in the checkout pip install -e '.[cuda]'), or leave `backend` out."
)


class CudaDevice:
    """See `device.Device`. Its context is the primary one of the process, which JAX uses, too.

    Args:
        number: among the GPUs of the host.

    Attributes:
        processors: its multiprocessors. driver: version of CUDA that the driver runs.
    """

    def __init__(self, number: int = 0) -> None:
        self._cuda, self._functions = driver_bindings(), dict[str, Any]()
        self._process = os.getpid()
        try:
            self._call("cuInit", 0)
            count = self._call("cuDeviceGetCount")
            if number >= count:
                raise RuntimeError(f"GPU {number} of {count}")
            self._device = self._call("cuDeviceGet", number)
            self._context = self._call("cuDevicePrimaryCtxRetain", self._device)
            self._call("cuCtxSetCurrent", self._context)
        except (MemoryError, RuntimeError) as error:  # no driver, none that sees a GPU, or one that others hold
            raise _refused(str(error)) from error
        self.name = self._call("cuDeviceGetName", 128, self._device).split(b"\0")[0].decode()
        kinds = self._cuda.CUdevice_attribute
        major, minor, self.processors = (
            self._call("cuDeviceGetAttribute", getattr(kinds, f"CU_DEVICE_ATTRIBUTE_{name}"), self._device)
            for name in ("COMPUTE_CAPABILITY_MAJOR", "COMPUTE_CAPABILITY_MINOR", "MULTIPROCESSOR_COUNT")
        )
        self.arch, self.driver = f"sm_{major}{minor}", self._call("cuDriverGetVersion")

    def _call(self, name: str, *arguments: Any) -> Any:
        """A function of the driver; its result without the error code.

        Raises:
            ModelError: in a forked process, where the driver does not work. MemoryError, RuntimeError: it refuses.
        """
        if os.getpid() != self._process:
            raise _refused("a process that was forked from one that used it; start processes by spawn")
        error, *values = getattr(self._cuda, name)(*arguments)
        if int(error) != 0:
            if "OUT_OF_MEMORY" in str(error):
                raise MemoryError(f"{name}: the GPU has no memory left")
            raise RuntimeError(f"{name}: {error!s}")
        return values[0] if len(values) == 1 else tuple(values)

    def free_bytes(self) -> int:
        """See `device.Device`."""
        self._call("cuCtxSetCurrent", self._context)
        return int(self._call("cuMemGetInfo")[0])

    def allocate(self, size: int) -> int:
        """See `device.Device`."""
        self._call("cuCtxSetCurrent", self._context)
        return int(self._call("cuMemAlloc", max(size, 1)))

    def free(self, address: int) -> None:
        """See `device.Device`; from any thread, since tables are given back by whichever ends them."""
        self._call("cuCtxSetCurrent", self._context)
        self._call("cuMemFree", address)

    def upload(self, array: np.ndarray, address: int) -> None:
        """See `device.Device`."""
        self._call("cuCtxSetCurrent", self._context)
        self._call("cuMemcpyHtoD", address, array.ctypes.data, array.nbytes)

    def download(self, address: int, array: np.ndarray) -> None:
        """See `device.Device`; from any thread, since portions of a table are read by several."""
        self._call("cuCtxSetCurrent", self._context)
        self._call("cuMemcpyDtoH", array.ctypes.data, address, array.nbytes)

    def load(self, identity: str, ptx: Callable[[], str], name: str, shared: int) -> Any:
        """See `device.Device`; what was assembled before comes from the disk."""
        self._call("cuCtxSetCurrent", self._context)
        if identity in self._functions:
            return self._functions[identity]
        module = self._call("cuModuleLoadData", assembled(identity, ptx, self.arch))
        function = self._call("cuModuleGetFunction", module, name.encode())
        kind = self._cuda.CUfunction_attribute.CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES
        self._call("cuFuncSetAttribute", function, kind, shared)
        self._functions[identity] = function
        return function

    def properties(self, function: Any) -> dict[str, int]:
        """Registers, and bytes of local memory, of a thread of a function."""
        kinds = self._cuda.CUfunction_attribute
        names = {"registers": "NUM_REGS", "local": "LOCAL_SIZE_BYTES"}
        return {
            key: self._call("cuFuncGetAttribute", getattr(kinds, f"CU_FUNC_ATTRIBUTE_{name}"), function)
            for key, name in names.items()
        }

    def resident(self, function: Any, size: Launch) -> int:
        """Threads of a function that run at a time."""
        blocks = self._call("cuOccupancyMaxActiveBlocksPerMultiprocessor", function, size.threads, size.shared)
        return blocks * size.threads * self.processors

    def launch(self, function: Any, size: Launch, arguments: Sequence[int | float]) -> None:
        """See `device.Device`."""
        cells = [ctypes.c_double(one) if isinstance(one, float) else ctypes.c_int64(one) for one in arguments]
        places = (ctypes.c_void_p * len(cells))(*map(ctypes.addressof, cells))
        grid, block = (size.blocks, 1, 1), (size.threads, 1, 1)
        self._call("cuLaunchKernel", function, *grid, *block, size.shared, 0, ctypes.addressof(places), 0)

    def wait(self) -> None:
        """See `device.Device`."""
        self._call("cuCtxSynchronize")


def driver_bindings() -> Any:
    """The functions of CUDA's driver.

    Raises:
        ModelError: they are not installed.
    """
    try:
        from cuda.bindings import driver  # pyright: ignore[reportMissingImports]
    except ImportError as error:
        raise _refused(str(error)) from error
    return driver


def linker_bindings() -> Any:
    """The functions of nvJitLink.

    Raises:
        ImportError: they are not installed.
    """
    from cuda.bindings import nvjitlink  # pyright: ignore[reportMissingImports]

    return nvjitlink


def _refused(why: str) -> ModelError:
    return ModelError("backend 'gpu'", f"no GPU that can be used: {why}", "an NVIDIA GPU and its driver", INSTALL)


def assembled(identity: str, ptx: Callable[[], str], arch: str) -> bytes:
    """Machine code of PTX by nvJitLink, from the disk where it was assembled before; without nvJitLink the PTX itself,
    which the driver assembles each time."""
    linker = linker_bindings()
    try:
        version = linker.version()
    except RuntimeError:  # the library is not there
        return ptx().encode() + b"\0"
    key = disk.key(identity, arch, f"nvJitLink {version}")
    code = disk.read(key, "cubin")
    if code is None:
        code = linked(ptx(), arch)[0]
        disk.write(key, code, "cubin")
    return code


def linked(ptx: str, arch: str) -> tuple[bytes, str]:
    """Machine code, and what the assembler says of registers and spills. Needs no GPU.

    Raises:
        RuntimeError: it refuses the text.
    """
    linker = linker_bindings()
    try:
        handle = linker.create(2, [f"-arch={arch}", "-verbose"])
    except linker.nvJitLinkError as error:
        raise RuntimeError(f"nvJitLink knows no {arch}: {error}") from error
    try:
        data = ptx.encode() + b"\0"
        try:
            linker.add_data(handle, linker.InputType.PTX, data, len(data), "lane.ptx")
            linker.complete(handle)
        except linker.nvJitLinkError as error:
            log = bytearray(max(1, linker.get_error_log_size(handle)))
            linker.get_error_log(handle, log)
            raise RuntimeError(f"{error}: {log.rstrip(bytes(1)).decode(errors='replace')[:2000]}") from error
        code = bytearray(linker.get_linked_cubin_size(handle))
        linker.get_linked_cubin(handle, code)
        log = bytearray(max(1, linker.get_info_log_size(handle)))
        linker.get_info_log(handle, log)
    finally:
        linker.destroy(handle)
    return bytes(code), log.rstrip(bytes(1)).decode(errors="replace")


def other_devices(first: Device) -> list[Device]:
    """The GPUs of this machine that are of the same kind as its first, without that."""
    driver, out = driver_bindings(), list[Device]()
    for number in range(1, int(driver.cuDeviceGetCount()[1])):
        with suppress(ModelError):  # others hold it: what the first one can do is done
            out.append(cuda_device(number))
    return [device for device in out if device.arch == first.arch]


@functools.cache
def cuda_device(number: int = 0) -> CudaDevice:
    """A GPU of this machine, opened once."""
    return CudaDevice(number)
