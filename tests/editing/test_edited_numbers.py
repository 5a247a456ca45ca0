"""Numbers of new elements that follow from parameters, and numbers set as expressions. M31, M32, M35, M48, D15."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import shiftjax
from shiftjax import ModelError
from shiftjax.formats import dumps, load, to_dict
from tests.editing.test_editor import far, kept, pair

ALIKE = 1e-8  # s, of the same motion in other coordinates: errors of RK4 in steps of 1 ms
STAYS = 1e-12  # of rotation matrices and places [m]


def with_a() -> shiftjax.Editor:
    edit = shiftjax.Editor(shiftjax.ModelBuilder().build())
    return edit.add("parameter", "a", value=0.2, unit="length", description="of the crank")


def crank() -> shiftjax.Editor:
    """A crank of twice a, whose joint has numbers that follow, too."""
    edit = with_a()
    frames = {"tip": {"T": ["2*a", 0, 0], "rotation": [0, 0, "a * 1 rad"]}}
    edit.add_body("crank", "bar", mass="2*a", frames=frames, inertia=(0, "a**2", "0.1 + a"))
    return edit.add_joint("motor", "revolute", "fixed", "crank", axis="y", damping=[0, "3*a"])


def test_new_elements_follow_from_parameters() -> None:
    """Body, frame and joint: in the file as expressions, with the parameter when that is set; replayed to the byte."""
    edit = crank()
    document = to_dict(edit.model)
    body, joint = document["assemblies"][0]["bodies"][0], document["assemblies"][0]["joints"][0]
    assert body["inertia"]["mass"] == "2.0 * a" and body["frames"][0]["T"][0] == "2.0 * a"
    assert joint["damping"] == [0.0, "3.0 * a"] and kept(edit.model)
    edit.set({"a": "300 mm"})
    numbers = edit.model.numbers()
    assert numbers["bar:crank.mass"] == numbers["bar:crank:tip.T[0]"] == pytest.approx(0.6)
    assert numbers["bar:crank.inertia.Iyy"] == pytest.approx(0.09)
    assert numbers["bar:motor.damping[1]"] == pytest.approx(0.9)
    edit.change_type("motor", "cylindrical", damping={"angle": [0, "a"]})
    assert edit.model.expressions["bar:motor.damping.angle[1]"] == "a" and kept(edit.model)
    edit.split("crank", "half", ["tip"], mass="a / 4")
    assert edit.model.numbers()["bar:half.mass"] == pytest.approx(0.075)
    again = shiftjax.Editor(shiftjax.ModelBuilder().build()).replay(edit.script)
    assert dumps(to_dict(again.model)) == dumps(to_dict(edit.model))


def test_a_number_is_set_as_an_expression() -> None:
    """It follows from then on; a plain number in its place ends that, and a note says what it followed from."""
    edit = crank().set({"crank.mass": "a * 5", "parameters.a": 0.4})
    assert edit.model.numbers()["bar:crank.mass"] == pytest.approx(2.0) and kept(edit.model)
    edit.set({"crank.mass": 3})
    assert any(
        "bar:crank.mass followed from 'a * 5.0', and is a number now; its inertia" in note for note in edit.notes
    )
    edit.set({"a": 0.5})
    assert edit.model.numbers()["bar:crank.mass"] == 3.0
    assert edit.undo() and edit.undo()
    assert edit.model.expressions["bar:crank.mass"] == "a * 5.0"


def test_parameters_that_nothing_follows_from_are_told() -> None:
    edit = crank().remove("crank")
    assert any(note == "nothing follows any more from parameters.a" for note in edit.notes)


def test_what_is_another_number_by_name_is_set_there() -> None:
    edit = crank().add("parameter", "reach", value=0.4, unit="length").set({"crank:tip.T[0]": "reach"})
    edit.set({"crank:tip.T[0]": 0.5})
    assert edit.notes[0] == "bar:crank:tip.T[0] is reach, which is set"
    assert edit.model.numbers()["parameters.reach"] == edit.model.numbers()["bar:crank:tip.T[0]"] == 0.5
    edit.set({"crank:tip.T[0]": "3 * a"})
    assert edit.model.expressions["parameters.reach"] == "3.0 * a"
    with pytest.raises(ModelError, match=r"parameters\.a, set twice"):
        edit.set({"a": 1.0, "parameters.a": 2.0})


def test_points_and_events_are_put_in_and_taken_out() -> None:
    edit = crank().add("point", "A", position=[0, "a", 0]).add("event", "low", of="motor.q - 1", action="stop")
    edit.set({"crank.center_of_mass[1]": "A.y / 2"})
    assert edit.model.numbers()["bar:crank.center_of_mass[1]"] == pytest.approx(0.1)
    assert edit.model.events["low"]["action"] == "stop" and kept(edit.model)
    edit.remove("points.A", "events.low")
    assert "bar:crank.center_of_mass[1]" in edit.notes[0] and not edit.model.events and not edit.model.points
    edit.remove("parameters.a")
    assert not edit.model.expressions and kept(edit.model)
    assert edit.model.numbers()["bar:crank:tip.T[0]"] == pytest.approx(0.4)


@pytest.mark.parametrize(
    ("step", "message"),
    [
        ("add_body('x', geometry=[{'type': 'cylinder', 'radius': 0.1, 'length': '2*a'}])",
         r"add_body x: geometry\[0\].length: found an expression; allowed: expressions for numbers of the mechanism"),
        ("add_body('x', at=['a', 0, 0])", r"add_body x: at: found \['a', 0, 0\]"),
        ("add_body('x', mass='2*b')", r"add_body x: inertia.mass: found 'b' in .*; allowed: a\."),
        ("add_body('x', mass='-a')", r"-0.2"),
        ("add_joint('j', 'revolute', 'fixed', 'crank', axis='y', damping=[0, 'b'])", r"add_joint j: damping\[1\]"),
        ("set({'crank.mass': '2*b'})", r"bar:crank.mass: found 'b' in '2.0 \* b'; allowed: a\."),
        ("set({'crank.mass': '2 mm'})", r"a unit of kg"),
        ("set({'crank.weight': 'a'})", r"no number '.weight'"),
        ("set({'a': 'a + 1'})", r"set parameters.a: found 'a \+ 1.0', which follows from it"),
        ("add('parameter', 'a', value=1)", r"add parameter a: found a parameter parameters.a"),
        ("add('parameter', 'c d', value=1)", r"letters, digits and _, not pi"),
        ("add('parameter', 'c', value='d')", r"add parameter c: .*'d'"),
        ("add('parameter', 'c', 'bar', value=1)", r"the assembly 'bar'; allowed: none"),
        ("add('event', 'low', of='nobody.q - 1')", r"add event low: found no active .*joint.* called 'nobody'"),
    ],
)  # fmt: skip
def test_what_cannot_follow(step: str, message: str) -> None:
    edit = crank()
    before = edit.model
    with pytest.raises(ModelError, match=message):
        edit.replay(step)
    assert edit.model is before


def test_a_circle_through_others_is_refused() -> None:
    edit = with_a().add("parameter", "b", value="2*a", unit="length").add("parameter", "c", value="b", unit="length")
    with pytest.raises(ModelError, match=r"set parameters\.a: found 'c', which follows from it"):
        edit.set({"a": "c"})
    edit.set({"b": 0.3, "a": "c"})
    assert edit.model.numbers()["parameters.a"] == 0.3


# -- events ------------------------------------------------------------------------------------------------------------


def events_of(step: str, **events: Any) -> tuple[shiftjax.Editor, dict[str, Any]]:
    builder = pair()
    for name, of in events.items():
        words: dict[str, Any] = {"of": of} if isinstance(of, str) else of
        builder.event(name, **words)
    edit = shiftjax.Editor(builder.build()).replay(step)
    assert kept(edit.model)
    return edit, {name: words["of"] for name, words in edit.model.events.items()}


def happenings(model: shiftjax.Model) -> tuple[Any, ...]:
    history = shiftjax.simulate(model, 1.0, 1e-3).events
    assert history is not None
    return history.of()


@pytest.mark.parametrize("step", ["split('one', 'half', ['tip'])", "merge('j2')"])
def test_events_go_with_their_frames(step: str) -> None:
    """The same instants before and after: a frame's height falls through a value, on whichever body the frame is."""
    builder = pair().event("low", "one:tip.position[2] - 0.2").event("far", "two:tip.position[0]")
    builder.event("hub", "two.position[2] - 0.2")
    before = shiftjax.Editor(builder.build())
    if "merge" in step:
        before.change_type("j2", "rigid")  # as it is then
    after = shiftjax.Editor(builder.build()).replay(step)
    assert [*after.model.events] == ["low", "far", "hub"] and not any("events" in note for note in after.notes)
    assert far(before.poses, after.poses) < STAYS
    first, second = (happenings(edit.model) for edit in (before, after))
    assert {one.name for one in first} == {"low", "far", "hub"} and [one.name for one in first] == [
        one.name for one in second
    ]
    assert [one.time for one in second] == pytest.approx([one.time for one in first], abs=ALIKE)


def test_events_of_frames_elsewhere() -> None:
    sets = {"of": "t - 1", "action": "set", "values": {"one:tip.T[1]": 0.1}}
    edit, events = events_of("split('one', 'half', ['tip'])", sets=sets)
    assert dict(edit.model.events["sets"]["values"]) == {"half:tip.T[1]": 0.1}
    edit, events = events_of("merge('j2')", sets={**sets, "values": {"two:tip.T[1]": 0.1}}, hub="two.position[2]")
    assert events == {"hub": "a:one:two_origin.position[2]"}, "a place in other axes is no number that is set"
    assert any("events left out" in note and "sets" in note for note in edit.notes)
    edit, events = events_of("remove('two')", hub="two.position[2]", low="j1.q - 1")
    assert [*events] == ["low"], "a channel of a body that is gone"
    edit, events = events_of("change_type('j1', 'cylindrical')", low="j1.q - 1", tip="one:tip.position[0]")
    assert any("events name coordinates that a:j1 had: low" in note for note in edit.notes)
    assert np.isfinite(edit.poses["a:one"][1]).all() and load(to_dict(edit.model)) == edit.model
