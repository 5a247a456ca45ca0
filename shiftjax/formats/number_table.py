"""A table of numbers in a CSV file: a heading of names, and a number under each in every line. Host code."""

from __future__ import annotations

import csv
from pathlib import Path

import numpy as np

from shiftjax.errors import ModelError


def csv_columns(path: Path, where: str, names_of: str = "paths of numbers") -> dict[str, np.ndarray]:
    """column -> (n,) float64 values, in the order of the file; nothing where it has no line of numbers.

    Args:
        where: what names the file, for errors. names_of: what its columns are called by.

    Raises:
        ModelError: names that are not different, something that is no number.
    """
    with path.open(newline="", encoding="utf-8-sig") as file:
        reader = csv.reader(file, skipinitialspace=True)
        names = [name.strip() for name in next(reader, [])]
        need_different(names, path, where, names_of)
        lines = reader.line_num
        empty = not any(field.strip() for line in reader for field in line)
    if empty:
        return {}
    try:
        # without `max_rows`, for which NumPy makes room at once, 37 GiB for 50 columns; a "#" hides no line
        values = np.loadtxt(
            path, delimiter=",", skiprows=lines, ndmin=2, encoding="utf-8-sig", quotechar='"', comments=None
        )
    except ValueError as error:
        raise ModelError(where, f"{path.name}: {error}", "a number at every place", "Correct it there.") from None
    if values.shape[1] != len(names):
        fault = f"{values.shape[1]} numbers a line under {len(names)} names in {path.name}"
        raise ModelError(where, fault, "as many as there are names", "Correct the file.")
    return dict(zip(names, np.ascontiguousarray(values.T), strict=True))


def need_different(names: list[str], path: Path, where: str, names_of: str = "paths of numbers") -> None:
    """Raises for columns without a name, or with the same one."""
    if not names or not all(names) or len(set(names)) < len(names):
        fault = f"the names {', '.join(map(repr, names))[:120]} in {path.name}"
        raise ModelError(where, fault, f"different {names_of}", "Name every column once.")


def named_columns(path: str, values: np.ndarray, unit: str) -> dict[str, np.ndarray]:
    """(n,) or (n, ...) values -> one column for every number of a line, with its unit in the head."""
    flat = values.reshape(len(values), -1)
    if values.ndim == 1:
        return {f"{path} [{unit}]": flat[:, 0]}
    return {f"{path}[{k}] [{unit}]": flat[:, k] for k in range(flat.shape[1])}
