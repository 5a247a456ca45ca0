"""Sines of large arguments: the range reduction of Payne and Hanek (SIGNUM Newsletter 18, 1983) as LLVM text.

The significand of x times a window of 192 bits of 2/pi, in integers: two bits of the quadrant, then the fraction, of
which at least 120 bits are left in the worst case. One lane at a time; only lanes with |x| >= LIMIT are touched.
"""

from __future__ import annotations

from shiftjax.kernels.llvm.target import Target
from shiftjax.kernels.llvm.vector_math import MAGIC, PARTS, limit, reduce_name

NO_OP = "shiftjax_no_op"
# Capitals are filled in by `support`.
TEXT = """
@bits = private constant [24 x i64] [WORDS]
declare double @llvm.fabs.f64(double)
declare double @llvm.fma.f64(double, double, double)
declare i192 @llvm.ctlz.i192(i192, i1)
declare i192 @llvm.abs.i192(i192, i1)

define internal { i64, double } @payne_hanek(double %x) noinline {
entry:
  %b = bitcast double %x to i64
  %e0 = lshr i64 %b, 52
  %e = and i64 %e0, 2047
  %nonfinite = icmp eq i64 %e, 2047
  br i1 %nonfinite, label %bad, label %good
bad:
  %nan = fsub double %x, %x
  %bad0 = insertvalue { i64, double } { i64 0, double 0.0 }, double %nan, 1
  ret { i64, double } %bad0
good:
  ; x = m 2^(e - 1075); the table has 64 zero bits before the point, its bit 62 + e - 1075 has a weight just under 4 / m
  %m0 = and i64 %b, 4503599627370495
  %m = or i64 %m0, 4503599627370496
  %off = sub i64 %e, 1013
  %word = lshr i64 %off, 6
  %shift = and i64 %off, 63
  %p0 = getelementptr [24 x i64], ptr @bits, i64 0, i64 %word
  %p1 = getelementptr i64, ptr %p0, i64 1
  %p2 = getelementptr i64, ptr %p0, i64 2
  %p3 = getelementptr i64, ptr %p0, i64 3
  %w0 = load i64, ptr %p0
  %w1 = load i64, ptr %p1
  %w2 = load i64, ptr %p2
  %w3 = load i64, ptr %p3
  %a0 = zext i64 %w0 to i256
  %a1 = zext i64 %w1 to i256
  %a2 = zext i64 %w2 to i256
  %a3 = zext i64 %w3 to i256
  %s0 = shl i256 %a0, 192
  %s1 = shl i256 %a1, 128
  %s2 = shl i256 %a2, 64
  %o0 = or i256 %s0, %s1
  %o1 = or i256 %s2, %a3
  %o2 = or i256 %o0, %o1
  %sh = zext i64 %shift to i256
  %o3 = shl i256 %o2, %sh
  %o4 = lshr i256 %o3, 64
  %win = trunc i256 %o4 to i192
  %mw = zext i64 %m to i192
  %prod = mul i192 %mw, %win
  ; the product is in units of 2^-190: two bits of the quadrant, then the fraction, rounded to the nearest quadrant
  %half = shl i192 1, 189
  %up = add i192 %prod, %half
  %q0 = lshr i192 %up, 190
  %k0 = trunc i192 %q0 to i64
  %q1 = shl i192 %q0, 190
  %f = sub i192 %prod, %q1
  %neg = icmp slt i192 %f, 0
  %mag = call i192 @llvm.abs.i192(i192 %f, i1 false)
  %lz = call i192 @llvm.ctlz.i192(i192 %mag, i1 false)
  %norm = shl i192 %mag, %lz
  %h0 = lshr i192 %norm, 139
  %h1 = trunc i192 %h0 to i64
  %hi0 = uitofp i64 %h1 to double
  %l0 = lshr i192 %norm, 86
  %l1 = trunc i192 %l0 to i64
  %l2 = and i64 %l1, 9007199254740991
  %lo0 = uitofp i64 %l2 to double
  ; norm = (hi 2^53 + lo) 2^86, so that f = hi 2^(53 + 86 - 190 - lz)
  %lzs = trunc i192 %lz to i64
  %ex = sub i64 972, %lzs
  %eb = shl i64 %ex, 52
  %scale = bitcast i64 %eb to double
  %hi = fmul double %hi0, %scale
  %lo1 = fmul double %lo0, %scale
  %lo = fmul double %lo1, 0x3CA0000000000000
  %p = fmul double %hi, HIGH
  %np = fneg double %p
  %err = call double @llvm.fma.f64(double %hi, double HIGH, double %np)
  %t0 = fmul double %hi, LOW
  %t1 = fmul double %lo, HIGH
  %t2 = fadd double %t0, %t1
  %t3 = fadd double %t2, %err
  %r0 = fadd double %p, %t3
  %minus = icmp slt i64 %b, 0
  %flip = xor i1 %neg, %minus
  %r0n = fneg double %r0
  %r = select i1 %flip, double %r0n, double %r0
  %k0n = sub i64 0, %k0
  %k = select i1 %minus, i64 %k0n, i64 %k0
  %ret0 = insertvalue { i64, double } undef, i64 %k, 0
  %ret = insertvalue { i64, double } %ret0, double %r, 1
  ret { i64, double } %ret
}

define void @NO_OP(ptr %ws, i32 %vectors) {
  ret void
}

define void @REDUCE(ptr %io) noinline {
entry:
  br label %loop
loop:
  %i = phi i64 [ 0, %entry ], [ %next, %skip ]
  %px = getelementptr SCALAR, ptr %io, i64 %i
  %small = load SCALAR, ptr %px
  LOAD_X
  %ax = call double @llvm.fabs.f64(double %x)
  %fine = fcmp olt double %ax, BOUND
  br i1 %fine, label %skip, label %big
big:
  %kr = call { i64, double } @payne_hanek(double %x)
  %k = extractvalue { i64, double } %kr, 0
  %r = extractvalue { i64, double } %kr, 1
  %kd = sitofp i64 %k to SCALAR
  %km = fadd SCALAR %kd, MAGIC
  NARROW_R
  %ik = add i64 %i, WIDTH
  %ir = add i64 %i, TWICE
  %pk = getelementptr SCALAR, ptr %io, i64 %ik
  %pr = getelementptr SCALAR, ptr %io, i64 %ir
  store SCALAR %km, ptr %pk
  store SCALAR %rr, ptr %pr
  br label %skip
skip:
  %next = add i64 %i, 1
  %more = icmp ult i64 %next, WIDTH
  br i1 %more, label %loop, label %done
done:
  ret void
}
"""


