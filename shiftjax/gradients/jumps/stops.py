"""Forces whose law changes without a jump, as of a bump stop: whether a run passes them in few steps. Host code.

Problem: what steps miss of a kink is made up for (`kinks`) but for the square of the step over the time that the motion
takes on the far side: a stop that throws a body back within some steps leaves slopes that are wrong by their own size.
Found: how often the argument of a force passes a knot, and the share of the run on either side, by metrics of the run;
the time of a stay is the mean one. Of members with short stays slopes are taken again at a half and a third of the
step, and compared: with one of them alone a slope that was off by a fifth agreed by chance within 1 %.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from typing import NamedTuple

import numpy as np

from shiftjax.forces import FORCES
from shiftjax.gradients.doubts import Cause
from shiftjax.gradients.jumps.crossings import HIDDEN, quoted
from shiftjax.measures.channels import knot_units
from shiftjax.run.beginning import Begun

# Steps of a stay. Through one stop slopes at 10 steps were off by 2 %, at 31 by 0.2 %; through several at 31 by 3 %.
FEW = 50.0
FINER = (2, 3)  # parts of the step
SAME = 0.05  # of a slope, by which it may change at smaller steps
NOTHING = 1e-9  # of the largest group of slopes: one that is smaller is rounding
SHARP = 1e9  # tanh(SHARP x) is the sign of x, but for a nanometre


class Stay(NamedTuple):
    """Of B members: the shortest mean stay beside a knot [steps], inf where none is passed, and of which force."""

    steps: np.ndarray
    where: tuple[str, ...]


class Stops:
    """Knots of forces of a model, and the metrics by which its runs tell how long they stay beside them.

    Args:
        passed_over: path and knot of what is looked at elsewhere, since the force jumps.
    """

    def __init__(self, begun: Begun, passed_over: Collection[tuple[str, int]]) -> None:
        plan = begun.prepared.plan
        self._settings = begun.lanes.settings
        self.knots = [
            (element.path, knot)
            for k, element in enumerate(plan.forces)
            if FORCES[element.kind].constants(element)
            for knot in range(len(knot_units(plan, k)))
            if (element.path, knot) not in passed_over
        ]

    @property
    def metrics(self) -> dict[str, str]:
        """name -> text: how often each knot is passed, and the mean sign of what is compared with it."""
        texts = {}
        for path, knot in self.knots:
            signal = f"{quoted(path)}.knots[{knot}]"
            texts[f"{HIDDEN}{signal} passed"] = f"sign_changes({signal})"
            texts[f"{HIDDEN}{signal} side"] = f"mean(tanh({SHARP} * {signal}))"
        return texts

    def stay(self, measured: Mapping[str, np.ndarray], jumping: Mapping[tuple[str, int], np.ndarray]) -> Stay:
        """What the members of a run did, by its metrics, `metrics` among them.

        Args:
            jumping: path and knot -> (B,) where the force jumps, which is looked at elsewhere.
        """
        columns = [np.nan_to_num(measured[name]) for name in self.metrics]
        members = len(columns[0])
        steps, where = np.full(members, np.inf), np.full(members, "", object)
        for (path, knot), passed, side in zip(self.knots, columns[::2], columns[1::2], strict=True):
            shorter = 0.5 * (1.0 - np.abs(side)) * self._settings.steps
            passes = (passed > 0) & ~jumping.get((path, knot), np.zeros(members, bool))
            with np.errstate(all="ignore"):
                mean = np.where(passes, shorter / np.ceil(passed / 2.0), np.inf)
            where[mean < steps] = path
            steps = np.minimum(steps, mean)
        return Stay(steps, tuple(where))


def changes(
    stay: Stay,
    missed: np.ndarray,
    slopes: Sequence[np.ndarray],
    finer: Callable[[int, np.ndarray], Sequence[np.ndarray]],
) -> tuple[Cause, ...]:
    """Why slopes of members that pass a stop in few steps may be wrong: those that change with the step.

    Args:
        missed: (B,) those with passages that slopes do not follow, however long they stay.
        slopes: groups (K, B, n) of slopes of one unit. finer: of `FINER`, and members (m,) -> those at
            such a part of the step, (K, m, n).
    """
    good = np.all([np.isfinite(group).all((0, 2)) for group in slopes], axis=0)
    doubtful = (stay.steps < FEW) | (missed & np.isfinite(stay.steps))
    short = np.flatnonzero(doubtful & good & np.any([(group != 0.0).any((0, 2)) for group in slopes], axis=0))
    if not len(short):
        return ()
    here = [group[:, short] for group in slopes]
    change = np.max([_change(here, finer(part, short)) for part in FINER], axis=0)
    causes = list[Cause]()
    for k in np.flatnonzero(~(change < SAME)).tolist():
        which = np.zeros(len(stay.steps), bool)
        which[short[k]] = True
        text = (
            f"the gradient changes by {100 * change[k]:.0f} % at smaller steps: {stay.where[short[k]]} is passed in "
            f"{stay.steps[short[k]]:.0f} steps; take smaller ones, or soften it"
        )
        causes.append(Cause(which, text))
    return tuple(causes)


def _change(slopes: Sequence[np.ndarray], others: Sequence[np.ndarray]) -> np.ndarray:
    """(m,) the largest change of a group (K, m, n), by the largest slope in it."""
    pairs = list(zip(slopes, others, strict=True))
    sizes = np.array([np.maximum(np.abs(a), np.abs(b)).max((0, 2), initial=0.0) for a, b in pairs])
    off = np.array([np.abs(a - b).max((0, 2), initial=0.0) for a, b in pairs])
    seen = sizes > NOTHING * sizes.max(0)
    return np.where(seen, off / np.where(seen, sizes, 1.0), 0.0).max(0)
