"""Cotangents of metrics: of what they come to, of their accumulators, and of the state at the start; what they lack."""

from __future__ import annotations

from collections.abc import Mapping

import jax
import numpy as np

from shiftjax.gradients.complex_step import pulled
from shiftjax.gradients.doubts import Cause
from shiftjax.measures.run_metrics import Metrics

BEFORE = 1.0  # s, and units of an expression: how far the instant before the start is put away from it


class MeasuredAdjoint:
    """Of the metrics of a run that are texts.

    Args:
        measured: of the run. begin: its time [s].
    """

    def __init__(self, measured: Metrics, begin: float) -> None:
        self.measured, self.begin = measured, begin

    def of_rows(self, rows: np.ndarray, bars: np.ndarray) -> np.ndarray:
        """(k, B) cotangents of the accumulators (k, B) from those (m, B) of the metrics; both taken analytically."""
        rows = rows.astype(float)

        def terms(z: np.ndarray) -> np.ndarray:
            return np.stack(self.measured.values_of_terms(z, self.begin))

        with np.errstate(all="ignore"):
            values = terms(rows)
        return pulled(terms, rows, self._of_terms(values, bars))

    def _of_terms(self, values: np.ndarray, bars: np.ndarray) -> np.ndarray:
        """(t, B) cotangents of the values of all terms."""
        with jax.enable_x64(True):
            _, back = jax.vjp(lambda x: list(self.measured.of_terms(list(x)).values()), jax.numpy.asarray(values))
            wide = [jax.numpy.asarray(bar, values.dtype) for bar in bars]
            return np.asarray(back(wide)[0])

    def of_beginning(self, rows: np.ndarray, bars: np.ndarray) -> np.ndarray:
        """(k, B) cotangents of the time and the expressions at the start, those of the terms' accumulators used up."""

        def begun(z: np.ndarray) -> np.ndarray:
            z = z.copy()
            self.measured.begin(z)
            return z

        return pulled(begun, rows.astype(float), bars)

    def before(self, rows: np.ndarray) -> np.ndarray:
        """Accumulators from which a step leads to the start `rows`, with no interval of length or change 0."""
        out, first, shared = rows.copy(), 1 + self.measured.carried, self.measured.shared
        out[0] -= BEFORE  # a state that is carried may stay what it is
        out[first:shared] += BEFORE
        return out


COARSE = (
    "is that of a step, not of its extreme: its expression has a kink, a jump or a peak that few steps see there; take "
    "smaller steps, or smooth it"
)
JUMPING = (
    "ignores that its expression jumps with a force at an instant that moves: give the jump a slope that some steps "
    "resolve, or measure speeds or positions"
)


def causes_of(
    measured: Metrics, rows: np.ndarray, jumping: np.ndarray | None, asked: Mapping[str, np.ndarray]
) -> tuple[Cause, ...]:
    """Why slopes of metrics may be wrong, from accumulators (k, B).

    Args:
        jumping: (terms, B) those whose slopes lack what a jump adds. asked: name -> (B,) members of which the slope of
            a metric is asked for.
    """
    doubtful = [(COARSE, measured.unresolved_of(rows))]
    if jumping is not None:
        doubtful.append((JUMPING, measured.names_of(jumping)))
    causes = [
        Cause(members & of[name], f"the slope of the metric {name} {text}")
        for text, of in doubtful
        for name, members in asked.items()
        if name in of
    ]
    return tuple(cause for cause in causes if cause.members.any())
