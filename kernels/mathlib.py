"""Sine and cosine as LLVM text, within 2 ulp: a shared range reduction and two polynomials on [-pi/4, pi/4].

Cody and Waite, Software Manual for the Elementary Functions (1980), chapter 8: x = k pi/2 + r. With fused
multiply-adds three parts of pi/2 of full length serve every |x| < LIMIT: x - k P1 is exact because both are multiples
of ulp(P1) / 2 and the difference is below 1. Arguments beyond LIMIT go through `reduce`, one lane at a time: the product
of the significand with a window of 192 bits of 2/pi in integers (Payne and Hanek, SIGNUM Newsletter 18, 1983). Lanes
never influence each other: `reduce` leaves smaller arguments of the same vector alone. Nothing comes from libm, so that
bits do not depend on the system. The sine of -0.0 is +0.0.
"""

from __future__ import annotations

from shiftjax.kernels.target import Target

LIMIT = {"f64": 2.0**30, "f32": 2.0**17}
LIMIT_UNFUSED = 2.0**17  # 33 bits of P1 times 17 bits of k is exact in 53
TWO_OVER_PI = 0.6366197723675814
# pi/2 in parts of 53, of 24 and, for machines without fused multiply-adds, of 33 bits
PARTS = {
    "f64": (1.5707963267948966, 6.123233995736766e-17, -1.4973849048591833e-33),
    "f32": (1.57079637050628662109375, -4.37113900018624283e-8, -1.71512404466594855e-15),
    "unfused": (1.57079632673412561417e00, 6.07710050630396597660e-11, 2.02226624879595063154e-21),
}
MAGIC = {"f64": 1.5 * 2.0**52, "f32": 1.5 * 2.0**23}  # adding it rounds to an integer, its low bits are k
# Cephes sin.c and sinf.c (S. L. Moshier), highest power first, in r squared
SIN = {
    "f64": (
        1.58962301576546568060e-10,
        -2.50507477628578072866e-8,
        2.75573136213857245213e-6,
        -1.98412698295895385996e-4,
        8.33333333332211858878e-3,
        -1.66666666666666307295e-1,
    ),
    "f32": (-1.9515295891e-4, 8.3321608736e-3, -1.6666654611e-1),
}
COS = {
    "f64": (
        -1.13585365213876817300e-11,
        2.08757008419747316778e-9,
        -2.75573141792967388112e-7,
        2.48015872888517045348e-5,
        -1.38888888888730564116e-3,
        4.16666666666665929218e-2,
    ),
    "f32": (2.443315711809948e-5, -1.388731625493765e-3, 4.166664568298827e-2),
}
NOTHING = "shiftjax_nothing"
PI_OVER_2_HIGH, PI_OVER_2_LOW = PARTS["f64"][:2]


def limit(target: Target) -> float:
    """Arguments at least this large take the slow reduction."""
    return LIMIT[target.precision] if target.fused else LIMIT_UNFUSED


class Writer:
    """Lines of one function body with fresh names; the few operations that mathematics is written in."""

    def __init__(self, target: Target, lines: list[str], prefix: str) -> None:
        self.target, self.lines, self.prefix, self.count = target, lines, prefix, 0
        self.constants: list[float] = []

    def line(self, text: str) -> str:
        """Appends `%new = text` and returns the new name."""
        self.count += 1
        name = f"%{self.prefix}{self.count}"
        self.lines.append(f"  {name} = {text}")
        return name

    def op(self, name: str, a: str, b: str, kind: str | None = None) -> str:
        """A binary instruction on vectors."""
        return self.line(f"{name} {kind or self.target.vector} {a}, {b}")

    def fma(self, a: str, b: str, c: str) -> str:
        """a * b + c, fused where the machine can; this is the only place that decides."""
        v = self.target.vector
        if self.target.fused:
            return self.line(f"call {v} @llvm.fma.{self.target.suffix}({v} {a}, {v} {b}, {v} {c})")
        return self.op("fadd", self.op("fmul", a, b), c)

    def constant(self, value: float) -> str:
        """A vector constant as an operand in memory, which costs no instruction of its own."""
        t = self.target
        self.constants.append(value)
        place = (len(self.constants) - 1) * t.width
        pointer = self.line(f"getelementptr {t.scalar}, ptr @constants, i64 {place}")
        return self.line(f"load {t.vector}, ptr {pointer}, align {t.width * t.bytes}")

    def polynomial(self, x: str, coefficients: tuple[float, ...]) -> str:
        """Horner's rule, highest power first; each coefficient is an operand in memory."""
        value = self.constant(coefficients[0])
        for c in coefficients[1:]:
            value = self.fma(value, x, self.constant(c))
        return value


