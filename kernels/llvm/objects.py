"""Text to object code with LLVM, and object code into this process."""

from __future__ import annotations

from collections.abc import Callable

import llvmlite.binding as llvm

from shiftjax.kernels import object_cache as disk
from shiftjax.kernels.forks import free_after_forks
from shiftjax.kernels.llvm.target import Target, machine, optimizes
from shiftjax.kernels.workers import in_thread

# llvmlite lets one thread at a time into LLVM, by a lock that a forked process never got if another thread held it: of
# eight children forked beside a thread that compiles, two or more waited for ever. It has no public name.
if (lock := getattr(llvm.ffi.lib, "_lock", None)) is not None:
    free_after_forks(lock)


def compile_text(text: str, target: Target, *, optimize: bool, vectorize: bool = False) -> bytes:
    """Object code. Pieces come simplified and skip LLVM's middle end; the step loop goes through it.

    Args:
        optimize: whether the text goes through the middle end, as long as code is generated at a level that is not 0
            (a step loop of a four-bar takes 85 ms there, and 20 to 30 in all without); vectorize: always, and it has
            its loops vectorized there.

    Code generation takes 2.6 s for 20 000 operations at level 1, 2 or 3 alike and 0.6 s at level 0, whose code is 2.5
    times slower.
    """
    module = llvm.parse_assembly(text, llvm.create_context())
    module.verify()
    generator = machine(target, text)
    if optimize and (vectorize or optimizes()):
        options = llvm.create_pipeline_tuning_options(speed_level=2)
        options.loop_vectorization = options.slp_vectorization = vectorize
        builder = llvm.create_pass_builder(generator, options)
        builder.getModulePassManager().run(module, builder)
    return generator.emit_object(module)


def object_key(symbol: str, identity: str, target: Target) -> str:
    """The name of an object in the disk cache: other machines' rooms have no part in its text."""
    return disk.key(symbol, identity, target.identity(), without=("gpu", "wasm"))


def stored_object(symbol: str, identity: str, text: Callable[[], str], target: Target, **how: bool) -> bytes:
    """Object code from the disk cache, else compiled from the text as by `compile_text` and stored there."""
    key = object_key(symbol, identity, target)
    code = disk.read(key)
    if code is None:
        source = text()
        code = in_thread(lambda: compile_text(source, target, **how))
        disk.write(key, code)
    return code


class Loader:
    """Object code placed in this process, found by symbol."""

    def __init__(self, target: Target) -> None:
        self._generator = machine(target)
        self._engine = llvm.create_mcjit_compiler(llvm.parse_assembly(""), self._generator)

    def add(self, code: bytes) -> None:
        """Places one object."""
        self._engine.add_object_file(llvm.ObjectFileRef.from_data(code))

    def finish(self) -> None:
        """Resolves what was added."""
        self._engine.finalize_object()

    def address(self, symbol: str) -> int:
        """Where a function is."""
        address = self._engine.get_function_address(symbol)
        if not address:
            raise RuntimeError(f"compiled code has no symbol {symbol}")
        return address
