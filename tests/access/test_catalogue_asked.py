"""The equations of motion balance in configurations of all forces, constraints, drivers and library models (D26)."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import shiftjax
from tests.gradients.test_gradient_catalogue import CASES
from tests.support.complete import without

ROUNDING = 1e-8  # relative: reactions of redundant rows are of least squares
LIBRARY = sorted(path.stem for path in (Path(__file__).parents[2] / "models").glob("*.json"))
MODELS: dict[str, tuple[Callable[[], Any], dict[str, float]]] = {
    **{name: (partial(shiftjax.load, name), {}) for name in LIBRARY},
    **{label: (case.model, case.drive or {}) for label, case in CASES.items()},
}
FEW = (  # friction by what its joint bears, states of forces, laws in time, loops with redundant rows, trees
    "a force module of type bearing_friction",
    "a force module of type joint_speed_pid",
    "a force module of type transient_fiala_tyre",
    "a driver of type pose_harmonic",
    "a constraint of type cam",
    "excavator",
    "double_wishbone",
)


def near(found: Any, expected: Any) -> bool:
    size = max(1.0, np.abs(found).max(initial=0.0), np.abs(expected).max(initial=0.0))
    return bool(np.abs(np.asarray(found) - expected).max(initial=0.0) < ROUNDING * size)


@pytest.mark.parametrize("label", without(MODELS, {*MODELS} - {*FEW}))
def test_equations_of_motion_balance_d26(label: str) -> None:
    """M a + C v + g - tau = J^T lambda, Z^T of it is 0, dM/dt = C + C^T, in all coordinates and independent ones."""
    make, speeds = MODELS[label]
    drive = {joint: shiftjax.ConstantSpeed(0.0, speed) for joint, speed in speeds.items()}
    at = shiftjax.configuration(make(), drive=drive or None)
    assert at.status == 0
    a, J, C = at.accelerations(), at.constraint_jacobian(), at.coriolis_matrix()
    rest = at.mass_matrix() @ a + C @ at.v + at.gravity_forces() - at.applied_forces()
    assert np.isfinite(a).all() and near(rest, at.constraint_forces())
    if J.size:
        assert near(J.T @ at.multipliers(), rest) and near(J @ a, at.constraint_accelerations())
        assert near(J @ at.v, at.constraint_speeds())
    assert near(C @ at.v, at.coriolis_forces()) and near(at.rate("mass_matrix"), C + C.T)
    independent = [at.speed_names.index(name) for name in at.independent_names]
    if independent:
        M, C = at.mass_matrix(constrained=True), at.coriolis_matrix(constrained=True)
        assert near(at.rate("mass_matrix", constrained=True), C + C.T)
        given = at.applied_forces(constrained=True) - at.gravity_forces(constrained=True)
        left = M @ a[independent] + at.coriolis_forces(constrained=True) - given
        assert np.abs(left).max() < ROUNDING * max(1.0, np.abs(rest).max(), np.abs(M @ a[independent]).max())
