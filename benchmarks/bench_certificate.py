"""What a certificate that rests on repeats costs: runs judged by `accuracy="sampled"` and "all" beside "local".

The same ensemble is run in turn with each; the motions must be the same to the bit, since only the judgement differs.
Steps are counted beside processor time: a sample of s of B members at half the step takes 2 s / B more of them.

    PYTHONPATH=. python benchmarks/bench_certificate.py --members 4096 --span 10
"""

from __future__ import annotations

import argparse
import sys
from functools import partial
from typing import Any

import numpy as np

import shiftjax
from shiftjax.bench.timing import emit, side_by_side

VARIED = {"four_bar": "four_bar:coupler", "bricard": "bricard:rod1", "n_four_bar_5": "n_four_bar:coupler_0"}
GAP = 1e-9  # m: of loops that are closed to rounding
STEP = 1e-3  # s
SAMPLE = (8, 64, 0.02)  # members that are run again: at least, at most, and the share between


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--models", nargs="+", choices=list(VARIED), default=list(VARIED))
    parser.add_argument("--members", type=int, default=4096)
    parser.add_argument("--span", type=float, default=10.0, help="seconds of motion")
    parser.add_argument("--rounds", type=int, default=5)
    options = parser.parse_args()
    for name in options.models:
        report(name, options)


def report(name: str, options: argparse.Namespace) -> None:
    """A JSON line, and words for people on stderr."""
    body = VARIED[name]
    model = shiftjax.load(name)
    masses = np.linspace(0.8, 1.2, options.members) * dict(model.bodies())[body].mass
    joint = next(path for path, _ in model.joints())
    run = partial(
        shiftjax.simulate, model, options.span, STEP, output_step=options.span, vary={f"{body}.mass": masses},
        channels=[f"{joint}.q"],
    )  # fmt: skip
    calls = {word: partial(run, accuracy=word) for word in ("local", "sampled", "all")}
    timings, results = side_by_side(calls, options.rounds)
    check(results, f"{joint}.q")
    figures: dict[str, Any] = {}
    for word, timing in timings.items():
        ratios = np.array(timing.cpus) / timings["local"].cpus
        figures[word] = {"cpu_s": float(np.median(timing.cpus)), "times_local": float(np.median(ratios))}
    steps = {"sampled": 2 * sampled(options.members) / options.members, "all": 2.0}
    emit("certificate", {"model": name, "members": options.members, "span_s": options.span, "step_s": STEP,
                         "steps_more": steps, **figures})  # fmt: skip
    for word, more in steps.items():
        cost = figures[word]["times_local"] - 1.0
        print(f"{name}: {word:8} {cost:7.1%} more processor time, {more:.1%} more steps", file=sys.stderr)


def sampled(members: int) -> int:
    """How many members are run again."""
    least, most, share = SAMPLE
    return min(members, most, max(least, round(share * members)))


def check(results: dict[str, Any], channel: str) -> None:
    """Raises unless loops are closed and all motions are the same to the bit."""
    motions = {word: np.asarray(result.channels[channel]) for word, result in results.items()}
    for word, result in results.items():
        assert np.all(result.status <= 0) and result.certificate["gap"].max() < GAP, word
        assert np.array_equal(motions[word], motions["local"]), f"{word}: another motion"


if __name__ == "__main__":
    main()
