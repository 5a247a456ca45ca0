"""Springs with features thinner than the way of a step are never a plain 0 where that matters; others are."""

from __future__ import annotations

from typing import Any

import jax
import numpy as np
import pytest

import shiftjax
from shiftjax import ModelBuilder
from shiftjax.mechanism.model import Model
from shiftjax.outcome import Outcome
from shiftjax.run.results.result import Result
from shiftjax.run.simulate import simulate

SPEED, MASS, STEP, SPAN = 10.0, 1.0, 1e-3, 0.1  # m/s, kg, s: 10 mm and 50 J a step
WRONG = 1e-3  # m, what may not be off without a word
PASSED = "has knots that steps go past"


def sled(
    knots: list[float], pieces: list[list[float]], ends: str = "joint", flywheel: float = 0.0, speed: float = SPEED
) -> Model:
    """A body that slides freely but for a spring along its way; beside it a wheel that turns."""
    builder = ModelBuilder(gravity=(0.0, 0.0, 0.0))
    a = builder.assembly("a").body("sled", mass=MASS, inertia=(1.0, 1.0, 1.0), frames={"tip": (0.0, 0.0, 0.0)})
    a.joint("slide", "Tx", child="sled", initial_velocity=speed, initial_displacement=1e-3)
    if flywheel:
        a.body("wheel", mass=1.0, inertia=(flywheel,) * 3).joint("axle", "Ry", child="wheel", initial_velocity=1e3)
    along: dict[str, Any] = {"joint": "slide"}
    if ends == "frames":
        along = {"frames": (("fixed", "origin"), ("sled", "tip")), "distance_type": "Tx"}
    a.restraint("barrier", "spring", coefficients=pieces, knot_points=knots, **along)
    return builder.build()


def tent(height: float, width: float, at: float = 0.0915, **more: Any) -> Model:
    """A barrier of a height [J]: the force first against the motion, then along."""
    force = 2.0 * height / width
    return sled([at, at + width / 2, at + width], [[0.0], [force], [-force], [0.0]], **more)


def tents(at: np.ndarray, width: np.ndarray, height: np.ndarray) -> dict[str, np.ndarray]:
    """Numbers of other barriers than that of `tent`, or of wells."""
    force = 2.0 * height / width
    vary = {f"barrier.knot_points[{k}]": at + share * width for k, share in enumerate((0.0, 0.5, 1.0))}
    return vary | {"barrier.coefficients[1][0]": force, "barrier.coefficients[2][0]": -force}


def slid(model: Model, step: float | None = STEP, span: float = SPAN, **more: Any) -> Result:
    """Judged by what its steps did alone: repeats at half the step may see a barrier, too."""
    return simulate(model, span, step, channels=["slide.q", "slide.v"], accuracy="local", **more)


def place(t: float, at: np.ndarray, width: np.ndarray, height: np.ndarray) -> np.ndarray:
    """Where the sled is at a time, arc by arc; NaN on the barrier."""
    kinetic, start = 0.5 * MASS * SPEED**2, 1e-3
    with np.errstate(all="ignore"):
        force, top = 2.0 * height / width, np.sqrt(SPEED**2 - 2.0 * height / MASS)
        reached = (at - start) / SPEED
        behind = t - reached - 2.0 * width / (SPEED + top)
        back = t - reached - 2.0 * SPEED * MASS / force
        passed = np.where(behind >= 0, at + width + SPEED * behind, np.nan)
        turned = np.where(back >= 0, at - SPEED * back, np.nan)
    return np.where(t < reached, start + SPEED * t, np.where(height < kinetic, passed, turned))


@pytest.mark.parametrize("ends", ["joint", "frames"])
@pytest.mark.parametrize("width", [1e-6, 2e-4, 4e-3])
def test_a_barrier_that_a_step_goes_past_is_said(width: float, ends: str) -> None:
    """Twice as high as the energy of the motion: the sled should turn, and goes on as if there were none."""
    result = slid(tent(100.0, width, ends=ends))
    assert result.channels["slide.v"][-1] == SPEED, "what is said is so"
    assert result.certificate["energy_error"] < 1e-9, "nothing else shows it"
    assert result.status == Outcome.inaccurate and f"a:barrier {PASSED}" in result.messages[0]


