"""The frequency of a four-bar on a spring from half a million steps of its motion, beside that of `modes`.

PYTHONPATH=. python benchmarks/bench_modes.py [STEPS]

The crank is let go 1e-3 rad beside the equilibrium. A spectrum of the record under a Hann window has its peak between
two lines; a parabola through the logarithms of three gives it to a part of their distance, and how the phase against
that frequency drifts from the first half of the record to the second gives the rest. The amplitude changes the
frequency by its square. Prints one line of JSON.
"""

from __future__ import annotations

import json
import sys
import time

import numpy as np

import shiftjax
from shiftjax.formats.writer import to_dict

STEP, EVERY, AMPLITUDE = 1e-4, 10, 1e-3  # s, steps, rad


def sprung() -> shiftjax.Model:
    """The library's four-bar with a spring and no damper on its crank."""
    whole = to_dict(shiftjax.load("four_bar"))
    spring = {"name": "spring", "type": "joint_spring", "joint": "crank_pivot", "k": 25.0}
    whole["assemblies"][0].setdefault("force_modules", []).append(spring)
    return shiftjax.load(whole)


def frequency(record: np.ndarray, apart: float) -> float:
    """Of an oscillation that is recorded at even instants [Hz]."""
    record = record - record.mean()
    window = np.hanning(len(record))
    lines = np.log(np.abs(np.fft.rfft(record * window)) + 1e-300)
    k = int(lines[1:].argmax()) + 1
    low, top, high = lines[k - 1 : k + 2]
    peak = (k + 0.5 * (low - high) / (low - 2.0 * top + high)) / (len(record) * apart)
    half = len(record) // 2
    turns = np.exp(-2j * np.pi * peak * apart * np.arange(len(record)))
    still = record * turns
    phases = [np.angle((part * np.hanning(half)).sum()) for part in (still[:half], still[half : 2 * half])]
    drift = (phases[1] - phases[0] + np.pi) % (2.0 * np.pi) - np.pi
    return float(peak + drift / (2.0 * np.pi * half * apart))


def main() -> None:
    steps = int(sys.argv[1]) if len(sys.argv) > 1 else 500_000
    model = sprung()
    begun = time.process_time()
    swing = shiftjax.modes(model)
    spent = time.process_time() - begun
    place = float(shiftjax.equilibrium(model).q["four_bar:crank_pivot"])
    begun = time.process_time()
    run = shiftjax.simulate(
        model, steps * STEP, STEP, output_step=EVERY * STEP, channels=["crank_pivot.q"],
        assign={"crank_pivot.initial_displacement": place + AMPLITUDE, "crank_pivot.initial_velocity": 0.0},
    )  # fmt: skip
    taken = time.process_time() - begun
    measured = frequency(run.channels["crank_pivot.q"], EVERY * STEP)
    print(json.dumps({
        "benchmark": "modes", "steps": steps, "modes_Hz": float(swing.frequencies[0]), "spectrum_Hz": measured,
        "relative": abs(measured / float(swing.frequencies[0]) - 1.0), "modes_s": round(spent, 3),
        "run_s": round(taken, 3), "gap_m": float(run.certificate["gap"]),
        "energy_error": float(run.certificate["energy_error"]),
    }))  # fmt: skip


if __name__ == "__main__":
    main()
