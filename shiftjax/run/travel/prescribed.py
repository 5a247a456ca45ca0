"""A prescribed motion over the time of a run: how far it goes, and when it first goes beyond a place. Host code."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from shiftjax.algebra import Scalar
from shiftjax.constraints import CONSTRAINTS
from shiftjax.dynamics.kinematics import Parameters
from shiftjax.lanes.member_values import MemberValues
from shiftjax.run.start.prepared import Prepared

MEMORY = 20_000_000  # samples of all members together
SAMPLES = (500, 20_000)  # of a prescribed motion over the span, at least and at most


@dataclass
class Prescribed:
    """A prescribed motion in time, of all members.

    Attributes:
        driver: constraint of the plan; unit: [rad], or the model's length for metres; times: (n,) samples.
    """

    prepared: Prepared
    driver: int
    unit: float
    times: np.ndarray

    @classmethod
    def of(cls, prepared: Prepared, driver: int, t0: float, span: float, steps: int) -> Prescribed:
        plan = prepared.plan
        unit = prepared.file_lane().units[plan.coordinates[plan.constraints[driver].coordinates[0]].v]
        least, most = SAMPLES
        samples = int(np.clip(4 * steps, least, max(least, min(most, MEMORY // prepared.members))))
        return cls(prepared, driver, unit, t0 + span * np.linspace(0.0, 1.0, samples + 1))

    @property
    def coordinate(self) -> int:
        return self.prepared.plan.constraints[self.driver].coordinates[0]

    def at(self, members: np.ndarray, t: np.ndarray) -> np.ndarray:
        """Prescribed coordinate [rad or m] at times (B, n) or (1, n); of as many rows as differ."""
        lane = self.prepared.lane_of(members, 1.0)
        numbers: list[Scalar] = [v[:, None] if isinstance(v, np.ndarray) else v for v in lane.params.numbers]
        lane, values = replace(lane, params=Parameters(numbers, lane.params.matrices), t=t), MemberValues()
        motion = lane.in_graph(values).motion([0.0] * self.prepared.plan.nq, None)
        group = self.prepared.plan.constraints[self.driver]
        (phi,) = values.numbers(CONSTRAINTS[group.kind].rows(group, motion).phi)
        prescribed = np.atleast_2d(-np.asarray(phi, float))
        return np.broadcast_to(prescribed, (prescribed.shape[0], t.shape[1]))

    def farthest(self, members: np.ndarray, sign: float) -> tuple[np.ndarray, np.ndarray]:
        """Largest (sign +1) or smallest coordinate over all times, and when (B,)."""
        t = self.times[None, :]
        for _ in range(3):
            values = sign * self.at(members, t)
            rows, best = np.arange(len(values)), values.argmax(1)
            times = np.broadcast_to(t, values.shape)
            when, most = times[rows, best], values[rows, best]
            low, high = times[rows, np.maximum(best - 1, 0)], times[rows, np.minimum(best + 1, values.shape[1] - 1)]
            t = low[:, None] + (high - low)[:, None] * np.linspace(0.0, 1.0, 201)
        return np.broadcast_to(sign * most, len(members)), np.broadcast_to(when, len(members))

    def first_beyond(self, members: np.ndarray, end: np.ndarray, latest: np.ndarray, sign: float) -> np.ndarray:
        """(B,) the first times at which the coordinate is beyond `end`; it is at `latest`."""
        samples = self.at(members, self.times[None, :])
        low, high = np.full(len(members), self.times[0]), latest.copy()
        for k in range(len(members)):
            beyond = (sign * (samples[min(k, len(samples) - 1)] - end[k]) > 0.0) & (self.times <= latest[k])
            before = int(beyond.argmax()) if beyond.any() else int(np.searchsorted(self.times, latest[k]))
            high[k] = self.times[before] if beyond.any() else latest[k]
            low[k] = self.times[max(before - 1, 0)]
        for _ in range(60):
            middle = 0.5 * (low + high)
            beyond = sign * (self.at(members, middle[:, None])[:, 0] - end) > 0.0
            low, high = np.where(beyond, low, middle), np.where(beyond, middle, high)
        return high
