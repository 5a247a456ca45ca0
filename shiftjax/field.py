"""Description of one field of an element: physical meaning, unit, shape, default, keys in files, a sentence.

`mechanism.fields` is the table of them. Kinds of joints, forces and constraints declare further ones.
"""

from __future__ import annotations

from collections.abc import Iterable
from enum import StrEnum
from typing import Any

from shiftjax.record import record


class Role(StrEnum):
    """Physical meaning of a number; code tests the role, never the field's name."""

    MASS = "mass"
    INERTIA = "inertia"
    CENTER = "centre of mass"
    LENGTH = "length"  # of a position
    ANGLE = "angle"  # of an orientation
    DIRECTION = "direction"
    ACCELERATION = "acceleration"
    POSITION = "start position"
    SPEED = "start speed"
    STATE = "start of a force's internal state"
    FORCE = "coefficient of a force"
    KNOT = "knot of a piecewise force"
    LOAD = "external load"
    POSING = "limit or goal of a pose"  # no run reads it
    NUMBER = "number"

    @property
    def of_start(self) -> bool:
        """Whether the number is an initial value only."""
        return self in (Role.POSITION, Role.SPEED, Role.STATE)

    @property
    def of_mass(self) -> bool:
        """Whether the number is part of a body's mass distribution."""
        return self in (Role.MASS, Role.INERTIA, Role.CENTER)

    @property
    def of_shape(self) -> bool:
        """Whether a change of the number may open closed loops."""
        return self in (Role.LENGTH, Role.ANGLE, Role.DIRECTION)


# Placeholders in units: {x} is the unit of the joint's displacement (rad, or m; between frames m), {f} that of the
# force along it (N m, or N). The coefficient of x^k and of its rate to the k:
SPRING, DAMPER = "{f}/{x}^k", "{f} s^k/{x}^k"
SHAPES: dict[str, str] = {
    "number": "a number",
    "vector": "[x, y, z]",
    "axis": "[x, y, z] or one of x, y, z",
    "numbers": "a list of numbers",
    "ascending": "a list of coefficients, the constant first",
    "pieces": "a list of lists of coefficients, each with the highest power first",
    "rows": "a list of lists of numbers",
    "polynomial": "a list of coefficients, the constant first; of several coordinates {name: list}",
    "displacement": "a number; of several coordinates {name: number}; {T, R, rotation} of float, ball and weld",
    "velocity": "a number; of several coordinates {name: number}; a list of one a speed of float and ball",
    "limits": "[low, high], null for none; of several coordinates {name: [low, high]} or a list of these",
    "wanted": "a number or {value, weight, level}; of several coordinates {name: such a value} or a list of them",
    "lock": "true or false; of several coordinates a list of names, too",
    "pair": "two numbers",
    "colour": "three or four numbers from 0 to 1",
    "points": "a list of [x, y, z]",
    "spheres": "a list of [x, y, z, radius]",
    "matrix": "a rotation matrix by rows",
    "name": "a name",
    "text": "a text",
    "comment": "a text, or a list of its lines",
    "flag": "true or false",
    "choice": "a word",
    "texts": "a list of texts",
    "reference": '[["assembly", "body"], "frame"]',
    "references": "a list of references to frames",
    "joint": "the name of a joint",
    "joints": "a list of names of joints",
    "expression": "a number, or an expression in quotes",
    "parameters": "an object of a number, an expression or an object each",
    "named points": "an object of [x, y, z] or an object each",
    "events": "an object of an expression or an object each",
    "sublinkages": "an object of an object each",
    "values by path": "an object of a number in SI, or a text with its unit, each",
    "object": "an object",
    "list": "a list of objects",
    "anything": "any value, kept as it is",
    "data": "any value",
}


@record
class Field:
    """One field of an element.

    Attributes:
        name: attribute of the record, "inertia.Ixx" one of a nested record; else a key of the record's `values`.
        doc: a sentence.
        shape: a key of `SHAPES`.
        role: of a number; None for what is no number.
        unit: of a number, in SI; placeholders as in `SPRING` and `DAMPER` are filled in by the element.
        default: value of a missing key.
        keys: keys in files, the writer's first, older notations after it; the name where empty.
        misspelt: misspellings in public files, accepted with a warning.
        choices: the allowed words.
        of: label of the nested objects (`mechanism.fields.ELEMENTS`).
        required: whether a file must contain it.
        least, above: inclusive and exclusive lower bound of a number; most: its inclusive upper one.
        fewest: smallest length of a list.
        rising: whether each number of a list must be larger than the one before.
        written: False for older notations that are read but not written.
    """

    name: str
    doc: str
    shape: str = "number"
    role: Role | None = None
    unit: str = "1"
    default: Any = None
    keys: tuple[str, ...] = ()
    misspelt: tuple[str, ...] = ()
    choices: tuple[str, ...] = ()
    of: str = ""
    required: bool = False
    least: float | None = None
    above: float | None = None
    most: float | None = None
    fewest: int = 0
    rising: bool = False
    written: bool = True

    @property
    def numeric(self) -> bool:
        """Whether its leaves are numbers of the model."""
        return self.role is not None

    @property
    def key(self) -> str:
        """The key that is written."""
        return (self.keys or (self.name,))[0]

    @property
    def every_key(self) -> tuple[str, ...]:
        """The keys that are read."""
        return self.keys or (self.name,)


def keys_of(fields: Iterable[Field]) -> frozenset[str]:
    """Every key of an object with these fields, in all dialects; of nested fields the outer key."""
    return frozenset(key.partition(".")[0] for field in fields for key in field.every_key)


def number(
    name: str,
    unit: str,
    doc: str,
    *,
    default: float | None = None,
    role: Role = Role.NUMBER,
    shape: str = "number",
    least: float | None = None,
    above: float | None = None,
) -> Field:
    """A numeric field of a joint, force or constraint kind; one without a default must be given."""
    return Field(name, doc, shape, role, unit, default, required=default is None, least=least, above=above)


def filled(unit: str, x: str, power: int) -> str:
    """A unit with its placeholders filled in; see `SPRING`.

    Args:
        x: unit of the displacement, "rad" or "m". power: k of the coefficient of x^k, a rate in dampers.
    """
    force = "N" if x == "m" else "N m"
    exponent = f"^{power}" if power > 1 else ""
    parts = [" ".join(word.replace("^k", exponent) for word in part.split() if power or not word.endswith("^k"))
             for part in unit.split("/")]  # fmt: skip
    return "/".join(part for part in parts if part).replace("{x}", x).replace("{f}", force)