def reduction(w: Writer, x: str) -> tuple[str, str]:
    """(k + MAGIC, r) with x = k pi/2 + r for |x| < LIMIT."""
    t = w.target
    magic = t.splat(MAGIC[t.precision])
    if t.precision == "f32" and not t.fused:
        return _reduction_in_double(w, x)
    shifted = w.fma(x, t.splat(TWO_OVER_PI), magic)
    k = w.op("fsub", shifted, magic)
    for part in PARTS[t.precision if t.fused else "unfused"]:
        x = w.fma(k, w.constant(-part), x)
    return shifted, x


def _reduction_in_double(w: Writer, x: str) -> tuple[str, str]:
    t = w.target
    wide = f"<{t.width} x double>"

    def splat(value: float) -> str:
        return f"splat (double {Target('f64', 0, False, '', '', '').number(value)})"

    x = w.line(f"fpext {t.vector} {x} to {wide}")
    magic = splat(MAGIC["f64"])
    shifted = w.op("fadd", w.op("fmul", x, splat(TWO_OVER_PI), wide), magic, wide)
    k = w.op("fsub", shifted, magic, wide)
    for part in PARTS["unfused"]:
        x = w.op("fsub", x, w.op("fmul", k, splat(part), wide), wide)
    narrow = w.line(f"fptrunc {wide} {k} to {t.vector}")
    return w.op("fadd", narrow, t.splat(MAGIC["f32"])), w.line(f"fptrunc {wide} {x} to {t.vector}")


def sine_cosine(w: Writer, shifted: str, r: str, want_sin: bool, want_cos: bool) -> tuple[str, str]:
    """sin and cos of k pi/2 + r, from the reduction; what is not wanted is the empty string."""
    t = w.target
    top = 63 if t.precision == "f64" else 31
    square = w.op("fmul", r, r)
    sin = w.fma(w.op("fmul", square, r), w.polynomial(square, SIN[t.precision]), r)
    cos = w.polynomial(square, (*COS[t.precision], -0.5, 1.0))
    bits = w.line(f"bitcast {t.vector} {shifted} to {t.integers}")
    first = w.op("shl", bits, f"splat ({t.integer} {top})", t.integers)
    second = w.op("shl", bits, f"splat ({t.integer} {top - 1})", t.integers)
    second = w.op("and", second, f"splat ({t.integer} {-(1 << top)})", t.integers)
    odd = w.line(f"icmp slt {t.integers} {first}, zeroinitializer")
    out = ["", ""]
    for place, wanted in enumerate((want_sin, want_cos)):
        if not wanted:
            continue
        even_value, odd_value = (cos, sin) if place else (sin, cos)
        value = w.line(f"select <{t.width} x i1> {odd}, {t.vector} {odd_value}, {t.vector} {even_value}")
        sign = w.op("xor", first, second, t.integers) if place else second
        raw = w.line(f"bitcast {t.vector} {value} to {t.integers}")
        out[place] = w.line(f"bitcast {t.integers} {w.op('xor', raw, sign, t.integers)} to {t.vector}")
    return out[0], out[1]


def reduce_name(target: Target) -> str:
    """The function that repairs the reduction of large arguments."""
    return f"shiftjax_reduce_{target.suffix}"


