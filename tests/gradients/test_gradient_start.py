"""Derivatives of assembled starts: against finite differences of the assembler, tangents against adjoints, refusals."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import shiftjax
from shiftjax.algebra import cross, matvec, plus
from shiftjax.errors import ModelError
from shiftjax.formats.builder import ModelBuilder
from shiftjax.gradients.start.assembled_start import StartDerivative
from shiftjax.gradients.start.least_norm import LeastNorm, pseudo_inverse
from shiftjax.mechanism.model import Model
from shiftjax.run.closing.host_evaluation import per_member
from shiftjax.run.options import options_of
from shiftjax.run.start.assembly import start_of
from shiftjax.run.start.prepare import prepare
from shiftjax.run.start.prepared import Prepared
from tests.extensions import gear, maxwell, mechanisms, screw  # noqa: F401
from tests.support.models.mechanisms import rod
from tests.support.models.start_mechanisms import five_bar, four_bar, rssr

ORDER_6 = np.array([-3, -2, -1, 1, 2, 3]), np.array([-1, 9, -45, 45, -9, 1]) / 60  # central differences
STEPS = (3e-2, 3e-3, 1e-3, 3e-4)  # rad, m, ...: the best one is taken
DIFFERENCES = 1e-9  # of the derivative, or of one: poses are closed to about 1e-14
TRANSPOSED = 1e-13  # of the sum of the products' sizes


def derivative_of(model: Model, values: dict[str, float], **options: Any) -> tuple[Prepared, StartDerivative]:
    prepared = prepare(model, {path: [value] for path, value in values.items()}, options_of(**options))
    return prepared, StartDerivative(prepared, start_of(prepared))


def differences(model: Model, values: dict[str, float], **options: Any) -> np.ndarray:
    """(count, steps, n) of coordinates, speeds and states, all perturbed copies assembled at once."""
    offsets = np.ravel([np.outer(STEPS, ORDER_6[0]) for _ in values]).reshape(len(values), -1)
    copies = offsets.shape[1]
    vary = {path: np.full(len(values) * copies, value) for path, value in values.items()}
    for k, own in enumerate(vary.values()):
        own[k * copies : (k + 1) * copies] += offsets[k]
    start = start_of(prepare(model, vary, options_of(**options)))
    found = np.concatenate([start.q, start.v, start.states]).reshape(-1, len(values), len(STEPS), len(ORDER_6[0]))
    return np.moveaxis(found @ ORDER_6[1] / np.array(STEPS), 0, -1)


def check(model: Model, values: dict[str, float], **options: Any) -> None:
    """Tangents along each number against differences at the best step; and adjoints against tangents."""
    prepared, derivative = derivative_of(model, values, **options)
    assert not derivative.undefined.any()
    expected = differences(model, values, **options)
    columns = []
    for k, path in enumerate(values):
        tangent = np.concatenate(derivative.tangent(np.eye(len(values))[:, k : k + 1]))[:, 0]
        size = max(np.abs(tangent).max(), 1.0)
        assert np.abs(expected[k] - tangent).max(1).min() < DIFFERENCES * size, path
        columns.append(tangent)
    random = np.random.default_rng(0)
    bars = [random.normal(size=(n, 1)) for n in (prepared.plan.nq, prepared.plan.nv, prepared.plan.ns)]
    every, matrix = np.concatenate(bars)[:, 0], np.array(columns)
    found = derivative.adjoint(*bars)[:, 0]
    assert (np.abs(found - matrix @ every) <= TRANSPOSED * (np.abs(matrix) @ np.abs(every))).all()


def shifted(model: Model, *paths: str, by: float = 0.01) -> dict[str, float]:
    numbers = model.numbers()
    return {path: numbers[model.resolve(path)] + by for path in paths}


MODELS = {
    "four_bar": ("coupler:tip.T[0]", "crank:tip.T[0]", "fixed:rocker_pivot.T[0]", "crank_pivot.initial_displacement",
                 "crank_pivot.initial_velocity", "coupler.mass"),
    "n_four_bar_5": ("fixed:pivot_3.T[0]", "coupler_0:tip.T[0]", "pivot_0.initial_displacement",
                     "pivot_0.initial_velocity"),
    "slider_crank": ("crank:tip.T[0]", "rod:tip.T[0]", "crank_pivot.initial_displacement",
                     "crank_pivot.initial_velocity"),
    "excavator": ("cab:boom.T[0]", "boom:stick_cylinder.T[0]", "boom_pivot.initial_displacement",
                  "stick_pivot.initial_velocity", "slew.initial_displacement"),
    "double_wishbone": ("fixed:lower_right.T[1]", "fixed:upper_right.T[2]", "rack_guide.initial_displacement",
                        "lower_right_pivot.initial_velocity"),
    "stewart": ("fixed:foot_2.T[0]", "leg_3.initial_velocity"),
}  # fmt: skip


@pytest.mark.parametrize("name", MODELS)
def test_starts_of_the_library(name: str) -> None:
    """Planar and spatial loops, several loops in a row, balls in loops; joints before and in them."""
    model = shiftjax.load(name)
    check(model, shifted(model, *MODELS[name], by=0.002))


def test_balls_and_floats_outside_loops_stand_where_numbers_say() -> None:
    """Rotation vectors become quaternions; speeds of bodies that nothing ties are stated ones."""
    builder = ModelBuilder(gravity=(0.0, 0.0, -9.81))
    a = builder.assembly("a").body("stone", mass=1.0, inertia=(0.02, 0.03, 0.04)).body("arm", **rod(0.4))
    a.joint(
        "floating", "float", child="stone", initial_displacement={"T": [0.1, 0.2, 0.3], "rotation": [0.5, -0.3, 0.2]}
    )
    a.joint("ball", "spherical", parent="stone", child="arm", initial_displacement={"rotation": [0.0, 0.0, 0.0]})
    model = builder.build()
    ends = [".initial_displacement.T[1]", ".initial_displacement.rotation[0]", ".initial_displacement.rotation[2]"]
    paths = [f"floating{end}" for end in ends] + ["ball.initial_displacement.rotation[1]", "ball.initial_velocity[2]"]
    check(model, shifted(model, *paths, "floating.initial_velocity[4]"))


DRIVES: dict[str, tuple[Any, tuple[str, ...]]] = {
    "harmonic": (shiftjax.Harmonic(amplitude=0.4, frequency=3.0, phase=0.3), ("amplitude", "frequency", "phase")),
    "polynomial": (shiftjax.Polynomial([-1.1, 2.0, 0.3]), ("coefficients[0]", "coefficients[1]", "coefficients[2]")),
    "constant_speed": (shiftjax.ConstantSpeed(2.0), ("speed",)),
}


@pytest.mark.parametrize("kind", DRIVES)
def test_a_driven_crank_starts_as_its_constants_say(kind: str) -> None:
    """Position and speed of the driver at the beginning; and a length beside it."""
    model = shiftjax.load("four_bar")
    motion, names = DRIVES[kind]
    model = prepare(model, {}, options_of(drive={"crank_pivot": motion})).model
    check(model, shifted(model, *(f"crank_pivot_drive.{name}" for name in names), "coupler:tip.T[0]"))


@pytest.mark.parametrize(
    ("model", "paths"),
    [
        (mechanisms.damped, ("creep.initial_stretch", "creep.k", "coupler:tip.T[0]")),
        (mechanisms.geared, ("teeth.ratio", "teeth.offset", "pivot.initial_velocity")),
        (mechanisms.press, ("lead.pitch", "link:tip.T[0]", "lead.initial_velocity")),
    ],
    ids=["state of a force", "gear", "screw"],
)
def test_kinds_from_elsewhere(model: Callable[[], Model], paths: tuple[str, ...]) -> None:
    """What a file of an extension adds: states of forces, numbers of constraints and of joints."""
    check(model(), shifted(model(), *paths, by=0.002))


def test_a_function_of_the_user_drives() -> None:
    model = shiftjax.load("four_bar")
    check(model, shifted(model, "coupler:tip.T[0]"), drive={"crank_pivot": lambda t: -0.9 + t})


def test_one_freedom_may_have_no_stated_speed() -> None:
    """Then the smallest speeds that agree depend on the pose through more than what they have to agree with."""
    model = five_bar(left=-1.2, right=-1.9)
    values = {**shifted(model, "left.initial_displacement", "second:tip.T[0]"), "left.initial_velocity": 1.5}
    _, derivative = derivative_of(model, values)
    assert len(derivative.start.held_positions[0]) == 2 and len(derivative.start.held_speeds[0]) == 1
    check(model, values)


def test_a_joint_named_later_is_what_holds() -> None:
    """The crank's place is stated in the file, the rocker is held: the crank follows."""
    model = shiftjax.load("four_bar")
    values = shifted(model, "coupler:tip.T[0]", "rocker_pivot.initial_displacement")
    _, derivative = derivative_of(model, values)
    joints = [joint.path for joint in derivative.prepared.plan.joints]
    assert [joints[k] for k in derivative.start.held_positions[0]] == ["four_bar:rocker_pivot"]
    check(model, values)


