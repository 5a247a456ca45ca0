"""WebAssembly as a target: LLVM text to object code, one lane at a time."""

from __future__ import annotations

from shiftjax.kernels.llvm.single_lane import simplified
from shiftjax.kernels.llvm.target import Target

TRIPLE = "wasm32-unknown-unknown"
RELAXED = "+simd128,+relaxed-simd"


def browser(*, relaxed: bool = False) -> Target:
    """Any browser of today: WebAssembly without extensions. Multiply-adds are fused, in code (`fused_text`).

    Args:
        relaxed: one that has relaxed vector instructions, of which the processor's multiply-add is one.
    """
    return Target("f64", 1, True, RELAXED if relaxed else "", "generic", TRIPLE)


def object_code(text: str, target: Target) -> bytes:
    """Relocatable code of a module; a browser compiles it once more."""
    module, generator = simplified(text, target, 2)
    return generator.emit_object(module)
