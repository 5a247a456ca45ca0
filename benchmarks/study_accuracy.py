"""Is nobody wrong without a warning? Thousands of loops against converged runs, speeds to 300 rad/s, change points.

`python benchmarks/study_accuracy.py [--members 5000] [--span 2]` prints a line a family: how many finished, how many
were more than 1e-3 rad off at 1 ms, how many of those had no warning (must be 0), and how many were warned although
right, and how many of those were right by more than a factor of two. A member whose finer run ends early is
counted with those that ended: nothing can be said of it.
"""

from __future__ import annotations

import argparse
from collections.abc import Iterator
from typing import Any

import numpy as np

from shiftjax.formats import load
from shiftjax.run.advance.repeats import ACCURACIES
from shiftjax.run.simulate import simulate
from tests.runs.errors.test_accuracy import near_change_points, rssr, speeds

STEP, FINE, OFF = 1e-3, 16, 1e-3  # s; steps of the converged run in one; rad
SEEN = 0.1  # s between compared instants


def families(
    rng: np.random.Generator, members: int
) -> Iterator[tuple[str, Any, tuple[str, ...], dict[str, np.ndarray]]]:
    """Name, model, joints that are compared, what is varied."""
    cranks = ("crank_pivot", "rocker_pivot")
    share = members // 10
    for largest in (20.0, 300.0):
        for what in ("four_bar", "near change points"):
            vary = near_change_points(rng, share) if what != "four_bar" else {}
            count = len(next(iter(vary.values()), np.empty(share)))
            vary["crank_pivot.initial_velocity"] = speeds(rng, count, largest)
            yield f"{what}, to {largest:g} rad/s", "four_bar", cranks, vary
    yield "slider_crank", "slider_crank", ("crank_pivot",), {"crank_pivot.initial_velocity": speeds(rng, share, 300.0)}
    yield "rssr", rssr(), ("input", "output"), {"input.initial_velocity": speeds(rng, share, 300.0)}
    yield "bennett", "bennett", ("joint1", "joint2"), {"joint1.initial_velocity": speeds(rng, share, 300.0)}
    yield "bricard", "bricard", ("joint1", "joint2"), {"joint1.initial_velocity": speeds(rng, share, 60.0)}
    for name in ("n_four_bar_1", "n_four_bar_2"):
        yield name, name, ("pivot_0", "pivot_1"), {"pivot_0.initial_velocity": speeds(rng, share, 100.0)}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--members", type=int, default=5000)
    parser.add_argument("--span", type=float, default=2.0)
    parser.add_argument("--accuracy", choices=ACCURACIES, default="sampled")
    options = parser.parse_args()
    heads = ("all", "ended", "wrong", "unwarned", "false alarms", "by twice", "off / said")
    print("{:32} {:>6} {:>6} {:>6} {:>9} {:>13} {:>9} {:>11}".format("family", *heads))
    totals = np.zeros(6, int)
    for name, model, joints, vary in families(np.random.default_rng(1), options.members):
        model = load(model) if isinstance(model, str) else model
        settings: dict[str, Any] = {"channels": [f"{joint}.q" for joint in joints], "output_step": SEEN, "vary": vary}
        coarse, fine = (
            simulate(model, options.span, step, accuracy=accuracy, **settings)
            for step, accuracy in ((STEP, options.accuracy), (STEP / FINE, "local"))
        )
        apart = [np.abs(coarse.channels[c] - fine.channels[c]).max(1) for c in coarse.channels]
        off, finished = np.max(apart, axis=0), (coarse.status <= 0) & (fine.status <= 0)
        wrong, warned = finished & ~(off < OFF), coarse.status < 0
        counts = [len(off), (~finished).sum(), wrong.sum(), (wrong & ~warned).sum(), (finished & ~wrong & warned).sum(),
                  (finished & (off < OFF / 2) & warned).sum()]  # fmt: skip
        flagged = finished & (off > 1e-6) & (off < 0.1)
        ratio = (off / coarse.certificate["angle_error"])[flagged].max(initial=0.0)
        totals += counts
        print("{:32} {:6} {:6} {:6} {:9} {:13} {:9} {:11.2g}".format(name, *counts, ratio), flush=True)
    print("{:32} {:6} {:6} {:6} {:9} {:13} {:9}".format("all", *totals))


if __name__ == "__main__":
    main()
