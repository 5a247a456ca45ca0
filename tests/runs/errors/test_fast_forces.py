"""Forces of kinds from outside the package, and functions of the user's in long steps: looked at between the stages."""

from __future__ import annotations

from typing import Any

import jax.numpy as jnp
import pytest

from shiftjax import CoordinateFunction, ModelBuilder
from shiftjax.algebra import select, sin
from shiftjax.field import number
from shiftjax.forces import FORCES, Course, ForceKind
from shiftjax.mechanism.model import Model
from shiftjax.outcome import Outcome
from shiftjax.run.results.result import Result
from shiftjax.run.simulate import simulate
from tests.runs.errors.test_fast_inputs import carriage, swung, turned
from tests.support.models.mechanisms import rod

INERTIA = 2.0  # kg m^2 about the hinge
WRONG = 1e-3  # rad, what may not be off without a word
LATER = 0.3004  # s, within a step of 1 ms


class Blow(ForceKind):
    """A torque for a while, along a joint."""

    joints, dissipates = 1, True
    fields = (number("height", "{f}", "of it"), number("begin", "s", "of it"), number("width", "s", "of it"))

    def apply(self, element: Any, motion: Any, load: Any, states: Any) -> Any:
        n, (joint,) = motion.values(element.numbers), element.coordinates
        inside = select(motion.t < n["begin"], 0.0, select(motion.t < n["begin"] + n["width"], 1.0, 0.0))
        load.add_generalized(motion.speed_index(joint), n["height"] * inside)
        load.supply(n["height"] * inside * motion.speed(joint))
        return ()


class Shaker(ForceKind):
    """A force on a body that turns, in the world's axes."""

    frames, dissipates = 1, True
    fields = (number("height", "N", "of it"), number("frequency", "rad/s", "at which it swings"))

    def apply(self, element: Any, motion: Any, load: Any, states: Any) -> Any:
        n, (frame,) = motion.values(element.numbers), element.frames
        size = n["height"] * sin(n["frequency"] * motion.t)
        load.add_force_at(frame, [0.0, 0.0, 0.0], [size, 0.0, 0.0])
        if motion.v is not None:
            load.supply(size * motion.velocity(frame)[0])
        return ()


class Latch(ForceKind):
    """A force over a displacement that is up and then down, as of a barrier."""

    joints = 1
    fields = (number("height", "J", "of the barrier"), number("place", "{x}", "where"), number("width", "{x}", "of it"))

    def _tent(self, element: Any, motion: Any) -> tuple[Any, list[Any], Any]:
        n, (joint,) = motion.values(element.numbers), element.coordinates
        half = 0.5 * n["width"]
        return motion.coordinate(joint), [n["place"], n["place"] + half, n["place"] + 2.0 * half], n["height"] / half

    def apply(self, element: Any, motion: Any, load: Any, states: Any) -> Any:
        (joint,) = element.coordinates
        x, (a, b, c), f = self._tent(element, motion)
        force = select(x < a, 0.0, select(x < b, f, select(x < c, -f, 0.0)))
        rise, fall = f * (x - a), f * (c - x)
        load.add_potential(select(x < a, 0.0, select(x < b, rise, select(x < c, fall, 0.0))))
        load.add_generalized(motion.speed_index(joint), -force)
        return ()


class Catch(Latch):
    """The same with what the package asks for."""

    def course_knots(self, element: Any) -> int:
        return 3

    def course(self, element: Any, motion: Any) -> Course:
        x, knots, f = self._tent(element, motion)
        top = f * (knots[1] - knots[0])
        return Course(x, knots, [0.0, f, -f], [f, -f, 0.0], [[0.5 * top, top], [-0.5 * top, -top]])


for name, kind in {"blow": Blow, "shaker": Shaker, "latch": Latch, "catch": Catch}.items():
    FORCES[f"test_{name}"] = kind()


def wheel(**numbers: Any) -> Model:
    """A body on a hinge without weight."""
    builder = ModelBuilder(gravity=(0.0, 0.0, 0.0))
    a = builder.assembly("a").body("wheel", mass=1.0, inertia=(1.0, INERTIA, 1.0)).joint("hinge", "Ry", child="wheel")
    a.force("push", "test_blow", joint="hinge", **numbers)
    return builder.build()


def spun(model: Model, step: float | None = 1e-3, **more: Any) -> Result:
    return simulate(model, 1.0, step, channels=["hinge.q"], **more)


@pytest.mark.parametrize("tolerance", [None, 1e-6])
@pytest.mark.parametrize("width", [1e-4, 3.3e-3, 0.5007])
def test_a_blow_of_a_kind_from_outside_is_looked_at(width: float, tolerance: float | None) -> None:
    """Its impulse turns the wheel by impulse / inertia * time left."""
    result = spun(wheel(height=50.0, begin=LATER, width=width), None if tolerance else 1e-3, tolerance=tolerance)
    exact = 50.0 * width / INERTIA * (1.0 - LATER - width / 2)
    wrong = abs(turned(result) - exact) > 1e-4 * exact
    assert wrong or width > 0.1
    assert ("a:push changes within steps" in result.messages[0]) == wrong == (result.status == Outcome.inaccurate)