# -- what has no derivative --------------------------------------------------------------------------------------------


def test_a_length_of_a_bricard_has_no_derivative() -> None:
    bricard = shiftjax.load("bricard")
    with pytest.raises(ModelError, match=r"rod1:tip\.T\[0\].*neighbours the loops do not close"):
        derivative_of(bricard, shifted(bricard, "rod1.mass", "rod1:tip.T[0]", by=0.0))
    check(bricard, shifted(bricard, "rod1.mass", "joint1.initial_displacement", "joint1.initial_velocity", by=0.0))


def test_a_freedom_that_nothing_holds_has_no_derivative() -> None:
    loose = four_bar()
    with pytest.raises(ModelError, match=r"coupler:tip\.T\[0\].*not held.*hold=\['a:"):
        derivative_of(loose, shifted(loose, "coupler.mass", "coupler:tip.T[0]"))
    check(loose, shifted(loose, "coupler.mass"))
    check(four_bar(crank=-0.7), shifted(loose, "coupler:tip.T[0]"))


def centres(prepared: Prepared, q: np.ndarray, v: np.ndarray) -> np.ndarray:
    """(n, B) places and velocities of all bodies' centres of mass."""
    members = prepared.members
    lane, out = prepared.lane_of(np.arange(members), 1.0), []
    chain = lane.motion(list(q), list(v)).chain()
    for k, node in enumerate(prepared.plan.nodes):
        if node.numbers is not None:
            state = chain.node(k)
            place = plus(state.p, matvec(state.R, lane.params.at(node.numbers.center_of_mass)))
            out += [*place, *plus(state.u, cross(state.w, place))]
    return per_member(out, members)


