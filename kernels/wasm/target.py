"""WebAssembly as a target: LLVM text to object code, one lane at a time."""

from __future__ import annotations

import functools

import llvmlite.binding as llvm

from shiftjax.kernels.llvm.target import Target

TRIPLE = "wasm32-unknown-unknown"


RELAXED = "+simd128,+relaxed-simd"


def browser(*, relaxed: bool = False) -> Target:
    """Any browser of today: WebAssembly without extensions. Multiply-adds are fused, in code (`fused_text`).

    Args:
        relaxed: one that has relaxed vector instructions, of which the processor's multiply-add is one.
    """
    return Target("f64", 1, True, RELAXED if relaxed else "", "generic", TRIPLE)


@functools.cache
def _initialize() -> None:
    llvm.initialize_all_targets()
    llvm.initialize_all_asmprinters()


def object_code(text: str, target: Target) -> bytes:
    """Relocatable code of a module.

    The middle end copies in what is to be and moves slots that stay in a function into locals, no more: a browser
    compiles the code once more.
    """
    _initialize()
    generator = llvm.Target.from_triple(target.triple).create_target_machine(
        cpu=target.cpu, features=target.features, opt=2
    )
    head = f'target datalayout = "{generator.target_data}"\ntarget triple = "{target.triple}"\n'
    module = llvm.parse_assembly(head + text, llvm.create_context())
    module.verify()
    builder = llvm.create_pass_builder(generator, llvm.create_pipeline_tuning_options(speed_level=2))
    manager = llvm.create_new_module_pass_manager()
    manager.add_always_inliner_pass()
    manager.add_sroa_pass()
    manager.add_instruction_combine_pass()
    manager.add_simplify_cfg_pass()
    manager.add_aggressive_dce_pass()
    manager.add_global_dead_code_eliminate_pass()
    manager.run(module, builder)
    return generator.emit_object(module)
