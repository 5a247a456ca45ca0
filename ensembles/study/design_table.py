"""A table of designs as a file: CSV or Parquet, a column a number path, a line a design. Host only, no jax."""

from __future__ import annotations

from collections.abc import Callable
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy as np

from shiftjax.errors import ModelError
from shiftjax.formats.number_table import csv_columns, need_different


def columns(path: Path, where: str) -> dict[str, np.ndarray]:
    """column -> (n,) finite float64 values, in the order of the file.

    Args:
        where: the key that names the file, for errors.

    Raises:
        ModelError: no such file, another suffix, no pyarrow, columns that are not different, no lines, no numbers.
    """
    suffix = path.suffix.lower()
    if suffix not in READ:
        raise ModelError(where, f"suffix {path.suffix!r}", ", ".join(READ), "Save the table as one of these.")
    if not path.is_file():
        raise ModelError(where, f"no file {path}", "a table of designs", "Check the name; it is relative to the study.")
    try:
        designs = READ[suffix](path, where)
    except (OSError, UnicodeDecodeError) as error:
        raise ModelError(where, f"{path.name}: {error}", "a file that can be read", "Check it.") from None
    if not designs or not len(next(iter(designs.values()))):
        raise ModelError(where, f"{path.name} without designs", "a heading and lines", "Add what is to be run.")
    for name, values in designs.items():
        bad = np.flatnonzero(~np.isfinite(values))
        if len(bad):
            here = f"{path.name}, column {name!r}, design {bad[0]}"
            raise ModelError(where, f"{values[bad[0]]} in {here}", "finite numbers", "Correct it, or leave it out.")
    return designs


def _parquet(path: Path, where: str) -> dict[str, np.ndarray]:
    if find_spec("pyarrow") is None:
        raise ModelError(where, "no pyarrow", "pyarrow installed", "pip install pyarrow, or save the table as .csv.")
    import pyarrow
    import pyarrow.parquet

    try:
        table: Any = pyarrow.parquet.read_table(path)
    except pyarrow.ArrowException as error:
        raise ModelError(where, f"{path.name}: {str(error)[:200]}", "a Parquet file", "Save it once more.") from None
    need_different(table.column_names, path, where)
    columns: dict[str, np.ndarray] = {}
    for name in table.column_names:
        try:
            columns[name] = np.asarray(table[name].cast(pyarrow.float64()).to_numpy(), float)
        except pyarrow.ArrowException:
            kind = f"{table[name].type} in column {name!r} of {path.name}"
            raise ModelError(where, kind, "numbers", "Leave the column out.") from None
    return columns


READ: dict[str, Callable[[Path, str], dict[str, np.ndarray]]] = {".csv": csv_columns, ".parquet": _parquet}
