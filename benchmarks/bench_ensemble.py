"""An ensemble of one mechanism against MuJoCo and against plain array code under jax.vmap, on the same cores.

For each mechanism one body's mass varies over the members; RK4 at 1 ms. The physics of every code is checked before a
number is printed. The codes run in turn, round after round; figures are medians over the rounds, ratios are taken
within a round. Rates are member-steps per cpu-second (`time.process_time`, all threads):
    stepping   ours: cpu time of a long run less that of a short one, over the steps between
    simulate   ours: the whole of a warm `simulate()`, start and result included
    mujoco     its C library with its own rollout threads, loops as soft as they are by default
    tuned      the same with the stiffest loops that it takes at this step, `solref` 0.002 1 and `solimp` 0.9999
    array      jax.vmap of a step in jax.numpy arrays

    PYTHONPATH=. python benchmarks/bench_ensemble.py            (needs `pip install -e '.[bench]'`)
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from functools import partial
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

import shiftjax
from shiftjax.bench.rivals.array_code import ArrayMechanism
from shiftjax.bench.rivals.hinge_tree import tree_of
from shiftjax.bench.rivals.mjcf import Closing
from shiftjax.bench.rivals.mujoco_c import ensemble_of, figures_of
from shiftjax.bench.timing import emit, side_by_side
from shiftjax.mechanism.model import Model

STEP = 1e-3  # s
CHECK_SPAN = 0.5  # s
VARIED = {
    "four_bar": "four_bar:coupler",
    "n_four_bar_5": "n_four_bar:coupler_0",
    "bricard": "bricard:rod1",
    "n_four_bar_40": "n_four_bar:coupler_0",
}
COLD = ("four_bar", "n_four_bar_5", "bricard", "vehicle_chassis", "n_four_bar_40")
TARGETS = {"four_bar": (300, 200), "n_four_bar_5": (100, 80), "bricard": (80, 50)}  # stepping, simulate: times MuJoCo
GAP, ENERGY, SAME = 1e-9, 1e-6, 1e-7  # m; relative; rad between two exact codes after CHECK_SPAN
PEERS = {"mujoco": "default", "solref": "solref", "tuned": "tuned"}  # settings of MuJoCo, as in `mjcf.SOFTNESS`
SOFT = 0.1  # rad: allowed difference from MuJoCo with its soft loops


def main() -> None:
    options = arguments()
    jax.config.update("jax_enable_x64", True)
    for name in options.models:
        report(name, compared(name, options), options)
    for name in COLD if options.cold else ():
        emit("start", {"model": name, **time_start(name)})


def arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--models", nargs="+", choices=list(VARIED), default=list(VARIED))
    parser.add_argument("--members", type=int, default=4096)
    parser.add_argument("--span", type=float, default=4.0, help="seconds of motion")
    parser.add_argument("--peer-members", type=int, default=16, help="members of MuJoCo's ensemble")
    parser.add_argument("--array-steps", type=int, default=20, help="steps of the array code")
    parser.add_argument("--rounds", type=int, default=7)
    parser.add_argument("--threads", type=int, default=len(os.sched_getaffinity(0)))
    parser.add_argument("--alone", action="store_true", help="leave the others out")
    parser.add_argument(
        "--gaps", action="store_true", help="gaps and energy errors only: no rates, quick, same anywhere"
    )
    parser.add_argument("--cold", action="store_true", help="time cold and warm starts in fresh processes too")
    return parser.parse_args()


def compared(name: str, options: argparse.Namespace) -> dict[str, Any]:
    """Every code's rate, after its physics has been checked."""
    body = VARIED[name]
    model = shiftjax.load(name)
    masses = np.linspace(0.8, 1.2, options.members) * dict(model.bodies())[body].mass
    short_span, steps = options.span / 40, round(options.span / STEP)
    calls: dict[str, Callable[[], Any]] = {
        "long": partial(shiftjax_run, model, body, masses, options.span, options.threads),
        "short": partial(shiftjax_run, model, body, masses, short_span, options.threads),
    }
    setups = {**{who: partial(mujoco_peer, softness=PEERS[who]) for who in ("mujoco", "tuned")}, "array": array_peer}
    if options.gaps:
        return gaps_only(model, body, masses, steps, options)
    setups = {} if options.alone else setups
    counts, figures = {}, {}
    for who, setup in setups.items():
        calls[who], counts[who], figures[who] = setup(model, body, masses, steps, options)
    timings, results = side_by_side(calls, options.rounds)
    worst = certified(results["long"])
    between = [a - b for a, b in zip(timings["long"].cpus, timings["short"].cpus, strict=True)]
    rates = {
        "stepping": rates_of(between, (steps - round(short_span / STEP)) * len(masses)),
        "simulate": rates_of(timings["long"].cpus, steps * len(masses)),
        **{who: rates_of(timings[who].cpus, count) for who, count in counts.items()},
    }
    figures["simulate"] = {"wall_s": timings["long"].wall_s, "compile_s": results["long"].compile_s, **worst}
    row = {}
    for who, rate in rates.items():
        row[who] = {"rate": float(np.median(rate)), "fastest": float(rate.max()), **figures.get(who, {})}
        for peer in ("mujoco", "tuned"):
            if peer in rates and who not in ("mujoco", "tuned"):
                row[who][f"times_{peer}"] = float(np.median(rate / rates[peer]))
    return row


