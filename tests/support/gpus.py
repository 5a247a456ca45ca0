"""The GPU that tests of its kernels run on: PTX run on the host or, where SHIFTJAX_TEST_GPU=1, that of the machine.

On a machine that has one, from the checkout:

    SHIFTJAX_TEST_GPU=1 JAX_PLATFORMS=cpu python -m pytest tests/kernels -k "gpu or device or pivot or contract"
"""

from __future__ import annotations

import hashlib
import os
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

from shiftjax.kernels.gpu import cuda_device
from shiftjax.kernels.gpu.device import Launch
from tests.support.ptx_on_host import PtxOnHost


class CountedGpu(cuda_device.CudaDevice):
    """The machine's first GPU, with what `PtxOnHost` tells tests: its memory, its launches, room that they set."""

    def __init__(self) -> None:
        super().__init__()
        self.memory: dict[int, int] = {}
        self.launches, self.size = 0, super().free_bytes()

    def free_bytes(self) -> int:
        return self.size - sum(self.memory.values())

    def allocate(self, size: int) -> int:
        address = super().allocate(size)
        self.memory[address] = size
        return address

    def free(self, address: int) -> None:
        del self.memory[address]
        super().free(address)

    def load(self, identity: str, ptx: Callable[[], str], name: str, shared: int) -> Any:
        text = ptx()  # spoilt ones, too, have a name of their own on the disk
        return super().load(hashlib.sha256(text.encode()).hexdigest(), lambda: text, name, shared)

    def launch(self, function: Any, size: Launch, arguments: Sequence[int | float]) -> None:
        self.launches += 1
        super().launch(function, size, arguments)


Gpu = PtxOnHost
if not TYPE_CHECKING and os.environ.get("SHIFTJAX_TEST_GPU"):
    Gpu = CountedGpu
