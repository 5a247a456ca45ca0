"""Named numbers of a model, parameters and points in the world of the drawn pose, and numbers that follow from them.

A parameter is called `parameters.NAME`, a coordinate of a point `points.NAME.x`; expressions write `NAME` and `NAME.x`.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from dataclasses import replace
from functools import lru_cache
from typing import Any

import numpy as np

from shiftjax.errors import ModelError, nearest
from shiftjax.expressions.dialects import NUMBERS
from shiftjax.expressions.evaluation import evaluate_number
from shiftjax.expressions.expression import Expression, Name, names, replaced
from shiftjax.expressions.grammar import parse
from shiftjax.field import Field, Role
from shiftjax.mechanism.paths import Steps, listed
from shiftjax.mechanism.records import Vector
from shiftjax.quantities import WORDS
from shiftjax.record import record

BLOCKS = ("parameters", "points")  # objects of paths
AXES = "xyz"
AGREES, ROUNDS = 1e-9, 1e-14  # of a number, and in SI: functions of NumPy round otherwise in arrays than alone
OVER_NAMES = NUMBERS.over_names("names of parameters, coordinates of points as A.x", "2.4 * L")


@record
class Parameter:
    """A named number.

    Attributes:
        value: in SI. unit: of it, as the table of fields writes units. minimum, maximum: what it may be, in SI.
        description: a sentence.
    """

    name: str
    value: float
    unit: str = "1"
    minimum: float | None = None
    maximum: float | None = None
    description: str = ""

    def numbers(self) -> Iterator[tuple[Field, Steps, float]]:
        """Its field and value, at its steps from the block."""
        doc = self.description or "a parameter of the file"
        field = Field(self.name, doc, "number", Role.NUMBER, self.unit, least=self.minimum, most=self.maximum)
        yield field, (self.name,), self.value

    def changed(self, values: Mapping[str, Any]) -> Parameter:
        """The parameter with the value that `.NAME` has among some."""
        return replace(self, value=values.get(f".{self.name}", self.value))


@record
class Point:
    """A place in the world of the drawn pose [m]; positions of frames that follow it are expressions of its own."""

    name: str
    position: Vector
    description: str = ""

    def numbers(self) -> Iterator[tuple[Field, Steps, float]]:
        """Its fields and coordinates, at their steps from the block."""
        doc = self.description or "a point in the world of the drawn pose"
        for axis, value in zip(AXES, self.position, strict=True):
            yield Field(f"{self.name}.{axis}", doc, "number", Role.NUMBER, "m"), (self.name, axis), value

    def changed(self, values: Mapping[str, Any]) -> Point:
        """The point with the coordinates that `.NAME.x` and others have among some."""
        pairs = zip(AXES, self.position, strict=True)
        x, y, z = (values.get(f".{self.name}.{axis}", value) for axis, value in pairs)
        return replace(self, position=(x, y, z))


@record
class NamedNumbers:
    """All parameters of a model, or all its points, as one element of it."""

    items: tuple[Parameter, ...] | tuple[Point, ...]

    def numbers(self) -> Iterator[tuple[Field, Steps, float]]:
        """Field, steps and value of every number."""
        for item in self.items:
            yield from item.numbers()


def path_of_name(name: str) -> str:
    """The path of what an expression calls `name`, or of a path itself."""
    return name if name.partition(".")[0] in BLOCKS else f"{BLOCKS['.' in name]}.{name}"


def name_of_path(path: str) -> str | None:
    """What an expression calls a number; None where it is of no parameter and no point."""
    block, _, name = path.partition(".")
    return name if name and block in BLOCKS else None


@lru_cache(10_000)
def rule_of(text: str, where: str) -> Expression:
    """The tree of an expression, full paths in place of its names.

    Raises:
        ModelError: no expression.
    """
    return _with_paths(parse(text, where, OVER_NAMES))


def _with_paths(node: Expression) -> Expression:
    if isinstance(node, Name):
        return node if node == Name("pi") else Name(path_of_name(node.text), braces=True)
    return replaced(node, _with_paths)


@lru_cache(10_000)
def asked_by(text: str, where: str) -> frozenset[str]:
    """The paths of the numbers that an expression asks for."""
    return frozenset(name.text for name in names(rule_of(text, where)) if name.braces)


def asking(expressions: Mapping[str, str], path: str) -> tuple[str, ...]:
    """The numbers whose expressions ask for a parameter or a coordinate themselves."""
    return tuple(other for other, text in expressions.items() if path in asked_by(text, other))


def value_of_text(text: str, where: str, numbers: Mapping[str, Any]) -> float:
    """The value of an expression.

    Args:
        numbers: of parameters and points, by path.

    Raises:
        ModelError: no expression; a name that is none of theirs; a value that is not finite.
    """
    rule = rule_of(text, where)
    for name in names(rule):
        if name.braces and name.text not in numbers:
            known = [name_of_path(path) or path for path in numbers]
            written = name_of_path(name.text) or name.text
            todo = nearest(written, known) or "Add it to the parameters of the file, or correct it."
            if written in WORDS:
                todo = f"A unit stands beside a number: write 20 N / (1 {written}) for 20 N/{written}."
            allowed = listed(known) or "names of parameters, of which there are none"
            raise ModelError(where, f"{written!r} in {text[:80]!r}", allowed, todo)
    with np.errstate(all="ignore"):
        value = float(evaluate_number(rule, {path: np.float64(number) for path, number in numbers.items()}, where))
    if not np.isfinite(value):
        raise ModelError(where, f"{value:g}, from {text!r}", "a finite number", "Correct the expression.")
    return value


def followers(expressions: Mapping[str, str], changed: Collection[str]) -> tuple[str, ...]:
    """The numbers that follow from changed ones, through others or not, each after those it asks for.

    Args:
        expressions: path of a number -> what it follows from.
    """
    asked = {path: asked_by(text, path) for path, text in expressions.items()}
    moved, order = set(changed), list[str]()
    while more := {path for path, names in asked.items() if names & moved} - moved:
        moved |= more
    waiting = {path: names for path, names in asked.items() if names & moved}
    while ready := [path for path, names in waiting.items() if not names & waiting.keys()]:
        order += ready
        waiting = {path: names for path, names in waiting.items() if path not in ready}
    return tuple(order)


def recomputed(
    expressions: Mapping[str, str], numbers: Mapping[str, float], given: Mapping[str, float]
) -> dict[str, float]:
    """Values of the numbers that follow from given ones.

    Args:
        expressions: path of a number -> what it follows from. numbers: of the model. given: path -> new value.

    Raises:
        ModelError: a given number that follows from others, and has another value; a value that is not finite.
    """
    known = {path: number for path, number in {**numbers, **given}.items() if name_of_path(path)}
    out: dict[str, float] = {}
    for path in followers(expressions, given):
        value = value_of_text(expressions[path], path, known)
        out[path] = given[path] if path in given and agrees(given[path], value) else value
        if name_of_path(path):
            known[path] = out[path]
    for path in given:
        if path in expressions and not agrees(given[path], out.get(path, numbers.get(path, given[path]))):
            raise determined(path, expressions[path])
    return out


def agrees(value: float, other: float) -> bool:
    """Whether a number is what follows, up to rounding."""
    return abs(value - other) <= ROUNDS + AGREES * max(abs(value), abs(other))


def determined(where: str, text: str) -> ModelError:
    """The error of a number that is given a value beside its expression."""
    asked = sorted(name_of_path(other) or other for other in asked_by(text, where))
    todo = f"Set {listed(asked)}, or write a number in the file in place of the expression."
    return ModelError(where, f"a value for what follows from {text!r}", "numbers without an expression", todo)
