"""Gradients of the kinds of joint that no other test differentiates (D11, M2): one model, one sweep, two designs."""

from __future__ import annotations

from functools import cache
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import shiftjax
from shiftjax.formats.builder import ModelBuilder
from shiftjax.joints import KINDS
from shiftjax.mechanism.model import Model

SLOPE = 1e-6  # relative, of differences of order 4 with steps of a hundredth
ELSEWHERE = ("euler_zyx", "euler_zxz")  # in loops, in test_coordinates.py
BALLS = [f"euler_{axes}" for axes in ("xyx", "xyz", "xzx", "xzy", "yxy", "yxz", "yzx", "yzy", "zxy", "zyz")]
KIND = [*BALLS, "Ty", "Tz", "prismatic"]
STIFFNESS = np.array([20.0, 30.0])  # N/m or N m/rad


def hung() -> Model:
    """A body on each, sprung, none of whose principal moments are equal; so plain that all compile in some seconds."""
    builder = ModelBuilder(gravity=(0.0, -1.0, -9.81))
    a = builder.assembly("a")
    for kind in KIND:
        a.body(kind, mass=1.0, inertia=(0.2, 0.3, 0.45))
        if kind in BALLS:
            ways = dict(zip(KINDS[kind].names, (0.5, 1.1, -0.4), strict=True))
            speeds = dict(zip(KINDS[kind].names, (0.9, -0.7, 1.2), strict=True))
            more: dict[str, Any] = {"stiffness": {"second": [0.0, 1.0]}}
        else:
            ways, speeds, more = 0.1, 0.5, {"stiffness": [0.0, 1.0]}
            more |= {"axis": (2.0, -1.0, 2.0)} if kind == "prismatic" else {}
        a.joint(f"on_{kind}", kind, child=kind, initial_displacement=ways, initial_velocity=speeds, **more)
    return builder.build()


@cache
def slopes() -> dict[str, tuple[np.ndarray, np.ndarray]]:
    """Of where each body ends by its own stiffness: by reverse mode, and by differences."""
    model = hung()
    paths = {kind: f"on_{kind}.stiffness" + (".second[1]" if kind in BALLS else "[1]") for kind in KIND}
    channels = [f"on_{kind}.q" for kind in KIND]

    def ends(vary: Any) -> Any:
        run = shiftjax.simulate(model, 0.1, 5e-3, vary=vary, channels=channels, output_step=0.1)
        return [run.channels[name][:, -1].reshape(len(vary[paths["Ty"]]), -1).sum(1) for name in channels]

    at = {path: jnp.asarray(STIFFNESS) for path in paths.values()}
    reverse = jax.grad(lambda vary: sum(end.sum() for end in ends(vary)))(at)
    around = (STIFFNESS[:, None] * (1.0 + 1e-2 * np.array([-2.0, -1.0, 1.0, 2.0]))).ravel()
    out = {}
    for kind, end in zip(KIND, ends(dict.fromkeys(paths.values(), around)), strict=True):
        differences = np.asarray(end).reshape(2, 4) @ [1.0, -8.0, 8.0, -1.0] / (12.0 * 1e-2 * STIFFNESS)
        out[kind] = np.asarray(reverse[paths[kind]]), differences
    return out


@pytest.mark.parametrize("kind", KIND)
def test_its_slopes_are_those_of_differences(kind: str) -> None:
    reverse, differences = slopes()[kind]
    assert reverse == pytest.approx(differences, rel=SLOPE) and np.abs(differences).min() > 1e-6


def test_no_order_of_turns_is_left_out() -> None:
    assert {*BALLS, *ELSEWHERE} == {name for name in KINDS if name.startswith("euler_")}
