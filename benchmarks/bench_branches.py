"""Counts of all assemblies, with processor time: `PYTHONPATH=. python benchmarks/bench_branches.py [NEIGHBOURS]`.

Published examples, then neighbours of Dietmaier's platform, whose rods are up to 1 % longer or shorter: each has 40
poses, real or complex, and none is lost. A line of JSON each; the roots of generic mechanisms come with the package.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Callable

import numpy as np

import shiftjax
from shiftjax.bench.timing import emit
from shiftjax.run.assemblies.table import Branches
from tests.kinematics.mechanisms import (
    DIETMAIER_LEGS,
    LEGS,
    MANSEUR_DOTY,
    MANSEUR_DOTY_POSE,
    PUMA,
    dietmaier,
    forward,
    gripping,
    three_legs,
)

ROW = (0.3, 0.9, 2.5, 0.4, 0.8, -0.6)  # rad: a pose of the Puma


def measured(name: str, ask: Callable[[], Branches], poses: int) -> None:
    """Prints what was found, and stops where a pose was lost."""
    begun = time.process_time()
    table = ask()
    seconds = time.process_time() - begun
    every = table.real + table.complex
    line = {
        "workload": name,
        "designs": len(every),
        "real": [int(table.real.min()), int(table.real.max())],
        "poses": [int(every.min()), int(every.max())],
        "certified": int(table.certified.sum()),
        "largest_h": float(table.h.max()),
        "smallest_margin": float(table.margin.min()),
        "complete": table.complete,
        "cpu_seconds": round(seconds, 2),
    }
    emit("branches", line)
    assert (every == poses).all() and table.certified.all(), name


def neighbours(count: int) -> dict[str, np.ndarray]:
    """Rods of Dietmaier's platform, the first design as published."""
    random = np.random.default_rng(0)
    change = [np.concatenate([[0.0], random.uniform(-0.01, 0.01, count - 1)]) for _ in DIETMAIER_LEGS]
    return {f"leg_{k}.length": length * (1.0 + change[k]) for k, length in enumerate(DIETMAIER_LEGS)}


def main(count: int) -> None:
    legs = {f"slide_{k}": leg for k, leg in enumerate(LEGS)}
    measured("three legs in the plane", lambda: shiftjax.branches(three_legs(), legs), 6)
    arm = gripping(MANSEUR_DOTY, MANSEUR_DOTY_POSE)
    measured("six joints, Manseur and Doty", lambda: shiftjax.branches(arm), 16)
    measured("Puma", lambda: shiftjax.branches(gripping(PUMA, forward(PUMA, ROW))), 8)
    measured("platform, Dietmaier", lambda: shiftjax.branches(dietmaier()), 40)
    measured("its neighbours", lambda: shiftjax.branches(dietmaier(), vary=neighbours(count)), 40)


if __name__ == "__main__":
    main(int(sys.argv[1]) if len(sys.argv) > 1 else 10_000)
