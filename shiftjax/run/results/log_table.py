"""The log of repartitions as arrays, one line each, compact and read lazily. Host only, no jax."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import xarray as xr

from shiftjax.run.results.repartition_log import RepartitionLog

NUMBERS = {"time": (np.float64, "s"), "member": (np.int64, "1"), "substructure": (np.int32, "1")}
SIDES = ("old", "new")
LINES = 1 << 17  # of a chunk: 1 MB of times


def log_dataset(log: Sequence[Mapping[str, Any]]) -> xr.Dataset:
    """The entries of `Result.log`: (line,) numbers, and old and new independent coordinates as rows of one table of
    names (set, place), in which "" fills short rows. Jacobians, where they were logged, differ in shape: their entries
    stand row by row in one array, with the numbers of rows and columns of each.
    """
    count, codes = len(log), dict[tuple[str, ...], int]()
    data: dict[str, Any] = {
        name: ("line", values.astype(NUMBERS[name][0]), {"units": NUMBERS[name][1]})
        for name, values in _numbers(log).items()
    }
    for side in SIDES:
        about = {"units": "1", "long_name": f"independent coordinates, {side} ones: a row of independent"}
        data[side] = ("line", _codes(log, side, codes), about)
    places = max(map(len, codes), default=0)
    names = [[*names, *[""] * (places - len(names))] for names in codes]
    data["independent"] = (("set", "place"), np.array(names, object).reshape(len(codes), places), {"units": "1"})
    if count and "jacobian" in log[0]:  # a setting of the run: with all lines or with none
        blocks = [np.array(entry["jacobian"], np.float64) for entry in log]
        for axis, name in enumerate(("jacobian_rows", "jacobian_columns")):
            data[name] = ("line", np.array([block.shape[axis] for block in blocks], np.int32), {"units": "1"})
        data["jacobian"] = ("entry", np.concatenate([block.ravel() for block in blocks]), {"units": "1"})
    dataset = xr.Dataset(data)
    for variable in dataset.data_vars.values():
        if len(variable.dims) == 1:
            variable.encoding["chunks"] = (max(1, min(LINES, variable.size)),)
    return dataset


def _numbers(log: Sequence[Mapping[str, Any]]) -> dict[str, np.ndarray]:
    """Columns of numbers."""
    if isinstance(log, RepartitionLog):
        return {"time": log.time, "member": log.member, "substructure": log.substructure}
    return {name: np.array([entry[name] for entry in log], dtype) for name, (dtype, _) in NUMBERS.items()}


def _codes(log: Sequence[Mapping[str, Any]], side: str, codes: dict[tuple[str, ...], int]) -> np.ndarray:
    """(line,) numbers of the sets of one side; new ones are added to `codes`."""
    if not isinstance(log, RepartitionLog):
        return np.array([codes.setdefault(tuple(entry[side]), len(codes)) for entry in log], np.int32)
    numbers, where = np.unique(log.old if side == "old" else log.new, return_inverse=True)
    known = [codes.setdefault(log.sets[number], len(codes)) for number in numbers]
    return np.array(known, np.int32)[where] if len(known) else np.zeros(0, np.int32)


def entries(tree: xr.DataTree, member: int | None = None) -> list[dict[str, Any]]:
    """The log of a stored result as `Result.log` gave it, of all members or of one.

    Args:
        tree: of `store.read`; also one of format version 1, whose log is a text in the attributes.
    """
    if "log" not in tree.children:
        every = json.loads(tree.attrs["log"])
        return [entry for entry in every if member in (None, entry["member"])]
    data = tree["log"].to_dataset()
    chosen = slice(None) if member is None else np.flatnonzero(data["member"].values == member)
    sets = [[str(name) for name in row if name] for row in data["independent"].values]
    numbers = [data[name].values[chosen].tolist() for name in NUMBERS]
    sides = [[sets[code] for code in data[side].values[chosen]] for side in SIDES]
    lines = [dict(zip((*NUMBERS, *SIDES), line, strict=True)) for line in zip(*numbers, *sides, strict=True)]
    if "jacobian" in data:
        shapes = np.stack([data["jacobian_rows"].values, data["jacobian_columns"].values], axis=1)
        ends, flat = np.cumsum(shapes.prod(axis=1)), data["jacobian"].values
        for entry, end, (m, n) in zip(lines, ends[chosen], shapes[chosen], strict=True):
            entry["jacobian"] = flat[end - m * n : end].reshape(m, n).tolist()
    return lines
