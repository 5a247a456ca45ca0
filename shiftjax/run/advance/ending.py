"""Where the lanes of a run stand at its end, with all that decides how they go on. Host only, no jax."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from shiftjax.kernels.lane_table import LaneTable
from shiftjax.record import record
from shiftjax.topology.partition import Block


@record
class Ending:
    """The lanes of a run that has ended, from which `start=` goes on as if there had been one run.

    Of B members and S substructures. A lane whose last steps were chosen to fit into the span stands before them.

    Attributes:
        program: what code ran, and how: another one cannot take the lanes up.
        t0: when the first run began [s]. steps: since then; all clocks count from there.
        table: without rows of metrics; choice: (S, B) index into blocks[s]; ratio: (S, B) pivot ratio at partition.
        blocks: for every substructure the partitions that occurred.
        counts: (B,) arrays of the ensemble by name: status, warnings, repartitions ...
        samples: (figures, B). watched: (accumulators, B) of what is watched beside the metrics.
    """

    program: tuple[object, ...]
    t0: float
    steps: int
    table: LaneTable
    choice: np.ndarray
    ratio: np.ndarray
    blocks: tuple[tuple[Block, ...], ...]
    counts: dict[str, np.ndarray]
    samples: np.ndarray
    watched: np.ndarray


def end_of(ending: Ending | None, settings: Mapping[str, Any]) -> float:
    """The time at which a run ended [s], by the clock that its lanes go on with, or without one by its settings."""
    if ending is None:
        return settings["t0"] + settings["span"]
    return ending.t0 + ending.steps * settings["step"]
