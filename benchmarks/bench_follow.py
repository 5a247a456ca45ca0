"""Poses a second of processor time along paths of four-bars, beside other codes.

Every code follows the same linkages through the same crank angles in one run: `follow`, whole calls and its kernel
alone; the closed form of the rocker in NumPy; pylinkage with numba, where both are installed; root finding in SciPy.
Before a rate is printed its poses are compared with the closed form. `returns` leads 10 000 random four-bars to 1e-7
rad of their ends, and back.

    PYTHONPATH=. python benchmarks/bench_follow.py
    PYTHONPATH=. python benchmarks/bench_follow.py --cases returns
"""

from __future__ import annotations

import argparse
import importlib
import importlib.util
import statistics
import time
from collections.abc import Callable

import numpy as np
from scipy.optimize import root

import shiftjax
from shiftjax.bench.operations import operations_of_a_step
from shiftjax.bench.timing import emit
from shiftjax.bench.watched_kernel import Watch, watched

CRANK, COUPLER, ROCKER, GROUND = 0.2, 0.5, 0.4, 0.5  # m, of the library's four-bar
POSES = 361
NEAR = 1e-7  # rad before the end of a travel
SAME = 1e-11  # rad between the poses of two codes


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--cases", nargs="+", choices=["rates", "returns"], default=["rates", "returns"])
    parser.add_argument("--members", type=int, default=20_000)
    parser.add_argument("--poses", type=int, default=POSES)
    parser.add_argument("--rounds", type=int, default=5)
    options = parser.parse_args()
    if "rates" in options.cases:
        for row in rates(options.members, options.poses, options.rounds):
            emit("follow", row)
    if "returns" in options.cases:
        emit("follow", returns(10_000))


def rates(members: int, poses: int, rounds: int) -> list[dict[str, object]]:
    """Of each code the median of its rate, its worst gap and what it is off by from the closed form."""
    lengths = np.random.default_rng(0).uniform(0.48, 0.52, members)
    angles = np.linspace(np.pi / 3.0, np.pi / 3.0 + 2.0 * np.pi, poses)
    exact = closed_form(lengths, angles)
    rows: list[dict[str, object]] = []
    with watched("cpu") as watch:
        for order in range(4):
            run, kernel_s = shifted(lengths, angles, order, watch), list[float]()
            line = row(f"shiftjax follow, order {order}", run, exact, lengths, angles, rounds, watch, kernel_s)
            kernel = exact.size / statistics.median(kernel_s[1:])
            operations = operations_of_a_step(watch.program)
            rows.append({**line, "kernel_poses_per_cpu_s": float(f"{kernel:.3g}"), "operations": operations})
    rows.append(row("closed form, numpy", lambda: closed_form(lengths, angles), exact, lengths, angles, rounds))
    few = slice(0, 20)
    others = {"scipy root, one after the other": (rooted, 1)}
    if importlib.util.find_spec("pylinkage") and importlib.util.find_spec("numba"):
        others = {"pylinkage, step_fast with numba": (linked, rounds), **others}
    for code, (run_of, count) in others.items():
        rows.append(row(code, lambda f=run_of: f(lengths[few], angles), exact[few], lengths[few], angles, count))
    return rows


def row(
    code: str,
    run: Callable[[], np.ndarray],
    exact: np.ndarray,
    lengths: np.ndarray,
    angles: np.ndarray,
    rounds: int,
    watch: Watch | None = None,
    kernel_s: list[float] | None = None,
) -> dict[str, object]:
    """One code: it runs once for its compilation, then its processor time is taken; that of its kernel, if watched."""
    q, seconds = run(), []
    for _ in range(rounds):
        if watch is not None:
            watch.forget()
        clock = time.process_time()
        q = run()
        seconds.append(time.process_time() - clock)
        if watch is not None and kernel_s is not None:
            kernel_s.append(watch.stepping.cpu_s)
    off = float(np.abs((q - exact + np.pi) % (2.0 * np.pi) - np.pi).max())
    if off > SAME:
        raise SystemExit(f"{code} is off by {off:g} rad")
    x, y = CRANK * np.cos(angles), CRANK * np.sin(angles)
    far = np.hypot(GROUND + ROCKER * np.cos(q) - x, ROCKER * np.sin(q) - y)
    return {
        "case": "rates", "code": code, "members": len(lengths), "poses": len(angles),
        "poses_per_cpu_s": float(f"{q.size / statistics.median(seconds):.3g}"),
        "gap_m": float(f"{np.abs(far - lengths[:, None]).max():.1e}"), "off_rad": float(f"{off:.1e}"),
    }  # fmt: skip


