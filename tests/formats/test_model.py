"""Walks, numbers, paths and switches of the Model."""

from __future__ import annotations

import math
from typing import Any

import pytest

from shiftjax.errors import ModelError
from shiftjax.formats import load
from shiftjax.mechanism.model import ADDED, Body, FrameRef, FrozenJson, Joint, Model, Placement, complete
from tests.support.models.documents import A, edited, everything, new


def test_numbers_have_the_paths_of_the_contract() -> None:
    model = load(everything())
    numbers = model.numbers()
    for path in (
        "model_parameters.gravity[2]",
        "fixed:attachment.T[2]",
        "fixed:attachment.rotation[0]",
        "pendulum:link1.mass",
        "pendulum:link1.inertia.Ixx",
        "pendulum:link1.center_of_mass[0]",
        "pendulum:link1:distal.T[2]",
        "pendulum:link1:distal.rotation[1]",
        "pendulum:shoulder.initial_displacement",
        "pendulum:shoulder.initial_velocity",
        "pendulum:elbow.damping[1]",
        "pendulum:slide.stiffness[1]",
        "pendulum:slide.axis[0]",
        "pendulum:six.initial_displacement.T[2]",
        "pendulum:six.initial_displacement.rotation[0]",
        "pendulum:six.initial_velocity[5]",
        "pendulum:weld.initial_displacement.T[1]",
        "pendulum:stop.coefficients[0][1]",
        "pendulum:stop.knot_points[0]",
    ):
        assert isinstance(numbers[path], float), path
        assert model.resolve(path) == path
    assert not any(".R" in path or "ball" in path for path in numbers)  # ball is switched off
    assert list(numbers) == list(load(everything()).numbers())
    active = load(edited("assemblies.0.bodies.2.active", True, everything)).numbers()
    assert "pendulum:sphere.initial_displacement.rotation[2]" in active
    assert "pendulum:sphere.initial_velocity[2]" in active
    assert "pendulum:sphere.initial_displacement.T[0]" not in active


def test_matrices_are_the_constant_rotations() -> None:
    matrices = load(everything()).matrices()
    assert matrices["pendulum:free:f.R"][0][0] == math.cos(0.3)
    assert set(matrices) >= {"fixed:attachment.R", "pendulum:six.initial_displacement.R"}


def test_d14_every_number_can_be_replaced_and_only_it_changes() -> None:
    model = load(everything())
    numbers = model.numbers()
    for k, (path, number) in enumerate(numbers.items(), 1):
        other = number * (1.0 + 1e-6 * k) if ".inertia." in path else 100.0 + k  # an inertia that a body can have
        if "knot_points" in path:
            other = number + 1e-6 * k  # still rising
        changed = model.replace({path: other}).numbers()
        assert changed.pop(path) == other
        assert changed == {key: value for key, value in numbers.items() if key != path}
    stated = model.replace(numbers)  # what was free is stated now
    assert stated.numbers() == numbers and stated.replace(numbers) == stated
    assert model.replace({}) == model
    both = model.replace({"link1.mass": 3, "pendulum:link2.mass": 4, "model_parameters.gravity[0]": 1})
    assert [body.mass for _, body in both.bodies()][:2] == [3.0, 4.0]
    assert both.gravity == (1.0, 0.0, 9.81)


@pytest.mark.parametrize(
    ("values", "message"),
    [
        ({"link1.mas": 1.0}, r"no number '.mas'.*Did you mean 'pendulum:link1.mass'"),
        ({"lnk1.mass": 1.0}, r"no active body called 'lnk1'.*Did you mean 'link1'"),
        ({"link1:distl.T[0]": 1.0}, r"no active frame called .*Did you mean 'link1:distal'"),
        ({"shoulder.damping[0]": 1.0}, r"no number '.damping\[0\]'"),
        ({"link1.mass": math.nan}, "pendulum:link1.mass: found nan; allowed: one finite number"),
        ({"link1.mass": "heavy"}, "a finite number"),
        ({"link1.mass": -1.0}, "a mass of 0 or more"),
        ({"link1": 1.0}, "no number 'there'"),
        ({"": 1.0}, "no active"),
        ({"energy.total": 1.0}, "no number '.total'"),
    ],
)
def test_replacing_what_is_not_there(values: dict[str, Any], message: str) -> None:
    with pytest.raises(ModelError, match=message):
        load(new()).replace(values)


