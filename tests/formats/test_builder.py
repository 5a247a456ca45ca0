"""The Python builder makes what a file makes."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from shiftjax.errors import ModelError
from shiftjax.formats import load, save
from shiftjax.formats.builder import ModelBuilder
from shiftjax.mechanism.model import FrameRef, Model
from tests.support.models.documents import everything, new


def pendulum() -> ModelBuilder:
    """The double pendulum of the reader's tests."""
    model = ModelBuilder().settings(
        span=10, output_step=0.03, infinity_norm_multiplier=1.5, relative_error=0, absolute_error=1e-9, omega_n=50
    )
    model.frame("attachment", T=(0, 0, -3)).light("lamp", parent=("fixed", "attachment"), Ka=(0.1, 0.1, 0.1))
    inertia = (0.11, 0.11, 0.002)
    parts = model.assembly("pendulum")
    parts.body(
        "link1",
        mass=2,
        center_of_mass=(0, 0, 0.4),
        inertia=inertia,
        frames={"distal": (0, 0, 0.8)},
        geometry=["link.obj", "link.mtl"],
    ).body("link2", mass=1, center_of_mass=np.array([0, 0, 0.3]), inertia=inertia)
    start = {"initial_displacement": 1.2, "initial_velocity": 0}
    parts.joint("shoulder", "Rx", parent=("fixed", "attachment"), child="link1", **start)
    parts.joint(
        "elbow", "Rx", parent="link2", child=("pendulum:link1", "distal"), initial_displacement=0.3, damping=[0, 0.02]
    )
    return model


def test_s51_builder_file_and_reload_agree(tmp_path: Path) -> None:
    model = pendulum().build()
    from_file = load(new())
    assert model.assemblies == from_file.assemblies
    assert (model.frames, model.lights, model.gravity) == (from_file.frames, from_file.lights, from_file.gravity)
    assert (model.settings.span, model.settings.output_step) == (10.0, 0.03)
    save(model, tmp_path / "m.json")
    assert load(tmp_path / "m.json") == model


@pytest.mark.parametrize(
    ("given", "warned"),
    [
        ({}, "neither mass nor inertia given, it is massless"),
        ({"inertia": (1, 1, 1)}, "its mass is 0"),
        ({"mass": 2.0}, "it is a point mass"),
        ({"mass": 0}, ""),
        ({"mass": 2.0, "inertia": (0, 0, 0)}, ""),
        ({"mass": 2.0, "inertia": (1, 1, 1)}, ""),
    ],
)
def test_s37_a_body_without_inertia_is_massless_and_says_so(given: dict[str, Any], warned: str) -> None:
    """As in a file: nothing is assumed that was not given."""
    builder = ModelBuilder()
    builder.assembly("a").assembly("in").body("b", **given)
    model = builder.build()
    body = model.assemblies[0].assemblies[0].bodies[0]
    assert (body.mass, body.inertia.Ixx) == (float(given.get("mass", 0.0)), float(given.get("inertia", (0.0,))[0]))
    assert [path for path, _ in model.joints()] == ["a:in:b_float"]
    assert len(model.warnings) == bool(warned) and all(w.startswith("a:in:b: ") and warned in w for w in model.warnings)


def test_the_type_of_a_joint_is_never_assumed() -> None:
    builder = ModelBuilder()
    builder.assembly("a").body("b", mass=0).joint("j", child="b")
    with pytest.raises(ModelError, match=r"joints\[0\] \(j\).type: found nothing"):
        builder.build()


def test_a_joint_states_no_start_that_was_not_given() -> None:
    """A stated zero is not a missing start."""
    builder = ModelBuilder()
    builder.assembly("a").body("b", mass=0).joint("j", "Rx", child="b")
    assert set(builder.document["assemblies"][0]["joints"][0]) == {"name", "type", "parent", "child"}