def test_no_barrier_is_passed_without_a_word() -> None:
    """Barriers and wells of 1 mJ to 1 kJ, 1 um to 1 dm wide, anywhere on the way."""
    draw, n = np.random.default_rng(3), 2000
    width, at = 10 ** draw.uniform(-6, -1, n), draw.uniform(0.05, 0.3, n)
    height = 10 ** draw.uniform(-3, 3, n) * draw.choice([1.0, -1.0], n)
    force = 2.0 * height / width
    vary = {f"barrier.knot_points[{k}]": at + share * width for k, share in enumerate((0.0, 0.5, 1.0))}
    vary |= {"barrier.coefficients[1][0]": force, "barrier.coefficients[2][0]": -force}
    result = slid(tent(1.0, 0.1), vary=vary)
    exact = place(SPAN, at, width, height)
    wrong = np.abs(result.channels["slide.q"][:, -1] - exact) > WRONG
    thin = np.array([PASSED in message for message in result.messages])
    assert wrong.sum() > 300 and (wrong & thin).sum() > 200
    assert (result.status[wrong] == Outcome.inaccurate).all()
    weak = (np.abs(height) < 0.01) & (width < 1e-2)
    assert weak.sum() > 50 and not thin[weak].any(), "what changes nothing is not said"


def test_one_barrier_far_below_the_energy_is_passed_rightly() -> None:
    """Of 15 J against 50 J at the only pose where it is met: slower for 1e-5 m, and flagged before."""
    result = slid(tent(15.0, 1e-5))
    assert abs(result.channels["slide.q"][-1] - place(SPAN, *map(np.array, (0.0915, 1e-5, 15.0)))) < 1e-5
    assert result.status == 0


def test_near_a_turning_point_the_least_speed_of_the_step_counts() -> None:
    """An oscillation of 0.1 m and 100 rad/s past thin barriers where it turns, of 0.03 to 10 times its energy there."""
    builder, n = ModelBuilder(gravity=(0.0, 0.0, 0.0)), 60
    a = builder.assembly("a").body("sled", mass=MASS, inertia=(1.0, 1.0, 1.0))
    a.joint("slide", "Tx", child="sled", initial_velocity=SPEED, stiffness=[0.0, 1e4])
    pieces = [[0.0], [1.0], [-1.0], [0.0]]
    a.restraint("barrier", "spring", joint="slide", coefficients=pieces, knot_points=[0.1, 0.2, 0.3])
    draw = np.random.default_rng(1)
    width, at = 10 ** draw.uniform(-6, -3, n), 0.1 * draw.uniform(0.8, 1.0, n) * draw.choice([1.0, -1.0], n)
    height = np.maximum(50.0 - 5e3 * at**2, 1e-3) * 10 ** draw.uniform(-1.5, 1.0, n)
    force = 2.0 * height / width
    vary = {f"barrier.knot_points[{k}]": at + share * width for k, share in enumerate((0.0, 0.5, 1.0))}
    vary |= {"barrier.coefficients[1][0]": force, "barrier.coefficients[2][0]": -force}
    result, finer = slid(builder.build(), vary=vary), slid(builder.build(), None, vary=vary, tolerance=1e-8)
    known = finer.status == 0
    wrong = known & (np.abs(result.channels["slide.q"] - finer.channels["slide.q"])[:, -1] > WRONG)
    assert known.sum() > 50 and wrong.sum() > 20 and (result.status[wrong] == Outcome.inaccurate).all()


def test_steps_that_a_tolerance_chooses_meet_every_barrier() -> None:
    """1 um to 1 dm wide, up to twenty times as high as the energy of the motion; wells of up to its half.

    The last stage of a step to a knot has the force beyond it, which would act for an eighth of the whole step: of 300
    such barriers 256 were wrong, thrown off by up to 5e4 m/s, and flagged by their energy alone.
    """
    draw, n = np.random.default_rng(5), 100
    width, at = 10 ** draw.uniform(-6, -1, n), draw.uniform(0.05, 0.3, n)
    height = np.where(draw.random(n) < 0.7, 10 ** draw.uniform(-3, 3, n), -(10 ** draw.uniform(-3, 1.4, n)))
    result = slid(tent(1.0, 0.1), None, vary=tents(at, width, height), tolerance=1e-7)
    exact = place(SPAN, at, width, height)
    on_its_way = np.isnan(exact)
    assert on_its_way.sum() < 10 and (np.abs(result.channels["slide.q"][:, -1] - exact)[~on_its_way] < WRONG).all()
    assert (result.status == 0).all() and result.certificate["steps"].max() < 300


def test_no_well_throws_a_body_back_that_a_tolerance_leads_through() -> None:
    """Wells of up to twenty times the energy of the motion: the last step in one may go out of it and back, as the
    force in it would lead, with its stages inside. Of 400 three came back out of the near side with the right energy,
    and nothing said so."""
    draw, n = np.random.default_rng(1), 400
    width, at, depth = 10 ** draw.uniform(-6, -1, n), draw.uniform(0.05, 0.3, n), draw.uniform(50.0, 1000.0, n)
    result = slid(tent(1.0, 0.1), None, vary=tents(at, width, -depth), tolerance=1e-6)
    exact = place(SPAN, at, width, -depth)
    assert (result.status == 0).all() and np.nanmax(np.abs(result.channels["slide.q"][:, -1] - exact)) < WRONG


