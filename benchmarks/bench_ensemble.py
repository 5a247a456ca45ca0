"""An ensemble of one mechanism against MuJoCo and against plain array code under jax.vmap, on the same cores.

For each mechanism one body's mass varies over the members; RK4 at 1 ms. The physics of every contender is checked
before a number is printed. Rates are member-steps per cpu-second (`time.process_time`, all threads):
    stepping   ours: cpu time of a long run less that of a short one, over the steps between
    simulate   ours: the whole of a warm `simulate()`, start and result included
    mujoco     its C library with its own rollout threads
    array      jax.vmap of a step in jax.numpy arrays

    PYTHONPATH=. python benchmarks/bench_ensemble.py            (needs `pip install '.[bench]'`)
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
import tempfile
import time
from functools import partial
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from peers.array_code import Mechanism
from peers.mujoco_models import Ensemble
from peers.revolute_tree import tree_of
from timer import emit, measure

import shiftjax
from shiftjax.model import Model

STEP = 1e-3  # s
CHECK_SPAN = 0.5  # s
VARIED = {"four_bar": "four_bar:coupler", "n_four_bar_5": "n_four_bar:coupler_0", "bricard": "bricard:rod1"}
COLD = ("four_bar", "n_four_bar_5", "bricard", "vehicle_chassis", "n_four_bar_40")
WANTED = {"four_bar": (300, 200), "n_four_bar_5": (100, 80), "bricard": (80, 50)}  # stepping, simulate: times MuJoCo
GAP, ENERGY, SAME = 1e-9, 1e-6, 1e-7  # m; relative; rad between two exact codes after CHECK_SPAN
SOFT = 0.1  # rad: how near MuJoCo with its soft loops must come to be the same mechanism


def main() -> None:
    options = arguments()
    jax.config.update("jax_enable_x64", True)
    for name in options.models:
        body = VARIED[name]
        model = shiftjax.load(name)
        masses = np.linspace(0.8, 1.2, options.members) * dict(model.bodies())[body].mass
        ours = time_ours(model, body, masses, options)
        peers = {}
        if not options.alone:
            peers["mujoco"] = time_mujoco(model, body, masses, options)
            peers["array"] = time_array_code(model, body, masses, options)
        report(name, {**ours, **peers}, options)
    for name in COLD if options.cold else ():
        emit("start", {"model": name, **time_start(name)})


def arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--models", nargs="+", choices=list(VARIED), default=list(VARIED))
    parser.add_argument("--members", type=int, default=4096)
    parser.add_argument("--span", type=float, default=4.0, help="seconds of motion")
    parser.add_argument("--peer-members", type=int, default=32, help="members of MuJoCo's ensemble")
    parser.add_argument("--array-steps", type=int, default=20, help="steps of the array code")
    parser.add_argument("--repeats", type=int, default=3)
    parser.add_argument("--threads", type=int, default=len(os.sched_getaffinity(0)))
    parser.add_argument("--alone", action="store_true", help="leave the others out")
    parser.add_argument("--cold", action="store_true", help="time cold and warm starts in fresh processes too")
    return parser.parse_args()


def time_ours(model: Model, body: str, masses: np.ndarray, options: argparse.Namespace) -> dict[str, Any]:
    """Both rates of this library, after its certificate has been looked at."""
    vary = {f"{body}.mass": masses}

    def run(span: float) -> shiftjax.Result:
        return shiftjax.simulate(model, span, STEP, output_step=span, vary=vary)

    short_span = options.span / 40
    short, _ = measure(partial(run, short_span), options.repeats)
    long, result = measure(partial(run, options.span), options.repeats)
    worst = {name: float(np.max(values)) for name, values in result.certificate.items()}
    assert np.all(result.status <= 0), f"{len(result.failed)} members failed"
    assert worst["gap"] < GAP and worst["energy_error"] < ENERGY, worst
    steps = round(options.span / STEP) * len(masses)
    between = round((options.span - short_span) / STEP) * len(masses)
    return {
        "stepping": {"rate": between / (long.cpu_s - short.cpu_s), "spread": long.spread},
        "simulate": {"rate": steps / long.cpu_s, "wall_s": long.wall_s, "compile_s": result.compile_s, **worst},
    }


def time_mujoco(model: Model, body: str, masses: np.ndarray, options: argparse.Namespace) -> dict[str, Any]:
    """MuJoCo's rate; it must show the same motion as we do, as far as its soft loops let it."""
    chosen = masses[np.linspace(0, len(masses) - 1, options.peer_members).astype(int)]
    peers = Ensemble([model.replace({f"{body}.mass": float(m)}) for m in chosen], STEP, options.threads)
    check = peers.angles(peers.run(round(CHECK_SPAN / STEP)))
    difference = float(np.abs(check - our_angles(model, body, chosen, peers.joints)).max())
    assert difference < SOFT, f"MuJoCo moves otherwise, by {difference:.3g} rad"
    steps = round(options.span / STEP)
    timing, states = measure(lambda: peers.run(steps), options.repeats)
    figures = peers.figures(states[:4], every=10)
    return {"rate": steps * len(chosen) / timing.cpu_s, "spread": timing.spread, "difference": difference, **figures}


