"""Every library model over 10 s: loops closed and energy kept as the issue of the walking skeleton asks."""

from __future__ import annotations

import numpy as np
import pytest

from shiftjax.formats import load
from shiftjax.models import names
from shiftjax.run.simulate import simulate
from tests.mechanics.test_digest import LARGE
from tests.support.complete import without

GAP = 1e-9  # m or rad, largest residual of any loop row over the run: required
VELOCITY_GAP = 1e-9  # per second; the projection leaves rounding times speeds
ENERGY = 1e-6  # of the largest kinetic energy or change of potential, rk4 at 1 ms: required
STEPS = {"andrews": 1e-5, "three_slider_cranks": 1e-4}  # s; what `models/README.md` states where 1 ms is not enough


@pytest.mark.parametrize("name", without(names(), ["n_four_bar_40"]))  # of the same loops as five
def test_s1_d25_library_runs(name: str, request: pytest.FixtureRequest) -> None:
    """S1, S6, D25: conservative runs of 10 s (Andrews: its 50 ms) at the stated step keep loops and energy."""
    if name in LARGE:
        request.getfixturevalue("quick_llvm")
    model, step = load(name), STEPS.get(name, 1e-3)
    result = simulate(model, model.settings.span, step)
    certificate = {key: float(value) for key, value in result.certificate.items()}
    assert result.status == 0, result.messages
    assert certificate["steps"] == round((model.settings.span or 10.0) / step)
    assert model.settings.span == (0.05 if name == "andrews" else 10.0)
    assert certificate["gap"] <= GAP and certificate["velocity_gap"] <= VELOCITY_GAP
    assert certificate["energy_error"] <= ENERGY
    assert 0.0 < certificate["pivot_ratio"] <= 1.0
    assert result.final is not None and np.isfinite(result.final["q"]).all()
