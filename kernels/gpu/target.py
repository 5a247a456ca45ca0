"""The GPU that code is generated for, and LLVM text as PTX for it."""

from __future__ import annotations

from shiftjax.kernels.llvm.single_lane import simplified
from shiftjax.kernels.llvm.target import Target

TRIPLE = "nvptx64-nvidia-cuda"


def gpu(precision: str, arch: str) -> Target:
    """A GPU, one lane a thread.

    Args:
        arch: of the device, as "sm_90".
    """
    return Target(precision, 1, True, "", arch, TRIPLE)


def ptx(text: str, target: Target) -> str:
    """PTX of a module.

    Operations are rounded and fused as the text says: PTX has a rounding mode in each of them, and ptxas contracts none
    that has one.
    """
    module, generator = simplified(text, target, 3)
    return generator.emit_assembly(module)
