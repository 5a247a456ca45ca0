"""A value of a document with its JSON path: the typed questions a reader asks, each with its error."""

from __future__ import annotations

import math
import numbers
import re
import reprlib
from collections.abc import Collection, Iterator, Mapping
from typing import Any, NoReturn, Protocol

import numpy as np

from shiftjax.errors import ModelError, nearest
from shiftjax.formats.values.synonyms import synonym
from shiftjax.mechanism.frozen_json import FrozenJson, freeze
from shiftjax.mechanism.records import IDENTITY, Matrix, Vector

ROTATION_TOLERANCE = 1e-5  # public files are off by up to 2e-6
EXACT = 1e-15  # a matrix this close is kept digit for digit

_short = reprlib.Repr()
_short.maxlevel, _short.maxstring, _short.maxother, _short.maxlong = 3, 60, 60, 40
_MISSING = object()
NUMERAL = re.compile(r"\s*[-+]?([\d.]+([eE][-+]?\d*)?)?\s*")  # a number in quotes, or none
NONE: Mapping[str, str] = {}
MISPLACED = {
    "version": 'It stands in model_parameters and tells the dialect: "0.2" for the older one (fixed, simulation, '
    'body_frame_pairs, moment_of_inertia), "2.0" for this one (frames, integrators, parent and child, inertia); '
    "files of both, and mixed ones, are read."
}


def show(value: Any) -> str:
    """A value as a short text, however deep or long it is."""
    try:
        return ("nothing" if value is None else _short.repr(value))[:200]
    except ValueError:  # an integer of more digits than Python prints
        return "a huge number"


class Quoted(Protocol):
    """What gives numbers in quotes their values."""

    def number(self, text: str, where: str, scale: float) -> float:
        """The value times a factor."""
        ...


