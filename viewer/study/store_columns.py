"""Columns of a store: one number of every member, what was varied and what was measured, read on first use."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

import numpy as np
import xarray as xr

from shiftjax.errors import ModelError
from shiftjax.measures.aims import aim_in


class Columns(Mapping[str, np.ndarray]):
    """Name -> (members,) array, read from the store on first use; xarray caches it."""

    def __init__(self, dataset: xr.Dataset, variables: Mapping[str, str]) -> None:
        self._dataset, self._variables = dataset, variables
        self._whole: set[str] = set()  # those that were read
        self._entries: dict[tuple[str, int], float] = {}  # of others

    def __getitem__(self, name: str) -> np.ndarray:
        self._whole.add(name)
        return numbers_in(self._dataset[self._variables[name]])

    def of(self, name: str, member: int) -> float:
        """One number; a column that was not read yet is not read whole for it."""
        if name in self._whole:
            return float(self[name][member])
        if (name, member) not in self._entries:
            self._entries[name, member] = float(numbers_in(self._dataset[self._variables[name]][member])[()])
        return self._entries[name, member]

    def __iter__(self) -> Iterator[str]:
        return iter(self._variables)

    def __len__(self) -> int:
        return len(self._variables)

    def unit(self, name: str) -> str:
        return str(self._dataset[self._variables[name]].attrs.get("units", "1"))


def variables_of(members: xr.Dataset) -> tuple[dict[str, str], dict[str, str]]:
    """Name -> name in the store of what is varied, and of metrics with the certificate behind them."""
    design: dict[str, str] = {}
    metrics: dict[str, str] = {}
    certificate: dict[str, str] = {}
    for path, name in by_path(members, {"status", "message", "events"}).items():
        about = members[name].attrs
        if about.get("role") == "metric" or "metric" in about:
            metrics[path] = name
        elif "path" in about:
            design[path] = name
        else:
            certificate[path] = name
    return design, metrics | dict(sorted(certificate.items()))


def senses_in(members: xr.Dataset) -> dict[str, str]:
    """Metric -> which of its values are good, of those of which the store says so."""
    stated = {path: aim_in(members[name].attrs).good for path, name in by_path(members, set()).items()}
    return {path: good for path, good in stated.items() if good}


def by_path(dataset: xr.Dataset, without: set[str]) -> dict[str, str]:
    """Path -> name in the store, which differs for long names and those with a slash."""
    return {str(v.attrs.get("path", n)): str(n) for n, v in dataset.data_vars.items() if n not in without}


def numbers_in(array: xr.DataArray) -> np.ndarray:
    """The numbers of a stored array, read-only; ModelError where they cannot be read."""
    try:
        values = np.asarray(array.values)
    except (OSError, ValueError, RuntimeError) as error:
        raise ModelError(
            str(array.name), f"numbers that cannot be read ({error})", "a whole store", "Run again."
        ) from None
    values = values.view()
    values.flags.writeable = False
    return values


def clock_of(instants: np.ndarray) -> np.ndarray:
    """(n,) what is shown as time: the instants, or the numbers of the poses of a path whose parameter does not rise."""
    return instants if (np.diff(instants) > 0.0).all() else np.arange(len(instants), dtype=float)
