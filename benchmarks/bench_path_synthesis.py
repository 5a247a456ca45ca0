"""Path synthesis of a four-bar: many starts with gradients beside scipy's differential evolution, as many runs of each.

The objective is the metric `distance` of the library's study `path_synthesis`, whose solution is known. The gradients
go down from all starts at once, an ensemble an iteration. Differential evolution gets the same bounds, the same number
of runs of the same ensembles: each generation is one call of `simulate`. A gradient takes a way back, too, so that
seconds are told beside runs. The best design is simulated again, and must be within 1 mm of the curve.

    PYTHONPATH=. python benchmarks/bench_path_synthesis.py --starts 1024 --iterations 200
"""

from __future__ import annotations

import argparse
import dataclasses
import tempfile
import time
from pathlib import Path

import numpy as np
from scipy.optimize import differential_evolution

import shiftjax
import shiftjax.models as models
from shiftjax.bench.timing import emit
from shiftjax.ensembles import Definition, optimize, sweep
from shiftjax.ensembles.optimization.meaning import bounds
from shiftjax.ensembles.study import study_file
from shiftjax.ensembles.study.designs import designs

WITHIN = 1e-3  # m of the target curve
BAD = 1.0  # m: of a design whose crank does not turn
SEED = 1


def study(starts: int, iterations: int) -> Definition:
    read = study_file.read(models.study("path_synthesis"))
    return dataclasses.replace(read, samples=starts, optimize={**read.optimize, "iterations": iterations})


def by_gradients(definition: Definition, place: Path) -> dict[str, float]:
    """Seconds, the best value, and how many starts came within a millimetre."""
    begun = time.perf_counter()
    optimum = optimize(definition, place)
    seconds = time.perf_counter() - begun
    design = {path: [value] for path, value in optimum.best.design.items()}
    again = sweep(dataclasses.replace(definition, samples=None, vary=design))
    best = optimum.best.metrics["distance"]
    assert float(again.table["distance"].iloc[0]) == best < WITHIN
    runs = int(optimum.starts["iterations"].sum())
    solved = int((optimum.to_pandas()["distance"].to_numpy() < WITHIN).sum())
    return {"seconds": seconds, "best": best, "runs": runs, "solved": solved}


def by_evolution(definition: Definition, runs: int, population: int) -> dict[str, float]:
    """Seconds and the best value of differential evolution with so many runs."""
    wanted = definition.optimized
    (group,) = designs(definition)
    assert wanted is not None
    paths = tuple(group.vary())
    low, high, _ = bounds(definition, wanted, group, paths)
    given = {**group.settings, "output_step": definition.span}
    count = 0

    def objective(x: np.ndarray) -> np.ndarray:  # (P, B)
        nonlocal count
        count += x.shape[1]
        result = shiftjax.simulate(group.model, vary=dict(zip(paths, x, strict=True)), **given)
        values = np.asarray(result.metrics["distance"])
        return np.where(np.isfinite(values), values, BAD)

    begun = time.perf_counter()
    optimum = differential_evolution(
        objective, list(zip(low, high, strict=True)), popsize=max(1, population // len(paths)), rng=SEED, polish=False,
        maxiter=max(1, runs // population - 1), tol=0.0, vectorized=True, updating="deferred", init="sobol",
    )  # fmt: skip
    return {"seconds": time.perf_counter() - begun, "best": float(optimum.fun), "runs": count}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--starts", type=int, default=1024)
    parser.add_argument("--iterations", type=int, default=200)
    options = parser.parse_args()
    definition = study(options.starts, options.iterations)
    with tempfile.TemporaryDirectory() as folder:
        gradients = by_gradients(definition, Path(folder) / "optimum.zarr")
    evolution = by_evolution(definition, int(gradients["runs"]), options.starts)
    settings = {"starts": options.starts, "iterations": options.iterations}
    emit("path_synthesis", {"contender": "gradients", **settings, **gradients})
    emit("path_synthesis", {"contender": "scipy differential_evolution", **settings, **evolution})


if __name__ == "__main__":
    main()
