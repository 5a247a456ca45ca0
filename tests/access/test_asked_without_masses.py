"""What is asked of bodies without masses (D6, D35): poses and rates as of others; what masses decide is refused."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import shiftjax
from tests.support.models.massless_bodies import massless

SAME = 1e-14  # the same operations, whatever the masses
PLACES = {"crank_pivot": np.array([0.7, 1.1])}
SPEEDS = {"crank_pivot": 2.0}


@pytest.fixture(scope="module")
def both() -> tuple[Any, Any]:
    """Two poses of a four-bar whose bodies have no masses, and the same of the library's."""
    bare, heavy = (shiftjax.configuration(model, PLACES, SPEEDS) for model in (massless(), "four_bar"))
    return bare, heavy


@pytest.mark.parametrize(
    ("name", "words"),
    [("pose", ("coupler:tip",)), ("twist", ("coupler:tip",)), ("jacobian", ("coupler:tip",)), ("null_space", ()),
     ("constraint_jacobian", ()), ("derivative", ("pose", "coupler:tip")), ("channel", ("crank_pin.q",)),
     ("channel", ("coupler:tip.velocity",))],
)  # fmt: skip
def test_what_needs_no_masses_is_that_of_bodies_with_some(both: tuple[Any, Any], name: str, words: Any) -> None:
    bare, heavy = (getattr(at, name)(*words) for at in both)
    np.testing.assert_allclose(bare, heavy, rtol=SAME, atol=SAME)


def test_what_masses_decide_is_refused_by_name(both: tuple[Any, Any]) -> None:
    bare, _ = both
    assert not bare.mass_matrix().any() and not bare.kinetic_energy().any()
    for name, words in (
        ("accelerations", ()),
        ("inverse_mass_matrix", ()),
        ("rate", ("mass_matrix",)),
        ("channel", ("crank_pin.reaction_force",)),
    ):
        with pytest.raises(shiftjax.ModelError, match=r"a motion that moves no mass.*Give .* an inertia"):
            getattr(bare, name)(*words)


def test_given_accelerations_need_no_masses(both: tuple[Any, Any]) -> None:
    bare, heavy = (at.changed(a={"crank_pivot": 3.0}) for at in both)
    np.testing.assert_allclose(bare.accelerations(), heavy.accelerations(), rtol=SAME)
    np.testing.assert_allclose(bare.acceleration("coupler:tip"), heavy.acceleration("coupler:tip"), rtol=SAME)
