"""The smallest and the largest values that were recorded along a path, taken when they are asked for. Host code."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

import numpy as np


class RecordedExtremes(Mapping[str, np.ndarray]):
    """Channel path -> (B, 2, ...) the smallest and the largest recorded value; NaN where there is none.

    They take as long as a tenth of a four-bar's poses, and few ask.

    Args:
        channels: channel path -> values (B, n, ...). poses: the axis n.
    """

    def __init__(self, channels: Mapping[str, np.ndarray], *, poses: int) -> None:
        self._channels, self._poses = channels, poses
        self._known: dict[str, np.ndarray] = {}

    def __getitem__(self, path: str) -> np.ndarray:
        if path not in self._known:
            values, poses = self._channels[path], self._poses
            self._known[path] = np.stack([np.fmin.reduce(values, poses), np.fmax.reduce(values, poses)], axis=poses)
        return self._known[path]

    def __iter__(self) -> Iterator[str]:
        return iter(self._channels)

    def __len__(self) -> int:
        return len(self._channels)

    def __repr__(self) -> str:
        return repr(dict(self))
