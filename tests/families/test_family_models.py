"""Linkages of models: many topologies of planar mechanisms in one call, against `follow` on each. F21."""

import numpy as np
import pytest

import shiftjax
from shiftjax import families
from shiftjax.errors import ModelError
from shiftjax.formats.builder import ModelBuilder
from shiftjax.mechanism.model import Model

CURVES = 1e-11  # m: row 21
MODELS = ("four_bar", "slider_crank", "jansen", "bennett", "klann", "delta")
MOTORS = ("crank_pivot", "crank_pivot", "crank_pivot", "joint1", "crank_pivot", "mount")
POINTS = ("coupler:tip", "leg:foot")


def six_bar(width: float) -> Model:
    """A crank-rocker whose rocker, a plate bolted of two bodies, drives a second lever; axes along z, one reversed."""
    builder = ModelBuilder()
    builder.frame("far", T=(0.6, 0, 0)).frame("last", T=(1.4, 0.1, 0))
    a = builder.assembly("six")
    for name, length in (("crank", 0.2), ("coupler", 0.7), ("rocker", 0.9), ("rod", 0.8), ("lever", width)):
        a.body(name, frames={"tip": (length, 0, 0), "pen": (0.3, 0.2, 0)})
    a.body("horn", frames={"end": (0.3, -0.25, 0)})
    a.joint("motor", "revolute", axis=(0, 0, -1), parent=("crank", "origin"), child=("fixed", "origin"),
            initial_displacement=1.0)  # fmt: skip
    a.joint("elbow", "Rz", parent=("crank", "tip"), child="coupler", initial_displacement=-0.7)
    a.joint("pivot", "Rz", parent=("fixed", "far"), child="rocker", initial_displacement=1.9)
    a.joint("wrist", "Rz", parent=("coupler", "tip"), child=("rocker", "tip"), initial_displacement=0.6)
    a.joint("bolt", "rigid", parent="rocker", child="horn")
    a.joint("hook", "Rz", parent=("horn", "end"), child="rod", initial_displacement=-1.9)
    a.joint("post", "Rz", parent=("fixed", "last"), child="lever", initial_displacement=2.0)
    a.joint("knee", "Rz", parent=("rod", "tip"), child=("lever", "tip"), initial_displacement=1.5)
    return builder.build()


def test_models_of_many_topologies_move_as_they_are_followed() -> None:
    models = [*MODELS, six_bar(0.9), six_bar(0.95)]
    linkages = families.of_models(models, [*MOTORS, "motor", "motor"], points=[*POINTS, "rod:pen"])
    assert linkages.member.tolist() == [0, 2, 4, 6, 7] and set(linkages.refused) == {1, 3, 5}
    assert "slider_crank:guide is no turning joint but Tx" in linkages.refused[1]
    assert "bennett:joint2 turns about another axis" in linkages.refused[3]
    assert "3 models refused" in repr(linkages)
    turn = np.linspace(0.0, 2.0 * np.pi, 25)
    motion = linkages.simulate(angles=linkages.offset[:, None] + turn, order=1)
    assert (motion.status == 0).all() and motion.valid.all()
    for k, (name, point, plane) in enumerate((
        ("four_bar", "coupler:tip", (0, 2)), ("jansen", "leg:foot", (0, 2)), ("klann", "leg:foot", (0, 2)),
        (models[6], "rod:pen", (0, 1)), (models[7], "rod:pen", (0, 1)),
    )):  # fmt: skip
        motor = "motor" if isinstance(name, Model) else "crank_pivot"
        path = shiftjax.follow(name, {motor: turn}, channels=[f"{point}.position"])
        exact = path.channels[f"{point}.position"][:, plane] * [1.0, -1.0 if plane == (0, 2) else 1.0]
        (node,) = (at for at, names in enumerate(linkages.names[k]) if names[-1].endswith(point))
        assert np.abs(motion.curves[k, :, node] - exact).max() < CURVES, name


def test_what_is_asked_wrongly() -> None:
    linkages = families.of_models(["four_bar", "jansen"], "crank_pivot")
    assert linkages.nodes("crank_pivot").shape == (2, 1)
    with pytest.raises(ModelError, match="model 0, which has four_bar:crank_pivot"):
        linkages.nodes("leg_top")
    with pytest.raises(ModelError, match="2, one a model"):
        families.of_models(["four_bar", "jansen"], ["crank_pivot"])
    none = families.of_models(["four_bar"], "crank_pin")
    assert not len(none.member) and "no joint from ground" in none.refused[0]
