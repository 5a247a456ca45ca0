"""Numbers that follow from others, as `derive={"rod.mass": "7.8 * {rod:tip.T[0]}"}`. Host code, no jax.

An expression is made of numbers, number paths in braces, + - * / **, parentheses, pi and `FUNCTIONS`, all in SI;
nothing else is evaluated. A derived number may follow from other derived ones; circles are refused. What follows from
no varied number is the same for all members.
"""

from __future__ import annotations

import ast
import math
import operator
import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any

import numpy as np

from shiftjax.errors import ModelError, nearest, need_number
from shiftjax.mechanism.model import Model

Expression = str | Callable[[Mapping[str, Any]], Any]  # a text, or a function of the numbers by path
Function = Callable[..., Any]

FUNCTIONS: dict[str, tuple[Function, int]] = {  # name -> function, number of arguments
    **{name: (getattr(np, name), 1) for name in ("sin", "cos", "tan", "sqrt", "exp", "log", "abs")},
    **{name: (getattr(np, "arc" + name[1:]), 1) for name in ("asin", "acos", "atan")},
    "atan2": (np.arctan2, 2),
    "min": (np.minimum, 2),
    "max": (np.maximum, 2),
}
OPERATORS: dict[type, Function] = {
    ast.Add: operator.add,
    ast.Sub: operator.sub,
    ast.Mult: operator.mul,
    ast.Div: operator.truediv,
    ast.Pow: operator.pow,
    ast.UAdd: operator.pos,
    ast.USub: operator.neg,
}
ALLOWED = f"numbers, paths in braces, + - * / **, pi and {', '.join(FUNCTIONS)}"
LONGEST = 2000  # characters of an expression
_PATH = re.compile(r"\{((?:`[^`]*`|[^{}`])+)\}")


class Numbers(Mapping[str, Any]):
    """The numbers of all members by path: () where all members have the same, else (B,); derived ones on demand."""

    def __init__(self, model: Model, known: Mapping[str, Any], derive: Mapping[str, Expression], members: int) -> None:
        self._model, self._members = model, members
        self._known = dict(known)  # full path -> values
        self._derive = dict(derive)  # full path -> what is not evaluated yet
        self._asked: list[str] = []  # derived numbers that wait for others

    def __getitem__(self, path: str) -> Any:
        full = full_path(self._model, path, self._known)
        if full in self._asked:
            circle = " <- ".join([*self._asked[self._asked.index(full) :], full])
            raise ModelError(f"derive {full}", f"a circle: {circle}", "numbers that follow from others", "Break it.")
        if full in self._derive:
            self._asked.append(full)
            self._known[full] = self._evaluated(full, self._derive[full])
            del self._derive[full]
            self._asked.pop()
        return self._known[full]

    def __iter__(self) -> Iterator[str]:
        return iter(self._known)

    def __len__(self) -> int:
        return len(self._known)

    def _evaluated(self, full: str, expression: Expression) -> Any:
        where = f"derive {full}"
        with np.errstate(all="ignore"):  # what is not finite is an outcome of its member
            found = self._value(expression, where)
        try:
            values = self._array(found)
        except (TypeError, ValueError):
            raise ModelError(where, repr(found)[:80], "numbers", "Return a number or one a member.") from None
        if values.shape not in ((), (self._members,)):
            allowed = f"one number, or one a member, shape ({self._members},)"
            raise ModelError(where, f"shape {values.shape}", allowed, "Correct the function.")
        return values

    def _value(self, expression: Expression, where: str) -> Any:
        return evaluate(expression, self, where) if isinstance(expression, str) else expression(self)

    def _array(self, found: Any) -> Any:
        return np.asarray(found, float)


def with_derived(
    model: Model,
    vary: Mapping[str, Any] | None,
    assign: Mapping[str, float] | None,
    derive: Mapping[str, Expression] | None,
) -> tuple[dict[str, Any] | None, dict[str, float]]:
    """`vary` and `assign` of a run with the derived numbers among them.

    Raises:
        ModelError: no number of that path, one that is varied or assigned, too, an expression with something else in
            it, a circle.
    """
    assigned = dict(assign or {})
    if not derive:
        return (None if vary is None else dict(vary)), assigned
    base = model.replace(assigned) if assigned else model
    numbers = base.numbers()
    columns = {full_path(model, path, numbers): _column(path, values) for path, values in (vary or {}).items()}
    sizes = {len(values) for values in columns.values()}
    if len(sizes) > 1:
        raise ModelError("vary", f"lengths {sorted(sizes)}", "one length for all", "Give every path as many values.")
    wanted = wanted_of(model, columns, assigned, derive)
    known = {**{path: np.float64(value) for path, value in numbers.items()}, **columns}
    values = Numbers(model, known, wanted, sizes.pop() if sizes else 1)
    found = {path: values[path] for path in wanted}
    same = {path: float(value) for path, value in found.items() if value.ndim == 0}
    return (None if vary is None else {**vary, **{p: v for p, v in found.items() if v.ndim}}), {**assigned, **same}


