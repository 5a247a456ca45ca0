"""Slopes by central differences of order 4, of plain runs at moved numbers: for what has no derivative. Host code.

With f(k) an outcome at x + k h, near = (f(1) - f(-1)) / 2h and far = (f(2) - f(-2)) / 4h are of order 2, and
(4 near - far) / 3 is of order 4. Its error is about f5 h^4 / 30 by truncation and eps f / h by rounding; the sum is
smallest at h = eps^(1/5) of the length over which f changes, for which the number's own size is taken.

Problem: a run by steps of fixed size over a force that jumps is smooth until the jump comes into another step, where it
jumps too: a saw, whose teeth have other slopes than what they follow. Differences within a tooth agree, and are wrong.
Used: two runs far out, over several teeth, wide = (f(n) - f(-n)) / 2 n h. Of what is smooth it is off from the result
of order 4 by n^2 (near - result), as order 2 says; by how much else is the error, also of noise and chaos. Where that
is more than `ROUGH` of the slope, `wide` is the slope. Not seen: teeth of more than 2 n h.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np

from shiftjax.mechanism.model import Model
from shiftjax.record import record
from shiftjax.run.options import Options
from shiftjax.run.simulate import run_with

ORDER = 4
FAR = {"f64": 32, "f32": 4}  # steps to the runs far out: 2 and 16 % of a number
BESIDE, PLACES = 4, 6  # runs a number beside it, and all
ROUGH = 1e-3  # of a slope: more than smooth outcomes leave at such steps
EPS = {"f64": float(np.finfo("float64").eps), "f32": float(np.finfo("float32").eps)}

Moved = Callable[[np.ndarray], tuple[np.ndarray, np.ndarray]]  # designs (B, V) -> outcomes (B, M), status (B,)


@record
class Differences:
    """Slopes of M outcomes of B members with P numbers.

    Attributes:
        slopes: (B, M, P), NaN where a moved run ended early or an outcome is none. errors: (B, M, P) by how much the
            result of order 4 differs from that of order 2 and from what runs far out say, the larger one: more than its
            own error where the outcome is smooth, and as large as what is missing where it is not; NaN where a run far
            out ended early. lost: (B,) moved runs beside it that ended early, of 4 P.
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
        result = run_with(self.model, self.options.judged_by_estimates().changed(vary=columns))
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
    together = int(max(1, min(len(columns), members // max(1, PLACES * count))))
    parts = [
        _central(run, x, columns[first : first + together], precision) for first in range(0, len(columns), together)
    ]
    slopes, errors = (np.concatenate([getattr(part, name) for part in parts], axis=2) for name in ("slopes", "errors"))
    return Differences(slopes, errors, np.sum([part.lost for part in parts], axis=0))


def _central(run: Moved, x: np.ndarray, columns: Sequence[int], precision: str) -> Differences:
    """All of some columns in one ensemble: number, place, member."""
    numbers = x[:, list(columns)]
    steps = (numbers + steps_of(numbers, precision)) - numbers  # what the sum really is
    far_out = FAR[precision]
    places = (-2, -1, 1, 2, -far_out, far_out)
    moved = np.tile(x, (len(columns), PLACES, 1, 1))
    for k, column in enumerate(columns):
        for n, place in enumerate(places):
            moved[k, n, :, column] += place * steps[:, k]
    values, status = run(moved.reshape(-1, x.shape[1]))
    ended = (status > 0).reshape(moved.shape[:3])
    f = np.where(ended[..., None], np.nan, values.reshape(*moved.shape[:3], -1))
    width = steps.T[:, :, None]
    near, far = (f[:, 2] - f[:, 1]) / (2.0 * width), (f[:, 3] - f[:, 0]) / (4.0 * width)
    wide = (f[:, 5] - f[:, 4]) / (2.0 * far_out * width)
    slopes = (4.0 * near - far) / 3.0
    errors = np.maximum(np.abs(slopes - near), np.abs(wide - slopes - far_out**2 * (near - slopes)))
    rough = errors > ROUGH * np.maximum(np.abs(slopes), np.abs(wide))
    errors = np.where(rough, np.maximum(errors, np.abs(wide - slopes)), errors)
    both = np.moveaxis(np.stack([np.where(rough, wide, slopes), errors]), 1, 3)
    return Differences(both[0], both[1], ended[:, :BESIDE].sum((0, 1)))
