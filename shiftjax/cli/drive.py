"""`--drive JOINT=MOTION`: a constant speed, or the name of a motion with its numbers in brackets.

`crank=3`, `crank=harmonic(amplitude=0.3, frequency=2)`, `crank=polynomial(coefficients=[0, 1, 2])`,
`crank=table(times=[0, 1, 2], values=[0, 1, 0], outside=hold)`, `crank=table(file=cam.csv)`, a file of lines "time,
value". Angles in rad, lengths in m, times in s.
"""

from __future__ import annotations

import re
from dataclasses import MISSING, fields
from pathlib import Path
from typing import Any

from shiftjax.constraints.drives import TYPES, ConstantSpeed, Drive
from shiftjax.ensembles.spec import split_assignment
from shiftjax.errors import ModelError, nearest
from shiftjax.formats.units import split_quantity, unit_in_si

_CALL = re.compile(r"\s*(\w+)\s*\((.*)\)\s*", re.DOTALL)
_PART = re.compile(r"\s*(\w+)\s*=\s*(\[[^\]]*\]|[^,\[\]]*?)\s*(?:,|$)")
LISTS, WORDS = ("coefficients", "times", "values"), ("outside", "file")


def parse_drive(text: str) -> tuple[str, Drive]:
    """The joint and its motion.

    Raises:
        ModelError: no such motion, keys that it does not have or that are missing, things that are no numbers.
    """
    joint, motion = split_assignment(text, "--drive")
    where, call = f"--drive {joint}", _CALL.fullmatch(motion)
    if call is None:
        return joint, ConstantSpeed(_number(motion, where))
    if call[1] not in TYPES:
        todo = nearest(call[1], TYPES) or "Choose one of these, or give a constant speed."
        raise ModelError(where, f"the motion {call[1]!r}", ", ".join(TYPES), todo)
    return joint, _made(call[1], _parts(call[2], where), where)


def _parts(text: str, where: str) -> dict[str, str]:
    """key=value, key=[...] by key."""
    found: dict[str, str] = {}
    at = 0
    while text[at:].strip():
        match = _PART.match(text, at)
        if match is None:
            raise ModelError(where, repr(text[at:].strip()[:60]), "key=value, ...", "Write it like amplitude=0.3.")
        if match[1] in found:
            raise ModelError(where, f"{match[1]} twice", "each key once", "Leave one of them out.")
        found[match[1]] = match[2]
        at = match.end()
    return found


def _made(type_: str, parts: dict[str, str], where: str) -> Drive:
    known = {field.name: field for field in fields(TYPES[type_])}
    keys = [*known, "file"] if type_ == "table" else list(known)
    for key in parts:
        if key not in keys:
            raise ModelError(where, f"{key!r} in {type_}", ", ".join(keys), nearest(key, keys) or "Leave it out.")
    values: dict[str, Any] = {key: _value(key, text, f"{where}.{key}") for key, text in parts.items()}
    if "file" in values:
        columns = _columns(values.pop("file"), f"{where}.file")
        if values.keys() & columns.keys():
            raise ModelError(where, "a file, and times or values", "one of them", "Leave one out.")
        values |= columns
    missing = [name for name, field in known.items() if field.default is MISSING and name not in values]
    if missing:
        raise ModelError(where, f"{type_} without {', '.join(missing)}", ", ".join(keys), "Add it.")
    try:
        return TYPES[type_](**values)
    except ModelError as error:
        place = error.where.partition(".")[2]
        raise ModelError(f"{where}.{place}", error.found, error.allowed, error.todo) from None


def _value(key: str, text: str, where: str) -> Any:
    if key in WORDS:
        return text
    if key not in LISTS:
        return _number(text, where)
    if not (text.startswith("[") and text.endswith("]")):
        raise ModelError(where, repr(text[:60]), "a list", "Write it like [0, 1, 2].")
    return [_number(part, where) for part in text[1:-1].split(",") if part.strip()]


def _columns(name: str, where: str) -> dict[str, list[float]]:
    """Times and values of a file of lines: two numbers, with a comma or blanks between; # begins a remark."""
    try:
        lines = Path(name).read_text(encoding="utf-8").splitlines()
    except (OSError, UnicodeDecodeError) as error:
        raise ModelError(where, f"{name!r}: {error}", "a text file", "Correct the name.") from None
    rows = [line.partition("#")[0].replace(",", " ").split() for line in lines]
    for k, row in enumerate(rows, 1):
        if len(row) not in (0, 2):
            raise ModelError(f"{where}, line {k}", f"{len(row)} numbers", "time and value", "Write two columns.")
    both = [[_number(text, f"{where}, line {k}") for text in row] for k, row in enumerate(rows, 1) if row]
    return {"times": [row[0] for row in both], "values": [row[1] for row in both]}


def _number(text: str, where: str) -> float:
    """A number in SI, as 3, or 30deg, or 60rpm."""
    value, unit = split_quantity(text, where)
    return value * unit_in_si(unit, where)[0]
