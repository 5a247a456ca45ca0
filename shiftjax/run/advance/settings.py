"""How an ensemble is run: clock, trigger, recording, and what is still good. Host code."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

SINGULAR = ("pass", "stop")  # what a lane does at a singular pose


@dataclass
class Settings:
    """How to run: clock, trigger and recording. `every` in steps; `multiplier` is m of ||B|| > m max(||B||_0, 1).

    Clocks count from t0, over all the runs of which this one is the last: they stand at `before` where it begins.
    """

    h: float
    steps: int
    every: int
    t0: float = 0.0
    multiplier: float = 2.0
    repartition: bool = True
    move_steps: bool = True
    stop_at_poses: bool = False  # singular ones, which are else passed
    log_jacobian: bool = False
    before: int = 0  # steps done in the runs that this one goes on from
    tolerance: float | None = None  # by which the sizes of steps are chosen; `h` is then the unit of the clock only
    energy_limit: float = 1e-3  # above these a member that has finished is `inaccurate`: energy error,
    gap_limit: float = 1e-6  # gap over the model's length,
    angle_limit: float = 1e-3  # error of coordinates [rad, or parts of the model's length]
    estimates: bool = True  # whether errors are looked at on the way; not of runs that only measure those of others
    progress: Callable[[float], None] = lambda done: None

    @property
    def end(self) -> int:
        """Clock at which the run ends."""
        return self.before + self.steps

    @property
    def singular(self) -> str:
        """Which of `SINGULAR`."""
        return SINGULAR[self.stop_at_poses]

    @property
    def begin(self) -> float:
        """Time at which the run begins [s]."""
        return self.t0 + self.before * self.h
