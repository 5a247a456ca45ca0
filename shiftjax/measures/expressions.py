"""Expressions over channels, as `norm(tip.position - hub.position)` or `rocker.q - 10deg`; lane code when evaluated.

Made of channels by path, numbers with or without a unit, the time `t` [s], pi, + - * / **, lists, [k] and `FUNCTIONS`;
a channel of several numbers is a vector. Parsing raises on anything else; Python's own parser reads the rest.
"""

from __future__ import annotations

import ast
import math
import re
from collections.abc import Callable, Mapping
from functools import reduce

from shiftjax.algebra import (
    Scalar,
    Vec,
    absolute,
    add,
    atan2,
    cos,
    div,
    dot,
    exp,
    known,
    larger,
    less,
    log,
    mul,
    neg,
    norm_squared,
    power,
    select,
    sin,
    sqrt,
    sub,
    tanh,
)
from shiftjax.errors import ModelError, nearest
from shiftjax.formats.units import WORDS, unit_in_si
from shiftjax.record import record

LONGEST = 20_000  # characters: a target curve of some hundred points
ALLOWED = "channels by path, numbers, t, pi, + - * / **, [k], lists, "
MIXED = "mixed"  # the unit of what is made of several
_SEGMENT = r"(?:`[^`]*`|[A-Za-z_]\w*)"
_PATH = rf"{_SEGMENT}(?:\[\d+\](?=\.))?(?:[.:]{_SEGMENT}(?:\[\d+\](?=[.:]))?)+"
_UNIT = "|".join(sorted((re.escape(word) for word in WORDS if word.isalpha()), key=len, reverse=True))
_NUMBER = rf"(?<![\w.])((?:\d+\.?\d*|\.\d+)(?:[eE][-+]?\d+)?) ?({_UNIT})(?![\w(.:])"
_TOKEN = re.compile(rf"(?P<text>\"[^\"]*\"|'[^']*')|(?P<path>{_PATH})|(?P<number>{_NUMBER})")

Function = tuple[Callable[..., Scalar], int]  # of so many scalars
FUNCTIONS: dict[str, Function] = {
    **{"sin": (sin, 1), "cos": (cos, 1), "sqrt": (sqrt, 1), "exp": (exp, 1), "log": (log, 1), "tanh": (tanh, 1)},
    "abs": (absolute, 1),
    "tan": (lambda x: div(sin(x), cos(x)), 1),
    "asin": (lambda x: atan2(x, sqrt(sub(1.0, mul(x, x)))), 1),
    "acos": (lambda x: atan2(sqrt(sub(1.0, mul(x, x))), x), 1),
    "atan": (lambda x: atan2(x, 1.0), 1),
    "atan2": (atan2, 2),
    "min": (lambda a, b: select(less(a, b), a, b), 2),
    "max": (larger, 2),
}
VECTORS: dict[str, tuple[Callable[..., Scalar], int]] = {  # of so many vectors
    "norm": (lambda x: sqrt(norm_squared(x)), 1),
    "dot": (dot, 2),
}
KEEPING = ("abs", "min", "max", "norm")  # functions whose result has the unit of their arguments


@record
class Parsed:
    """A text as Python's parser reads it, its paths replaced by names."""

    node: ast.expr
    paths: tuple[str, ...]  # of the names _0, _1, ...

    def written(self, node: ast.expr) -> str:
        """A part as the user wrote it, up to spaces."""
        text = ast.unparse(node)
        return re.sub(r"\b_(\d+)\b", lambda match: self.paths[int(match[1])], text)


def parse(text: str, where: str) -> Parsed:
    """Reads a text.

    Raises:
        ModelError: no expression.
    """
    paths: list[str] = []

    def place(match: re.Match[str]) -> str:
        if match["text"] is not None:
            return match["text"]
        if match["path"] is not None:
            paths.append(match["path"])
            return f"_{len(paths) - 1}"
        number, unit = re.fullmatch(_NUMBER, match["number"]).groups()  # type: ignore[union-attr]
        return repr(float(number) * unit_in_si(unit, where)[0])

    if not isinstance(text, str) or not text.strip() or len(text) > LONGEST:
        raise refused(where, repr(text)[:80], f"a text of up to {LONGEST} characters")
    try:
        line = re.sub(r"[\r\n]+", " ", _TOKEN.sub(place, text)).strip()
        node = ast.parse(line, mode="eval").body
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        raise refused(where, repr(text)[:80], ALLOWED + ", ".join((*FUNCTIONS, *VECTORS))) from None
    return Parsed(node, tuple(paths))


def refused(where: str, found: str, allowed: str, todo: str = "") -> ModelError:
    return ModelError(where, found, allowed, todo or "Write it like peak_to_peak(rocker_pivot.q).")


def number(node: ast.expr) -> float | None:
    """The value of a plain number, None for anything else."""
    if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.USub):
        inner = number(node.operand)
        return None if inner is None else -inner
    if isinstance(node, ast.Constant) and isinstance(node.value, int | float) and not isinstance(node.value, bool):
        return float(node.value)
    if isinstance(node, ast.BinOp) and type(node.op) in _PAIRS:
        sides = number(node.left), number(node.right)
        if None not in sides:
            return float(_PAIRS[type(node.op)](*sides))
    return math.pi if isinstance(node, ast.Name) and node.id == "pi" else None


