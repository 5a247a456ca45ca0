"""A tree of datasets as a message holds it: what is no array as JSON, and arrays beside it. No jax."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import xarray as xr

__all__ = ["parts_of", "tree_of"]


def parts_of(tree: xr.DataTree) -> tuple[list[dict[str, Any]], dict[str, np.ndarray]]:
    """Groups of a tree as plain JSON, and its arrays by the names that these have for them."""
    groups, arrays = [], dict[str, np.ndarray]()
    for node in tree.subtree:
        dataset = node.to_dataset(inherit=False)
        variables = []
        for name, values in dataset.variables.items():
            place = f"array{len(arrays)}"
            array = np.asarray(values.values)
            arrays[place] = array.astype(str) if array.dtype == object else array
            about = {"name": str(name), "dims": list(map(str, values.dims)), "attrs": _plain(dict(values.attrs))}
            variables.append({**about, "array": place, "coordinate": name in dataset.coords})
        groups.append({"path": node.path, "attrs": _plain(dict(dataset.attrs)), "variables": variables})
    return groups, arrays


def tree_of(groups: list[dict[str, Any]], arrays: Mapping[str, np.ndarray]) -> xr.DataTree:
    """The tree that `parts_of` took apart."""
    datasets = {}
    for group in groups:
        every = {one["name"]: (one["dims"], arrays[one["array"]], one["attrs"]) for one in group["variables"]}
        coordinates = {one["name"] for one in group["variables"] if one["coordinate"]}
        datasets[group["path"]] = xr.Dataset(
            {name: of for name, of in every.items() if name not in coordinates},
            {name: of for name, of in every.items() if name in coordinates},
            group["attrs"],
        )
    return xr.DataTree.from_dict(datasets)


def _plain(value: Any) -> Any:
    """Attributes without NumPy."""
    if isinstance(value, Mapping):
        return {str(key): _plain(inner) for key, inner in value.items()}
    if isinstance(value, list | tuple):
        return [_plain(inner) for inner in value]
    return value.tolist() if isinstance(value, np.ndarray | np.generic) else value
