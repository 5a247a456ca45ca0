"""One object of everything inside a model (D6, D35): lazily, batched, on NumPy and in JAX; and its errors."""

from __future__ import annotations

import inspect
from typing import Any

import jax.numpy as jnp
import numpy as np
import pytest

import shiftjax
from shiftjax.access.answers import Answers
from tests.support.models.small_loop import PLACES, bar_states, loop_states, small_loop

ROUNDING = 1e-12  # relative: the same operations by NumPy and by XLA, which fuses some
DIFFERENCE = 1e-6  # relative: central differences with steps of 1e-5
STEP = 1e-5
ARGUMENTS: dict[str, tuple[Any, ...]] = {
    "pose": ("coupler:tip",), "orientation": ("rocker",), "twist": ("coupler:tip",),
    "screw": ("coupler",), "acceleration": ("coupler:tip",),
    "jacobian": ("coupler:tip",), "joint_jacobian": ("crank_pin",), "augmented_mass_matrix": (1e-3,),
    "channel": ("rocker_pin.reaction_force",), "rate": ("mass_matrix",), "jacobian_rate": ("coupler:tip",),
    "derivative": ("mass_matrix",), "along": ("mass_matrix",),
}  # fmt: skip


@pytest.fixture(scope="module")
def at() -> Any:
    return loop_states()


@pytest.fixture(scope="module")
def bars() -> Any:
    return bar_states()


def questions() -> list[str]:
    """Everything that can be asked by name."""
    return [name for name, value in inspect.getmembers(shiftjax.Configuration) if hasattr(value, "question")]


@pytest.mark.parametrize("name", questions())
def test_everything_by_one_call_for_one_and_many_and_in_jax_d35(bars: Any, name: str) -> None:
    """All that can be asked: members alone have the bits of the batch; JAX the same numbers; help says the shape."""
    arguments = ARGUMENTS.get(name, ())
    many = getattr(bars, name)(*arguments)
    assert many.shape[0] == 3 and np.isfinite(many).all()
    one = getattr(bars.changed(q=bars.q[1], v=bars.v[1], vary={"coupler.mass": 1.2}), name)(*arguments)
    assert one.shape == many.shape[1:] and (one == many[1]).all()
    inside = bars.function(name, *arguments)(bars.q[1], bars.v[1], {"coupler.mass": 1.2})
    assert np.abs(np.asarray(inside) - one).max() < ROUNDING * max(1.0, np.abs(one).max()) * 100
    assert (inspect.getdoc(getattr(shiftjax.Configuration, name)) or "").startswith("(")


def test_closed_slopes_are_differences_of_closed_states_d26() -> None:
    """By the independent coordinate with the loop closed, and by a length, by which the others move, too."""
    asked = {"pose": ("coupler:tip",), "twist": ("coupler:tip",), "mass_matrix": (), "coriolis_matrix": ()}
    both: dict[str, Any] = {"mass_matrix": {"constrained": True}, "coriolis_matrix": {"constrained": True}}

    def bar(q: float = 0.7, length: float = 0.5) -> Any:
        return shiftjax.configuration(
            "four_bar", {"crank_pivot": q}, {"crank_pivot": 2.0}, vary={"coupler:tip.T[0]": length}
        )

    def value(at: Any, name: str) -> np.ndarray:
        return getattr(at, name)(*asked[name], **both.get(name, {}))

    at = bar()
    assert at.independent_names == ("four_bar:crank_pivot",)
    for name, arguments in asked.items():
        turned = (value(bar(0.7 + STEP), name) - value(bar(0.7 - STEP), name)) / (2 * STEP)
        slope = at.derivative(name, *arguments, closed=True, **both.get(name, {}))
        assert np.abs(slope[..., 0] - turned).max() < DIFFERENCE * max(1.0, np.abs(turned).max())
        grown = at.derivative(name, *arguments, wrt="coupler:tip.T[0]", closed=True, **both.get(name, {}))
        way = {"places": [0.3], "numbers": {"coupler:tip.T[0]": -2.0}}
        along = at.along(name, *arguments, **way, **both.get(name, {}))
        assert along == pytest.approx(0.3 * slope[..., 0] - 2.0 * grown, rel=1e-9, abs=1e-12)
        longer = (value(bar(length=0.5 + STEP), name) - value(bar(length=0.5 - STEP), name)) / (2 * STEP)
        slope = at.derivative(name, *arguments, wrt="coupler:tip.T[0]", closed=True, **both.get(name, {}))
        assert np.abs(slope - longer).max() < DIFFERENCE * max(1.0, np.abs(longer).max())
    v = at.derivative("twist", "coupler:tip", wrt="v", closed=True)
    assert np.abs(v - at.jacobian("coupler:tip", constrained=True)).max() < ROUNDING


