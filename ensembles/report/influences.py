"""First-order and total Sobol indices of a metric with their confidence, by the method that the design allows.

* Of a Saltelli design (`SALib.sample.sobol`, given as a table): Saltelli's estimators, SALib.
* Otherwise from a polynomial fitted to the members (`surrogate`), where it predicts members left out well enough.
* Otherwise first-order indices alone by RBD-FAST, SALib.
Indices take the design numbers for independent of each other.
"""

from __future__ import annotations

import numpy as np

from shiftjax.ensembles.report import surrogate
from shiftjax.numerics.spacing import evenly_spaced
from shiftjax.record import record

LEVEL = 0.95  # of the intervals of confidence
GOOD_ENOUGH = 0.9  # of the variance must be predicted at members left out, for indices of a polynomial
FEWEST = 30  # members for indices of a polynomial
FEWEST_RBD = 100  # members for RBD-FAST with its default of ten harmonics
MOST_RBD = 16384  # evenly spread: a hundred resamplings of a million take minutes
SEED = 0


@record
class Indices:
    """Shares of a metric's variance; each (d,), intervals (d, 2), NaN where they are not known.

    Attributes:
        first: by the number alone. first_range: its interval of confidence.
        total: by the number and all that it takes part in. total_range: its interval of confidence.
        method: how they were found, a sentence.
    """

    first: np.ndarray
    first_range: np.ndarray
    total: np.ndarray
    total_range: np.ndarray
    method: str


def indices(x: np.ndarray, y: np.ndarray, *, whole: bool = True) -> Indices | None:
    """Indices of a metric y (n,) of design numbers x (n, d), all finite; None of too few members, or a constant metric.

    Args:
        whole: whether these are all members of the study, in its order, so that it may be a Saltelli design.
    """
    if len(y) < FEWEST or np.ptp(y) <= 1e-12 * np.abs(y).max() or not x.shape[1]:
        return None
    if whole and (second := saltelli(x)) is not None:
        return _of_saltelli(x, y, second=second)
    expansion = surrogate.fit(x, y, SEED)
    if expansion is not None and expansion.predicted >= GOOD_ENOUGH:
        return _of_expansion(expansion, len(y))
    return _by_rbd_fast(x, y, expansion) if len(y) >= FEWEST_RBD else None


def saltelli(x: np.ndarray) -> bool | None:
    """Whether a Saltelli design (n, d) has rows for second-order indices; None where it is none."""
    size, numbers = x.shape
    for second, block in ((True, 2 * numbers + 2), (False, numbers + 2)):
        if numbers < 2 or size % block or size // block < 8:
            continue
        blocks = x.reshape(-1, block, numbers)
        first, last = blocks[:, 0], blocks[:, -1]
        mixed = np.repeat(first[:, None], numbers, axis=1)
        places = np.arange(numbers)
        mixed[:, places, places] = last
        if np.array_equal(blocks[:, 1 : numbers + 1], mixed) and (first != last).any():
            return second
    return None


def _problem(x: np.ndarray) -> dict[str, object]:
    bounds = np.stack([x.min(0), x.max(0)], 1).tolist()
    return {"num_vars": x.shape[1], "names": [str(k) for k in range(x.shape[1])], "bounds": bounds}


def _of_saltelli(x: np.ndarray, y: np.ndarray, *, second: bool) -> Indices:
    from SALib.analyze import sobol

    analysis = sobol.analyze(_problem(x), y, calc_second_order=second, conf_level=LEVEL, seed=SEED)
    first, total = (np.array(analysis[key], np.float64) for key in ("S1", "ST"))
    first_range, total_range = (
        np.stack([values - half, values + half], 1)
        for values, half in ((first, np.array(analysis["S1_conf"])), (total, np.array(analysis["ST_conf"])))
    )
    method = f"Saltelli's estimators on a Saltelli design of {len(y)} members (SALib), bootstrapped"
    return Indices(first, first_range, total, total_range, method)


def _of_expansion(expansion: surrogate.Expansion, members: int) -> Indices:
    first, total = surrogate.shares(expansion.degrees, expansion.coefficients)
    ranges = surrogate.shares(expansion.degrees, expansion.resampled)
    tail = (1.0 - LEVEL) / 2.0
    first_range, total_range = (np.quantile(values, [tail, 1.0 - tail], axis=0).T for values in ranges)
    degree = int(expansion.degrees.sum(1).max())
    method = (
        f"variance of a polynomial of degree {degree} with {len(expansion.coefficients)} terms, fitted to {members} "
        f"members; it predicts {percent(expansion.predicted)} of the variance at members left out of the fit; "
        "intervals from resampled members"
    )
    return Indices(first, first_range, total, total_range, method)


def _by_rbd_fast(x: np.ndarray, y: np.ndarray, expansion: surrogate.Expansion | None) -> Indices:
    from SALib.analyze import rbd_fast

    rows = evenly_spaced(len(y), MOST_RBD)
    x, y = x[rows], y[rows]
    analysis = rbd_fast.analyze(_problem(x), x, y, conf_level=LEVEL, seed=SEED)
    first, half = (np.array(analysis[key], np.float64) for key in ("S1", "S1_conf"))
    unknown = np.full_like(first, np.nan)
    tried = "" if expansion is None else f" (the best one predicts {percent(max(expansion.predicted, 0.0))})"
    method = (
        f"RBD-FAST of {len(y)} members (SALib), first order only: no polynomial follows this metric closely enough "
        f"for total indices{tried}; intervals bootstrapped"
    )
    return Indices(first, np.stack([first - half, first + half], 1), unknown, np.stack([unknown] * 2, 1), method)


def percent(share: float) -> str:
    """A share in percent; never 100 % unless it is all."""
    text = f"{100.0 * share:.3g}"
    return "over 99.9 %" if share < 1.0 and float(text) >= 100.0 else f"{text} %"
