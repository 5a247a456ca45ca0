"""Property files of tyres (`.tir`): lines of `KEY = value`, comments after `$` or `!`, among them the units."""

from __future__ import annotations

import math
import re
from pathlib import Path

from shiftjax.errors import ModelError
from shiftjax.forces.tyres.pacejka import NUMBERS
from shiftjax.height_fields import SURFACE

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


MOST = 1_000_000  # bytes; those in the wild have some 10 000


def tyre_numbers(path: str | Path) -> dict[str, float]:
    """The numbers of a force `pacejka_tyre`, in SI, of a property file in the format PAC2002.

    Args:
        path: of a `.tir` file.

    Returns:
        field -> number, as `AssemblyBuilder.force` takes them; what the file says beside them is left out.

    Raises:
        ModelError: no such file, another format, units or numbers that cannot be read.
    """
    return PropertyFile(path).pacejka()


class PropertyFile:
    """A property file in the format PAC2002.

    Raises:
        ModelError: as of `tyre_numbers`.
    """

    def __init__(self, path: str | Path) -> None:
        self.path, self.name = path, Path(path).name
        try:
            if (size := Path(path).stat().st_size) > MOST:
                raise ModelError(f"{path}", f"{size} bytes", f"at most {MOST}", "Is this a property file of a tyre?")
            text = Path(path).read_text(encoding="utf-8", errors="replace")
        except OSError as error:
            fault, todo = "nothing that can be read", f"{error.strerror}: check it."
            raise ModelError(f"{path}", fault, "a .tir file", todo) from None
        self._entries = dict(_entries(text))
        format_ = self._entries.get("PROPERTY_FILE_FORMAT")
        if format_ is None:
            allowed = "the format PAC2002: lines KEY = value, among them PROPERTY_FILE_FORMAT = 'PAC2002'"
            todo = "Coefficients by other names, as p_Cx1, are not read: write them by those of PAC2002, as PCX1."
            raise ModelError(f"{path}", "no PROPERTY_FILE_FORMAT", allowed, todo)
        if format_.upper() != "PAC2002":
            raise ModelError(f"{path}: PROPERTY_FILE_FORMAT", repr(format_[:60]), "'PAC2002'", "Use such a file.")

    def pacejka(self) -> dict[str, float]:
        """The numbers of a force `pacejka_tyre`, in SI, by field."""
        sizes = tuple(
            self._factor(key, known) for key, known in (("LENGTH", LENGTHS), ("FORCE", FORCE_UNITS), ("TIME", TIMES))
        )
        fields = {field.name: field for field in NUMBERS if field not in SURFACE}
        out: dict[str, float] = {}
        for key in self._entries:
            name = NAMES.get(key, key.lower())
            if name not in fields:
                continue
            number = self._number(key)
            for size, power in zip(sizes, SCALED.get(name, (0, 0, 0)), strict=True):
                number *= size**power
            out[name] = number
        lacking = [name for name, field in fields.items() if field.required and name not in out]
        if lacking:
            raise ModelError(f"{self.path}", f"no {', '.join(lacking)}", "a whole file", "Add what is missing.")
        return out

    def relaxation(self) -> dict[str, float] | None:
        """The relaxation lengths [m] at the nominal load of an upright wheel; None where the file has none.

        There dfz = 0, Fz = lfzo fnomin, and the formulas of Pacejka (2002, section 4.3.2) are
        sigma_kappa = Fz ptx1 R0 / fnomin and sigma_alpha = pty1 sin(2 atan(Fz / (pty2 lfzo fnomin))) R0 lfzo.
        """
        n = {
            key: self._number(key, scaling=key[0] == "L") for key in ("PTX1", "PTY1", "PTY2", "LFZO", "LSGKP", "LSGAL")
        }
        if not n["PTX1"] or not n["PTY1"] or not n["PTY2"]:
            return None
        reach = self._number("UNLOADED_RADIUS") * self._factor("LENGTH", LENGTHS) * n["LFZO"]
        return {
            "relaxation_x": n["PTX1"] * reach * n["LSGKP"],
            "relaxation_y": n["PTY1"] * math.sin(2.0 * math.atan(1.0 / n["PTY2"])) * reach * n["LSGAL"],
        }

    def _number(self, key: str, *, scaling: bool = False) -> float:
        """A number as it stands; where it is left out 1 for a scaling factor, else 0."""
        text = self._entries.get(key, "1" if scaling else "0")
        try:
            return float(text)
        except ValueError:
            raise ModelError(f"{self.path}: {key}", repr(text[:60]), "a number", "Correct it.") from None

    def _factor(self, key: str, known: dict[str, float]) -> float:
        word = self._entries.get(key, next(iter(known))).lower()
        if word not in known:
            raise ModelError(
                f"{self.path}: {key}", repr(word[:60]), f"one of {', '.join(known)}", "Write one of these."
            )
        return known[word]


def _entries(text: str) -> list[tuple[str, str]]:
    """Key and value of every line that has them, without quotes and comments."""
    out = []
    for line in text.splitlines():
        plain = re.split(r"[$!]", line, maxsplit=1)[0].strip()
        if match := LINE.match(plain):
            out.append((match[1].upper(), match[2].strip().strip("'\"").strip()))
    return out
