"""All assemblies at given inputs (F7, F22): closed forms, certificates, refusals."""

import numpy as np
import pytest

import shiftjax
from shiftjax.errors import ModelError
from tests.kinematics.mechanisms import angles, four_bar

EXACT = 1e-12  # of angles and poses in f64, lengths of about 1


def test_four_bar_of_freudenstein_and_norton() -> None:
    """Norton, Design of Machinery, example 4-1: rocker at 57.33 and -98.01 degrees; more digits by circles."""
    table = shiftjax.branches(four_bar(100.0, 40.0, 120.0, 80.0), {"crank_pivot": np.deg2rad(40.0)})
    np.testing.assert_allclose(np.rad2deg(table.q["a:rocker_pivot"]), [57.3248800704, -98.0049640780], atol=5e-11)
    tip = 40.0 * np.exp(1j * np.deg2rad(40.0))
    side = abs(tip - 100.0)
    bend = np.arccos((80.0**2 + side**2 - 120.0**2) / (2.0 * 80.0 * side))  # at the rocker's pivot, law of cosines
    exact = np.angle(np.exp(1j * (np.angle(tip - 100.0) - np.array([bend, -bend]))))
    np.testing.assert_allclose(table["rocker_pivot"], exact, rtol=0.0, atol=EXACT)
    for rocker, coupler in zip(table.q["a:rocker_pivot"], angles(table, "a:crank_pivot", "a:crank_pin"), strict=True):
        assert abs(tip + 120.0 * np.exp(1j * coupler) - 100.0 - 80.0 * np.exp(1j * rocker)) < 120.0 * EXACT
    assert table.complete == "proven" and table.certified.all() and table.complex.tolist() == [0]


def test_names_tell_branches_over_a_turn() -> None:
    """The sign of a name is that of the transmission angle, which no motion changes short of a dead centre."""
    crank = np.linspace(-3.0, 3.0, 13)
    table = shiftjax.branches(four_bar(6.0, 2.0, 7.0, 9.0), {"crank_pivot": crank})
    assert table.real.tolist() == [2] * 13
    sides = {name: np.sign(np.sin(table.q["a:rocker_pin"][np.array(table.names) == name])) for name in {*table.names}}
    assert len(sides) == 2 and all(abs(side.sum()) == 13 for side in sides.values())


def test_inputs_beyond_the_travel_have_no_real_assembly() -> None:
    """Of a four-bar 5-4-4-6 the crank travels 92.865983 degrees to either side, by the law of cosines."""
    limit = np.arccos(-0.05)
    table = shiftjax.branches(four_bar(6.0, 5.0, 4.0, 4.0), {"crank_pivot": [limit - 1e-3, limit + 1e-3]})
    assert table.real.tolist() == [2, 0] and table.complex.tolist() == [0, 2]


@pytest.mark.parametrize("kinds", ["RRP", "RPR", "PRR", "PRP"])
def test_dyads_with_slides(kinds: str) -> None:
    """Every root closes the loop, and none is missed: the pose that was drawn is among them."""
    random = np.random.default_rng(len(kinds) + sum(map(ord, kinds)))
    builder = shiftjax.ModelBuilder()
    a, before = builder.assembly("a"), "fixed"
    stated = random.uniform(-1.0, 1.0, 4)
    for k, kind in enumerate("R" + kinds):
        end = {"end": {"T": [*random.uniform(0.5, 1.5, 2), 0.0]}}
        a.body(f"link_{k}", mass=1.0, inertia=(1.0, 1.0, 1.0), frames=end)
        at = before if k == 0 else (before, "end")
        a.joint(f"joint_{k}", "Rz" if kind == "R" else "Tx", parent=at, child=f"link_{k}")
        before = f"link_{k}"
    angle, place = 0.0, 0.0 + 0.0j
    for k, kind in enumerate("R" + kinds):
        frame = builder.document["assemblies"][0]["bodies"][k]["frames"][0]["T"]
        angle, place = (angle + stated[k], place) if kind == "R" else (angle, place + stated[k] * np.exp(1j * angle))
        place += complex(*frame[:2]) * np.exp(1j * angle)
    turn = [[np.cos(angle), -np.sin(angle), 0.0], [np.sin(angle), np.cos(angle), 0.0], [0.0, 0.0, 1.0]]
    builder.frame("goal", T=(place.real, place.imag, 0.0), R=turn)
    a.joint("weld", "rigid", parent=("fixed", "goal"), child=(before, "end"))
    table = shiftjax.branches(builder.build(), {"joint_0": stated[0]})
    assert table.complete == "proven" and len(table) + table.complex[0] == (1 if kinds.count("P") == 2 else 2)
    off = np.sum([np.abs(table.q[f"a:joint_{k}"] - stated[k]) for k in range(4)], axis=0)
    assert off.min() < EXACT * 100.0 and table.certified.all()


def test_what_is_no_polynomial_is_searched() -> None:
    """A loop of four turns in space has six equations of three unknowns: Bennett's, whose angles obey one law."""
    table = shiftjax.branches("bennett", {"joint1": 1.0})
    assert len(table) == 1 and table.complete == "not proven" and "6 equations of 3 unknowns" in table.reason


@pytest.mark.parametrize(
    ("at", "text"),
    [
        ({}, "inputs that leave 1 freedom among"),
        ({"crank_pivot": np.nan}, "a finite number"),
        ({"crank_pivot": [1.0, 2.0], "crank_pin": [1.0, 2.0, 3.0]}, "one length for all inputs"),
        ({"crank": 1.0}, "crank_pivot|joint"),
    ],
)
def test_refused_inputs(at: dict, text: str) -> None:
    with pytest.raises(ModelError, match=text):
        shiftjax.branches("four_bar", at)


def test_coordinates_go_by_the_end_of_their_path() -> None:
    table = shiftjax.branches("four_bar", {"crank_pivot": 1.0})
    assert table["rocker_pivot"] is table.q["four_bar:rocker_pivot"]
    with pytest.raises(ModelError, match="no such coordinate"):
        table["rocker"]
