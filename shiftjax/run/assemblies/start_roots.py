"""All roots of a generic mechanism of a skeleton, by monodromy; kept in memory and in the user's cache. Host code.

Around closed ways in the space of all complex mechanisms the roots of one change places, and from one root all are come
to (Sommese, Verschelde, Wampler, Numerical irreducible decomposition using projections from points on the components,
2001; Duff et al., Solving polynomial systems via homotopy continuation and monodromy, IMA J. Numer. Anal. 39, 2019).
It ends where as many are known as there are (`root_counts`), else where some ways in a row bring none.
"""

from __future__ import annotations

import hashlib
import io
import itertools
import json
from collections.abc import Iterable
from functools import cache
from pathlib import Path

import numpy as np

from shiftjax.kernels import object_cache
from shiftjax.run.assemblies.charts import distinct, drawn, generic
from shiftjax.run.assemblies.root_counts import root_count
from shiftjax.run.assemblies.skeleton import Skeleton
from shiftjax.run.assemblies.tracker import AIMED, REACHED, MechanismWay, followed

IDLE = 8  # closed ways in a row without a new root: no more are sought
MOST = 60  # closed ways at most
VERSION = "2"  # of what is stored
SHIPPED = Path(__file__).with_name("generic_roots.json")


@cache
def start_roots(skeleton: Skeleton) -> tuple[np.ndarray, np.ndarray]:
    """Numbers (K,) of a generic mechanism and its roots (N, values)."""
    name = hashlib.sha256(f"{VERSION} {skeleton!r}".encode()).hexdigest()
    known = _shipped().get(repr(skeleton)) or _read(name)
    if known is None:
        known = by_monodromy(skeleton)
        stream = io.BytesIO()
        np.savez(stream, numbers=known[0], roots=known[1])
        object_cache.write(name, stream.getvalue(), "npz")
    return known


@cache
def _shipped() -> dict[str, tuple[np.ndarray, np.ndarray]]:
    """The roots that come with the package: of a six-joint loop, of platforms on six distances and of three legs."""
    entries = json.loads(SHIPPED.read_text(encoding="utf-8")) if SHIPPED.exists() else {}
    return {name: (_complex(entry["numbers"]), _complex(entry["roots"])) for name, entry in entries.items()}


def _complex(pairs: list) -> np.ndarray:
    """Of real and imaginary parts as the last axis."""
    array = np.array(pairs)
    return array[..., 0] + 1j * array[..., 1]


def written(skeletons: Iterable[Skeleton]) -> str:
    """The text of the file of shipped roots, computed: `benchmarks/start_roots.py` writes it."""
    out = {}
    for skeleton in skeletons:
        numbers, roots = by_monodromy(skeleton)
        parts = {"numbers": numbers, "roots": roots}
        out[repr(skeleton)] = {name: np.stack([np.real(x), np.imag(x)], axis=-1).tolist() for name, x in parts.items()}
    return json.dumps(out, indent=None) + "\n"


def _read(name: str) -> tuple[np.ndarray, np.ndarray] | None:
    stored = object_cache.read(name, "npz")
    if stored is None:
        return None
    with np.load(io.BytesIO(stored), allow_pickle=False) as data:
        return data["numbers"], data["roots"]


def by_monodromy(skeleton: Skeleton, seed: int = 0, *, known: bool = True) -> tuple[np.ndarray, np.ndarray]:
    """As `start_roots`, computed.

    Args:
        known: whether it ends at the number of roots that is known; else where nothing new comes.
    """
    random = np.random.default_rng(seed)
    numbers, X = drawn(skeleton, random)
    roots, count, idle = X[None], root_count(skeleton).count if known else None, 0
    for _ in range(MOST):
        if len(roots) == count or (count is None and idle >= IDLE):
            break
        corners = [numbers, _other(skeleton, random), _other(skeleton, random), numbers]
        at = roots
        for start, end in itertools.pairwise(corners):
            way = MechanismWay(skeleton, *(np.repeat(x[None], len(at), axis=0) for x in (start, end)))
            at, status = followed(way, at, AIMED)
            at = at[status == REACHED]
            if not len(at):
                break
        every = np.concatenate([roots, at])
        more = every[np.unique(distinct(skeleton, every))]
        idle = 0 if len(more) > len(roots) else idle + 1
        roots = more
    return numbers, roots


def _other(skeleton: Skeleton, random: np.random.Generator) -> np.ndarray:
    """(K,) numbers of another mechanism, not closed at a known pose."""
    mask = generic(skeleton)
    return mask * (random.normal(size=len(mask)) + 0.7j * random.normal(size=len(mask)))