def support(target: Target) -> str:
    """A module of the functions that pieces and the step loop call.

    The no-op is the only piece of an empty phase; `reduce`, void (ptr) on three vectors x, k + MAGIC, r, recomputes the
    lanes with |x| >= LIMIT.
    """
    double = Target("f64", 0, False, "", "", "").number
    narrow = target.precision == "f32"
    words = {
        "WORDS": ", ".join(f"i64 {word}" for word in _two_over_pi()),
        "HIGH": double(PARTS["f64"][0]),
        "LOW": double(PARTS["f64"][1]),
        "BOUND": double(limit(target)),
        "MAGIC": target.number(MAGIC[target.precision]),
        "NO_OP": NO_OP,
        "REDUCE": reduce_name(target),
        "SCALAR": target.scalar,
        "WIDTH": str(target.width),
        "TWICE": str(2 * target.width),
        "LOAD_X": "%x = fpext float %small to double" if narrow else "%x = fadd double %small, 0x8000000000000000",
        "NARROW_R": "%rr = fptrunc double %r to float" if narrow else "%rr = fadd double %r, 0x8000000000000000",
    }
    text = TEXT
    for name, value in words.items():
        text = text.replace(name, value)
    return text


def _two_over_pi() -> list[int]:
    """64 zero bits, then 1472 bits of 2/pi, in words of 64, first bits first."""
    bits = 64 * 23
    pi = _pi_scaled(bits + 64)
    value = (1 << (bits + 1 + bits + 64)) // pi
    return [(value >> (64 * (23 - k))) & (2**64 - 1) for k in range(24)]


def _pi_scaled(bits: int) -> int:
    """floor(pi 2^bits) or next to it, by Machin's formula pi = 16 arctan 1/5 - 4 arctan 1/239."""

    def arctan_inverse(n: int) -> int:
        term = total = (1 << (bits + 32)) // n
        k, sign = 3, -1
        while term:
            term //= n * n
            total += sign * (term // k)
            k, sign = k + 2, -sign
        return total

    return (16 * arctan_inverse(5) - 4 * arctan_inverse(239)) >> 32