def time_array_code(model: Model, body: str, masses: np.ndarray, options: argparse.Namespace) -> dict[str, Any]:
    """The rate of plain array code; it must show the same motion as we do."""
    tree = tree_of(model)
    mechanism = Mechanism(tree, [link.path for link in tree.links].index(body))
    run = mechanism.runner(STEP)
    few = masses[:: max(1, len(masses) // 4)]
    q, _ = run(jnp.asarray(few), round(CHECK_SPAN / STEP))
    difference = float(np.abs(q - our_angles(model, body, few, [link.joint for link in tree.links])).max())
    assert difference < SAME, f"the array code moves otherwise, by {difference:.3g} rad"
    timing, _ = measure(lambda: run(jnp.asarray(masses), options.array_steps), options.repeats)
    rate = options.array_steps * len(masses) / timing.cpu_s
    return {"rate": rate, "spread": timing.spread, "compile_s": timing.compile_s, "difference": difference}


def our_angles(model: Model, body: str, masses: np.ndarray, joints: list[str]) -> np.ndarray:
    """(B, joints) our hinge angles after CHECK_SPAN, counted from the start as the peers count them [rad]."""
    result = shiftjax.simulate(
        model, CHECK_SPAN, STEP, output_step=CHECK_SPAN, channels=[f"{joint}.q" for joint in joints],
        vary={f"{body}.mass": masses},
    )  # fmt: skip
    return np.stack([result.channels[f"{joint}.q"][:, -1] - result.channels[f"{joint}.q"][:, 0] for joint in joints], 1)


def time_start(name: str) -> dict[str, float]:
    """Seconds from after `import jax` to the first result, in fresh processes: empty cache, then a warm one."""
    code = (
        "import jax, time; t = time.perf_counter(); import shiftjax; "
        f"r = shiftjax.simulate(shiftjax.load({name!r}), 0.01, 1e-3, output_step=0.01); "
        "print(r.compile_s, time.perf_counter() - t)"
    )
    figures = {}
    with tempfile.TemporaryDirectory() as cache:
        for kind in ("cold", "warm"):
            environment = {**os.environ, "SHIFTJAX_CACHE_DIR": cache}
            done = subprocess.run(
                [sys.executable, "-c", code], env=environment, capture_output=True, text=True, check=True
            )
            compile_s, all_s = map(float, done.stdout.split())
            figures |= {f"{kind}_compile_s": compile_s, f"{kind}_all_s": all_s}
    return figures


def report(name: str, rates: dict[str, Any], options: argparse.Namespace) -> None:
    """A JSON line, and a table for people on stderr."""
    emit("ensemble", {"model": name, "members": options.members, "span_s": options.span, "step_s": STEP, **rates})
    print(f"\n{name}: {options.members} members, {options.span:g} s, RK4 at {STEP * 1e3:g} ms", file=sys.stderr)
    base = rates.get("mujoco", {}).get("rate")
    for contender, figures in rates.items():
        ratio = f"{figures['rate'] / base:9.1f} x MuJoCo" if base else ""
        gap = f"  gap {figures['gap']:.2g} m, energy {figures['energy_error']:.2g}" if "gap" in figures else ""
        print(f"  {contender:9} {figures['rate']:14,.0f} member-steps/cpu-s {ratio}{gap}", file=sys.stderr)
    if base:
        wanted = ", ".join(
            f"{what} {times} x" for what, times in zip(("stepping", "simulate"), WANTED[name], strict=True)
        )
        print(f"  wanted: {wanted}  ({time.strftime('%Y-%m-%d')})", file=sys.stderr)


if __name__ == "__main__":
    main()
