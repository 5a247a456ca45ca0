"""Frequencies in closed form: pendulums of many links, a beam of links, a wheel on its tyre; responses. D26."""

from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from scipy.special import roots_laguerre

import shiftjax
from shiftjax.errors import ModelError
from shiftjax.formats.builder import ModelBuilder
from shiftjax.mechanism.model import Model
from tests.statics.test_modes import G, chain, sprung_four_bar

CLOSED_FORM = 1e-10  # relative: the issue's


EACH = 1e-12  # of each frequency of a beam of 20 links, whose assembled matrices are good to 7e-14


@pytest.mark.parametrize("links", [2, 3, 20])
def test_pendulums_of_equal_links_swing_by_the_roots_of_laguerre(links: int) -> None:
    """omega^2 = x g / L with L_n(x) = 0 (Kamke; a hanging chain of n equal masses)."""
    length = 0.3
    swing = shiftjax.modes(chain((length,) * links))
    squares = roots_laguerre(links)[0] * G / length
    assert (2.0 * np.pi * swing.frequencies) ** 2 == pytest.approx(squares, rel=CLOSED_FORM)


def beam(links: int, length: float, mass: float, k: float) -> Model:
    """Massless links with masses and springs at the pins between them, one end on a pin and one on a slide."""
    builder = ModelBuilder(gravity=(0.0, 0.0, 0.0))
    a = builder.assembly("beam")
    for one in range(links):
        last = one == links - 1
        a.body(f"link{one}", mass=0.0 if last else mass, center_of_mass=(length, 0.0, 0.0), inertia=(0.0,) * 3,
               frames={"tip": (length, 0.0, 0.0)})  # fmt: skip
        parent = (f"link{one - 1}", "tip") if one else ("fixed", "origin")
        a.joint(f"pin{one}", "Ry", parent=parent, child=f"link{one}")
        if one:
            a.force(f"spring{one}", "joint_spring", joint=f"pin{one}", k=k)
    a.body("shoe", mass=0.0, inertia=(0.0,) * 3)
    a.joint("slide", "Tx", child="shoe", initial_displacement=links * length)
    a.joint("end", "Ry", parent=(f"link{links - 1}", "tip"), child="shoe")
    return builder.build()


def test_a_beam_of_20_links_bends_as_its_differences_say() -> None:
    """omega_j = (2 - 2 cos(j pi / n)) sqrt(k / m) / L: K = k D^T D / L^2, D the second difference of n - 1 masses."""
    links, length, mass, k = 20, 0.1, 0.2, 50.0
    swing = shiftjax.modes(beam(links, length, mass, k))
    j = np.arange(1, links)
    omega = (2.0 - 2.0 * np.cos(j * np.pi / links)) * np.sqrt(k / mass) / length
    assert swing.stability == "stable"
    # each by itself: the lowest is 6e-3 of the highest, and its square 4e-5
    assert 2.0 * np.pi * swing.frequencies == pytest.approx(omega, rel=EACH)
    assert swing.frequencies[0] == pytest.approx(omega[0] / (2.0 * np.pi), rel=1e-13)


def test_a_wheel_swings_on_its_tyre() -> None:
    """m z'' + c z' + k z = 0 about where the tyre bears the weight."""
    m, k, c, radius = 20.0, 5e4, 400.0, 0.3
    builder = ModelBuilder(gravity=(0.0, 0.0, -G))
    a = builder.assembly("a")
    a.body("wheel", mass=m, inertia=(0.5, 1.0, 0.5))
    a.joint("guide", "Tz", child="wheel", initial_displacement=radius)
    a.force("tyre", "fiala_tyre", frames=[("wheel", "origin"), ("fixed", "origin")], radius=radius,
            vertical_stiffness=k, vertical_damping=c, c_slip=5e4, c_alpha=4e4, u_max=0.9, u_min=0.7,
            width=0.2)  # fmt: skip
    swing, stand = shiftjax.modes(builder.build()), shiftjax.equilibrium(builder.build())
    assert stand.q["a:guide"] == pytest.approx(radius - m * G / k, abs=1e-12)
    assert swing.frequencies[0] == pytest.approx(np.sqrt(k / m) / (2.0 * np.pi), rel=CLOSED_FORM)
    assert swing.damping_ratios[0] == pytest.approx(c / (2.0 * np.sqrt(k * m)), rel=CLOSED_FORM)


def test_a_damped_pendulum_answers_as_its_equation_says() -> None:
    """H = 1 / (k + m g L - m L^2 w^2 + i c w), static, resonant and far beyond; its slope by the stiffness is -H^2."""
    length, k, c, m = 0.5, 3.0, 0.4, 2.0
    model, hertz = chain((length,), k=k, c=c), np.array([0.0, 0.5, 0.9, 3.0])
    w = 2.0 * np.pi * hertz
    exact = 1.0 / (k + m * G * length - m * length**2 * w**2 + 1j * c * w)
    answer = shiftjax.frequency_response(model, hertz, ["pin0"])
    assert answer.response[:, 0, 0] == pytest.approx(exact, rel=CLOSED_FORM)

    def parts(stiffness: Any) -> Any:
        answer = shiftjax.frequency_response(model, hertz, ["pin0"], vary={"spring0.k": stiffness[None]})
        H = answer.response[0, :, 0, 0]
        return jnp.stack([H.real, H.imag])

    slope = np.asarray(jax.jit(jax.jacfwd(parts))(jnp.array(k)))
    assert np.abs(slope[0] + 1j * slope[1] + exact**2).max() < 1e-9
    assert np.abs(np.asarray(jax.jit(jax.jacrev(parts))(jnp.array(k))) - slope).max() < 1e-12


def test_responses_of_loops_are_those_of_runs_and_are_mutual() -> None:
    """Betti and Maxwell: H_ij = H_ji; a rocker shakes as its crank is driven."""
    model, hertz = sprung_four_bar(0.15), np.array([0.7, 2.0])
    names = [*dict(model.joints())][:2]
    answer = shiftjax.frequency_response(model, hertz, names, names)
    H = answer.response
    assert np.abs(H - H.transpose(0, 2, 1)).max() < CLOSED_FORM * np.abs(H).max()
    swing = shiftjax.modes(model, independent=[names[0]])
    w = 2.0 * np.pi * hertz
    exact = 1.0 / (swing.K[0, 0] - swing.M[0, 0] * w**2 + 1j * swing.C[0, 0] * w)
    assert H[:, 0, 0] == pytest.approx(exact, rel=1e-9)
    with pytest.raises(ModelError, match="frequencies"):
        shiftjax.frequency_response(model, "all", names)


def test_a_response_that_is_infinite_is_that_entry_alone() -> None:
    """A pendulum without gravity and spring moves off under a constant torque; 1 / (m g L) with gravity."""
    gravity = {"model_parameters.gravity[1]": [-G, 0.0]}
    answer = shiftjax.frequency_response("pendulum", [0.0, 1.0], ["pivot"], vary=gravity)
    assert np.isnan(answer.response[:, :, 0, 0]).tolist() == [[False, False], [True, False]]
    assert answer.notes == ("member 1: nothing holds a motion at 0 Hz, the response is NaN",)
    assert shiftjax.frequency_response("pendulum", [1.0], ["pivot"], places=[]).response.shape == (1, 0, 1)
    for names in (["pivot", "pivot"], ["pivot", "pendulum:pivot"]):
        with pytest.raises(ModelError, match="twice"):
            shiftjax.frequency_response("pendulum", [1.0], names)