@pytest.mark.parametrize("name", ["rssr", "delta"])
def test_links_between_balls_may_spin_where_nothing_feels_it(name: str) -> None:
    """Their spin depends on the way to the start, but no centre of mass, nor its velocity, depends on it."""
    model, path, joint = (rssr(-0.7), "coupler:tip.T[0]", "crank_joint") if name == "rssr" else (
        shiftjax.load("delta"), "rod_left_1:tip.T[2]", "shoulder_1")  # fmt: skip
    values = {**shifted(model, path, f"{joint}.initial_displacement"), f"{joint}.initial_velocity": 1.5}
    prepared, derivative = derivative_of(model, values)
    assert not derivative.undefined.any() and derivative.start.q.shape[0] > prepared.plan.nv
    for k, step in ((0, 1e-3), (1, 3e-3), (2, 3e-2)):
        vary = {each: np.full(6, value) for each, value in values.items()}
        vary[[*values][k]] += step * ORDER_6[0]
        copies = prepare(model, vary)
        start = start_of(copies)
        dq, dv, _ = derivative.tangent(np.eye(3)[:, k : k + 1])
        q, v = (
            own + change * step * ORDER_6[0] for own, change in ((derivative.start.q, dq), (derivative.start.v, dv))
        )
        found, expected = (centres(copies, *state) @ ORDER_6[1] / step for state in ((q, v), (start.q, start.v)))
        assert np.abs(found - expected).max() < DIFFERENCES * max(np.abs(expected).max(), 1.0)


