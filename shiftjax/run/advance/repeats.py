"""What members that ran again at half the step say of the error of all. Host code, no jax.

An estimate from the energy knows what steps do wrong, not how motions of several freedoms make it grow. The difference
to a run of half the step does: of order p it is (1 - 2^-p) of the error (Hairer, Norsett, Wanner, Solving ODEs I,
section II.4), and where motion is chaotic, of the size of the error.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

PART, LEAST, MOST = 0.02, 8, 64  # of the members run again, and how many at least and at most
NOTHING = 1e-9  # rad: smaller estimates are roundings, which do not grow as errors of steps do
MARGIN = 2.0  # of the largest growth in a sample, as members beside it may have a larger one


@dataclass(frozen=True)
class Repeats:
    """Members that ran again at half the step.

    Attributes:
        members: (K,) rising. errors: (K,) of their coordinates at the end [rad, or parts of the model's length];
            infinite where the repeat ended early. candidates: how many could have run again.
    """

    members: np.ndarray
    errors: np.ndarray
    candidates: int

    def growth(self, estimates: np.ndarray) -> float:
        """The largest ratio of an error to its estimate, of those that came to their end.

        Args:
            estimates: (B,) from the energy [rad].
        """
        ended = np.isfinite(self.errors)
        return float((self.errors / np.maximum(estimates[self.members], NOTHING))[ended].max(initial=0.0))

    def applied(self, estimates: np.ndarray) -> np.ndarray:
        """(B,) errors: measured where a member ran again, else the estimate times the growth of those."""
        out = estimates.copy()
        if np.isfinite(self.errors).any():
            out = np.maximum(out, NOTHING) * MARGIN * self.growth(estimates)
        out[self.members] = self.errors
        return out

    def notes(self, estimates: np.ndarray) -> list[str]:
        """What the errors of a run rest on; nothing where all are measured."""
        early = int(np.isinf(self.errors).sum())
        text = f"angle_error: {len(self.members)} of {self.candidates} finished members ran again at half the step"
        if early:
            text += f", {early} of them ended early there and are inaccurate"
        if len(self.members) < self.candidates:
            growth = MARGIN * self.growth(estimates)
            text += f"; of the others the estimate from the energy is scaled by {growth:.2g}, {MARGIN:g} times the "
            text += "largest ratio of those"
        return [text] if early or len(self.members) < self.candidates else []


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
    spread = candidates[np.unique(np.linspace(0, len(candidates) - 1, count // 2).astype(int))] if count else candidates
    others = np.setdiff1d(candidates, spread)
    largest = others[np.argsort(-estimates[others], kind="stable")[: count - len(spread)]]
    return np.sort(np.concatenate([spread, largest]))
