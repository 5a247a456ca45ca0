"""The words of a study of workspaces: its table `[workspace]`, as the arguments of `workspace`. Host only, no jax."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from shiftjax.errors import ModelError, nearest, need, need_count, need_mapping, need_number, shown
from shiftjax.quantities import in_si

COORDINATES = "coordinates"
EXAMPLE = '[workspace] with coordinates = "tool"'
NUMBER = {"anyOf": [{"type": "number"}, {"type": "string"}]}
COUNT = {"type": "integer", "minimum": 0}
TEXT = {"type": "string"}
SCHEMA = {
    "type": "object",
    "additionalProperties": False,
    "required": [COORDINATES],
    "properties": {
        COORDINATES: {"anyOf": [TEXT, {"type": "array", "items": TEXT, "minItems": 2, "maxItems": 3}]},
        "box": {"type": "array", "minItems": 2, "maxItems": 3,
                "items": {"type": "array", "items": NUMBER, "minItems": 2, "maxItems": 2}},
        "points": {"anyOf": [COUNT, {"type": "array", "items": COUNT}]},
        "stops": {"type": "boolean"}, "inscribed": {"type": "boolean"}, "orientations": COUNT,
        "searched": {"type": "integer", "minimum": 1},
    },
}  # fmt: skip
KEYS = tuple(SCHEMA["properties"])


def space_of(words: Any, where: str = "workspace") -> dict[str, Any]:
    """Keywords of `workspace`, numbers in SI.

    Raises:
        ModelError: what is no such table.
    """
    need_mapping(where, words)
    for name in words:
        if name not in KEYS:
            raise ModelError(
                f"{where}.{name}", "an unknown key", ", ".join(KEYS), nearest(name, KEYS) or "Leave it out."
            )
    if COORDINATES not in words:
        raise ModelError(where, shown(dict(words)), f"a table with {COORDINATES}", f"Write {EXAMPLE}.")
    return {name: _value(name, value, f"{where}.{name}") for name, value in words.items()}


def _value(name: str, value: Any, where: str) -> Any:
    if name == COORDINATES:
        return _coordinates(value, where)
    if name == "box":
        return _box(value, where)
    if name in ("stops", "inscribed"):
        need(where, value, bool, "true or false")
    elif name == "points" and isinstance(value, list | tuple):
        for k, one in enumerate(value):
            need_count(f"{where}[{k}]", one, 0)
    else:
        need_count(where, value, 1 if name == "searched" else 0)
    return list(value) if isinstance(value, tuple) else value


def _coordinates(value: Any, where: str) -> str | list[str]:
    every = [value] if isinstance(value, str) else value
    if not isinstance(every, list | tuple) or not every or not all(isinstance(one, str) and one for one in every):
        allowed = "a frame, or a list of two or three of FRAME.x, FRAME.y, FRAME.z and coordinates of joints"
        raise ModelError(where, shown(value), allowed, f"Write {EXAMPLE}.")
    return value if isinstance(value, str) else list(every)


def _box(value: Any, where: str) -> list[tuple[float, float]]:
    example = 'Write [[-1, 1], ["-800 mm", 1]], a pair for each coordinate.'
    if not isinstance(value, list | tuple):
        raise ModelError(where, shown(value), "a list of pairs", example)
    box: list[tuple[float, float]] = []
    for k, ends in enumerate(value):
        at = f"{where}[{k}]"
        if not isinstance(ends, list | tuple) or len(ends) != 2:
            raise ModelError(at, shown(ends), "a lower and an upper end", example)
        low, high = (_number(end, f"{at}[{i}]") for i, end in enumerate(ends))
        box.append((low, high))
    return box


def _number(value: Any, where: str) -> float:
    if isinstance(value, str):
        return in_si(value, None, where)
    need_number(where, value, "a finite number, or a text with its unit")
    return float(value)


def refuse_other_units(words: Mapping[str, Any], units: Sequence[str]) -> None:
    """Raises for ends of a box that are not of the coordinates' units."""
    for k, (ends, unit) in enumerate(zip(words.get("box") or (), units, strict=False)):
        for i, end in enumerate(ends):
            if isinstance(end, str):
                in_si(end, unit, f"workspace.box[{k}][{i}]")


def without_grid(words: Mapping[str, Any]) -> bool:
    """Whether no grid is asked for."""
    return words.get("box") is None
