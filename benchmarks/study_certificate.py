"""Is a certificate true? Random mechanisms, one run each, against a run of an eighth of the step.

`python benchmarks/study_certificate.py [--mechanisms 1000] [--span 5] [--accuracy sampled]` prints how many of the
mechanisms that finished are off by more than 1e-3 rad at 1 ms, how many of those have no warning, and how many have one
though they are right by more than a factor of two. Half of them are trees of up to five bodies in chains, on revolute,
ball and sliding joints with springs and gravity; half are planar polygons of four to six bodies in a plane that is
turned, which close to the rounding of their lengths. What no finer run can tell, since it ends early, is counted apart.
"""

from __future__ import annotations

import argparse
from collections import Counter
from itertools import pairwise
from typing import Any

import numpy as np

from shiftjax.errors import ModelError
from shiftjax.formats.builder import ModelBuilder
from shiftjax.mechanism.model import Model
from shiftjax.run.advance.repeats import ACCURACIES
from shiftjax.run.results.result import Result
from shiftjax.run.simulate import simulate

STEP, FINE, OFF = 1e-3, 8, 1e-3  # s; steps of the finer run in one; rad
KINDS = ("Rx", "Ry", "Rz", "Rx", "Ry", "Tz", "spherical")


def numbers(rng: np.random.Generator, length: float) -> dict[str, Any]:
    """A rod along x with a random mass and three moments that a body can have."""
    mass = float(np.exp(rng.uniform(-3.0, 1.0)))
    x, y, z = mass * length**2 * rng.uniform(0.02, 0.1, 3)  # sums of squares along three axes
    moments = (float(y + z), float(x + z), float(x + y))
    return {
        "mass": mass, "center_of_mass": (length / 2, 0.0, 0.0), "inertia": moments,
        "frames": {"tip": (length, *map(float, rng.uniform(-0.1, 0.1, 2)))},
    }  # fmt: skip


def tree(rng: np.random.Generator) -> Model:
    """Up to five bodies, each on one before it, with springs at its joints."""
    builder = ModelBuilder(gravity=(0.0, 0.0, -9.81))
    assembly, names = builder.assembly("tree"), list[str]()
    for k in range(int(rng.integers(1, 6))):
        name = f"body{k}"
        assembly.body(name, **numbers(rng, float(rng.uniform(0.2, 1.0))))
        parent: Any = (str(rng.choice(names)), "tip") if names else "fixed"
        kind, more = str(rng.choice(KINDS)), dict[str, Any]()
        if kind != "spherical":
            more["initial_velocity"] = float(rng.uniform(-6.0, 6.0) * (0.1 if kind == "Tz" else 1.0))
            stiff = float(np.exp(rng.uniform(0.0, 5.0)))
            more["stiffness"] = [0.0, stiff] if kind == "Tz" or rng.random() < 0.5 else [0.0]
        assembly.joint(f"joint{k}", kind, parent=parent, child=name, **more)
        names.append(name)
    return builder.build()


def polygon(rng: np.random.Generator) -> Model:
    """A planar loop of four to six bodies through random points; the ground is one of its sides."""
    n = int(rng.integers(4, 7))
    angles = np.sort(rng.uniform(0.0, 2 * np.pi, n)) + 0.3 * np.arange(n)
    points = np.stack([np.cos(angles), np.sin(angles)], 1) * rng.uniform(0.3, 0.8, (n, 1))
    builder = ModelBuilder(gravity=tuple(map(float, 9.81 * rng.normal(size=3) / 1.7)))
    first, last = ((float(x), 0.0, float(z)) for x, z in (points[0], points[-1]))
    builder.frame("first", T=first).frame("last", T=last)
    loop, turned = builder.assembly("loop"), 0.0
    for k, (a, b) in enumerate(pairwise(points)):
        length, heading = float(np.hypot(*(b - a))), -float(np.arctan2(*(b - a)[::-1]))  # about y, from x to -z
        rod = {**numbers(rng, length), "frames": {"tip": (length, 0.0, 0.0)}}
        loop.body(f"body{k}", **rod)
        parent: Any = ("fixed", "first") if k == 0 else (f"body{k - 1}", "tip")
        more = {"initial_velocity": float(rng.uniform(-8.0, 8.0))} if k == 0 else {}
        loop.joint(f"joint{k}", "Ry", parent=parent, child=f"body{k}", initial_displacement=heading - turned, **more)
        turned = heading
    loop.joint("closing", "Ry", parent=("fixed", "last"), child=(f"body{n - 2}", "tip"), initial_displacement=turned)
    return builder.build()


def apart(model: Model, coarse: Result, fine: Result) -> float:
    """Largest difference of positions of bodies at the end, in parts of the largest distance between any [m/m]."""
    a, b = (np.stack([poses[-1, :3] for poses in result.poses.values()]) for result in (coarse, fine))
    q = [np.stack([poses[-1, 3:] for poses in result.poses.values()]) for result in (coarse, fine)]
    turned = 2 * np.arccos(np.clip(np.abs((q[0] * q[1]).sum(1)), 0.0, 1.0))
    size = max(float(np.abs(b).max()), 0.1)
    return max(float(np.abs(a - b).max()) / size, float(turned.max()))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--mechanisms", type=int, default=1000)
    parser.add_argument("--span", type=float, default=5.0)
    parser.add_argument("--accuracy", choices=ACCURACIES, default="sampled")
    options = parser.parse_args()
    counts = Counter[str]()
    for k in range(options.mechanisms):
        rng = np.random.default_rng(k)
        make = tree if k % 2 else polygon
        try:
            model = make(rng)
            given: dict[str, Any] = {"output_step": options.span, "keep": "all"}
            coarse = simulate(model, options.span, STEP, accuracy=options.accuracy, **given)
            fine = simulate(model, options.span, STEP / FINE, accuracy="local", **given)
        except ModelError as error:
            counts["refused"] += 1
            print(f"{make.__name__} {k}: {error}")
            continue
        if coarse.status > 0 or fine.status > 0:
            counts["ended early" if coarse.status > 0 else "the finer run ended early"] += 1
            continue
        off, warned = apart(model, coarse, fine), bool(coarse.status < 0)
        counts["finished"] += 1
        counts["off"] += off > OFF
        counts["off without a warning"] += off > OFF and not warned
        counts["warned though right"] += off < OFF / 2 and warned
        if (off > OFF) != warned:
            said = coarse.certificate["angle_error"]
            print(f"{make.__name__} {k}: off by {off:.2g}, said {said:.2g}, status {coarse.status}", flush=True)
    print(", ".join(f"{count} {name}" for name, count in counts.items()))


if __name__ == "__main__":
    main()
