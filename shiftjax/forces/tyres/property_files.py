"""Property files of tyres (`.tir`): lines of `KEY = value`, comments after `$` or `!`, among them the units."""

from __future__ import annotations

import re
from pathlib import Path

from shiftjax.errors import ModelError
from shiftjax.forces.tyres.pacejka import NUMBERS

LINE = re.compile(r"^([A-Z_0-9]+)\s*=\s*(\S.*)$", re.IGNORECASE)
NAMES = {"UNLOADED_RADIUS": "radius", "VXLOW": "low_speed", "LFZ0": "lfzo"}  # where a field has another name
LENGTHS = {
    "meter": 1.0,
    "m": 1.0,
    "mm": 1e-3,
    "millimeter": 1e-3,
    "cm": 1e-2,
    "km": 1e3,
    "foot": 0.3048,
    "inch": 0.0254,
}
FORCE_UNITS = {
    "newton": 1.0,
    "n": 1.0,
    "kn": 1e3,
    "kilonewton": 1e3,
    "kg_force": 9.80665,
    "pound_force": 4.4482216152605,
}
TIMES = {"second": 1.0, "sec": 1.0, "s": 1.0, "millisecond": 1e-3, "minute": 60.0}
SCALED = {  # powers of length, force and time of numbers that have units
    "radius": (1, 0, 0), "vertical_stiffness": (-1, 1, 0), "vertical_damping": (-1, 1, 1), "fnomin": (0, 1, 0),
    "longvl": (1, 0, -1), "low_speed": (1, 0, -1),
}  # fmt: skip


def tyre_numbers(path: str | Path) -> dict[str, float]:
    """The numbers of a force `pacejka_tyre`, in SI, of a property file in the format PAC2002.

    Args:
        path: of a `.tir` file.

    Returns:
        field -> number, as `AssemblyBuilder.force` takes them; what the file says beside them is left out.

    Raises:
        ModelError: no such file, another format, units or numbers that cannot be read.
    """
    try:
        text = Path(path).read_text(encoding="utf-8", errors="replace")
    except OSError as error:
        raise ModelError(f"{path}", "nothing that can be read", "a .tir file", f"{error.strerror}: check it.") from None
    entries = dict(_entries(text))
    format_ = entries.get("PROPERTY_FILE_FORMAT", "").upper()
    if format_ != "PAC2002":
        raise ModelError(f"{path}: PROPERTY_FILE_FORMAT", repr(format_), "'PAC2002'", "Use a file of that format.")
    sizes = (
        _factor(path, entries, "LENGTH", LENGTHS),
        _factor(path, entries, "FORCE", FORCE_UNITS),
        _factor(path, entries, "TIME", TIMES),
    )
    fields = {field.name: field for field in NUMBERS}
    out: dict[str, float] = {}
    for key, value in entries.items():
        name = NAMES.get(key, key.lower())
        if name not in fields:
            continue
        try:
            number = float(value)
        except ValueError:
            raise ModelError(f"{path}: {key}", repr(value[:60]), "a number", "Correct it.") from None
        for size, power in zip(sizes, SCALED.get(name, (0, 0, 0)), strict=True):
            number *= size**power
        out[name] = number
    lacking = [name for name, field in fields.items() if field.required and name not in out]
    if lacking:
        raise ModelError(f"{path}", f"no {', '.join(lacking)}", "a whole file", "Add what is missing.")
    return out


def _entries(text: str) -> list[tuple[str, str]]:
    """Key and value of every line that has them, without quotes and comments."""
    out = []
    for line in text.splitlines():
        plain = re.split(r"[$!]", line, maxsplit=1)[0].strip()
        if match := LINE.match(plain):
            out.append((match[1].upper(), match[2].strip().strip("'\"").strip()))
    return out


def _factor(path: str | Path, entries: dict[str, str], key: str, known: dict[str, float]) -> float:
    word = entries.get(key, next(iter(known))).lower()
    if word not in known:
        raise ModelError(f"{path}: {key}", repr(word), f"one of {', '.join(known)}", "Write one of these.")
    return known[word]
