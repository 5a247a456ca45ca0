"""Designs of an ensemble: the values of the varied numbers, one for every member.

Grids and lists combine as a product, last path fastest; random paths are sampled jointly, `samples` at every grid
point. Properties: equal arguments and seed give equal values on every machine; without grids, independent draws (of
every law without `sobol` or `lhs`) and Sobol's do not change when more samples are drawn, and the independent draws of
one path do not change when another path is added. With correlations both hold, the second for paths that vary after
the correlated ones or are not correlated. Host only.
"""

from __future__ import annotations

import math
import zlib
from collections.abc import Sequence

import numpy as np
import scipy  # which loads its statistics, half a second, when they are used
from scipy.special import ndtri

from shiftjax.ensembles.study.correlation import Correlation
from shiftjax.ensembles.study.spec import SPREADING, Vary
from shiftjax.errors import HUGE, ModelError, nearest, need, need_count, wrong

MAX_MEMBERS = 10**8  # a design column of 0.8 GB; more is probably a typing error


def sample(
    study: Sequence[Vary],
    samples: int | None = None,
    seed: int = 0,
    *,
    correlation: Correlation | None = None,
    rows: int = 1,
) -> dict[str, np.ndarray]:
    """The designs of an ensemble: values of every varied path, one for each member.

    Args:
        study: what varies; paths must differ.
        samples: how many draws at every grid point; None where all are grids.
        seed: of the draws.
        correlation: between drawn paths.
        rows: how often all that is repeated, with draws of its own: for every row of a table of designs.

    Returns:
        path -> (B,) values, B = product of rows, the grids' points and `samples`.
    """
    if not isinstance(study, Sequence) or not all(isinstance(vary, Vary) for vary in study):
        raise wrong("sample: study", study, "a list of Vary")
    if samples is not None:
        whole = None if isinstance(samples, np.timedelta64) else samples  # which is an integer of NumPy
        need("--samples", whole, (int, np.integer), "a whole number from 1")
        if samples >= HUGE:
            raise wrong("--samples", samples, f"up to {MAX_MEMBERS}")
    need_count("seed", seed, 0)
    need_count("sample: rows", rows, 1)
    if correlation is not None:
        need("sample: correlation", correlation, Correlation, "a Correlation")
    _check(study, samples)
    study = [v.in_si() for v in study]
    grids, drawn = [v for v in study if v.is_axis], [v for v in study if not v.is_axis]
    count = samples if drawn and samples is not None else 1
    blocks = math.prod(len(v.values) if v.distribution == "list" else v.points for v in grids)
    refuse_too_many(rows * blocks * count, "--vary")  # before an axis takes memory
    mesh = np.meshgrid(*map(_axis, grids), indexing="ij")
    values = {v.path: np.tile(np.repeat(axis.ravel(), count), rows) for v, axis in zip(grids, mesh, strict=True)}
    unit = _unit_cube(drawn, rows * blocks * count, seed)
    if correlation is not None and correlation.paths:
        refuse_undrawn(correlation, [v.path for v in drawn], "correlation")
        unit = {path: _inside(u) for path, u in correlation.joined(unit).items()}
    values |= {v.path: _inverse_cdf(v, unit[v.path]) for v in drawn}
    return {v.path: values[v.path] for v in study}


def refuse_too_many(members: int, where: str) -> None:
    """Raises where a study has more members than anyone means."""
    if members > MAX_MEMBERS:
        raise ModelError(where, f"{members} members", f"up to {MAX_MEMBERS}", "Take fewer points or samples.")


def refuse_undrawn(correlation: Correlation, drawn: Sequence[str], where: str) -> None:
    """Raises where a correlated path is not drawn."""
    for path in correlation.paths:
        if path not in drawn:
            allowed = ", ".join(drawn) or "paths that are drawn"
            todo = nearest(path, drawn) or "Only what is drawn can be correlated; write paths as where they vary."
            raise ModelError(where, f"{path!r}, which is not drawn", allowed, todo)


def _axis(vary: Vary) -> np.ndarray:
    """(n,) values of a grid or a list."""
    if vary.distribution == "list":
        return np.array(vary.values)
    return np.linspace(vary.low, vary.high, vary.points)


def _check(study: Sequence[Vary], samples: int | None) -> None:
    paths = [v.path for v in study]
    twice = sorted({path for path in paths if paths.count(path) > 1})
    if twice:
        raise ModelError(f"--vary {twice[0]}", "the path twice", "each path once", "Leave one of them out.")
    if not study:
        raise ModelError("--vary", "nothing that varies", "one or more paths", "Give --vary PATH=low:high.")
    drawn = not all(v.is_axis for v in study)
    if drawn and (samples is None or samples < 1):
        fault = "nothing" if samples is None else str(samples)
        raise ModelError("--samples", fault, "a whole number from 1", "Say how many values are to be drawn.")
    if not drawn and samples is not None:
        raise ModelError("--samples", str(samples), "grids only count their points", "Leave --samples out.")


def _unit_cube(drawn: Sequence[Vary], count: int, seed: int) -> dict[str, np.ndarray]:
    """path -> (count,) numbers in the open interval from 0 to 1, in the order of the paths."""
    unit = {v.path: _stream(v.path, seed).random(count) for v in drawn if not v.drawn_with}
    for kind in SPREADING:
        paths = [v.path for v in drawn if v.drawn_with == kind]
        if paths:
            unit |= dict(zip(paths, _points(kind, len(paths), count, seed).T, strict=True))
    return {v.path: _inside(unit[v.path]) for v in drawn}


def _inside(u: np.ndarray) -> np.ndarray:
    """Numbers from 0 to 1 without the two ends, where a law without bounds is infinite."""
    return np.clip(u, np.finfo(np.float64).tiny, np.nextafter(1.0, 0.0))


def _stream(path: str, seed: int) -> np.random.Generator:
    return np.random.default_rng([seed, zlib.crc32(path.encode(errors="surrogatepass"))])


def _points(kind: str, dimensions: int, count: int, seed: int) -> np.ndarray:
    """(count, dimensions) points of the unit cube."""
    qmc = scipy.stats.qmc
    rng = np.random.default_rng([seed, zlib.crc32(kind.encode())])
    if kind == "lhs":
        return qmc.LatinHypercube(dimensions, rng=rng).random(count)
    # Sobol's points are drawn in powers of two, where they are balanced, and the first `count` of them taken.
    return qmc.Sobol(dimensions, scramble=True, rng=rng).random_base2(int(count - 1).bit_length())[:count]


def _inverse_cdf(vary: Vary, u: np.ndarray) -> np.ndarray:
    """Inverse cumulative distribution function: numbers from 0 to 1 -> values."""
    low, high = vary.low, vary.high
    if vary.distribution == "normal":
        return low + high * ndtri(u)
    if vary.distribution == "lognormal":  # of mean `low` and standard deviation `high`
        variance = math.log1p((high / low) ** 2)
        return np.exp(math.log(low) - variance / 2 + math.sqrt(variance) * ndtri(u))
    if vary.distribution == "loguniform":
        return np.clip(low * (high / low) ** u, low, high)
    if vary.distribution == "triangular":
        mode, width = (low + high) / 2 if vary.mode is None else vary.mode, high - low
        rising = u * width < mode - low
        below, above = low + np.sqrt(u * width * (mode - low)), high - np.sqrt((1.0 - u) * width * (high - mode))
        return np.clip(np.where(rising, below, above), low, high)
    return low + (high - low) * u
