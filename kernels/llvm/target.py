"""The processor that code is generated for: vector width and what its instructions can do."""

from __future__ import annotations

import dataclasses
import functools
import struct

import llvmlite
import llvmlite.binding as llvm

from shiftjax.record import record

# Two independent vectors hide each other's instruction latency: 5 % on a four-bar, 3 % on a Bricard, none on N = 5.
INTERLEAVE = 2
# Level of code generation. Tests of few steps take 0, half of the time to compile and code that is 2.5 times slower;
# not for long functions, each of whose values has a place of its own on the stack then.
LEVEL = 2
LONG = 300_000  # characters of a function


@record
class Target:
    """Everything that the text of a kernel depends on besides the program."""

    precision: str  # "f64" or "f32"
    width: int  # lanes of a vector
    fused: bool  # whether multiply-adds are one instruction
    features: str  # of the processor, in LLVM's spelling
    cpu: str
    triple: str
    interleave: int = 1  # vectors per slot, a power of two: independent instruction streams that hide latency

    @property
    def scalar(self) -> str:
        """LLVM type of one number."""
        return "double" if self.precision == "f64" else "float"

    @property
    def vector(self) -> str:
        """LLVM type of one slot: a number of each lane."""
        return f"<{self.width} x {self.scalar}>"

    @property
    def integer(self) -> str:
        """LLVM type of an integer as wide as a number."""
        return "i64" if self.precision == "f64" else "i32"

    @property
    def integers(self) -> str:
        """LLVM type of a vector of such integers."""
        return f"<{self.width} x {self.integer}>"

    @property
    def bytes(self) -> int:
        """Bytes of one number."""
        return 8 if self.precision == "f64" else 4

    @property
    def suffix(self) -> str:
        """Type suffix of overloaded LLVM intrinsics, as v4f64."""
        return f"v{self.width}{self.precision}"

    @property
    def lanes(self) -> int:
        """Lanes of a block, of which a slot of the workspace holds one number each."""
        return self.width * self.interleave

    def block(self) -> Target:
        """The same processor with a whole block as one vector; LLVM splits it."""
        return dataclasses.replace(self, width=self.lanes, interleave=1)

    def number(self, value: float) -> str:
        """The exact text of a scalar constant."""
        if self.precision == "f32":
            value = struct.unpack("f", struct.pack("f", value))[0]
        return f"0x{struct.unpack('>Q', struct.pack('>d', value))[0]:016X}"

    def splat(self, value: float) -> str:
        """The exact text of a vector of equal constants, without its type."""
        return f"splat ({self.scalar} {self.number(value)})"

    def identity(self) -> str:
        """Text that changes when compiled code must not be shared."""
        return f"{self!r}|llvmlite {llvmlite.__version__}|{llvm.llvm_version_info}|{LEVEL}"


@functools.cache
def _initialize() -> None:
    llvm.initialize_native_target()
    llvm.initialize_native_asmprinter()


@functools.cache
def host(precision: str) -> Target:
    """The host processor: 8, 4 or 2 doubles per vector, twice as many floats."""
    _initialize()
    features = llvm.get_host_cpu_features()
    triple = llvm.get_process_triple()
    doubles = 8 if features.get("avx512f") else 4 if features.get("avx") else 2
    fused = bool(features.get("fma")) or triple.startswith(("aarch64", "arm64"))
    flat = features.flatten()
    if doubles == 8:
        flat += ",-prefer-256-bit"
    return Target(
        precision, doubles * (2 if precision == "f32" else 1), fused, flat, llvm.get_host_cpu_name(), triple, INTERLEAVE
    )


def optimizes() -> bool:
    """Whether code is made fast at the cost of compiling for longer."""
    return LEVEL > 0


def machine(target: Target, text: str = "") -> llvm.TargetMachine:
    """A code generator for `target`, and for a text.

    Large code model: the loader places code, constants and other objects anywhere in the address space, and an overflow
    of a 32-bit relative address aborts the process (seen after large arrays had been allocated). It costs at most some
    percent of speed.
    """
    _initialize()
    level = LEVEL if max(map(len, text.split("\ndefine "))) < LONG else 2
    return llvm.Target.from_triple(target.triple).create_target_machine(
        cpu=target.cpu, features=target.features, opt=level, reloc="static", codemodel="large"
    )