def test_beside_what_slides_along_friction_barriers_are_met() -> None:
    """A block that friction holds at rest, by steps that do not end where its speed passes zero; all barriers throw the
    sled back. Steps that ended at no knot at all went past two of them, a twentieth of a step thick."""
    builder = ModelBuilder(gravity=(0.0, 0.0, 0.0))
    a = (
        builder.assembly("a")
        .body("sled", mass=MASS, inertia=(1.0, 1.0, 1.0))
        .body("block", mass=1.0, inertia=(1.0,) * 3)
    )
    a.joint("slide", "Tx", child="sled", initial_velocity=SPEED, initial_displacement=1e-3)
    a.joint("rail", "Ty", child="block", initial_velocity=0.01)
    a.restraint("barrier", "spring", joint="slide", coefficients=[[0.0], [1.0], [-1.0], [0.0]], knot_points=[1, 2, 3])
    a.restraint("rub", "friction", joint="rail", coefficients=[[-5.0], [5.0]], knot_points=[0.0])
    a.force("push", "constant_load", joint="rail", load=2.0)
    width, at, height = np.geomspace(1e-5, 3e-5, 200), np.linspace(0.05, 0.3, 200), np.linspace(60.0, 600.0, 200)
    result = slid(builder.build(), None, vary=tents(at, width, height), tolerance=1e-5)
    off = np.abs(result.channels["slide.q"][:, -1] - place(SPAN, at, width, height))
    assert np.nanmax(off) < WRONG and result.certificate["steps"].min() > 2000


def test_the_step_that_would_do_does() -> None:
    model = tent(30.0, 2e-3)
    message = slid(model).messages[0]
    step = 1e-3 * float(message.partition("steps of about ")[2].partition(" ms")[0])
    assert 1e-5 < step < 1e-4
    assert PASSED not in slid(model, step).messages[0]


def test_a_hump_between_two_knots_is_said() -> None:
    """A cubic from knot to knot whose force is 0 there and whose integral is 0: V = 100 J (1 - s^2)^2, s = -1 to 1."""
    middle, half = 0.0935, 1e-3
    s = np.poly1d([1.0 / half, -middle / half])
    force = np.poly1d([400.0 / half]) * s * (s * s - 1.0)
    result = slid(sled([middle - half, middle + half], [[0.0], force.coeffs.tolist(), [0.0]]))
    assert result.channels["slide.v"][-1] == SPEED
    assert result.status == Outcome.inaccurate and PASSED in result.messages[0]


def test_the_energy_of_what_moves_beside_does_not_hide_a_barrier() -> None:
    """A wheel of 500 MJ: 100 J are no part of it that the limit of the energy would see."""
    result = slid(tent(100.0, 1e-3, flywheel=1000.0))
    assert result.channels["slide.v"][-1] == SPEED
    assert result.status == Outcome.inaccurate and PASSED in result.messages[0]


def test_fine_tables_play_and_preload_are_followed() -> None:
    """Steps go past knots where the force is as a line through them would be: a table, play, a soft sign."""
    knots = np.linspace(0.0, 1.0, 401)
    force = 50.0 * np.sin(4.0 * knots)
    slope = np.diff(force) / np.diff(knots)
    lines = [[float(a), float(y - a * x)] for a, y, x in zip(slope, force, knots, strict=False)]
    smooth = sled(knots.tolist(), [[float(force[0])], *lines, [float(force[-1])]])
    play = sled([0.1, 0.1003], [[200.0, -20.0], [0.0], [200.0, -20.06]])
    sign = sled([0.0999, 0.1001], [[-5.0], [5e4, -5e3], [5.0]])
    for model in (smooth, play, sign):
        result = slid(model)
        finer = slid(model, STEP / 200)
        np.testing.assert_allclose(result.channels["slide.q"][-1], finer.channels["slide.q"][-1], atol=WRONG)
        assert PASSED not in result.messages[0]


def test_what_many_passages_put_off_is_added_up() -> None:
    """A pendulum-like sled on a spring goes past a small barrier four hundred times; its lag is that of all of them."""
    builder = ModelBuilder(gravity=(0.0, 0.0, 0.0))
    a = builder.assembly("a").body("sled", mass=MASS, inertia=(1.0, 1.0, 1.0))
    a.joint("slide", "Tx", child="sled", initial_velocity=SPEED, stiffness=[0.0, 1e4])
    force = 2.0 * 0.5 / 1e-3
    pieces = [[0.0], [force], [-force], [0.0]]
    a.restraint("barrier", "spring", joint="slide", coefficients=pieces, knot_points=[2e-3, 2.5e-3, 3e-3])
    model = builder.build()
    short, long = (slid(model, span=span) for span in (0.02, 12.0))
    assert PASSED not in short.messages[0]
    assert long.status == Outcome.inaccurate and PASSED in long.messages[0]
    first = slid(model, span=6.0)
    second = slid(model, span=6.0, start=first)
    assert second.messages == long.messages and second.status == long.status, "a run in two parts is judged as one"