def support(target: Target) -> str:
    """A module with what pieces and the step loop call: `nothing`, in place of the pieces of an empty phase, and

    `reduce`: void (ptr) on three vectors x, k + MAGIC, r; it rewrites the lanes with |x| >= LIMIT."""
    t = target
    magic = t.number(MAGIC[t.precision])
    narrow = t.precision == "f32"
    words = ", ".join(f"i64 {word}" for word in _two_over_pi())
    load_x = f"  %small = load {t.scalar}, ptr %px\n" + (
        "  %x = fpext float %small to double" if narrow else "  %x = fadd double %small, 0x8000000000000000"
    )
    to_k = "  %kd = sitofp i64 %k to " + t.scalar
    to_r = "  %rr = fptrunc double %r to float" if narrow else "  %rr = fadd double %r, 0x8000000000000000"
    bound = Target("f64", 0, False, "", "", "").number(limit(t))
    high, low = (Target("f64", 0, False, "", "", "").number(p) for p in (PI_OVER_2_HIGH, PI_OVER_2_LOW))
    return f"""
@bits = private constant [24 x i64] [{words}]
declare double @llvm.fabs.f64(double)
declare double @llvm.fma.f64(double, double, double)
declare i192 @llvm.ctlz.i192(i192, i1)
declare i192 @llvm.abs.i192(i192, i1)

define internal {{ i64, double }} @payne_hanek(double %x) noinline {{
entry:
  %b = bitcast double %x to i64
  %e0 = lshr i64 %b, 52
  %e = and i64 %e0, 2047
  %strange = icmp eq i64 %e, 2047
  br i1 %strange, label %bad, label %good
bad:
  %nan = fsub double %x, %x
  %bad0 = insertvalue {{ i64, double }} {{ i64 0, double 0.0 }}, double %nan, 1
  ret {{ i64, double }} %bad0
good:
  ; x = m 2^(e - 1075); the table has 64 zero bits before the point, its bit 62 + e - 1075 weighs just under 4 / m
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
  ; the product counts 2^-190: two bits of the quadrant, then the fraction, rounded to the nearest quadrant
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
  %p = fmul double %hi, {high}
  %np = fneg double %p
  %err = call double @llvm.fma.f64(double %hi, double {high}, double %np)
  %t0 = fmul double %hi, {low}
  %t1 = fmul double %lo, {high}
  %t2 = fadd double %t0, %t1
  %t3 = fadd double %t2, %err
  %r0 = fadd double %p, %t3
  %minus = icmp slt i64 %b, 0
  %flip = xor i1 %neg, %minus
  %r0n = fneg double %r0
  %r = select i1 %flip, double %r0n, double %r0
  %k0n = sub i64 0, %k0
  %k = select i1 %minus, i64 %k0n, i64 %k0
  %ret0 = insertvalue {{ i64, double }} undef, i64 %k, 0
  %ret = insertvalue {{ i64, double }} %ret0, double %r, 1
  ret {{ i64, double }} %ret
}}

define void @{NOTHING}(ptr %ws) {{
  ret void
}}

define void @{reduce_name(t)}(ptr %io) noinline {{
entry:
  br label %loop
loop:
  %i = phi i64 [ 0, %entry ], [ %next, %skip ]
  %px = getelementptr {t.scalar}, ptr %io, i64 %i
{load_x}
  %ax = call double @llvm.fabs.f64(double %x)
  %fine = fcmp olt double %ax, {bound}
  br i1 %fine, label %skip, label %big
big:
  %kr = call {{ i64, double }} @payne_hanek(double %x)
  %k = extractvalue {{ i64, double }} %kr, 0
  %r = extractvalue {{ i64, double }} %kr, 1
{to_k}
  %km = fadd {t.scalar} %kd, {magic}
{to_r}
  %ik = add i64 %i, {t.width}
  %ir = add i64 %i, {2 * t.width}
  %pk = getelementptr {t.scalar}, ptr %io, i64 %ik
  %pr = getelementptr {t.scalar}, ptr %io, i64 %ir
  store {t.scalar} %km, ptr %pk
  store {t.scalar} %rr, ptr %pr
  br label %skip
skip:
  %next = add i64 %i, 1
  %more = icmp ult i64 %next, {t.width}
  br i1 %more, label %loop, label %done
done:
  ret void
}}
"""


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