def evaluate(node: ast.expr, names: Mapping[str, Vec], where: str) -> Vec:
    """The scalars of an expression; lane code.

    Args:
        names: values of the names in it, `t` among them where there is one.

    Raises:
        ModelError: anything in it that is not allowed, vectors that do not fit together.
    """

    def of(inner: ast.expr) -> Vec:
        return evaluate(inner, names, where)

    plain = number(node)
    if plain is not None:
        return [plain]
    if isinstance(node, ast.Name):
        if node.id not in names:
            hint = nearest(node.id, (*FUNCTIONS, *VECTORS)) or "A channel is written with its object, as crank.q."
            raise refused(where, repr(node.id), "channels by path, t, pi", hint)
        return names[node.id]
    if isinstance(node, ast.List | ast.Tuple):
        return [scalar for inner in node.elts for scalar in of(inner)]
    if isinstance(node, ast.Subscript):
        vector, at = of(node.value), number(node.slice)
        if at is None or not at.is_integer() or not 0 <= at < len(vector):
            allowed = f"a whole number from 0 to {len(vector) - 1}"
            raise refused(where, f"[{ast.unparse(node.slice)}]", allowed, "Count from 0.")
        return [vector[int(at)]]
    if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.UAdd | ast.USub):
        return of(node.operand) if isinstance(node.op, ast.UAdd) else [neg(x) for x in of(node.operand)]
    if isinstance(node, ast.BinOp) and type(node.op) in _PAIRS:
        return _paired(type(node.op), of(node.left), of(node.right), where)
    if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and not node.keywords:
        return _called(node.func.id, [of(argument) for argument in node.args], where)
    hint = "A power is written x**2." if isinstance(node, ast.BinOp) and isinstance(node.op, ast.BitXor) else ""
    raise refused(where, repr(ast.unparse(node)[:80]), ALLOWED + ", ".join((*FUNCTIONS, *VECTORS)), hint)


def _power(a: Scalar, b: Scalar) -> Scalar:
    if known(b) and b in (1.0, 2.0, 3.0, 4.0):
        return reduce(mul, [a] * int(b))
    return sqrt(a) if known(b) and b == 0.5 else power(a, b)


_PAIRS: dict[type, Callable[..., Scalar]] = {
    ast.Add: add,
    ast.Sub: sub,
    ast.Mult: mul,
    ast.Div: div,
    ast.Pow: _power,
}


def _paired(kind: type, left: Vec, right: Vec, where: str) -> Vec:
    """A sum or product, number by number; a single number goes with each of a vector in products only."""
    spread = kind in (ast.Mult, ast.Div, ast.Pow)
    if len(left) == len(right):
        return [_PAIRS[kind](a, b) for a, b in zip(left, right, strict=True)]
    if spread and len(right) == 1:
        return [_PAIRS[kind](a, right[0]) for a in left]
    if kind is ast.Mult and len(left) == 1:
        return [mul(left[0], b) for b in right]
    raise refused(where, f"vectors of {len(left)} and {len(right)} numbers", "vectors of one size", "Pick with [k].")


def _called(name: str, arguments: list[Vec], where: str) -> Vec:
    function, count = (FUNCTIONS | VECTORS).get(name, (None, 0))
    if function is None:
        known_names = (*FUNCTIONS, *VECTORS)
        raise refused(where, f"{name}(...)", ", ".join(known_names), nearest(name, known_names))
    if len(arguments) != count:
        raise refused(where, f"{name} of {len(arguments)}", f"{name} of {count}", "Correct it.")
    if len({len(argument) for argument in arguments}) > 1:
        raise refused(where, f"{name} of vectors of different sizes", "vectors of one size", "Pick with [k].")
    if name in VECTORS:
        return [function(*arguments)]
    return [function(*scalars) for scalars in zip(*arguments, strict=True)]


def unit_of(node: ast.expr, units: Mapping[str, str]) -> str | None:
    """The unit of an expression, `MIXED` where it is none of its parts', None for plain numbers."""
    if number(node) is not None:
        return None
    if isinstance(node, ast.Name):
        return units.get(node.id, MIXED)
    if isinstance(node, ast.Subscript):
        return unit_of(node.value, units)
    if isinstance(node, ast.UnaryOp):
        return unit_of(node.operand, units)
    if isinstance(node, ast.List | ast.Tuple):
        return _common([unit_of(inner, units) for inner in node.elts])
    if isinstance(node, ast.BinOp) and isinstance(node.op, ast.Add | ast.Sub):
        return _common([unit_of(node.left, units), unit_of(node.right, units)])
    if isinstance(node, ast.BinOp) and isinstance(node.op, ast.Mult | ast.Div):
        return _of_product(unit_of(node.left, units), unit_of(node.right, units), divided=isinstance(node.op, ast.Div))
    if isinstance(node, ast.Call) and isinstance(node.func, ast.Name):
        if node.func.id in KEEPING:
            return _common([unit_of(argument, units) for argument in node.args])
        return "rad" if node.func.id in ("asin", "acos", "atan", "atan2") else "1"
    return MIXED


def _of_product(left: str | None, right: str | None, *, divided: bool) -> str | None:
    """The unit of a product or quotient: that of the only part that has one, none of a ratio of equal ones."""
    if right in (None, "1"):
        return left or right
    if divided:
        return "1" if left == right != MIXED else MIXED
    return right if left in (None, "1") else MIXED


def _common(units: list[str | None]) -> str | None:
    found = {unit for unit in units if unit is not None}
    return None if not found else found.pop() if len(found) == 1 else MIXED