def shifted(lengths: np.ndarray, angles: np.ndarray, order: int, watch: Watch) -> Callable[[], np.ndarray]:
    """The whole call of `follow`, as a user makes it; of order 3 with jerks."""
    channels = ["rocker_pivot.q", *["rocker_pivot.jerk"] * (order == 3)]

    def run() -> np.ndarray:
        path = shiftjax.follow(
            "four_bar", {"crank_pivot": angles}, order=order, vary={"coupler:tip.T[0]": lengths},
            channels=channels, threads=1, backend=watch.backend,
        )  # fmt: skip
        return path.channels["rocker_pivot.q"]

    return run


def closed_form(lengths: np.ndarray, angles: np.ndarray) -> np.ndarray:
    """(B, n) angles of the rocker by the intersection of two circles, about y as the library's model has it."""
    x, y = CRANK * np.cos(angles) - GROUND, CRANK * np.sin(angles)  # from the rocker's pivot to the crank's tip
    far = np.hypot(x, y)
    corner = np.arccos((ROCKER**2 + far**2 - lengths[:, None] ** 2) / (2.0 * ROCKER * far))
    return np.arctan2(y, x) - corner


def rooted(lengths: np.ndarray, angles: np.ndarray) -> np.ndarray:
    """The same by SciPy, each pose from the one before."""
    out = np.empty((len(lengths), len(angles)))
    first = closed_form(lengths, angles[:1])[:, 0]
    for k, length in enumerate(lengths):
        rocker = first[k]
        x = GROUND + ROCKER * np.cos(rocker) - CRANK * np.cos(angles[0])
        y = ROCKER * np.sin(rocker) - CRANK * np.sin(angles[0])
        guess = np.array([np.arctan2(y, x), rocker])
        for i, angle in enumerate(angles):

            def loop(q: np.ndarray, angle: float = angle, length: float = length) -> list[float]:
                return [
                    CRANK * np.cos(angle) + length * np.cos(q[0]) - GROUND - ROCKER * np.cos(q[1]),
                    CRANK * np.sin(angle) + length * np.sin(q[0]) - ROCKER * np.sin(q[1]),
                ]

            guess = root(loop, guess, tol=1e-14).x
            out[k, i] = guess[1]
    return out


def linked(lengths: np.ndarray, angles: np.ndarray) -> np.ndarray:
    """The same by pylinkage, a linkage after the other: its first pose is a step after that in which it is made."""
    pylinkage = importlib.import_module("pylinkage")
    step = float(angles[1] - angles[0])
    begin = closed_form(lengths, angles[:1] - step)[:, 0]
    out = np.empty((len(lengths), len(angles)))
    for k, length in enumerate(lengths):
        near, far = pylinkage.Ground(0.0, 0.0), pylinkage.Ground(GROUND, 0.0)
        crank = pylinkage.Crank(near, CRANK, angular_velocity=step, initial_angle=float(angles[0] - step))
        x, y = GROUND + ROCKER * np.cos(begin[k]), ROCKER * np.sin(begin[k])
        pin = pylinkage.RRRDyad(crank.output, far, distance1=float(length), distance2=ROCKER, x=x, y=y)
        places = pylinkage.Linkage([near, far, crank, pin]).step_fast(len(angles))[:, 3]
        out[k] = np.arctan2(places[:, 1], places[:, 0] - GROUND)
    return out


def returns(count: int) -> dict[str, object]:
    """Random four-bars led to the ends of their travels and back: how many, and by how much they miss their start."""
    lengths = np.random.default_rng(1).uniform((0.1, 0.3, 0.25), (0.45, 0.7, 0.6), (count, 3)).T
    vary: dict[str, np.ndarray] = dict(
        zip(("crank:tip.T[0]", "coupler:tip.T[0]", "rocker:tip.T[0]"), lengths, strict=True)
    )
    ends = shiftjax.travel("four_bar", "crank_pivot", vary=vary)
    some = ends.assembled & np.isfinite(ends.high)
    share = np.concatenate([np.linspace(0.0, 1.0, 200), np.linspace(1.0, 0.0, 200)[1:]])
    way = ends.begin[some, None] + (ends.high - NEAR - ends.begin)[some, None] * share
    given = {path: values[some] for path, values in vary.items()}
    clock = time.process_time()
    path = shiftjax.follow("four_bar", {"crank_pivot": way}, channels=["rocker_pivot.q"], vary=given)
    seconds, q = time.process_time() - clock, path.channels["rocker_pivot.q"]
    return {
        "case": "returns", "designs": count, "with_ends": int(some.sum()), "good": int((path.status == 0).sum()),
        "missed_rad": float(f"{np.nanmax(np.abs(q[:, -1] - q[:, 0])):.1e}"),
        "gap_m": float(f"{np.nanmax(path.certificate['gap']):.1e}"), "cpu_s": round(seconds, 2),
    }  # fmt: skip


if __name__ == "__main__":
    main()
