"""Balls on rails and tables (M2): a point of the child on a line or a plane of the parent, free to turn about it."""

from __future__ import annotations

import math
from typing import Any

import jax
import numpy as np
import pytest

import shiftjax
from shiftjax.errors import ModelError
from shiftjax.formats import load, to_dict
from shiftjax.formats.builder import ModelBuilder
from shiftjax.mechanism.model import Model
from shiftjax.rotations import rotation_about
from tests.support.models.mechanisms import rod

GAP, ENERGY = 1e-11, 1e-8
ROUNDING = 1e-9  # a joint beside elementary ones: other partitions, equal up to the truncation of RK4 at 0.5 ms
SLIDES = {"point_slider": ("x",), "point_plane": ("x", "y")}
each = pytest.mark.parametrize("type_", SLIDES)


def guided(type_: str, *, whole: bool = True, speed: float = 1.0) -> Model:
    """A crank leads one end of a rod by a ball, the other end runs on a rail or a table of the ground."""
    tip = np.array([0.2 * math.cos(0.4), 0.2 * math.sin(0.4), 0.0])
    far = np.array([0.45, 0.0, -0.15]) if type_ == "point_slider" else np.array([0.45, -0.05, -0.15])
    builder = ModelBuilder(gravity=(0.0, -2.0, -1.0)).frame("guide", T=(0.0, 0.0, -0.15))
    length = float(np.linalg.norm(far - tip))
    crank = np.array(rotation_about((0.0, 0.0, 1.0), 0.4))
    x, y, z = crank.T @ (tip - far) / length  # the link's axis, which a cross leads: turns about x of the crank, then y
    R = crank @ rotation_about((1.0, 0.0, 0.0), math.atan2(y, -z)) @ rotation_about((0.0, 1.0, 0.0), math.acos(x))
    a = builder.assembly("a").body("crank", **rod(0.2)).body("link", **rod(length))
    a.joint("pivot", "Rz", child="crank", initial_displacement=0.4, initial_velocity=speed)
    place = {"T": [float(x) for x in (far - [0.0, 0.0, -0.15])], "R": R.tolist()}
    if whole:
        a.joint("hub", type_, parent=("fixed", "guide"), child="link", initial_displacement=place)
    else:
        near: Any = ("fixed", "guide")
        for axis, x in zip(SLIDES[type_], place["T"], strict=False):
            a.body(f"slide_{axis}", mass=0.0, inertia=(0.0, 0.0, 0.0))
            a.joint(f"hub_{axis}", f"T{axis}", parent=near, child=f"slide_{axis}", initial_displacement=x)
            near = f"slide_{axis}"
        a.joint("hub", "spherical", parent=near, child="link", initial_displacement={"R": R.tolist()})
    a.joint("pin", "universal", parent=("crank", "tip"), child=("link", "tip"))
    return builder.build()


@each
def test_it_is_slides_and_a_ball(type_: str) -> None:
    """In a closed loop: the same motion, energy and gaps."""
    channels = ["pivot.q", "link.position"]
    one, other = (
        shiftjax.simulate(guided(type_, whole=whole), 0.4, 5e-4, channels=channels, output_step=0.05)
        for whole in (True, False)
    )
    assert one.status == 0 and one.certificate["energy_error"] < ENERGY and one.certificate["gap"] < GAP
    for name in channels:
        assert np.abs(one.channels[name] - other.channels[name]).max() < ROUNDING
    assert np.ptp(one.channels["link.position"], axis=0).max() > 0.02, "it moves"


@each
def test_its_placement_says_where_the_point_stands(type_: str) -> None:
    """Its T has an entry for each slide, a path of its own that can be varied; another one is refused by name."""
    model, slides = guided(type_), len(SLIDES[type_])
    assert load(to_dict(model)) == model
    paths = [path for path in model.numbers() if path.startswith("a:hub.initial_displacement.T")]
    assert paths == [f"a:hub.initial_displacement.T[{k}]" for k in range(slides)]
    document = to_dict(model)
    hub = next(joint for joint in document["assemblies"][0]["joints"] if joint["name"] == "hub")
    hub["initial_displacement"]["T"][slides] = 0.1
    with pytest.raises(ModelError, match=rf"T.*allowed: R and T along x.*, for a {type_} joint"):
        load(document)


@each
def test_in_a_batch_with_slopes(type_: str) -> None:
    """Members are as alone, and the slope of the end by the start of the slide is that of differences."""
    model, path = guided(type_), "link.mass"

    def end(values: Any) -> Any:
        channels = shiftjax.simulate(model, 0.1, 1e-3, vary={path: values}, channels=["hub.q"]).channels
        return channels["hub.q"][:, -1, 0]

    values = np.array([0.5, 1.0, 2.0])
    ends = end(values)
    for k, value in enumerate(values):
        assert abs(end(np.array([value]))[0] - ends[k]) < GAP
    with jax.enable_x64(True):
        slopes = np.asarray(jax.grad(lambda x: end(x).sum())(jax.numpy.asarray(values)))
    h = 1e-3 * values
    differences = (end(values - 2 * h) - 8 * end(values - h) + 8 * end(values + h) - end(values + 2 * h)) / (12 * h)
    assert slopes == pytest.approx(differences, rel=1e-6) and (slopes != 0).all()