def test_numbers_in_other_units() -> None:
    builder = ModelBuilder(units={"angle": "degrees", "length": "millimeters"}, gravity=(0, 0, 9810))
    builder.assembly("a").body("b", mass=1, inertia=(1e6, 0, 0), frames={"tip": (200, 0, 0)}).joint(
        "j", "Ry", child="b", initial_displacement=30, initial_velocity=180
    )
    numbers = builder.build().numbers()
    wanted = {"j.initial_displacement": np.pi / 6, "j.initial_velocity": np.pi, "b:tip.T[0]": 0.2, "b.inertia.Ixx": 1.0}
    assert {path: numbers[f"a:{path}"] for path in wanted} == pytest.approx(wanted, rel=1e-14)
    assert numbers["model_parameters.gravity[2]"] == pytest.approx(9.81)


def test_every_kind_of_element(tmp_path: Path) -> None:
    builder = ModelBuilder(comment="all")
    builder.terrain("hill", scale=[1, 2])
    outer = builder.assembly("outer", comment="o")
    outer.body("a", frames={"f": {"T": [1, 0, 0], "rotation": [0, 0, 1]}}, inertia={"Ixx": 1, "Iyy": 1, "Izz": 1})
    outer.body("d", geometry=[{"type": "box", "size": np.ones(3)}, {"type": "mesh", "filename": "d.stl"}])
    outer.body("b.c", mass=0, inertia=(0, 0, 0), collision_geometry="sphere", comment="x")
    outer.joint("j", "revolute", child="a", axis="z", stiffness=(0, 1))
    outer.joint("k", "spherical", parent=FrameRef("outer:a", "f"), child=FrameRef("outer:`b.c`"))
    outer.restraint("s", "spring", joint="j", coefficients=[[1, 0]])
    outer.restraint("d", "damper", frames=(("fixed", "origin"), ("a", "f")), coefficients=[[1], [2]], knot_points=[0])
    outer.force_module("tire", name="t", tire_type="fiala", wheel_body="a", active=False)
    outer.assembly("inner").assembly("deepest", active=False).body("c")
    model = builder.build()
    assert dict(model.joints())["outer:k"].child == FrameRef("outer:`b.c`")
    assert [shape.type for shape in dict(model.bodies())["outer:d"].geometry] == ["box", "mesh"]
    assert dict(model.restraints())["outer:d"].coefficients == ((1.0,), (2.0,))
    save(model, tmp_path / "m.json")
    assert load(tmp_path / "m.json") == model


def test_builder_includes_files(tmp_path: Path) -> None:
    save(load(everything()), tmp_path / "part.json")
    builder = ModelBuilder()
    parts = builder.assembly("cell")
    parts.body("table", frames={"top": (0, 0, -1)})
    parts.include("arm", "part.json", parent=("table", "top"))
    builder.include("other", "part.json")
    model = load(builder.document, folder=tmp_path)
    assert "cell:arm:pendulum:link1" in dict(model.bodies())
    assert "other:pendulum:link1" in dict(model.bodies())


def test_a_frame_may_be_one_text() -> None:
    """`crank:pin` is the frame pin of crank, from its assembly and by its path; a body of that path comes first."""

    def built(parent: Any) -> Model:
        builder = ModelBuilder(gravity=(0.0, 0.0, -9.81))
        a = builder.assembly("m")
        a.body("crank", mass=1.0, inertia=(1.0, 1.0, 1.0), frames={"pin": (1.0, 0.0, 0.0)})
        a.body("rod", mass=1.0, inertia=(1.0, 1.0, 1.0)).joint("hub", "Rx", child="crank")
        a.joint("pin", "Rx", parent=parent, child="rod")
        return builder.build()

    assert built("crank:pin") == built(("crank", "pin")) == built("m:crank:pin") == built(("m:crank", "pin"))
    assert built("m:crank") == built("crank") != built("crank:pin")
    with pytest.raises(ModelError, match=r"found .pn.; allowed: a frame of m:crank: origin, pin\. Did you mean .pin."):
        built("crank:pn")
    with pytest.raises(ModelError, match=r"found no body .crunk:pin."):
        built("crunk:pin")


def test_builder_errors_are_those_of_the_reader() -> None:
    builder = pendulum()
    builder.assembly("more").joint("j", "Rx", child="nothing")
    with pytest.raises(ModelError, match=r"joints\[0\] \(j\).child\[0\]: found no body 'nothing'"):
        builder.build()
