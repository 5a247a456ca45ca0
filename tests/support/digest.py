"""Every library model run for a while, and more that repartition, cross flat poses or vary: one digest each.

`python -m tests.support.digest` writes `tests/golden/library_runs.json` anew; `test_digest.py` compares. Where
processor and libraries are those of the file, bits must be equal; elsewhere NumPy and LAPACK may round a start
differently, and the final states must agree within `AGREE`.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable
from importlib.metadata import version
from pathlib import Path
from typing import Any

import llvmlite.binding as llvm
import numpy as np

from shiftjax import Result, load, simulate
from shiftjax.models import names

GOLDEN = Path(__file__).resolve().parents[1] / "golden" / "library_runs.json"
SPAN, STEP, OUTPUTS = 1.0, 1e-3, 20
FIGURES = ("gap", "velocity_gap", "energy_error", "repartitions", "pivot_ratio", "steps", "rejected")
ANDREWS = {"span": 0.02, "step": 1e-5}


def signature() -> dict[str, str]:
    """What bits depend on besides our code: libraries, and what NumPy and LAPACK choose by the processor."""
    packages = {name: version(name) for name in ("numpy", "llvmlite")}
    return {**packages, "cpu": str(llvm.get_host_cpu_name())}


def library(name: str) -> Result:
    """One library model as it stands, every coordinate and speed and the energies recorded."""
    model = load(name)
    span, step = (ANDREWS["span"], ANDREWS["step"]) if name == "andrews" else (SPAN, STEP)
    joints = [path for path, joint in model.joints() if joint.type != "rigid"]
    channels = [f"{path}.{what}" for path in joints for what in ("q", "v")] + ["energy.total"]
    return simulate(model, span, step, output_step=span / OUTPUTS, channels=channels)


def fast_bricard() -> Result:
    """Repartitions by themselves."""
    return simulate("bricard", 3.0, STEP, assign={"joint1.initial_velocity": 6.0}, channels=["joint1.q"])


def flat_four_bars() -> Result:
    """Five speeds that cross the flat pose, with steps off it."""
    speeds = {"pivot_0.initial_velocity": np.linspace(-3.0, -1.0, 5)}
    return simulate("n_four_bar_2", 3.0, STEP, vary=speeds, channels=["pivot_0.q"], output_step=0.01)


def varied_chassis() -> Result:
    """Several substructures, one common program."""
    mass = load("three_slider_cranks").numbers()
    path = next(path for path in mass if path.endswith(".mass") and mass[path] > 0)
    return simulate("three_slider_cranks", 1.0, STEP, vary={path: mass[path] * np.linspace(0.5, 2.0, 5)}, keep="all")


EXTRA: dict[str, Callable[[], Result]] = {
    "fast_bricard": fast_bricard, "flat_four_bars": flat_four_bars, "varied_slider_cranks": varied_chassis,
}  # fmt: skip
RUNS = (*names(), *EXTRA)


def run(name: str) -> Result:
    return EXTRA[name]() if name in EXTRA else library(name)


def final_numbers(result: Result) -> list[float]:
    """Coordinates and speeds at the end."""
    assert result.final is not None
    return [float(x) for key in ("q", "v") for x in np.ravel(result.final[key])]


def digest(result: Result) -> str:
    """SHA-256 of all numbers of a result, by name in a fixed order."""
    assert result.final is not None
    final = {key: result.final[key] for key in ("q", "v")}
    certificate = {name: result.certificate[name] for name in FIGURES}
    groups: dict[str, Any] = {"channels": result.channels, "certificate": certificate, "final": final}
    groups |= {"poses": result.poses, "log": {"n": np.array(len(result.log))}, "status": {"s": result.status}}
    found = hashlib.sha256()
    for group, values in sorted(groups.items()):
        for key in sorted(values):
            found.update(f"{group} {key}".encode() + np.ascontiguousarray(values[key], np.float64).tobytes())
    return found.hexdigest()


def main() -> None:
    """Writes the golden file."""
    runs = {name: run(name) for name in RUNS}
    document = {
        "signature": signature(),
        "digests": {name: digest(result) for name, result in runs.items()},
        "final": {name: final_numbers(result) for name, result in runs.items()},
    }
    GOLDEN.write_text(json.dumps(document, indent=1) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
