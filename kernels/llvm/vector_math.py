"""Sine and cosine as LLVM text, within 2 ulp: a shared range reduction and two polynomials on [-pi/4, pi/4].

Cody and Waite, Software Manual for the Elementary Functions (1980), chapter 8: x = k pi/2 + r. With fused
multiply-adds three parts of pi/2 of full length serve every |x| < LIMIT: x - k P1 is exact because both are multiples
of ulp(P1) / 2 and the difference is below 1. Arguments beyond LIMIT go through `reduce`, one lane at a time
(`payne_hanek`), which does not change smaller arguments of the same vector: lanes are independent of each other.
Nothing calls libm, so that results do not depend on the system. The sine of -0.0 is +0.0.
"""

from __future__ import annotations

from shiftjax.kernels.llvm.target import Target

LIMIT = {"f64": 2.0**30, "f32": 2.0**17}
LIMIT_UNFUSED = 2.0**17  # 33 bits of P1 times 17 bits of k is exact in 53
TWO_OVER_PI = 0.6366197723675814
# pi/2 in parts of 53, of 24 and, for processors without fused multiply-adds, of 33 bits
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


def limit(target: Target) -> float:
    """Arguments at least this large take the slow reduction."""
    return LIMIT[target.precision] if target.fused else LIMIT_UNFUSED


class Writer:
    """Lines of one function body with fresh names, and basic arithmetic."""

    def __init__(self, target: Target, lines: list[str], prefix: str) -> None:
        self.target, self.lines, self.prefix, self.count = target, lines, prefix, 0
        self.constants: dict[str, int] = {}  # text of the number -> index in the table
        self.table, self.base = "@constants", ""

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
        """a * b + c, fused where the processor supports it."""
        v = self.target.vector
        if self.target.fused:
            return self.line(f"call {v} @llvm.fma.{self.target.suffix}({v} {a}, {v} {b}, {v} {c})")
        return self.op("fadd", self.op("fmul", a, b), c)

    def rebase(self) -> None:
        """Makes LLVM reload constants from here on.

        The empty inline assembly is opaque: LLVM neither rematerializes the table's address at each use (ten bytes in
        the large code model, an eighth of all instructions) nor keeps constants in registers that it then spills.
        """
        self.base = self.line(f'call ptr asm "", "=r,0"(ptr {self.base or self.table})')

    def constant(self, value: float) -> str:
        """A vector constant as a memory operand, which needs no separate instruction."""
        t = self.target
        if not self.base:
            self.rebase()
        place = self.constants.setdefault(t.number(value), len(self.constants)) * t.width
        pointer = self.line(f"getelementptr {t.scalar}, ptr {self.base}, i64 {place}")
        return self.line(f"load {t.vector}, ptr {pointer}, align {t.width * t.bytes}")

    def polynomial(self, x: str, coefficients: tuple[float, ...]) -> str:
        """Horner's rule, highest power first; each coefficient is a memory operand."""
        value = self.constant(coefficients[0])
        for c in coefficients[1:]:
            value = self.fma(value, x, self.constant(c))
        return value


def reduction(w: Writer, x: str) -> tuple[str, str]:
    """(k + MAGIC, r) with x = k pi/2 + r for |x| < LIMIT."""
    t = w.target
    if t.precision == "f32" and not t.fused:
        return _reduction_in_double(w, x)
    w.rebase()
    magic = w.constant(MAGIC[t.precision])
    shifted = w.fma(x, w.constant(TWO_OVER_PI), magic)
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


def sine_cosine(w: Writer, shifted: str, r: str, *, want_sin: bool, want_cos: bool) -> tuple[str, str]:
    """sin and cos of k pi/2 + r, from the reduction; the empty string for one not wanted."""
    t = w.target
    w.rebase()
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
    """The function that corrects the reduction of large arguments."""
    return f"shiftjax_reduce_{target.suffix}"