def gaps_only(model: Model, body: str, masses: np.ndarray, steps: int, options: argparse.Namespace) -> dict[str, Any]:
    """What does not depend on the clock: gaps and energy errors of MuJoCo in all settings, and ours."""
    worst = certified(shiftjax_run(model, body, masses, options.span, options.threads))
    peers = {who: mujoco_peer(model, body, masses, steps, options, softness) for who, softness in PEERS.items()}
    return {"simulate": worst, **{who: figures for who, (_, _, figures) in peers.items()}}


def rates_of(cpus: list[float], member_steps: int) -> np.ndarray:
    """Member-steps per cpu-second, round by round."""
    return member_steps / np.array(cpus)


def shiftjax_run(model: Model, body: str, masses: np.ndarray, span: float, threads: int) -> shiftjax.Result:
    """A whole call of this library."""
    return shiftjax.simulate(
        model, span, STEP, output_step=span, vary={f"{body}.mass": masses}, threads=threads
    )  # fmt: skip


def certified(result: shiftjax.Result) -> dict[str, float]:
    """The worst of every number of the certificate, when they pass."""
    worst = {name: float(np.max(values)) for name, values in result.certificate.items()}
    assert np.all(result.status <= 0), f"{len(result.failed)} members failed"
    assert worst["gap"] < GAP and worst["energy_error"] < ENERGY, worst
    return worst


Peer = tuple[Callable[[], Any], int, dict[str, Any]]  # a call, its member-steps, what its physics showed


def mujoco_peer(
    model: Model, body: str, masses: np.ndarray, steps: int, options: argparse.Namespace, softness: str
) -> Peer:
    """MuJoCo; its motion must agree with ours within the error of its soft loops."""
    chosen = masses[np.linspace(0, len(masses) - 1, options.peer_members).astype(int)]
    models = [model.replace({f"{body}.mass": float(m)}) for m in chosen]
    peers = ensemble_of(models, STEP, options.threads, Closing("connect", softness))
    check = peers.angles(peers.run(round(CHECK_SPAN / STEP)))
    difference = float(np.abs(check - our_angles(model, body, chosen, peers.joints)).max())
    assert difference < SOFT, f"MuJoCo's motion differs by {difference:.3g} rad"
    figures = figures_of(peers, models, body, peers.run(steps)[:4])
    return partial(peers.run, steps), steps * len(chosen), {"difference": difference, **figures}


def array_peer(model: Model, body: str, masses: np.ndarray, steps: int, options: argparse.Namespace) -> Peer:
    """Plain array code; its motion must agree with ours."""
    tree = tree_of(model)
    mechanism = ArrayMechanism(tree, [link.path for link in tree.links].index(body))
    run = mechanism.runner(STEP)
    few = masses[:: max(1, len(masses) // 4)]
    q, _ = run(jnp.asarray(few), round(CHECK_SPAN / STEP))
    difference = float(np.abs(q - our_angles(model, body, few, [link.joint for link in tree.links])).max())
    assert difference < SAME, f"the array code's motion differs by {difference:.3g} rad"
    count = min(steps, options.array_steps)
    return partial(run, jnp.asarray(masses), count), count * len(masses), {"difference": difference}


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
    kind = "gaps" if options.gaps else "ensemble"
    emit(kind, {"model": name, "members": options.members, "span_s": options.span, "step_s": STEP, **rates})
    print(f"\n{name}: {options.members} members, {options.span:g} s, RK4 at {STEP * 1e3:g} ms", file=sys.stderr)
    for code, figures in rates.items():
        ratio = f"{figures['times_mujoco']:9.1f} x MuJoCo" if "times_mujoco" in figures else ""
        ratio += f", {figures['times_tuned']:.1f} x it tuned" if "times_tuned" in figures else ""
        gap = f"  gap {figures['gap']:.2g} m, energy {figures['energy_error']:.2g}" if "gap" in figures else ""
        speed = "" if options.gaps else "{rate:14,.0f} member-steps/cpu-s (fastest {fastest:14,.0f})".format(**figures)
        print(f"  {code:9} {speed} {ratio}{gap}", file=sys.stderr)
    if "mujoco" in rates and not options.gaps and name in TARGETS:
        targets = ", ".join(
            f"{what} {times} x" for what, times in zip(("stepping", "simulate"), TARGETS[name], strict=True)
        )
        print(f"  targets: {targets}  ({time.strftime('%Y-%m-%d')})", file=sys.stderr)


if __name__ == "__main__":
    main()
