"""Forces whose law changes without a jump, as of a bump stop: whether a run passes them in few steps. Host code.

Problem: the derivative of a step over a knot follows the law of its stages. It is off by the step over the time that
the motion takes on the far side: a stop that throws a body back within some steps leaves slopes that are wrong by their
own size, differ from step to step and converge only with the step.
Found: how often the argument of a force passes a knot, and the share of the run on either side, by metrics of the run;
the time of a stay is the mean one. Of members with short stays slopes are taken again at a half and a third of the
step, and compared: with one of them alone a slope that was off by a fifth agreed by chance within 1 %.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import NamedTuple

import numpy as np

from shiftjax.forces import FORCES
from shiftjax.gradients.doubts import Cause
from shiftjax.gradients.jumps.crossings import HIDDEN, quoted
from shiftjax.measures.channels import knot_units
from shiftjax.run.beginning import Begun

# Steps of a stay. Through one stop slopes at 44 steps were off by 15 %, at 140 by 5 %; through several at 99 by 35 %.
FEW = 100.0
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
        passed_over: paths of forces that are looked at elsewhere, since they may jump.
    """

    def __init__(self, begun: Begun, passed_over: Sequence[str]) -> None:
        plan = begun.prepared.plan
        self._settings = begun.lanes.settings
        self.knots = [
            (element.path, knot)
            for k, element in enumerate(plan.forces)
            if element.path not in passed_over and FORCES[element.kind].constants(element)
            for knot in range(len(knot_units(plan, k)))
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

    def stay(self, measured: Mapping[str, np.ndarray], members: int) -> Stay:
        """What the members of a run did, by its metrics, `metrics` among them."""
        steps, where = np.full(members, np.inf), np.full(members, "", object)
        names = iter(self.metrics)
        for path, _ in self.knots:
            passed, side = np.nan_to_num(measured[next(names)]), np.nan_to_num(measured[next(names)])
            shorter = 0.5 * (1.0 - np.abs(side)) * self._settings.steps
            with np.errstate(all="ignore"):
                mean = np.where(passed > 0, shorter / np.ceil(passed / 2.0), np.inf)
            where[mean < steps] = path
            steps = np.minimum(steps, mean)
        return Stay(steps, tuple(where))


def changes(
    stay: Stay, slopes: Sequence[np.ndarray], finer: Callable[[int, np.ndarray], Sequence[np.ndarray]]
) -> tuple[Cause, ...]:
    """Why slopes of members that pass a stop in few steps may be wrong: those that change with the step.

    Args:
        slopes: groups (K, B, n) of slopes of one unit. finer: of `FINER`, and members (m,) -> those at
            such a part of the step, (K, m, n).
    """
    good = np.all([np.isfinite(group).all((0, 2)) for group in slopes], axis=0)
    short = np.flatnonzero((stay.steps < FEW) & good & np.any([(group != 0.0).any((0, 2)) for group in slopes], axis=0))
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
