"""LLVM text of one lane for targets other than this machine: simplified, with what generates code for it."""

from __future__ import annotations

import functools

import llvmlite.binding as llvm

from shiftjax.kernels.llvm.target import Target


@functools.cache
def _initialize() -> None:
    llvm.initialize_all_targets()
    llvm.initialize_all_asmprinters()


def simplified(text: str, target: Target, level: int) -> tuple[llvm.ModuleRef, llvm.TargetMachine]:
    """The module of a text and a code generator of a level.

    The middle end inlines and moves slots into registers, no more: the usual pipeline takes three times as long, and
    hoists products of parameters out of the loop of steps, which then spill (n_four_bar of five loops on a GPU: local
    traffic of a step within -6 to +9 %).
    """
    _initialize()
    generator = llvm.Target.from_triple(target.triple).create_target_machine(
        cpu=target.cpu, features=target.features, opt=level
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
    return module, generator
