"""Designs of an ensemble: the values of the varied numbers, one for every member.

Grids combine as a product, last path fastest; random paths are sampled jointly, `samples` at every grid point.
Properties: equal arguments and seed give equal values on every machine; without grids, independent draws (`uniform`,
`normal`, `loguniform`) and Sobol's do not change when more samples are drawn, and the independent draws of one path do
not change when another path is added. Host only.
"""

from __future__ import annotations

import math
import zlib
from collections.abc import Sequence

import numpy as np
from scipy.special import ndtri
from scipy.stats import qmc

from shiftjax.ensembles.spec import Vary
from shiftjax.errors import ModelError, need, need_count, wrong

JOINT = ("sobol", "lhs")  # sampled as points of a unit cube; all others path by path
MAX_MEMBERS = 10**8  # a design column of 0.8 GB; more is probably a typing error


def sample(study: Sequence[Vary], samples: int | None = None, seed: int = 0) -> dict[str, np.ndarray]:
    """The designs of an ensemble: values of every varied path, one for each member.

    Args:
        study: what varies; paths must differ.
        samples: how many draws at every grid point; None where all are grids.
        seed: of the draws.

    Returns:
        path -> (B,) values, B = product of the grids' points times `samples`.
    """
    if not isinstance(study, Sequence) or not all(isinstance(vary, Vary) for vary in study):
        raise wrong("sample: study", study, "a list of Vary")
    if samples is not None:
        need("--samples", samples, (int, np.integer), "a whole number from 1")
    need_count("seed", seed, 0)
    _check(study, samples)
    study = [v.in_si() for v in study]
    grids = [v for v in study if v.distribution == "grid"]
    drawn = [v for v in study if v.distribution != "grid"]
    count = samples if drawn and samples is not None else 1
    blocks = math.prod(v.points for v in grids)
    if blocks * count > MAX_MEMBERS:
        raise ModelError("--vary", f"{blocks * count} members", f"up to {MAX_MEMBERS}", "Take fewer points or samples.")
    mesh = np.meshgrid(*(np.linspace(v.low, v.high, v.points) for v in grids), indexing="ij")
    values = {v.path: np.repeat(axis.ravel(), count) for v, axis in zip(grids, mesh, strict=True)}
    unit = _unit_cube(drawn, blocks * count, seed)
    values |= {v.path: _inverse_cdf(v, unit[v.path]) for v in drawn}
    return {v.path: values[v.path] for v in study}


def _check(study: Sequence[Vary], samples: int | None) -> None:
    paths = [v.path for v in study]
    twice = sorted({path for path in paths if paths.count(path) > 1})
    if twice:
        raise ModelError(f"--vary {twice[0]}", "the path twice", "each path once", "Leave one of them out.")
    if not study:
        raise ModelError("--vary", "nothing that varies", "one or more paths", "Give --vary PATH=low:high.")
    drawn = any(v.distribution != "grid" for v in study)
    if drawn and (samples is None or samples < 1):
        found = "nothing" if samples is None else str(samples)
        raise ModelError("--samples", found, "a whole number from 1", "Say how many values are to be drawn.")
    if not drawn and samples is not None:
        raise ModelError("--samples", str(samples), "grids only count their points", "Leave --samples out.")


def _unit_cube(drawn: Sequence[Vary], count: int, seed: int) -> dict[str, np.ndarray]:
    """path -> (count,) numbers in the open interval from 0 to 1."""
    unit = {v.path: _stream(v.path, seed).random(count) for v in drawn if v.distribution not in JOINT}
    for kind in JOINT:
        paths = [v.path for v in drawn if v.distribution == kind]
        if paths:
            unit |= dict(zip(paths, _points(kind, len(paths), count, seed).T, strict=True))
    tiny = np.finfo(np.float64).tiny
    return {path: np.clip(u, tiny, np.nextafter(1.0, 0.0)) for path, u in unit.items()}


def _stream(path: str, seed: int) -> np.random.Generator:
    return np.random.default_rng([seed, zlib.crc32(path.encode())])


def _points(kind: str, dimensions: int, count: int, seed: int) -> np.ndarray:
    """(count, dimensions) points of the unit cube."""
    rng = np.random.default_rng([seed, zlib.crc32(kind.encode())])
    if kind == "lhs":
        return qmc.LatinHypercube(dimensions, rng=rng).random(count)
    # Sobol's points are drawn in powers of two, where they are balanced, and the first `count` of them taken.
    return qmc.Sobol(dimensions, scramble=True, rng=rng).random_base2(int(count - 1).bit_length())[:count]


def _inverse_cdf(vary: Vary, u: np.ndarray) -> np.ndarray:
    """Inverse cumulative distribution function: numbers from 0 to 1 -> values."""
    if vary.distribution == "normal":
        return vary.low + vary.high * ndtri(u)
    if vary.distribution == "loguniform":
        return np.clip(vary.low * (vary.high / vary.low) ** u, vary.low, vary.high)
    return vary.low + (vary.high - vary.low) * u
