"""LLVM text of what WebAssembly has no instruction for: multiply-adds of one rounding, products of 64 bits.

Problem: round(a b + c). Where a browser has relaxed vector instructions one of them is the processor's own
multiply-add; elsewhere doubles alone do it. The product is h + l exactly (Dekker 1971, by halves of 26 bits); l + c is
t + e exactly; then h + t = v + w, and w + e is rounded to odd, so that the last addition rounds once (Boldo and
Melquiond, Emulation of FMA and correctly rounded sums, IEEE Trans. Computers 57, 2008).
Properties: the bits of the instruction where factors and sum are below 2^990 and the product is above 2^-900. Elsewhere
product and sum are rounded one after the other: infinities and what is no number come out as they should, and results
differ only where they are themselves below 1e-250 or above 1e298.
"""

from __future__ import annotations

from shiftjax.kernels.llvm.target import Target

EXACT = """
define internal { double, double } @two_sum(double %a, double %b) nounwind alwaysinline {
entry:
  %s = fadd double %a, %b
  %ab = fsub double %s, %b
  %aa = fsub double %s, %ab
  %ea = fsub double %a, %ab
  %eb = fsub double %b, %aa
  %e = fadd double %ea, %eb
  %sum = insertvalue { double, double } poison, double %s, 0
  %out = insertvalue { double, double } %sum, double %e, 1
  ret { double, double } %out
}

define internal double @odd_sum(double %a, double %b) nounwind {
entry:
  %se = call { double, double } @two_sum(double %a, double %b)
  %s = extractvalue { double, double } %se, 0
  %e = extractvalue { double, double } %se, 1
  %exact = fcmp oeq double %e, 0.0
  %bits = bitcast double %s to i64
  %low = and i64 %bits, 1
  %odd = icmp ne i64 %low, 0
  %stays = or i1 %exact, %odd
  %up = fcmp ogt double %e, 0.0
  %above = fcmp ogt double %s, 0.0
  %away = icmp eq i1 %up, %above
  %change = select i1 %away, i64 1, i64 -1
  %next = add i64 %bits, %change
  %moved = bitcast i64 %next to double
  %out = select i1 %stays, double %s, double %moved
  ret double %out
}

define double @fma(double %a, double %b, double %c) nounwind noinline {
entry:
  %h = fmul double %a, %b
  %plain = fadd double %h, %c
  %size.a = call double @llvm.fabs.f64(double %a)
  %size.b = call double @llvm.fabs.f64(double %b)
  %size.h = call double @llvm.fabs.f64(double %h)
  %fine.a = fcmp olt double %size.a, LARGE
  %fine.b = fcmp olt double %size.b, LARGE
  %size.s = call double @llvm.fabs.f64(double %plain)
  %fine.h = fcmp ogt double %size.h, SMALL
  %fine.s = fcmp olt double %size.s, LARGE
  %f1 = and i1 %fine.a, %fine.b
  %f2 = and i1 %fine.h, %fine.s
  %fine = and i1 %f1, %f2
  br i1 %fine, label %exactly, label %roughly
roughly:
  ret double %plain
exactly:
  %a1 = fmul double %a, SPLITTER
  %a2 = fsub double %a1, %a
  %ah = fsub double %a1, %a2
  %al = fsub double %a, %ah
  %b1 = fmul double %b, SPLITTER
  %b2 = fsub double %b1, %b
  %bh = fsub double %b1, %b2
  %bl = fsub double %b, %bh
  %p1 = fmul double %ah, %bh
  %p2 = fsub double %p1, %h
  %p3 = fmul double %ah, %bl
  %p4 = fadd double %p2, %p3
  %p5 = fmul double %al, %bh
  %p6 = fadd double %p4, %p5
  %p7 = fmul double %al, %bl
  %l = fadd double %p6, %p7
  %te = call { double, double } @two_sum(double %c, double %l)
  %t = extractvalue { double, double } %te, 0
  %e = extractvalue { double, double } %te, 1
  %vw = call { double, double } @two_sum(double %h, double %t)
  %v = extractvalue { double, double } %vw, 0
  %w = extractvalue { double, double } %vw, 1
  %rest = call double @odd_sum(double %w, double %e)
  %out = fadd double %v, %rest
  ret double %out
}
"""
PRODUCT = """
define void @__multi3(ptr %out, i64 %a0, i64 %a1, i64 %b0, i64 %b1) nounwind noinline {
entry:
  %al = and i64 %a0, 4294967295
  %ah = lshr i64 %a0, 32
  %bl = and i64 %b0, 4294967295
  %bh = lshr i64 %b0, 32
  %ll = mul i64 %al, %bl
  %lh = mul i64 %al, %bh
  %hl = mul i64 %ah, %bl
  %hh = mul i64 %ah, %bh
  %carry = lshr i64 %ll, 32
  %m0 = and i64 %lh, 4294967295
  %m1 = add i64 %hl, %m0
  %m2 = add i64 %m1, %carry
  %k0 = lshr i64 %lh, 32
  %k1 = lshr i64 %m2, 32
  %k2 = add i64 %hh, %k0
  %k3 = add i64 %k2, %k1
  %low0 = and i64 %ll, 4294967295
  %low1 = shl i64 %m2, 32
  %low = or i64 %low0, %low1
  %x0 = mul i64 %a0, %b1
  %x1 = mul i64 %a1, %b0
  %x2 = add i64 %x0, %x1
  %high = add i64 %k3, %x2
  store i64 %low, ptr %out, align 8
  %next = getelementptr i64, ptr %out, i64 1
  store i64 %high, ptr %next, align 8
  ret void
}
"""
NUMBERS = {
    "SPLITTER": "0x41A0000002000000",  # 2^27 + 1
    "LARGE": "0x7DD0000000000000",  # 2^990
    "SMALL": "0x07B0000000000000",  # 2^-900
}
# By relaxed vector instructions, which fuse where the processor can; a page tries it before it believes it.
RELAXED = """
declare <2 x double> @llvm.wasm.relaxed.madd.v2f64(<2 x double>, <2 x double>, <2 x double>)
define double @fma(double %a, double %b, double %c) nounwind alwaysinline {
entry:
  %va = insertelement <2 x double> poison, double %a, i64 0
  %vb = insertelement <2 x double> poison, double %b, i64 0
  %vc = insertelement <2 x double> poison, double %c, i64 0
  %v = call <2 x double> @llvm.wasm.relaxed.madd.v2f64(<2 x double> %va, <2 x double> %vb, <2 x double> %vc)
  %out = extractelement <2 x double> %v, i64 0
  ret double %out
}
"""
# What pieces call, by the names of intrinsics: code generation would call a function that cannot be copied in.
OF_VECTORS = """
define internal <1 x double> @fused(<1 x double> %a, <1 x double> %b, <1 x double> %c) nounwind alwaysinline {
entry:
  %x = extractelement <1 x double> %a, i64 0
  %y = extractelement <1 x double> %b, i64 0
  %z = extractelement <1 x double> %c, i64 0
  %r = call double @fma(double %x, double %y, double %z)
  %out = insertelement <1 x double> poison, double %r, i64 0
  ret <1 x double> %out
}
"""
INTRINSICS = {"@llvm.fma.v1f64(": "@fused(", "@llvm.fma.f64(": "@fma("}


def with_fused(text: str, target: Target) -> str:
    """A module whose multiply-adds are rounded once, with what it calls for that and for products of 64 bits."""
    lines = [line for line in text.splitlines() if not (line.startswith("declare") and "@llvm.fma." in line)]
    text = "\n".join(lines)
    for intrinsic, function in INTRINSICS.items():
        text = text.replace(intrinsic, function)
    return f"{text}\n{fused_text(relaxed=bool(target.features))}\n{OF_VECTORS}"


def fused_text(*, relaxed: bool = False) -> str:
    """The functions `fma` and `__multi3`."""
    fused = RELAXED if relaxed else EXACT
    for name, number in NUMBERS.items():
        fused = fused.replace(name, number)
    return fused + PRODUCT
