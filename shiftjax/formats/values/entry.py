"""One element of a document, read field by field as the table says: keys of every dialect, shape, unit, default."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import cache
from typing import Any

from shiftjax.field import Field
from shiftjax.field import keys_of as keys_of_fields
from shiftjax.formats.values.node import Node
from shiftjax.formats.values.units import Units
from shiftjax.mechanism.fields import BODY, element

MAX_COEFFICIENTS = 50


@cache
def keys_of(label: str) -> frozenset[str]:
    """Every key of an object in the three dialects; `label` is what messages call it.

    Raises:
        KeyError: no such object.
    """
    if label == "an inertia":  # the one object that is a part of another's fields
        return frozenset(key.partition(".")[2] for field in BODY for key in field.every_key if "." in key)
    return keys_of_fields(element(label))


@cache
def misspelt_of(label: str) -> dict[str, str]:
    """What public files write -> the key that is meant."""
    if label == "an inertia":
        return {}
    return {wrong: field.key for field in element(label) for wrong in field.misspelt}


@cache
def python_names_of(label: str) -> dict[str, str]:
    """Names of fields in Python -> their keys in a file, where these are others."""
    if label == "an inertia":
        return {}
    return {field.name: field.key for field in element(label) if field.key and field.name not in field.every_key}


def opened(node: Node, label: str) -> Node:
    """The node of an object with known keys only; `label` is what messages call it."""
    return node.object(label, keys_of(label), misspelt_of(label), python_names_of(label))


def named(node: Node, what: str) -> Iterable[tuple[str, Node]]:
    """Name and value of every entry of a section."""
    if node.value is None:
        return
    if not isinstance(node.value, Mapping):
        node.refuse(f"an object: name of {what} -> what it is", "Write { ... }.")
    for name in node.value:
        if not isinstance(name, str) or not name.isidentifier() or not name.isascii() or name == "pi":
            allowed = "names of letters, digits and _, other than pi, that expressions can use"
            node.refuse(allowed, "Rename it.", f"{what} called {str(name)[:60]!r}")
        yield name, node[name]


@cache
def by_name(label: str) -> dict[str, Field]:
    return {field.name: field for field in element(label)}


class Entry:
    """An object of a document.

    Args:
        label: of `mechanism.fields.element`. x: unit of the displacement along which forces of it act, "rad" or "m".
    """

    def __init__(self, node: Node, label: str, units: Units, x: str = "m") -> None:
        self.node, self.fields, self.units, self.x = node, by_name(label), units, x

    def __call__(self, name: str) -> Any:
        """The value of a field in SI; its default where the file says nothing.

        Raises:
            ModelError: a value of another shape, two keys for one thing, nothing where something is required.
        """
        field = self.fields[name]
        node = self.at(field)
        if node.value is None and not field.required:
            return field.default
        return getattr(self, f"_{field.shape}")(node, field)

    def at(self, field: Field) -> Node:
        """Where the file holds a field: the first of its keys that is there."""
        present = [key for key in field.every_key if self.node.has(key)]
        if len(present) > 1:
            self.node.refuse("one of them", "Remove one.", f"both {present[0]!r} and {present[1]!r}")
        return self.node[(present or [field.key])[0]]

    def values(self, fields: Sequence[Field]) -> dict[str, Any]:
        """The values of numeric fields, by name."""
        return {field.name: self(field.name) for field in fields}

    def _scale(self, field: Field, power: int = 0) -> float:
        return self.units.factor(field.unit, self.x, power)

    def _number(self, node: Node, field: Field) -> float:
        return node.number(scale=self._scale(field))

    def _vector(self, node: Node, field: Field) -> tuple[float, ...]:
        return node.vector3(scale=self._scale(field))

    def _numbers(self, node: Node, field: Field) -> tuple[float, ...]:
        values = node.vector(scale=self._scale(field))
        if len(values) < field.fewest:
            node.refuse(f"{field.fewest} numbers or more", "Add some.", f"{len(values)} of them")
        return values

    def _points(self, node: Node, field: Field) -> tuple[tuple[float, ...], ...]:
        return tuple(item.vector3(scale=self._scale(field)) for item in node.items())

    def _rows(self, node: Node, field: Field) -> tuple[tuple[float, ...], ...]:
        return tuple(self._numbers(item, field) for item in node.items())

    def _matrix(self, node: Node, field: Field) -> Any:
        return node.rotation()

    def _flag(self, node: Node, field: Field) -> bool:
        return node.flag(default=field.default)

    def _text(self, node: Node, field: Field) -> str:
        return node.text()

    def _choice(self, node: Node, field: Field) -> str:
        return node.choice(frozenset(field.choices))

    def _comment(self, node: Node, field: Field) -> str:
        return node.comment()

    def _anything(self, node: Node, field: Field) -> Any:
        return node.frozen()

    def _data(self, node: Node, field: Field) -> Any:
        """What says nothing is nothing."""
        value = node.frozen()
        return value if isinstance(value, bool | int | float) or value else None

    def _ascending(self, node: Node, field: Field) -> tuple[float, ...]:
        return ascending(node, lambda power: self._scale(field, power))

    _polynomial = _ascending

    def _pieces(self, node: Node, field: Field) -> tuple[tuple[float, ...], ...]:
        """Lists of coefficients, each with the highest power first."""
        out = []
        for piece in node.items():
            coefficients = piece.vector()
            if not coefficients:
                piece.refuse("at least one coefficient, highest power first", "Write [0].")
            out.append(
                scaled(piece, coefficients, factors(piece, lambda k: self._scale(field, k), len(coefficients))[::-1])
            )
        return tuple(out)


def ascending(node: Node, factor: Callable[[int], float]) -> tuple[float, ...]:
    """Coefficients in SI, the constant first; `factor` of each power."""
    if isinstance(node.value, (int, float)):
        node.refuse("a list of ascending coefficients", "Write [0, k] for k times the displacement or speed.")
    coefficients = node.vector()
    return scaled(node, coefficients, factors(node, factor, len(coefficients)))


def factors(node: Node, factor: Callable[[int], float], count: int) -> list[float]:
    """Factors to SI of ascending coefficients."""
    if count > MAX_COEFFICIENTS:
        most = f"at most {MAX_COEFFICIENTS} coefficients"
        node.refuse(most, "Use pieces of a lower degree.", f"{count} coefficients")
    return [factor(power) for power in range(count)]


def scaled(node: Node, numbers: Sequence[float], factors: Sequence[float]) -> tuple[float, ...]:
    """The numbers in SI units."""
    out = tuple(x * factor for x, factor in zip(numbers, factors, strict=True))
    if not all(map(math.isfinite, out)):
        node.refuse("numbers that are finite in SI units", "Correct them.")
    return out
