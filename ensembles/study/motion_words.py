"""The words of a motion, of `--drive JOINT=MOTION` and of a study's `[drive]`.

A constant speed, `3`, or the name of a motion with its numbers in brackets: `harmonic(amplitude=0.3, frequency=2)`,
`polynomial(coefficients=[0, 1, 2])`, `table(times=[0, 1, 2], values=[0, 1, 0], outside=hold)`, `table(file=cam.csv)`, a
file of lines "time, value"; `acceleration_table(times=[0, 1], accelerations=[0, 3])`. Of a ball or floating joint
`pose_harmonic(frequency=2, rotation_amplitude=[0, 0, 0.1])`, `pose_uniform(...)`, `pose_table(times=[0, 1],
rotations=[[0, 0, 0], [0, 0, 1]])`, `pose_table(file=poses.csv)`, a file of lines "time, place, orientation". Angles in
rad, lengths in m, times in s.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import MISSING, fields
from pathlib import Path
from typing import Any

from shiftjax.constraints.drives import LISTS, ConstantSpeed, Drive
from shiftjax.constraints.pose_drives import MOTIONS, NUMBERS, POSE_TYPES, ROWS, PoseDrive
from shiftjax.ensembles.study.spec import split_assignment
from shiftjax.errors import ModelError, nearest, need, need_number, one_of
from shiftjax.quantities import in_si

_CALL = re.compile(r"\s*(\w+)\s*\((.*)\)\s*", re.DOTALL)
_ROW = r"\[[^\[\]]*\]"
_PART = re.compile(rf"\s*(\w+)\s*=\s*(\[(?:[^\[\]]|{_ROW})*\]|[^,\[\]]*?)\s*(?:,|$)")
_ITEM = re.compile(rf"\s*({_ROW}|[^,\[\]]+?)\s*(?:,|$)")
WORDS = ("outside", "file")
VECTORS = {field.name for one in POSE_TYPES.values() for field in fields(one)} - {*LISTS, *ROWS, *NUMBERS, *WORDS}
COLUMNS = {"table": "values", "acceleration_table": "accelerations"}  # of a file beside the times
PLACES, TURNS = (0, 3), (3, 4)  # columns of a file of poses: none or x y z, then a rotation vector or a quaternion


def parse_drive(text: str) -> tuple[str, Drive | PoseDrive]:
    """The joint and its motion.

    Raises:
        ModelError: no such motion, keys that it does not have or that are missing, things that are no numbers.
    """
    joint, words = split_assignment(text, "--drive")
    return joint, motion(words, f"--drive {joint}")


def motion(words: str | float | Mapping[str, Any], where: str, folder: Path | None = None) -> Drive | PoseDrive:
    """The motion that words say: a text, a number for a constant speed, or a table of a motion's numbers and its type.

    Args:
        where: the option or key that they stand at, for errors. folder: where the file of a table is looked for.

    Raises:
        ModelError: as `parse_drive`.
    """
    if isinstance(words, Mapping):
        type_ = words.get("type", "")
        one_of(f"{where}.type", type_, MOTIONS)
        return _made(type_, {key: value for key, value in words.items() if key != "type"}, where, folder)
    if not isinstance(words, str):
        need_number(where, words, "a constant speed, a text or a table of a motion")
        return ConstantSpeed(float(words))
    call = _CALL.fullmatch(words)
    if call is None:
        return ConstantSpeed(_number(words, where))
    if call[1] not in MOTIONS:
        todo = nearest(call[1], MOTIONS) or "Choose one of these, or give a constant speed."
        raise ModelError(where, f"the motion {call[1]!r}", ", ".join(MOTIONS), todo)
    return _made(call[1], _parts(call[2], where), where, folder)


def _parts(text: str, where: str) -> dict[str, str]:
    """key=value, key=[...] by key."""
    entries: dict[str, str] = {}
    at = 0
    while text[at:].strip():
        match = _PART.match(text, at)
        if match is None:
            raise ModelError(where, repr(text[at:].strip()[:60]), "key=value, ...", "Write it like amplitude=0.3.")
        if match[1] in entries:
            raise ModelError(where, f"{match[1]} twice", "each key once", "Leave one of them out.")
        entries[match[1]] = match[2]
        at = match.end()
    return entries


def _made(type_: str, parts: Mapping[str, Any], where: str, folder: Path | None) -> Drive | PoseDrive:
    known = {field.name: field for field in fields(MOTIONS[type_])}
    keys = [*known, "file"] if "times" in known else list(known)
    for key in parts:
        if key not in keys:
            raise ModelError(where, f"{key!r} in {type_}", ", ".join(keys), nearest(key, keys) or "Leave it out.")
    values: dict[str, Any] = {key: _value(key, text, f"{where}.{key}") for key, text in parts.items()}
    if "file" in values:
        columns = _columns(values.pop("file"), f"{where}.file", folder or Path(), COLUMNS.get(type_, ""))
        if values.keys() & columns.keys():
            raise ModelError(where, f"a file, and {' or '.join(columns)}", "one of them", "Leave one out.")
        values |= columns
    missing = [name for name, field in known.items() if field.default is MISSING and name not in values]
    if missing:
        raise ModelError(where, f"{type_} without {', '.join(missing)}", ", ".join(keys), "Add it.")
    try:
        return MOTIONS[type_](**values)
    except ModelError as error:
        place = error.where.partition(".")[2]
        raise ModelError(f"{where}.{place}", error.found, error.allowed, error.todo) from None


def _value(key: str, given: Any, where: str) -> Any:
    """The value of a key, from a text or as it stands in a table."""
    if key in WORDS:
        need(where, given, str, "a text")
        return given
    if key in ROWS:
        items = _items(given, where, "[[0, 0, 0], [0, 0, 1]]")
        return [_numbers(row, f"{where}[{k}]", "[0, 0, 1]") for k, row in enumerate(items)]
    if key in LISTS or key in VECTORS:
        return _numbers(given, where, "[0, 1, 2]")
    return _number(given, where)


def _numbers(given: Any, where: str, like: str) -> list[float]:
    return [_number(part, where) for part in _items(given, where, like)]


def _items(given: Any, where: str, like: str) -> list[Any]:
    """The entries of a list, which may be a text in brackets; `like` is one for an error."""
    if isinstance(given, str) and given.startswith("[") and given.endswith("]"):
        given = _ITEM.findall(given[1:-1])
    if not isinstance(given, list | tuple):
        raise ModelError(where, repr(given)[:60], "a list", f"Write it like {like}.")
    return list(given)


def _columns(name: str, where: str, folder: Path, column: str) -> dict[str, Any]:
    """Times, and a column of values of a file of lines: two numbers, a comma or blanks between; # begins a remark.

    Args:
        column: "" for poses: after the time none or three numbers of a place, then a rotation vector or a quaternion.
    """
    try:
        lines = (folder / name).read_text(encoding="utf-8").splitlines()
    except (OSError, UnicodeDecodeError) as error:
        raise ModelError(where, f"{name!r}: {error}", "a text file", "Correct the name.") from None
    texts = [(k, row) for k, line in enumerate(lines, 1) if (row := line.partition("#")[0].replace(",", " ").split())]
    counts = {2: 0} if column else {1 + places + turns: places for places in PLACES for turns in TURNS}
    for k, row in texts:
        if len(row) not in counts or len(row) != len(texts[0][1]):
            allowed = "time and value" if column else "time, perhaps x, y, z, and a rotation vector or quaternion"
            todo = f"Write {' or '.join(map(str, counts))} columns, as many in each line."
            raise ModelError(f"{where}, line {k}", f"{len(row)} numbers", allowed, todo)
    rows = [[_number(text, f"{where}, line {k}") for text in row] for k, row in texts]
    times = {"times": [row[0] for row in rows]}
    if column:
        return {**times, column: [row[1] for row in rows]}
    places = 1 + (counts[len(rows[0])] if rows else 0)
    positions = {"positions": [row[1:places] for row in rows]} if places > 1 else {}
    return {**times, **positions, "rotations": [row[places:] for row in rows]}


def _number(given: Any, where: str) -> float:
    """A number in SI, as 3, or 30deg, or 60rpm."""
    if not isinstance(given, str):
        need_number(where, given, "a finite number")
        return float(given)
    return in_si(given, None, where)
