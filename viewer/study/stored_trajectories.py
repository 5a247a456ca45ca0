"""Trajectories in a store: poses and channels of the members that were kept, read when they are asked for."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import xarray as xr

from shiftjax.viewer.study.store_columns import by_path, clock_of, numbers_in


class StoredTrajectories:
    """What was stored of motions.

    Attributes:
        time: (n,) stored instants [s], or the parameter of a path of poses, as `clock_of` plays it.
        bodies: paths of the bodies, in the order of their poses; empty where no pose was stored.
        members: (K,) the members that have a row; they have channels where there are no poses.
        channels: path -> unit of what was recorded.
    """

    def __init__(self, dataset: xr.Dataset) -> None:
        self.members = numbers_in(dataset["member"]).astype(np.int64)
        self.time = clock_of(numbers_in(dataset["time"]).astype(float))
        self.bodies = tuple(str(body) for body in dataset["body"].values)
        self._dataset, self._pose = dataset, dataset["pose"]
        self._names = by_path(dataset, {"pose"})
        self.channels = {path: str(dataset[name].attrs["units"]) for path, name in self._names.items()}
        self._order = np.argsort(self.members)

    def poses(self, members: Sequence[int] | np.ndarray) -> np.ndarray:
        """(k, n, bodies, 7) of members that have a row, in one read: a chunk may hold many of them."""
        return numbers_in(self._pose.isel(member=self._rows(members))).astype(float)

    def started(self, members: np.ndarray) -> np.ndarray:
        """(k,) whether a body of a member has a pose at the first instant."""
        first = numbers_in(self._pose.isel(member=self._rows(members), time=slice(0, 1)))
        return np.any(np.all(np.isfinite(first), axis=3), axis=(1, 2))

    def channel(self, path: str, member: int) -> np.ndarray:
        """(n, ...) a channel of a member that has a row."""
        return numbers_in(self._dataset[self._names[path]][self._rows([member])[0]])

    def _rows(self, members: Sequence[int] | np.ndarray) -> np.ndarray:
        return self._order[np.searchsorted(self.members, members, sorter=self._order)]