def wanted_of(
    model: Model, varied: Iterable[str], assigned: Iterable[str], derive: Mapping[str, Expression]
) -> dict[str, Expression]:
    """Full path -> what the number follows from.

    Args:
        varied: full paths of the varied numbers. assigned: paths of those that are set for all members.

    Raises:
        ModelError: no such number, one that is varied or set, too, something that is no expression.
    """
    numbers = model.numbers()
    taken = {**dict.fromkeys(varied, "vary"), **dict.fromkeys((full_path(model, p, numbers) for p in assigned), "set")}
    wanted: dict[str, Expression] = {}
    for path, expression in derive.items():
        full = full_path(model, path, numbers)
        if full in taken or full in wanted:
            found = f"the same number in {taken.get(full, 'derive')}, too"
            raise ModelError(f"derive {path}", found, "each number once", "Leave one of them out.")
        if not (isinstance(expression, str) or callable(expression)):
            raise ModelError(f"derive {path}", repr(expression)[:80], "a text or a function", "Write '2 * {PATH}'.")
        wanted[full] = expression
    return wanted


def derived_columns(
    model: Model, vary: Mapping[str, Any], derive: Mapping[str, Expression] | None
) -> dict[str, np.ndarray]:
    """The varied and the derived numbers, one value a member, by their full paths.

    For programs that are compiled before the values are known: what is the same for all members now may follow from
    other values later, so that it is a column, too.

    Args:
        vary: number path -> (B,) values.

    Raises:
        ModelError: as of `with_derived`, and numbers for all that are not finite.
    """
    varied, same = with_derived(model, vary, None, derive)
    for path, value in same.items():
        need_number(path, value, "one finite number")
    columns = {model.resolve(path): np.asarray(values, float) for path, values in (varied or {}).items()}
    members = len(next(iter(columns.values()), (0.0,)))
    return {**columns, **{path: np.full(members, value) for path, value in same.items()}}


def full_path(model: Model, path: str, known: Mapping[str, Any]) -> str:
    """The full path of a number."""
    if path in known:
        return path
    if not isinstance(path, str):
        raise ModelError("path of a number", repr(path)[:80], "a text", "`shiftjax info MODEL --paths` lists them.")
    full = model.resolve(path)
    if full not in known:
        model.replace({path: 0.0})  # raises with the nearest known path
    return full


def _column(path: str, values: Any) -> np.ndarray:
    """(B,) values of a varied number."""
    try:
        column = np.asarray(values, float)
    except (TypeError, ValueError):
        raise ModelError(f"vary {path}", repr(values)[:80], "numbers, one a member", "Give an array.") from None
    if column.ndim != 1:
        raise ModelError(f"vary {path}", f"shape {column.shape}", "one value a member, shape (B,)", "Flatten it.")
    return column


def evaluate(text: str, numbers: Mapping[str, Any], where: str) -> Any:
    """The value of an expression.

    Raises:
        ModelError: anything in it that is not allowed.
    """
    node, paths = parsed(text, where)
    try:
        return _value(node, paths, numbers, where)
    except (ValueError, OverflowError, RecursionError, MemoryError) as error:
        if isinstance(error, ModelError):
            raise
        raise _refused(where, text, ALLOWED) from None


def parsed(text: str, where: str) -> tuple[ast.expr, dict[str, str]]:
    """An expression as Python's parser reads it, and the path of every name in it.

    Raises:
        ModelError: no expression.
    """
    paths: list[str] = []

    def place(match: re.Match[str]) -> str:
        paths.append(match[1].strip())
        return f" _{len(paths) - 1} "

    outside = _PATH.sub("", text)
    if len(text) > LONGEST or "_" in outside or "{" in outside or "}" in outside:
        raise _refused(where, text, ALLOWED)
    try:
        node = ast.parse(_PATH.sub(place, text).strip(), mode="eval").body
    except (SyntaxError, ValueError, OverflowError, RecursionError, MemoryError):
        raise _refused(where, text, ALLOWED) from None
    return node, {f"_{k}": path for k, path in enumerate(paths)}


def _value(node: ast.expr, paths: Mapping[str, str], numbers: Mapping[str, Any], where: str) -> Any:
    """The value of a node; only what is named here is evaluated."""
    if isinstance(node, ast.Constant) and isinstance(node.value, int | float) and not isinstance(node.value, bool):
        return np.float64(node.value)
    if isinstance(node, ast.Name) and node.id in paths:
        return numbers[paths[node.id]]
    if isinstance(node, ast.Name) and node.id == "pi":
        return np.float64(math.pi)
    if isinstance(node, ast.UnaryOp) and type(node.op) in OPERATORS:
        return OPERATORS[type(node.op)](_value(node.operand, paths, numbers, where))
    if isinstance(node, ast.BinOp) and type(node.op) in OPERATORS:
        sides = (_value(side, paths, numbers, where) for side in (node.left, node.right))
        return OPERATORS[type(node.op)](*sides)
    if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and not node.keywords:
        function, count = FUNCTIONS.get(node.func.id, (None, 0))
        if function is None:
            raise _refused(where, f"{node.func.id}(...)", ALLOWED, nearest(node.func.id, FUNCTIONS))
        if len(node.args) != count:
            raise _refused(where, f"{node.func.id} of {len(node.args)}", f"{node.func.id} of {count}")
        return function(*(_value(argument, paths, numbers, where) for argument in node.args))
    if isinstance(node, ast.Name):
        raise _refused(where, node.id, ALLOWED, f"Is it a path? Write {{{node.id}}}.")
    raise _refused(where, _written(node, paths), ALLOWED)


def _written(node: ast.expr, paths: Mapping[str, str]) -> str:
    """A part of an expression as the user wrote it."""
    text = ast.unparse(node)
    for name, path in paths.items():
        text = text.replace(name, f"{{{path}}}")
    return text


def _refused(where: str, found: str, allowed: str, todo: str = "") -> ModelError:
    return ModelError(where, repr(found[:80]), allowed, todo or "Write it like 7.8 * {rod:tip.T[0]}.")