def test_a_link_whose_spin_is_felt_has_no_derivative() -> None:
    model = rssr(-0.7)
    model = model.replace({"coupler.inertia.Iyy": 0.995 * model.numbers()["a:coupler.inertia.Iyy"]})
    with pytest.raises(ModelError, match=r"coupler:tip\.T\[0\].*spins between balls"):
        derivative_of(model, shifted(model, "coupler:tip.T[0]"))


# -- members of an ensemble --------------------------------------------------------------------------------------------


def test_members_that_do_not_close_or_start_elsewhere_have_none() -> None:
    """NaN in their columns; those of others are the same to the last bit as alone."""
    model = shiftjax.load("four_bar")
    vary = {"coupler:tip.T[0]": [0.5, 3.0, 1.0, 0.55, 0.51], "crank_pivot.initial_velocity": [1.0, 1.0, 1.0, 2.0, 3.0]}
    prepared = prepare(model, vary)
    start = start_of(prepared)
    assert start.closed.tolist() == [True, False, True, True, True] and start.changed[2]
    derivative, bars = StartDerivative(prepared, start), [np.ones((n, 5)) for n in (4, 4, 0)]
    found = derivative.adjoint(*bars)
    assert np.isnan(found).tolist() == [[False, True, True, False, False], [False, True, False, False, False]]
    _, speeds, _ = derivative.tangent(np.ones((2, 5)))
    assert np.isnan(speeds).all(0).tolist() == [False, True, True, False, False]
    for k in (0, 3, 4):
        alone, own = (
            derivative_of(model, {path: values[k] for path, values in vary.items()})[1],
            [b[:, k : k + 1] for b in bars],
        )
        assert alone.adjoint(*own)[:, 0].tobytes() == found[:, k].tobytes()


# -- the derivative of least squares -----------------------------------------------------------------------------------


def test_least_squares_of_any_rank_have_their_derivative() -> None:
    """x = A^+ b against differences along matrices of rank 3, whether or not some A x is b."""
    random = np.random.default_rng(1)
    left, right, b = (random.normal(size=(4, 2, *shape)) for shape in ((5, 3), (3, 4), (5,)))  # and their changes

    def solution(s: float) -> tuple[np.ndarray, np.ndarray]:
        A = (left[:, 0] + s * left[:, 1]) @ (right[:, 0] + s * right[:, 1])
        return A, b[:, 0] + s * b[:, 1]

    A, value = solution(0.0)
    solved = LeastNorm(A, pseudo_inverse(A, 1e-8), value, np.ones(4, bool))
    dA = left[:, 1] @ right[:, 0] + left[:, 0] @ right[:, 1]
    tangent = solved.tangent(b[:, 1], dA)
    step = 1e-3
    nearby = [solution(step * k) for k in ORDER_6[0]]
    expected = (
        np.array([(np.linalg.pinv(M, rcond=1e-8) @ y[..., None])[..., 0] for M, y in nearby]).T @ ORDER_6[1] / step
    )
    np.testing.assert_allclose(tangent, expected.T, rtol=1e-8, atol=1e-8)
    bar = random.normal(size=(4, 4))
    b_bar, A_bar = solved.adjoint(bar)
    forth, back = (tangent * bar).sum(1), (b_bar * b[:, 1]).sum(1) + (A_bar * dA).sum((1, 2))
    np.testing.assert_allclose(forth, back, rtol=1e-12)
