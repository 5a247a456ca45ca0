"""The members of a stored study as a table for other programs (CSV, Parquet), or the whole store as NetCDF.

CSV: one line a member, the unit in the head (`coupler.mass [kg]`), numbers with all their digits, the status by name.
Parquet: the same columns, unit, role and expression of each in its field's metadata; the model, the settings and the
study in the table's. NetCDF: the groups, variables and attributes of the store, without compression of texts.
Rows are read and written in pieces, so that a million members need no more memory than one piece.
"""

from __future__ import annotations

import csv
from collections.abc import Iterator
from importlib.util import find_spec
from pathlib import Path

import numpy as np
import xarray as xr

from shiftjax.ensembles.store.members import variables
from shiftjax.ensembles.store.replacing import clean, refuse_unwritable, replacing, taken
from shiftjax.errors import ModelError, installing
from shiftjax.outcome import Outcome
from shiftjax.record import record
from shiftjax.run.results.labelled import NAME_BYTES, disk_name

SUFFIXES = {".csv": (), ".parquet": ("pyarrow",), ".nc": ("netCDF4",)}  # and what each needs
PIECE = 1 << 16  # members


@record
class TableField:
    """A column of the table that is written."""

    name: str
    unit: str
    role: str
    about: str
    array: xr.DataArray


def check_target(path: str | Path, suffix: str, *, force: bool) -> Path:
    """The place of a file that is to be written.

    Raises:
        ModelError: another suffix, a missing package, no such folder, something of that name.
    """
    target = Path(path)
    if target.suffix.lower() != suffix:
        raise ModelError(str(path), f"suffix {target.suffix!r}", suffix, f"Write NAME{suffix}.")
    for package in SUFFIXES.get(suffix, ()):
        if find_spec(package) is None:
            lacking, allowed = f"no Python package {package!r}", "the packages of reports"
            raise ModelError(str(path), lacking, allowed, installing("report"))
    if not target.absolute().parent.is_dir():
        raise ModelError(str(path), "no such folder", "a folder that exists", f"Make {target.parent} first.")
    refuse_unwritable(target)
    clean(target)
    if target.is_dir() or (target.exists() and not force):
        raise taken(target)
    return target


def export(tree: xr.DataTree, path: str | Path, *, force: bool = False) -> Path:
    """Writes a table, or the whole tree, by the suffix of the path: .csv, .parquet, .nc.

    Args:
        tree: of `store.read`.
        path: of the file.
        force: replace what is there.

    Raises:
        ModelError: a place that cannot be written, a missing package.
    """
    suffix = Path(path).suffix.lower()
    if suffix not in SUFFIXES:
        raise ModelError(str(path), f"suffix {suffix!r}", ", ".join(SUFFIXES), "The suffix decides the format.")
    target = check_target(path, suffix, force=force)
    save = {".csv": _write_csv, ".parquet": _write_parquet, ".nc": _write_netcdf}[suffix]
    with replacing(target, force=force) as draft:
        save(tree, draft)
    return target


def fields(tree: xr.DataTree) -> list[TableField]:
    """The columns in the order of a member's story: number, design, metrics, certificate, status, message."""
    number = tree["members"].to_dataset()["member"]
    columns = [TableField("member", "1", "member", "", number)]
    for name, role, array in variables(tree):
        if array.ndim == 1:
            about = str(array.attrs.get("metric", ""))
            columns.append(TableField(name, str(array.attrs.get("units", "1")), role, about, array))
    return columns


def pieces(every: list[TableField]) -> Iterator[list[np.ndarray]]:
    """The columns of `PIECE` members at a time; statuses by name."""
    names = {int(outcome): outcome.name for outcome in Outcome}
    for first in range(0, every[0].array.size, PIECE):
        part = [np.asarray(field.array[first : first + PIECE].values) for field in every]
        yield [
            np.array([names[int(s)] for s in values], object) if field.role == "status" else values
            for field, values in zip(every, part, strict=True)
        ]


def _write_csv(tree: xr.DataTree, path: Path) -> None:
    every = fields(tree)
    with path.open("w", newline="", encoding="utf-8") as file:
        out = csv.writer(file)
        bare = ("member", "status", "message", "events", "switch")
        out.writerow([f.name if f.role in bare else f"{f.name} [{f.unit}]" for f in every])
        for part in pieces(every):
            out.writerows(zip(*(values.tolist() for values in part), strict=True))


def _write_parquet(tree: xr.DataTree, path: Path) -> None:
    import pyarrow as pa
    from pyarrow import parquet

    every = fields(tree)
    about = {key: str(value) for key, value in tree.attrs.items()}
    writer = None
    try:
        for part in pieces(every):
            arrays = [
                pa.array(values.tolist() if values.dtype == object else values) for values in part
            ]  # texts of zarr are objects
            if writer is None:
                described = [
                    pa.field(f.name, a.type, metadata={"units": f.unit, "role": f.role, "metric": f.about})
                    for f, a in zip(every, arrays, strict=True)
                ]
                schema = pa.schema(described, metadata=about)
                writer = parquet.ParquetWriter(path, schema)
            writer.write_table(pa.Table.from_arrays(arrays, schema=schema))
    finally:
        if writer is not None:
            writer.close()


def _write_netcdf(tree: xr.DataTree, path: Path) -> None:
    def plain(dataset: xr.Dataset) -> xr.Dataset:
        taken: set[str] = set()
        names = {name: disk_name(str(name), taken) for name in dataset.variables if name not in dataset.dims}
        renamed = dataset.rename({old: new for old, new in names.items() if len(str(old).encode()) > NAME_BYTES})
        return renamed.drop_encoding()  # chunks and codecs are Zarr's

    groups = {node.path: plain(node.to_dataset(inherit=False)) for node in tree.subtree}
    xr.DataTree.from_dict(groups).to_netcdf(path, engine="netcdf4", format="NETCDF4")
