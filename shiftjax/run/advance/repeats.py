"""What members that ran again at half the step say of the error of all. Host code, no jax.

An estimate from single steps and the energy knows what steps do wrong, not how motions of several freedoms make it
grow, nor what stops and dampers make them forget. The difference to a run of half the step does: of order p it is
(1 - 2^-p) of the error (Hairer, Norsett, Wanner, Solving ODEs I, section II.4), and where motion is chaotic, of the
size of the error.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from shiftjax.numerics.spacing import evenly_spaced

# What the error of coordinates rests on: energy and single steps, or members that run again at half the step, a sample
# or all of them.
ACCURACIES = ("local", "sampled", "all")
PART, LEAST, MOST = 0.02, 8, 64  # of the members run again, and how many at least and at most
NOTHING = 1e-9  # rad: smaller estimates are roundings, which do not grow as errors of steps do
AGREES = 2.5  # times an estimate: what a measured error may be, rough as both are, without errors growing
MARGIN = 2.0  # of the largest growth in a sample, as members beside it may have a larger one


@dataclass(frozen=True)
class RepeatedEnds:
    """Where repeats ended: q (nq, B), v (nv, B), states (ns, B); NaN of members that did not come there."""

    q: np.ndarray
    v: np.ndarray
    states: np.ndarray

    @property
    def known(self) -> np.ndarray:
        """(B,) whether a member ran again to its end."""
        return np.asarray(np.isfinite(np.concatenate([self.q, self.v, self.states])).all(axis=0))

    def changed(self, members: np.ndarray, q: np.ndarray, v: np.ndarray, states: np.ndarray) -> RepeatedEnds:
        """The same with other ends of some members."""
        arrays = [whole.copy() for whole in (self.q, self.v, self.states)]
        for whole, part in zip(arrays, (q, v, states), strict=True):
            whole[:, members] = part
        return RepeatedEnds(*arrays)


@dataclass(frozen=True)
class Repeats:
    """Members that ran again at half the step.

    Attributes:
        members: (K,) rising. errors: (K,) of their coordinates [rad, or parts of the model's length]; infinite where
            nothing could be compared. early: (K,) repeats that ended early, whose errors are those until then.
        candidates: how many could have run again. every: whether all were to.
        stated_growth: of errors, as a larger sample has shown it; None where these members are the sample.
        before: (B,) errors with which repeats began that did not go on from such repeats. ends: of repeats.
    """

    members: np.ndarray
    errors: np.ndarray
    early: np.ndarray
    candidates: int
    every: bool = False
    stated_growth: float | None = None
    before: np.ndarray | float = 0.0
    ends: RepeatedEnds | None = None

    def growth(self, estimates: np.ndarray) -> float:
        """By what the estimates of members that did not run again are multiplied: 1, or a power of ten.

        Twice the largest ratio of a measured error to its estimate, rounded up, so that it is the same for most samples
        that might have been drawn.

        Args:
            estimates: (B,) of all members [rad].
        """
        if self.stated_growth is not None:
            return self.stated_growth
        ratios = self.errors / np.maximum(estimates[self.members], NOTHING)
        largest = float(ratios[~self.early & np.isfinite(ratios)].max(initial=0.0))
        return 1.0 if largest <= AGREES else float(10.0 ** np.ceil(np.log10(MARGIN * largest)))

    def applied(self, estimates: np.ndarray, limit: float) -> np.ndarray:
        """(B,) errors: the grown estimates, and what was measured of members of which these are doubtful.

        So a member's figure depends on itself and on the growth alone, not on whether it was drawn for the sample.
        """
        growth, out = self.growth(estimates), estimates.copy()
        if growth > 1.0:
            out = growth * np.maximum(estimates, NOTHING)
        measured = np.where(self.early, np.fmax(self.errors, estimates[self.members]), self.errors)
        measured = measured + growth * np.broadcast_to(self.before, out.shape)[self.members]
        doubted = self.every | doubtful(estimates[self.members], limit, growth)
        out[self.members] = np.where(doubted, measured, out[self.members])
        return out

    def notes(self, estimates: np.ndarray) -> list[str]:
        """What the errors of a run rest on, where it is more than what is asked for says."""
        early, growth = int(self.early.sum()), self.growth(estimates)
        grown = len(self.members) < self.candidates and growth > 1.0
        if not early and not grown:
            return []
        text = f"angle_error: {len(self.members)} of {self.candidates} finished members ran again at half the step"
        if early:
            text += f", {early} of them ended early there, and their errors are those until then or the estimates"
        if grown:
            text += f"; errors grow by themselves here, and the estimates of the others are multiplied by {growth:g}"
        return [text]


def doubtful(estimates: np.ndarray, limit: float, growth: float = 1.0) -> np.ndarray:
    """(B,) whether estimates, grown, are above their limit, or so near that they may be by their roughness."""
    if growth > 1.0:
        estimates = np.maximum(estimates, NOTHING)
    return ~(max(growth, AGREES) * estimates <= limit)


def sample_size(candidates: int) -> int:
    """How many members of so many run again."""
    return min(candidates, MOST, max(LEAST, int(np.ceil(PART * candidates))))


def sampled(candidates: np.ndarray, estimates: np.ndarray) -> np.ndarray:
    """The members of a sample: half of them spread over the design, half those of the largest estimates.

    Args:
        candidates: (n,) rising. estimates: (B,) of the errors of all members.

    Returns:
        (K,) rising.
    """
    count = sample_size(len(candidates))
    apart = candidates[evenly_spaced(len(candidates), count // 2)]
    others = np.setdiff1d(candidates, apart, assume_unique=True)
    return np.sort(np.concatenate([apart, others[smallest(-estimates[others], count - len(apart))]]))


def smallest(values: np.ndarray, count: int) -> np.ndarray:
    """Places of the `count` smallest of some values, of equal ones the first; NaN counts as the largest."""
    places = np.arange(len(values))
    if 0 < count < len(values):
        bound = np.partition(values, count - 1)[count - 1]
        places = places if np.isnan(bound) else np.flatnonzero(values <= bound)
    return places[np.argsort(values[places], kind="stable")[:count]]
