"""Vectors and lane masks of LLVM text with Python's operators, each of which writes one instruction."""

from __future__ import annotations

from dataclasses import dataclass

from shiftjax.kernels.llvm.ir_builder import IrBuilder


@dataclass(frozen=True, eq=False)
class Lanes:
    """Numbers, one a lane. Comparisons are false where a number is NaN, `!=` is true."""

    builder: IrBuilder
    text: str

    def _number(self, name: str, other: Lanes) -> Lanes:
        return Lanes(self.builder, self.builder.w.op(name, self.text, other.text))

    def _mask(self, how: str, other: Lanes) -> LaneMask:
        return LaneMask(self.builder, self.builder.compare(how, self.text, other.text))

    def __add__(self, other: Lanes) -> Lanes:
        return self._number("fadd", other)

    def __sub__(self, other: Lanes) -> Lanes:
        return self._number("fsub", other)

    def __mul__(self, other: Lanes) -> Lanes:
        return self._number("fmul", other)

    def __truediv__(self, other: Lanes) -> Lanes:
        return self._number("fdiv", other)

    def __lt__(self, other: Lanes) -> LaneMask:
        return self._mask("olt", other)

    def __le__(self, other: Lanes) -> LaneMask:
        return self._mask("ole", other)

    def __gt__(self, other: Lanes) -> LaneMask:
        return self._mask("ogt", other)

    def __ge__(self, other: Lanes) -> LaneMask:
        return self._mask("oge", other)

    def __eq__(self, other: Lanes) -> LaneMask:  # type: ignore[override]
        return self._mask("oeq", other)

    def __ne__(self, other: Lanes) -> LaneMask:  # type: ignore[override]
        return self._mask("une", other)


@dataclass(frozen=True)
class LaneMask:
    """Truth values, one a lane."""

    builder: IrBuilder
    text: str

    def __and__(self, other: LaneMask) -> LaneMask:
        return LaneMask(self.builder, self.builder.logic("and", self.text, other.text))

    def __or__(self, other: LaneMask) -> LaneMask:
        return LaneMask(self.builder, self.builder.logic("or", self.text, other.text))

    def __invert__(self) -> LaneMask:
        return LaneMask(self.builder, self.builder.logic("xor", self.text))


def where(mask: LaneMask, yes: Lanes, no: Lanes) -> Lanes:
    """`yes` where the mask holds, else `no`."""
    return Lanes(yes.builder, yes.builder.select(mask.text, yes.text, no.text))