def test_short_paths_hold_where_unique() -> None:
    document = new()
    document["assemblies"].append({"name": "two", "bodies": [{"name": "link1"}, {"name": "x"}, {"name": "shoulder"}]})
    model = load(document)
    assert model.resolve("link2.mass") == "pendulum:link2.mass"
    assert model.resolve("link1:distal.position") == "pendulum:link1:distal.position"
    assert model.resolve("link2:origin.velocity") == "pendulum:link2:origin.velocity"
    assert model.resolve("x_float.q") == "two:x_float.q"
    assert model.resolve("shoulder.q") == "pendulum:shoulder.q"  # a joint, though a body is called so too
    assert model.resolve("energy.total") == "energy.total"
    assert model.resolve("substructure[0].b_norm") == "substructure[0].b_norm"
    with pytest.raises(ModelError, match="2 objects of this name; allowed: pendulum:link1, two:link1"):
        model.resolve("link1.mass")
    with pytest.raises(ModelError, match="no active driver or frame called 'distal'"):
        model.resolve("distal.position")  # the body may not be left out


def test_names_with_special_characters_are_quoted() -> None:
    document = edited(f"{A}.bodies.0.name", "link.1[a]=b")
    document["assemblies"][0]["bodies"][0]["frames"][0]["name"] = "f.x"
    document["assemblies"][0]["joints"] = []
    model = load(document)
    assert "pendulum:`link.1[a]=b`.mass" in model.numbers()
    assert model.resolve("`link.1[a]=b`:`f.x`.T[0]") == "pendulum:`link.1[a]=b`:`f.x`.T[0]"
    assert model.resolve("`pendulum`:`link2`.mass") == "pendulum:link2.mass"
    assert FrameRef("pendulum:`link.1[a]=b`", "f.x").path == "pendulum:`link.1[a]=b`:`f.x`"
    assert [joint.name for _, joint in model.joints()] == ["link.1[a]=b_float", "link2_float"]
    assert load(edited(f"{A}.comment", "c")) != model


def test_unconnected_bodies_get_one_float_each() -> None:
    """S39: a float places what no chain of joints ties to ground; the root is the heaviest body."""
    document = new()
    del document["assemblies"][0]["joints"][0]
    document["assemblies"][0]["bodies"].append({"name": "loose", "mass": 1})
    document["assemblies"][0]["joints"].append(
        {"name": "loose_float", "type": "Rx", "parent": [["link1"], "origin"], "child": [["link2"], "origin"]}
    )
    model = load(document)
    joints = dict(model.joints())
    assert joints["pendulum:link1_float"] == Joint(
        "link1_float",
        "float",
        FrameRef("fixed"),
        FrameRef("pendulum:link1"),
        initial_displacement=Placement(),
        initial_velocity=(0.0,) * 6,
        comment=ADDED,
    )
    assert joints["pendulum:loose_float_2"].child.body == "pendulum:loose"
    assert complete(model) == model
    tied = edited(f"{A}.bodies.1.inertia", {"mass": 2.0})
    del tied["assemblies"][0]["joints"][0]
    assert "pendulum:link1_float" in dict(load(tied).joints())  # ties go to the smallest path


def test_s45_switching_off_drops_what_hangs_on_it() -> None:
    document = everything()
    document["assemblies"][0]["bodies"][1]["active"] = False
    model = load(document)
    assert "pendulum:elbow" in model.dangling()
    assert "pendulum:rub" in model.dangling()
    assert "pendulum:link2" not in dict(model.bodies())
    with pytest.raises(ModelError, match="no active body called 'link2'"):
        model.resolve("link2.mass")


def test_records_are_immutable_and_equal_by_value() -> None:
    model = load(new())
    with pytest.raises(AttributeError):
        model.gravity = (0.0, 0.0, 0.0)  # pyright: ignore[reportAttributeAccessIssue]
    assert Body("a") == Body("a")
    kept = FrozenJson({"a": [1, {"b": None}]})
    assert kept == FrozenJson(a=(1, FrozenJson(b=None)))
    assert hash(kept) == hash(FrozenJson(a=(1, FrozenJson(b=None))))
    assert kept != {"a": 1}
    assert Model() == Model(name="other", source="elsewhere", warnings=("w",))
