"""Inverse and hybrid dynamics: closed forms, virtual work, what forward dynamics gives back, forces elsewhere."""

from __future__ import annotations

import numpy as np

from shiftjax.formats.builder import ModelBuilder
from shiftjax.gradients.inverse_dynamics import inverse_dynamics
from shiftjax.mechanism.model import Model
from tests.support.mechanisms import rod

ALGEBRA = 1e-11  # relative: sums and one linear solution of a few unknowns in f64
LOOPS = 1e-9  # relative: loops are closed to 1e-12, and accelerations differ by it over the pivots squared
SLOPE = 1e-6  # relative: differences of 1e-5
G, LENGTHS, MASSES = 9.81, (0.6, 0.4), (1.5, 0.8)
TIMES = np.linspace(0.0, 0.5, 6)


def arm(base: str = "rigid") -> Model:
    """Two rods, one on the other, on what may slide along x; both hinges about y."""
    builder = ModelBuilder(gravity=(0.0, 0.0, -G))
    a = builder.assembly("arm").body("cart", mass=2.0, inertia=(0.1, 0.1, 0.1))
    a.joint("slide", base, child="cart")
    for name, on, length, mass in zip(("upper", "lower"), ("cart", ("upper", "tip")), LENGTHS, MASSES, strict=True):
        a.body(name, **rod(length, mass)).joint(f"{name}_hinge", "Ry", parent=on, child=name)
    return builder.build()


def in_closed_form(q: np.ndarray, v: np.ndarray, a: np.ndarray) -> np.ndarray:
    """(2, n) torques of both hinges of the arm on ground (Lagrange; angles grow downwards)."""
    (l1, _), (m1, m2), (c1, c2) = LENGTHS, MASSES, (LENGTHS[0] / 2, LENGTHS[1] / 2)
    i1, i2 = (m * length**2 / 12 for m, length in zip(MASSES, LENGTHS, strict=True))
    far, turn = m2 * l1 * c2 * np.cos(q[1]), m2 * l1 * c2 * np.sin(q[1])
    both = i2 + m2 * c2**2 + far
    first = (i1 + i2 + m1 * c1**2 + m2 * (l1**2 + c2**2) + 2 * far) * a[0] + both * a[1]
    weight = G * m2 * c2 * np.cos(q[0] + q[1])
    return np.array([
        first - turn * (2 * v[0] * v[1] + v[1] ** 2) - G * (m1 * c1 + m2 * l1) * np.cos(q[0]) - weight,
        both * a[0] + (i2 + m2 * c2**2) * a[1] + turn * v[0] ** 2 - weight,
    ])  # fmt: skip


def moving(seed: int, count: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """(count, n) places, speeds, accelerations, of one instant nothing to do with the next."""
    return tuple(np.random.default_rng(seed).uniform(-2.0, 2.0, (3, count, len(TIMES))))  # type: ignore[return-value]


def test_an_arm_takes_the_torques_of_lagrange() -> None:
    q, v, a = moving(1, 2)
    hinges = ("upper_hinge", "lower_hinge")
    answer = inverse_dynamics(arm(), {name: (q[k], v[k], a[k]) for k, name in enumerate(hinges)})
    expected = in_closed_form(q, v, a)
    assert np.abs(np.array([answer.forces[name] for name in hinges]) - expected).max() < ALGEBRA * abs(expected).max()
    assert (answer.status == 0).all() and answer.units == dict.fromkeys(hinges, "N m")


def test_a_free_hinge_follows_and_the_driven_one_takes_what_is_missing() -> None:
    """Hybrid dynamics: of one hinge the acceleration is known, of the other the torque, which is zero."""
    q, v, a = moving(2, 2)
    motion = {"upper_hinge": (q[0], v[0], a[0]), "lower_hinge": (q[1], v[1])}
    answer = inverse_dynamics(arm(), motion, channels=["lower_hinge.a"])
    a[1] = answer.channels["lower_hinge.a"]
    expected = in_closed_form(q, v, a)
    assert np.abs(expected[1]).max() < ALGEBRA * abs(expected).max()
    assert np.abs(answer.forces["upper_hinge"] - expected[0]).max() < ALGEBRA * abs(expected).max()