class Node:
    """A value, where it stands, the list that collects warnings, and what numbers in quotes may name."""

    __slots__ = ("scope", "value", "warnings", "where")

    def __init__(self, value: Any, where: str, warnings: list[str], scope: Quoted | None = None) -> None:
        if isinstance(value, np.ndarray):
            value = value.tolist()
        short = where if len(where) < 400 else f"{where[:120]} ... {where[-240:]}"
        self.value, self.where, self.warnings, self.scope = value, short, warnings, scope

    @property
    def _place(self) -> str:
        """Where it stands, for messages: the root of a file has no path behind the file's name."""
        return self.where.rstrip(": ")

    def refuse(self, allowed: str, todo: str, fault: str | None = None) -> NoReturn:
        raise ModelError(self._place, show(self.value) if fault is None else fault, allowed, todo)

    def warn(self, text: str) -> None:
        self.warnings.append(f"{self._place}: {text}")

    def object(
        self, kind: str, known: Collection[str], misspelt: Mapping[str, str], python: Mapping[str, str] = NONE
    ) -> Node:
        """The same node, its value an object with known keys only (misspellings put right, with a warning).

        Args:
            python: names of fields in Python -> their keys in a file, where these differ.
        """
        if not isinstance(self.value, Mapping):
            self.refuse(f"an object ({kind})", f"Write {{ ... }}, of the keys {', '.join(sorted(known))}.")
        entries: dict[str, Any] = {}
        for key, value in self.value.items():
            right = misspelt.get(key, key) if isinstance(key, str) else key
            if right not in known:
                text = str(key)[:60]
                self.refuse(
                    "keys " + ", ".join(sorted(known)),
                    MISPLACED.get(text)
                    or (f"In a file its key is {python[text]!r}." if text in python else "")
                    or synonym(text, known)
                    or nearest(text, known)
                    or "Remove it, or put its text into 'comment'.",
                    f"unknown key {text!r} in {kind}",
                )
            if right != key:
                self.warn(f"key {key!r} read as {right!r}")
            if right in entries:
                self.refuse("one of them", "Remove one.", f"{right!r} given twice")
            entries[right] = value
        return Node(entries, self.where, self.warnings, self.scope)

    def has(self, key: str) -> bool:
        """Whether the object holds a value other than null under the key."""
        return self.value.get(key) is not None

    def __getitem__(self, key: str) -> Node:
        dot = "" if not self.where or self.where.endswith(" ") else "."
        return Node(self.value.get(key), f"{self.where}{dot}{key}", self.warnings, self.scope)

    def items(self) -> Iterator[Node]:
        """The entries of a list; null is an empty one."""
        if self.value is None:
            return
        if not isinstance(self.value, (list, tuple)):
            self.refuse("a list", "Write [ ... ].")
        for i, item in enumerate(self.value):
            name = item.get("name") if isinstance(item, Mapping) else None
            label = f" ({name[:40]})" if isinstance(name, str) else ""
            yield Node(item, f"{self.where}[{i}]{label}", self.warnings, self.scope)

    def text(self, default: Any = _MISSING) -> str:
        if self.value is None and default is not _MISSING:
            return default
        if not isinstance(self.value, str):
            self.refuse("a string", "Write it in double quotes.")
        return self.value

    def comment(self) -> str:
        """Free text; a list of texts is its lines."""
        if isinstance(self.value, (list, tuple)):
            return "\n".join(item.text() for item in self.items())
        return self.text("")

    def choice(self, allowed: Mapping[str, Any] | set[str] | frozenset[str], default: Any = _MISSING) -> str:
        if self.value is None and default is not _MISSING:
            return default
        if not isinstance(self.value, str) or self.value not in allowed:
            hint = ""
            if isinstance(self.value, str):
                same = [word for word in allowed if word.lower() == self.value.lower()]
                hint = f"Did you mean {same[0]!r}?" if same else synonym(self.value, allowed)
                hint = hint or nearest(self.value[:60], allowed)
            self.refuse("one of " + ", ".join(sorted(allowed)), hint or "Choose one of these.")
        return self.value

    def flag(self, *, default: bool) -> bool:
        if self.value is None:
            return default
        if not isinstance(self.value, (bool, np.bool_)):
            self.refuse("true or false", "Write true or false.")
        return bool(self.value)

    def number(self, default: Any = _MISSING, scale: float = 1.0) -> float:
        """A finite number times `scale`; that of an expression in quotes."""
        if self.value is None and default is not _MISSING:
            return default
        value = self.value
        if isinstance(value, str) and self.scope is not None and not NUMERAL.fullmatch(value):
            return self.scope.number(value, self._place, scale)
        if isinstance(value, (bool, np.bool_)) or not isinstance(value, numbers.Real):
            self.refuse("one number", "Write a number without quotes.")
        try:
            scaled = float(value) * scale if scale != 1.0 else float(value)
        except (OverflowError, TypeError):  # beyond all floats; seconds of NumPy, which say that they are integers
            scaled = math.inf
        if not math.isfinite(scaled):
            self.refuse("a finite number", "Write a finite number.")
        return scaled

    def vector(self, length: int | None = None, scale: float = 1.0) -> tuple[float, ...]:
        """A list of numbers, of a given length where one is given."""
        vector = tuple(item.number(scale=scale) for item in self.items()) if self.value is not None else ()
        if self.value is None or (length is not None and len(vector) != length):
            count = f"a list of {length} numbers" if length is not None else "a list of numbers"
            self.refuse(count, "Write " + ("[x, y, z]." if length == 3 else "the list in full."))
        return vector

    def vector3(self, default: Vector | None = None, scale: float = 1.0) -> Vector:
        if self.value is None and default is not None:
            return default
        x, y, z = self.vector(3, scale)
        return (x, y, z)

    def rotation(self) -> Matrix:
        """A rotation matrix by rows, made orthonormal unless it already is; null is the identity."""
        if self.value is None:
            return IDENTITY
        rows = [row.vector3() for row in self.items()]
        if len(rows) != 3:
            self.refuse("a 3x3 matrix as a list of 3 rows", "Write three rows of three numbers.")
        R = np.array(rows)
        with np.errstate(all="ignore"):
            near = np.abs(R.T @ R - np.eye(3)).max() < 0.1 and np.linalg.det(R) > 0
        rotation = orthonormal(R) if near else IDENTITY
        error = np.abs(R - np.array(rotation)).max()
        if not near or error > ROTATION_TOLERANCE:
            self.refuse(
                f"a rotation matrix by rows, within {ROTATION_TOLERANCE:g} of orthonormal with determinant +1",
                "Give more digits, or make the rows perpendicular unit vectors in right-handed order.",
                f"{show(self.value)}, {error:.1e} away from one" if near else f"{show(self.value)}, no rotation",
            )
        return rotation

    def frozen(self) -> Any:
        """The value, frozen as it is; numbers must be finite."""
        try:
            frozen = freeze(self.value)
        except RecursionError:
            self.refuse("values nested at most 50 deep", "Flatten it.", "a value nested deeper than that")
        _check_frozen(frozen, self)
        return frozen


def _check_frozen(value: Any, node: Node) -> None:
    if isinstance(value, FrozenJson):
        for key, item in value.items():
            _check_frozen(item, node[key] if isinstance(node.value, Mapping) else node)
    elif isinstance(value, tuple):
        for item in value:
            _check_frozen(item, node)
    elif isinstance(value, float) and not math.isfinite(value):
        node.refuse("finite numbers", "Write a finite number.")
    elif type(value) is int and abs(value) >= 10**17:
        node.refuse("whole numbers of at most 17 digits", "Write it as 1.0e17 or so.")
    elif not (value is None or isinstance(value, (str, bool, int, float))):
        node.refuse("values that JSON knows", "Use numbers, strings, lists and dicts.")


def orthonormal(R: np.ndarray) -> Matrix:
    """The nearest rotation to a nearly orthonormal matrix; one exact to `EXACT` is kept digit for digit.

    Newton's iteration for the polar factor, R <- R (3 - R'R)/2 (Higham, Functions of Matrices, section 8.3).
    """
    for _ in range(6):
        defect = R.T @ R - np.eye(3)
        if np.abs(defect).max() <= EXACT:
            break
        R = R - 0.5 * R @ defect
    x, y, z = ((float(a), float(b), float(c)) for a, b, c in R)
    return (x, y, z)
