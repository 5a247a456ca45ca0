"""The GPU that code is generated for, and LLVM text as PTX for it."""

from __future__ import annotations

import functools

import llvmlite.binding as llvm

from shiftjax.kernels.llvm.target import Target

TRIPLE = "nvptx64-nvidia-cuda"


def gpu(precision: str, arch: str) -> Target:
    """A GPU, one lane a thread.

    Args:
        arch: of the device, as "sm_90".
    """
    return Target(precision, 1, True, "", arch, TRIPLE)


@functools.cache
def _initialize() -> None:
    llvm.initialize_all_targets()
    llvm.initialize_all_asmprinters()


def ptx(text: str, target: Target) -> str:
    """PTX of a module.

    The middle end inlines and moves slots into registers, no more: the usual pipeline takes three times as long, and
    hoists products of parameters out of the loop of steps, which then spill (n_four_bar of five loops: local traffic of
    a step within -6 to +9 %). Operations are rounded and fused as the text says: PTX has a rounding mode in each of
    them, and ptxas contracts none that has one.
    """
    _initialize()
    generator = llvm.Target.from_triple(target.triple).create_target_machine(cpu=target.cpu, opt=3)
    head = f'target datalayout = "{generator.target_data}"\ntarget triple = "{target.triple}"\n'
    module = llvm.parse_assembly(head + text, llvm.create_context())
    module.verify()
    options = llvm.create_pipeline_tuning_options(speed_level=2)
    builder = llvm.create_pass_builder(generator, options)
    manager = llvm.create_new_module_pass_manager()
    manager.add_always_inliner_pass()
    manager.add_sroa_pass()
    manager.add_instruction_combine_pass()
    manager.add_simplify_cfg_pass()
    manager.add_aggressive_dce_pass()
    manager.add_global_dead_code_eliminate_pass()
    manager.run(module, builder)
    return generator.emit_assembly(module)
