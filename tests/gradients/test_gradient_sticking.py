"""Slopes on both sides of a stick (D28, S42): of what still slides at the end, has come to rest, or breaks loose later.

A block with a speed v, a mass m and dry friction L stops after m v / L, at m v^2 / (2 L); before that it is at
v t - L t^2 / (2 m). Slopes of both are those of these, as far as the friction's own width allows, and those of
differences of the run itself.
"""

from __future__ import annotations

from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import shiftjax
from shiftjax.formats.builder import ModelBuilder
from shiftjax.mechanism.model import Model

MASS, SPEED, SPAN = 2.0, 1.0, 1.0
SLIDES, STICKS = 1.2, 3.0  # N: at 1 s the one has a speed of 0.4 m/s, the other stands since 0.67 s
WIDTH = {"coulomb_friction": 5e-3, "lugre_friction": 2.5e-2}  # relative: it fades below 1e-3 m/s; bristles begin unbent
SAME = 1e-6  # relative, of reverse mode and differences of order 4
TURNING = 1e-4  # the same of bristles that swing to rest: |v| bends within the steps in which v changes its sign
NUMBERS: dict[str, dict[str, float]] = {
    "coulomb_friction": {"slip_speed": 1e-3},
    "lugre_friction": {"stribeck_speed": 0.1, "stiffness": 1e4, "damping": 100.0},
}
LEVELS = {"coulomb_friction": ("level",), "lugre_friction": ("static", "kinetic")}


def block(kind: str, *, load: list[float] | None = None, speed: float = SPEED) -> Model:
    builder = ModelBuilder(gravity=(0.0, 0.0, 0.0))
    a = builder.assembly("a").body("block", mass=MASS, inertia=(0.1,) * 3)
    a.joint("way", "Tx", child="block", initial_velocity=speed)
    a.force("rub", kind, joint="way", **NUMBERS[kind], **dict.fromkeys(LEVELS[kind], 1.0))
    if load:
        a.force("pull", "polynomial_load", joint="way", coefficients=load)
    return builder.build()


def end(model: Model, kind: str, levels: Any, speeds: Any) -> Any:
    vary = {f"rub.{name}": levels for name in LEVELS[kind]} | {"way.initial_velocity": speeds}
    run = shiftjax.simulate(model, SPAN, 2e-4, vary=vary, channels=["way.q"], output_step=SPAN)
    return run.channels["way.q"][:, -1]


def differences(model: Model, kind: str, level: float, speed: float) -> list[float]:
    """Of order 4, by level and by speed, in one batch."""
    h, steps = 1e-3, np.array([-2.0, -1.0, 1.0, 2.0])
    levels = np.concatenate([level * (1.0 + h * steps), np.full(4, level)])
    speeds = np.concatenate([np.full(4, speed), speed * (1.0 + h * steps) if speed else h * steps])
    x = np.asarray(end(model, kind, levels, speeds)).reshape(2, 4)
    return (x @ [1.0, -8.0, 8.0, -1.0] / (12.0 * h * np.array([level, speed or 1.0]))).tolist()


def slopes(model: Model, kind: str, level: float, speed: float) -> list[float]:
    total = lambda levels, speeds: end(model, kind, levels, speeds).sum()  # noqa: E731
    return [float(x[0]) for x in jax.grad(total, (0, 1))(jnp.array([level]), jnp.array([speed]))]


@pytest.mark.parametrize("level", [SLIDES, STICKS])
@pytest.mark.parametrize("kind", NUMBERS)
def test_a_block_that_slides_or_has_come_to_rest(kind: str, level: float) -> None:
    model, within = block(kind), TURNING if (kind, level) == ("lugre_friction", STICKS) else SAME
    by_level, by_speed = slopes(model, kind, level, SPEED)
    if level == SLIDES:
        exact = (-(SPAN**2) / (2.0 * MASS), SPAN)
    else:
        exact = (-MASS * SPEED**2 / (2.0 * level**2), MASS * SPEED / level)
    assert (by_level, by_speed) == pytest.approx(exact, rel=WIDTH[kind])
    assert [by_level, by_speed] == pytest.approx(differences(model, kind, level, SPEED), rel=within)


def test_a_block_that_breaks_loose() -> None:
    """Under a load that rises as r t bristles hold it until L / r; then it is at r s^3 / (6 m), s = t - L / r."""
    rise, level = 4.0, 2.0
    model, kind = block("lugre_friction", load=[0.0, rise], speed=0.0), "lugre_friction"
    by_level, _ = slopes(model, kind, level, 0.0)  # by speed it bends at rest, where |v| does
    slid = SPAN - level / rise
    assert by_level == pytest.approx(-(slid**2) / (2.0 * MASS), rel=WIDTH[kind])
    assert by_level == pytest.approx(differences(model, kind, level, 0.0)[0], rel=SAME)
