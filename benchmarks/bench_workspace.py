"""The grid of a delta, beside the discriminants of its closed-form inverse: which points differ, and what it takes.

PYTHONPATH=. python benchmarks/bench_workspace.py                    100 x 100 x 100 points
PYTHONPATH=. python benchmarks/bench_workspace.py --points 40
PYTHONPATH=. python benchmarks/bench_workspace.py --library --points 15     the model `delta`, with its parallelograms
"""

from __future__ import annotations

import argparse
import time

import numpy as np

import shiftjax
from shiftjax.bench.timing import emit
from tests.support.models.reaching_arms import delta, delta_discriminants


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--points", type=int, default=100, help="in each direction")
    parser.add_argument("--library", action="store_true", help="the model of the library, whose ceiling is at -1.2 m")
    given = parser.parse_args()
    model, frame, down = (
        (shiftjax.load("delta"), "platform:origin", -1.2) if given.library else (delta(), "plate:origin", 0.0)
    )
    box = [(-0.9, 0.9), (-0.9, 0.9), (down + 0.11, down + 1.1)]
    begun, cpu = time.perf_counter(), time.process_time()
    reached = shiftjax.workspace(model, frame, box=box, points=given.points, searched=4)
    seconds = {"wall_s": time.perf_counter() - begun, "cpu_s": time.process_time() - cpu}
    points = np.stack(np.meshgrid(*reached.axes, indexing="ij"), axis=-1) - (0.0, 0.0, down)
    exact = (delta_discriminants(points) >= 0.0).all(-1)
    assert reached.mask is not None
    differ = reached.mask != exact
    nearest = float(np.abs(delta_discriminants(points[differ]).min(-1)).max()) if differ.any() else 0.0
    emit(
        "workspace",
        {"points": int(exact.size), "reached": int(reached.mask.sum()),
         "differ": int(differ.sum()), "largest_discriminant_that_differs": nearest, "volume_m3": reached.area,
         "us_a_point": 1e6 * seconds["cpu_s"] / exact.size, **seconds},
    )  # fmt: skip


if __name__ == "__main__":
    main()