def test_each_member_is_judged_by_its_numbers() -> None:
    """One of no height, and one that lasts as long as the run, are followed."""
    vary = {"push.height": [50.0, 0.0, 50.0], "push.width": [1e-4, 1e-4, 9.0], "push.begin": [LATER, LATER, -1.0]}
    result = spun(wheel(height=1.0, begin=LATER, width=0.1), vary=vary)
    assert ["changes within steps" in message for message in result.messages] == [True, False, False]
    alone = spun(wheel(height=1.0, begin=LATER, width=0.1), vary={path: values[:1] for path, values in vary.items()})
    assert alone.messages == result.messages[:1]


@pytest.mark.parametrize(("frequency", "seen"), [(20.0, False), (500.0, False), (2500.0, True), (6283.2, True)])
def test_swinging_forces_of_kinds_from_outside(frequency: float, seen: bool) -> None:
    """A pendulum that is shaken: with few steps a turn it is followed wrongly, whatever the impulses add up to."""
    builder = ModelBuilder(gravity=(0.0, 0.0, -9.81))
    a = builder.assembly("a").body("arm", **rod(1.0))
    a.joint("hinge", "Ry", child="arm", initial_displacement=0.4)
    a.force("push", "test_shaker", frame=("arm", "tip"), height=3.0, frequency=frequency)
    for tolerance in (None, 1e-8):
        result = simulate(builder.build(), 0.5, None if tolerance else 1e-3, tolerance=tolerance)
        assert ("a:push changes within steps" in result.messages[0]) == (seen and tolerance is None)


@pytest.mark.parametrize(("kind", "seen"), [("test_latch", False), ("test_catch", True)])
def test_a_kind_from_outside_says_where_it_is_thin(kind: str, seen: bool) -> None:
    """A barrier of twice the energy of the motion, passed within a step; only the kind knows its knots."""
    builder = ModelBuilder(gravity=(0.0, 0.0, 0.0))
    a = builder.assembly("a").body("sled", mass=1.0, inertia=(1.0, 1.0, 1.0))
    a.joint("slide", "Tx", child="sled", initial_velocity=10.0, initial_displacement=1e-3)
    a.force("bolt", kind, joint="slide", height=100.0, place=0.0915, width=2e-3)
    result = simulate(builder.build(), 0.1, 1e-3, channels=["slide.v"])
    assert result.channels["slide.v"][-1] == 10.0
    assert (result.status == Outcome.inaccurate and "has knots" in result.messages[0]) == seen


BLOWS = {
    "smooth": (lambda t: 0.3 * jnp.sin(7.0 * t), False),
    "fast and smooth": (lambda t: 1e-2 * jnp.sin(450.0 * t), False),
    "as long as steps": (lambda t: 5e-3 * jnp.exp(-(((t - LATER) / 3e-3) ** 2)), False),
    "a jump": (lambda t: jnp.where(t < LATER, 0.0, 0.01), True),
    "a jump of the speed": (lambda t: jnp.where(t < LATER, 0.0, t - LATER), True),
    "to and back": (lambda t: 5e-3 * jnp.exp(-(((t - LATER) / 1e-4) ** 2)), True),
    "to and back in a moment": (lambda t: 5e-3 * jnp.exp(-(((t - LATER) / 3e-5) ** 2)), True),
}


@pytest.mark.parametrize("which", BLOWS)
@pytest.mark.parametrize("tolerance", [1e-8, 1e-10])
def test_functions_are_looked_at_between_stages_of_long_steps(which: str, tolerance: float) -> None:
    """Against steps of 20 us: what is off is never a plain 0, and what is smooth is not flagged."""
    function, seen = BLOWS[which]
    result, fine = swung(function, None, tolerance=tolerance), swung(function, 2e-5)
    assert (abs(turned(result) - turned(fine)) > 1e-5) == seen, "what is said is so"
    assert ("a:shaker changes within steps" in result.messages[0]) == seen
    assert (result.status == Outcome.inaccurate) == seen


def test_long_steps_are_those_of_each_member() -> None:
    """The second arm turns so fast that its own steps see the blow."""
    vary = {"hinge.initial_velocity": [0.0, 300.0]}
    blow = BLOWS["to and back"][0]
    result = simulate(carriage(), 0.6, tolerance=1e-10, drive={"shaker": blow}, vary=vary)
    assert result.certificate["steps"][1] > 10 * result.certificate["steps"][0]
    assert ["changes within steps" in message for message in result.messages] == [True, False]


def test_functions_of_coordinates_are_looked_at_in_long_steps() -> None:
    for width, seen in ((1e-4, True), (0.1, False)):
        tied = CoordinateFunction(
            ("shaker",), lambda q, t, w=width: q[0] - 5e-3 * jnp.exp(-(((t - LATER) / w) ** 2)), "m"
        )
        result = simulate(carriage(), 0.6, tolerance=1e-8, tie={"cam": tied})
        assert ("cam changes within steps" in result.messages[0]) == seen