def test_a_run_that_goes_on_stays_inaccurate() -> None:
    model = tent(100.0, 1e-3)
    first = slid(model, span=0.05)
    second = slid(model, span=0.05, start=first)
    assert first.status == second.status == Outcome.inaccurate
    assert second.messages == slid(model, span=0.1).messages
    other = slid(model, STEP / 2, span=0.05, start=first)
    assert other.status == Outcome.inaccurate and PASSED in other.messages[0]


def test_loops_move_with_the_mass_of_their_pose() -> None:
    """A slider-crank with a thin barrier on the way of its slider, at forty places: against steps of 2 us."""
    builder = ModelBuilder(gravity=(0.0, 0.0, 0.0))
    a = builder.assembly("a")
    of_bodies = {"inertia": (1e-3, 1e-3, 1e-3)}
    a.body("crank", mass=1.0, frames={"pin": (0.1, 0.0, 0.0)}, **of_bodies)
    a.body("rod", mass=0.2, center_of_mass=(0.15, 0.0, 0.0), frames={"far": (0.3, 0.0, 0.0)}, **of_bodies)
    a.body("slider", mass=0.5, **of_bodies)
    a.joint("main", "Ry", child="crank", initial_displacement=0.3, initial_velocity=60.0)
    a.joint("knee", "Ry", parent=("crank", "pin"), child="rod")
    a.joint("wrist", "Ry", parent=("rod", "far"), child="slider")
    a.joint("guide", "Tx", child="slider")
    along: dict[str, Any] = {"joint": "guide", "knot_points": [0.3, 0.3001, 0.3002]}
    a.restraint("barrier", "spring", coefficients=[[0.0], [3e5], [-3e5], [0.0]], **along)
    at = np.linspace(0.25, 0.35, 40)
    vary = {f"barrier.knot_points[{k}]": at + k * 1e-4 for k in range(3)}
    coarse, fine = (simulate(builder.build(), 0.03, h, channels=["main.q"], vary=vary) for h in (1e-3, 2e-6))
    wrong = np.abs(coarse.channels["main.q"] - fine.channels["main.q"])[:, -1] > WRONG
    thin = np.array([PASSED in message for message in coarse.messages])
    assert wrong.sum() > 20 and (wrong & thin).sum() > 20
    assert (coarse.status[wrong] != 0).all()


@pytest.mark.parametrize("backend", ["cpu", "xla"])
def test_backends_and_batches_agree(backend: str) -> None:
    model, at = tent(100.0, 1e-3), 0.1 + 1e-3 * np.arange(30)
    vary = {f"barrier.knot_points[{k}]": at + share * 1e-3 for k, share in enumerate((0.0, 0.5, 1.0))}
    whole = slid(model, span=0.02, vary=vary, backend=backend)
    some = slid(model, span=0.02, vary={path: values[7:9] for path, values in vary.items()}, backend=backend)
    assert whole.messages[7:9] == some.messages and whole.status[7:9].tolist() == some.status.tolist()
    assert any(PASSED in message for message in whole.messages)


def test_derivatives_are_those_without_the_check() -> None:
    """What is watched has no slope: that of the end by the start's speed is the span, past the barrier as well."""
    model = tent(1e-3, 1e-3)

    def end(speed: Any) -> Any:
        return shiftjax.simulate(model, 0.05, STEP, channels=["slide.q"], metrics={"mean": "mean(slide.q)"},
                                 vary={"slide.initial_velocity": speed}).channels["slide.q"][0, -1]  # fmt: skip

    with jax.enable_x64(True):
        assert jax.grad(end)(jax.numpy.array([SPEED]))[0] == pytest.approx(0.05, rel=1e-9)
        assert jax.jvp(end, (jax.numpy.array([SPEED]),), (jax.numpy.ones(1),))[1] == pytest.approx(0.05, rel=1e-9)


def test_models_without_such_springs_carry_nothing() -> None:
    """No accumulator more than those of the certificate, whatever steps are taken."""
    seen = []
    plain = sled([0.1], [[0.0], [10.0]])
    for model in (plain, tent(1.0, 0.1)):
        simulate(model, 0.01, STEP, watch=lambda begun: seen.append(begun.lanes.layout.na))
    assert seen[0] == 8 < seen[1]
