"""CPU time of a start, by members: from varied numbers to closed loops and consistent speeds.

Closures, and of random four-bars which of them can close as stated, are checked before a number is printed.

    PYTHONPATH=. python benchmarks/bench_starts.py
"""

from __future__ import annotations

import argparse
import statistics
import time

import numpy as np

from shiftjax import load
from shiftjax.bench.timing import emit
from shiftjax.mechanism.model import Model
from shiftjax.run.start.assembly import start_of
from shiftjax.run.start.prepare import prepare
from shiftjax.run.start.stated import Start

GAP = 1e-12  # of the model's length
LIMIT = 1e-5  # m: four-bars nearer to their limit than this are not judged
LINKS = ("crank:tip.T[0]", "coupler:tip.T[0]", "rocker:tip.T[0]", "fixed:rocker_pivot.T[0]")
CRANK = "crank_pivot.initial_displacement"
CASES = {  # name: model, what varies within 5 %, joint whose speed varies
    "four_bar_lengths": ("four_bar", ("coupler.mass", "crank:tip.T[0]", "coupler:tip.T[0]"), "crank_pivot"),
    "four_bar_random": ("four_bar", (), ""),
    "n_four_bar_5_masses": ("n_four_bar_5", (".mass",), "pivot_0"),
    "bricard_masses": ("bricard", (".mass",), "joint1"),
    "four_bar_masses": ("four_bar", (".mass",), ""),
}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--cases", nargs="+", choices=list(CASES), default=list(CASES))
    parser.add_argument("--members", nargs="+", type=int, default=[2000, 20000])
    parser.add_argument("--rounds", type=int, default=3)
    options = parser.parse_args()
    for case in options.cases:
        for members in options.members:
            emit("starts", {"case": case, "members": members, **figures(case, members, options.rounds)})


def figures(case: str, members: int, rounds: int) -> dict[str, float]:
    """Medians of the microseconds a member takes, preparation and start."""
    name, paths, moving = CASES[case]
    model, rng = load(name), np.random.default_rng(3)
    vary = random_four_bars(members, rng) if case == "four_bar_random" else nearby(model, paths, members, rng)
    if moving:
        vary[f"{moving}.initial_velocity"] = rng.uniform(2.0, 8.0, members)
    prepared, preparing, starting = prepare(model, vary), [], []
    start = start_of(prepared)
    for _ in range(rounds):
        clock = time.process_time()
        prepared = prepare(model, vary)
        preparing.append(time.process_time() - clock)
        clock = time.process_time()
        start = start_of(prepared)
        starting.append(time.process_time() - clock)
    check(case, start, vary, prepared.setup.length)
    as_stated = float((start.closed & ~start.changed).mean())
    scale = 1e6 / members
    return {
        "prepare_us": round(scale * statistics.median(preparing), 2),
        "start_us": round(scale * statistics.median(starting), 2),
        "as_stated": round(as_stated, 4),
    }


def nearby(model: Model, paths: tuple[str, ...], members: int, rng: np.random.Generator) -> dict[str, np.ndarray]:
    """Numbers near the file's; a path that begins with a dot stands for all that end so."""
    numbers = model.numbers()
    chosen = [k for path in paths if path[0] == "." for k in numbers if k.endswith(path) and numbers[k]]
    chosen += [model.resolve(path) for path in paths if path[0] != "."]
    return {path: numbers[path] * rng.uniform(0.95, 1.05, members) for path in chosen}


def random_four_bars(members: int, rng: np.random.Generator) -> dict[str, np.ndarray]:
    """Links and ground between 0.2 and 1.6 m, the crank anywhere: two fifths cannot close so."""
    return {
        **dict(zip(LINKS, rng.uniform(0.2, 1.6, (4, members)), strict=True)),
        CRANK: rng.uniform(-np.pi, np.pi, members),
    }


def check(case: str, start: Start, vary: dict[str, np.ndarray], length: float) -> None:
    """Ends the benchmark where a start is wrong."""
    if start.gap[start.closed & ~start.changed].max(initial=0.0) > GAP * length:
        raise SystemExit(f"{case}: loops stay open by {start.gap[start.closed].max()} m")
    if case != "four_bar_random":
        wrong = ~start.closed | start.changed
    else:
        a, b, c, ground = (vary[path] for path in LINKS)
        span = np.hypot(ground - a * np.cos(vary[CRANK]), a * np.sin(vary[CRANK]))
        beyond = np.maximum(span - (b + c), np.abs(b - c) - span)
        wrong = ((beyond > 0) == (start.closed & ~start.changed)) & (np.abs(beyond) > LIMIT)
    if wrong.any():
        raise SystemExit(f"{case}: {wrong.sum()} members are not as the closed form says")


if __name__ == "__main__":
    main()
