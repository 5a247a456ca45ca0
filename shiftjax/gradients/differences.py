"""Slopes by central differences of order 4, of plain runs at moved numbers: for what has no derivative. Host code.

With f(k) an outcome at x + k h, near = (f(1) - f(-1)) / 2h and far = (f(2) - f(-2)) / 4h are of order 2, and
(4 near - far) / 3 is of order 4. Its error is about f5 h^4 / 30 by truncation and eps f / h by rounding; the sum is
smallest at h = eps^(1/5) of the length over which f changes, for which the number's own size is taken.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np

from shiftjax.mechanism.model import Model
from shiftjax.record import record
from shiftjax.run.options import Options
from shiftjax.run.simulate import run_with

ORDER = 4
PLACES = (-2, -1, 1, 2)  # in steps
EPS = {"f64": float(np.finfo("float64").eps), "f32": float(np.finfo("float32").eps)}

Moved = Callable[[np.ndarray], tuple[np.ndarray, np.ndarray]]  # designs (B, V) -> outcomes (B, M), status (B,)


@record
class Differences:
    """Slopes of M outcomes of B members with P numbers.

    Attributes:
        slopes: (B, M, P), NaN where a moved run ended early or an outcome is none. errors: (B, M, P) by how much the
            result of order 4 differs from that of order 2: more than its own error where the outcome is smooth, and as
            large as the slope itself where it jumps. lost: (B,) moved runs that ended early, of 4 P.
    """

    slopes: np.ndarray
    errors: np.ndarray
    lost: np.ndarray


class MovedRuns:
    """Metrics of plain runs of one model, those that are functions of arrays among them.

    Args:
        vary: full paths of the V numbers that vary. options: all others of `simulate`.
    """

    def __init__(self, model: Model, vary: Sequence[str], options: Options) -> None:
        self.model, self.vary, self.options = model, tuple(vary), options
        self.metrics = tuple(options.recording.metrics or ())

    def __call__(self, x: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Metrics (B, M) and status (B,) of designs (B, V)."""
        columns = {path: np.ascontiguousarray(x[:, k]) for k, path in enumerate(self.vary)}
        result = run_with(
            self.model, self.options.changed(vary=columns, accuracy=self.options.numerics.accuracy or "local")
        )
        return np.stack([result.metrics[name] for name in self.metrics], axis=1).astype(float), result.status


def steps_of(x: np.ndarray, precision: str) -> np.ndarray:
    """(B, P) steps of numbers (B, P): eps^(1/5) of a number's size, in f64 7e-4 of it. Where a member's is 0, the mean
    size of the others' is taken, and 1 in the number's unit where all are 0."""
    size = np.abs(x)
    mean = size.mean(axis=0, keepdims=True)
    return EPS[precision] ** (1.0 / (ORDER + 1)) * np.where(size > 0.0, size, np.where(mean > 0.0, mean, 1.0))


def central(
    run: Moved, x: np.ndarray, columns: Sequence[int], precision: str = "f64", members: float = np.inf
) -> Differences:
    """Slopes of outcomes at designs (B, V) with the numbers in some columns.

    Args:
        run: of moved designs. members: how many may run at once; numbers are taken together up to that, at least one.
    """
    count = len(x)
    together = int(max(1, min(len(columns), members // max(1, len(PLACES) * count))))
    parts = [
        _central(run, x, columns[first : first + together], precision) for first in range(0, len(columns), together)
    ]
    slopes, errors = (np.concatenate([getattr(part, name) for part in parts], axis=2) for name in ("slopes", "errors"))
    return Differences(slopes, errors, np.sum([part.lost for part in parts], axis=0))


def _central(run: Moved, x: np.ndarray, columns: Sequence[int], precision: str) -> Differences:
    """All of some columns in one ensemble: number, place, member."""
    numbers = x[:, list(columns)]
    steps = (numbers + steps_of(numbers, precision)) - numbers  # what the sum really is
    moved = np.tile(x, (len(columns), len(PLACES), 1, 1))
    for k, column in enumerate(columns):
        for n, place in enumerate(PLACES):
            moved[k, n, :, column] += place * steps[:, k]
    values, status = run(moved.reshape(-1, x.shape[1]))
    ended = (status > 0).reshape(moved.shape[:3])
    f = np.where(ended[..., None], np.nan, values.reshape(*moved.shape[:3], -1))
    width = steps.T[:, :, None]
    near, far = (f[:, 2] - f[:, 1]) / (2.0 * width), (f[:, 3] - f[:, 0]) / (4.0 * width)
    slopes = (4.0 * near - far) / 3.0
    both = np.moveaxis(np.stack([slopes, np.abs(slopes - near)]), 1, 3)
    return Differences(both[0], both[1], ended.sum((0, 1)))
