"""What a gradient of a run does not tell by itself, and says: by numbers of every member and one warning. Host code."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from shiftjax.errors import GradientWarning
from shiftjax.record import record

# Of a gradient, which rounding may take where a small change grows: eps times the growth.
LOST = {"f64": 1e-6, "f32": 1e-3}
NONE = "an outcome of it has no value, or its start no derivative by a number (docs: gradients, What has no gradient)"
TODO = "(docs: gradients, What a gradient says of itself)"


@record
class Doubts:
    """Of the last derivative of a run of B members.

    Attributes:
        lost: (B,) those that have no gradient.
        jumps: (B,) how often a force jumped, at instants that may move, which the gradient ignores.
        growth: (B,) of a small change, the largest of all directions, as in `gradients.growth`; NaN where there is
            none. messages: (B,) "" where all is good.
        uncertain: (B,) those with a slope that may be wrong for another cause.
    """

    lost: np.ndarray
    jumps: np.ndarray
    growth: np.ndarray
    messages: tuple[str, ...]
    uncertain: np.ndarray


class Cause(NamedTuple):
    """Why slopes of some members may be wrong: which (B,), and a sentence."""

    members: np.ndarray
    text: str


def doubts_of(
    lost: np.ndarray,
    run_messages: Sequence[str],
    jumps: np.ndarray,
    met: np.ndarray,
    where: Sequence[str],
    growth: np.ndarray,
    precision: str,
    causes: Sequence[Cause] = (),
) -> Doubts:
    """The doubts of members.

    Args:
        lost: (B,) those that have no gradient: not a number, or not all of them. run_messages: (B,) of their runs.
        jumps, growth: of `Doubts`. met: (B,) jumps in all. where: (B,) sentences on the first of them.
        causes: others.
    """
    eps = float(np.finfo("float64" if precision == "f64" else "float32").eps)
    out = [""] * len(lost)
    rounded = np.nan_to_num(growth) * eps > LOST[precision]
    uncertain = np.any([cause.members for cause in causes], axis=0) if causes else np.zeros(len(lost), bool)
    for k in np.flatnonzero(lost | (jumps > 0) | rounded | uncertain).tolist():
        if lost[k]:
            out[k] = f"has no gradient: {run_messages[k] or NONE}"
            continue
        parts = []
        if jumps[k]:
            also = f", and {jumps[k] - 1} times more" if jumps[k] > 1 else ""
            what = f"that {where[k]}{also}"
            if jumps[k] < met[k]:
                what = f"{jumps[k]} of {met[k]} jumps, of which the first is that {where[k]}"
            parts.append(f"the gradient ignores {what}: give the jump a slope that some steps resolve")
        parts += [cause.text for cause in causes if cause.members[k]]
        if rounded[k]:
            parts.append(
                f"a small change grows by {growth[k]:.1e}, so that rounding is {eps * growth[k]:.0e} of the gradient: "
                "shorten the span, or compare runs instead"
            )
        out[k] = "; ".join(parts)
    return Doubts(lost, jumps, growth, tuple(out), uncertain & ~lost)


def warn(doubts: Doubts) -> None:
    """One warning for all members that have something said of them; of each kind the first is quoted."""
    members = len(doubts.messages)
    doubtful = np.array([bool(message) for message in doubts.messages], bool)
    jumped = ~doubts.lost & (doubts.jumps > 0)
    lines = []
    uncertain = doubts.uncertain & ~jumped
    for kind in (doubts.lost, jumped, uncertain, doubtful & ~doubts.lost & ~jumped & ~uncertain):
        which = np.flatnonzero(kind)
        if len(which):
            some = "" if members == 1 else f"{len(which)} of {members} members, first "
            lines.append(f"{some}member {which[0]}: {doubts.messages[which[0]]}")
    if lines:
        warnings.warn(f"{'. '.join(lines)}. {TODO}", GradientWarning, stacklevel=2)