def test_answers_are_computed_when_asked_and_once_d6(at: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """Nothing is called forward: a pose costs one evaluation, the same again none; other places compile nothing."""
    evaluated = list[Any]()
    original = Answers.in_numpy

    def counting(self: Answers, question: Any, x: np.ndarray) -> np.ndarray:
        evaluated.append(question.key)
        return original(self, question, x)

    monkeypatch.setattr(Answers, "in_numpy", counting)
    fresh = at.changed(q={"slide": PLACES + 0.01})
    assert not evaluated
    pose = fresh.pose("rod:tip")
    assert len(evaluated) == 1 and fresh.pose("rod:tip") is pose and len(evaluated) == 1
    assert not pose.flags.writeable
    built = list[Any]()
    monkeypatch.setattr(Answers, "_built", lambda self, question: built.append(question))
    again = at.changed(q={"slide": PLACES + 0.02})
    assert not np.array_equal(again.pose("rod:tip"), pose) and not built


def test_accelerations_are_given_or_follow_d17() -> None:
    """Given ones of the independent coordinates carry all others; the frame's acceleration follows from them."""
    moved = shiftjax.configuration("four_bar", {"crank_pivot": 0.7}, {"crank_pivot": 2.0}, {"crank_pivot": 3.0})
    assert moved.accelerations()[moved.speed_names.index("four_bar:crank_pivot")] == 3.0
    J, gamma = moved.constraint_jacobian(), moved.constraint_accelerations()
    assert np.abs(J @ moved.accelerations() - gamma).max() < ROUNDING * np.abs(gamma).max() * 10
    driven = shiftjax.assemble(
        "four_bar", drive={"crank_pivot": shiftjax.Polynomial((0.7, 2.0, 1.5))}, channels=["rocker_pivot.a"]
    )
    rocker = moved.accelerations()[moved.speed_names.index("four_bar:rocker_pivot")]
    assert driven.channels["rocker_pivot.a"][0] == pytest.approx(rocker, rel=1e-10)


def test_drivers_and_times_d35() -> None:
    """A law in time at instants: no freedoms are left, speeds and accelerations are the law's, forces those of runs."""
    law, times = shiftjax.Polynomial((0.7, 2.0, 1.5)), np.array([0.0, 0.2])
    at = shiftjax.configuration("four_bar", drive={"crank_pivot": law}, time=times)
    crank = at.speed_names.index("four_bar:crank_pivot")
    assert at.independent_names == () and at.mass_matrix(constrained=True).shape == (2, 0)
    assert at.v[:, crank] == pytest.approx(2.0 + 3.0 * times, rel=1e-12)
    assert at.accelerations()[:, crank] == pytest.approx([3.0, 3.0], rel=1e-12)
    run = shiftjax.inverse_dynamics("four_bar", {"crank_pivot": law}, times=times)
    assert at.constraint_forces().shape == (2, 4)
    assert at.channel("crank_pivot.drive_load") == pytest.approx(run.forces["crank_pivot"], rel=1e-10)


def test_what_cannot_be_closed_has_a_status_and_no_numbers_d35() -> None:
    at = shiftjax.configuration("four_bar", vary={"coupler:tip.T[0]": [0.5, 5.0]})
    assert at.status.tolist() == [0, int(shiftjax.Outcome.not_assembled)] and at.messages[0] == ""
    assert "stay open by" in at.messages[1]
    assert np.isfinite(at.pose("coupler:tip")[0]).all() and not np.isfinite(at.pose("coupler:tip")[1, :3, 3]).any()
    opened = shiftjax.configuration("four_bar", q=np.array([0.7, 1.0, 0.3, 0.2]))
    assert opened.status == int(shiftjax.Outcome.start_changed) and opened.gap > 0.01
    assert np.isfinite(opened.pose("coupler:tip")).all() and "as they were given" in opened.messages[0]
    heavy = shiftjax.configuration("four_bar", vary={"coupler.mass": [1.2, -1.0]})
    assert heavy.status.tolist() == [0, int(shiftjax.Outcome.unphysical)] and "mass" in heavy.messages[1]
    assert "2 members, 1 of them not closed" in repr(at)


def test_wrong_questions_are_refused_d35(at: Any) -> None:
    model = small_loop()
    with pytest.raises(shiftjax.ModelError, match="lengths"):
        shiftjax.configuration(model, q={"slide": [0.1, 0.2]}, vary={"rod.mass": [1.0, 2.0, 3.0]})
    with pytest.raises(shiftjax.ModelError, match="all independent ones"):
        shiftjax.configuration("four_bar", a={})
    with pytest.raises(shiftjax.ModelError, match="leave free together"):
        shiftjax.configuration("four_bar", independent=["crank_pivot", "rocker_pivot"])
    with pytest.raises(shiftjax.ModelError, match="with q or v"):
        shiftjax.configuration("four_bar", q={"crank_pivot": 1.0}, start=shiftjax.assemble("four_bar"))
    with pytest.raises(shiftjax.ModelError, match="without one of q"):
        shiftjax.configuration("four_bar", v=np.zeros(4))
    with pytest.raises(shiftjax.ModelError, match="4, of all joints"):
        shiftjax.configuration("four_bar", q=np.zeros(3))
    with pytest.raises(shiftjax.ModelError, match="no array of numbers"):
        shiftjax.configuration("four_bar", q=np.zeros((2, 2, 4)))
    with pytest.raises(shiftjax.ModelError, match="a number, or one for each member"):
        shiftjax.configuration("four_bar", q={"crank_pivot": "0.1"})
    with pytest.raises(shiftjax.ModelError, match="mass_matrix"):
        at.derivative("mass_matrx")
    with pytest.raises(shiftjax.ModelError, match=r"a:rod\.mass"):
        at.derivative("mass_matrix", wrt="arm.mass")
    with pytest.raises(shiftjax.ModelError, match="bodies"):
        at.center_of_mass("slide")
    with pytest.raises(shiftjax.ModelError, match="forces"):
        at.applied_forces("rod")
    with pytest.raises(shiftjax.ModelError, match="with constrained=True"):
        at.jacobian("rod", constrained=True, compact=True)
    f = at.function("mass_matrix")
    with pytest.raises(shiftjax.ModelError, match=r"\(10,\)"):
        f(jnp.zeros(3))
    with pytest.raises(shiftjax.ModelError, match="left out"):
        f(at.q[0])
    with pytest.raises(shiftjax.ModelError, match=r"rod\.mass"):
        f(at.q[0], numbers={"arm.mass": 1.0})
    with pytest.raises(shiftjax.ModelError, match="values of one member"):
        at.function("pose", shiftjax.FrameOn("rod", T=np.zeros((3, 3))))
