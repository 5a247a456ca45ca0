"""Stores of small studies with metrics, for tests of what is made of them."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
import xarray as xr

from shiftjax.ensembles.store.folders import WrittenFolder, encoding
from shiftjax.run.results.labelled import ORDER, to_tree
from shiftjax.run.results.result import Result

Metric = tuple[np.ndarray, str, str]  # values, unit, expression


def with_metrics(result: Result, metrics: Mapping[str, Metric], keep: int | str = "all") -> xr.DataTree:
    """The tree of a result with metrics as further columns of its members."""
    tree = to_tree(result, keep)
    members = tree["members"].to_dataset()
    for name, (values, unit, expression) in metrics.items():
        members[name] = ("member", np.asarray(values, np.float64), {"units": unit, "metric": expression})
    members.attrs[ORDER] = [str(name) for name in members.data_vars]
    return xr.DataTree.from_dict({**tree.to_dict(), "/members": members})


def written(tree: xr.DataTree, path: Path) -> Path:
    """A tree as a store on disk."""
    options: dict[str, Any] = {"zarr_format": 3, "consolidated": False, "encoding": encoding(tree)}
    tree.to_zarr(WrittenFolder(path), **options)
    return path
