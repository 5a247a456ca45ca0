"""Members whose steps are so small that their run would never end: they end as `too_small`. Host code.

Every step is noted, so that a run of 1e9 steps of one member takes 16 GB and hours. Where gravity is 1e40 m/s^2, steps
of 1e-21 s meet the tolerance: such a member, and the whole ensemble with it, went on for as long as anybody waited.
"""

from __future__ import annotations

import numpy as np

from shiftjax.outcome import Outcome, WithRemedy
from shiftjax.run.advance.ensemble import Ensemble

# Steps in a row -> the part of the span that they must pass. A stiff start, or a stop that is hit, has many short
# steps, and then longer ones again: the fewer steps were seen, the smaller they must be. 1000 steps of a double
# pendulum take 0.1 s with what the host does between them.
LEAST = {1_000: 1e-9, 100_000: 1e-4}
REMEDY = "check whether the numbers of this member are meant, or take a larger tolerance or fixed steps"


class Headway:
    """How fast members come to their ends.

    Args:
        clock: (B,) of all members at the beginning. ends: (B,) up to which they run.
    """

    def __init__(self, clock: np.ndarray, ends: np.ndarray) -> None:
        self._span = ends - clock
        self._steps = {count: np.zeros(len(clock), int) for count in LEAST}
        self._since = {count: np.array(clock, float) for count in LEAST}

    def end_the_endless(self, lanes: Ensemble, members: np.ndarray, taken: np.ndarray) -> None:
        """Ends those members whose last steps have passed too little of the span.

        Args:
            members: those that ran. taken: (n,) steps that each took since the last call.
        """
        clock = lanes.clock_of(members).astype(float)
        for count, least in LEAST.items():
            steps, since = self._steps[count], self._since[count]
            steps[members] += np.maximum(taken, 1)
            due = steps[members] >= count
            some, passed = members[due], clock[due] - since[members[due]]
            slow = (passed < least * self._span[some]) & (lanes.status[some] <= 0) & (clock[due] < lanes.ends[some])
            causes = {
                int(k): WithRemedy(
                    f"at {lanes.settings.t0 + at * lanes.settings.h:.6g} s: the last {steps[k]} steps led "
                    f"{by * lanes.settings.h:.2g} s further, and the run would not end: {REMEDY}"
                )
                for k, at, by in zip(some[slow], clock[due][slow], passed[slow], strict=True)
            }
            lanes.end(causes, Outcome.too_small)
            steps[some], since[some] = 0, clock[due]
