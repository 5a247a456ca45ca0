"""What stays when names change: goals, locks, events of objects that share paths; numbers with units. S23, M41, M46."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

import numpy as np
import pytest

import shiftjax
from shiftjax import FrameGoal, JointGoal, ModelError, Workbench
from shiftjax.formats.writer import to_dict

EXACT = 1e-9  # m or rad: a goal that is met, a lock that holds
AXES = np.eye(3).tolist()


def two_bars() -> Workbench:
    """A crank on ground and a rod on it, in a plane."""
    bench = Workbench().do("add_body", "crank", mass=1.0, frames={"tip": [0.2, 0, 0]})
    bench.do("add_joint", "main", "revolute", "fixed", "crank", axis="y")
    bench.do("add_body", "rod", at=[0.2, 0, 0], mass=1.0, frames={"tip": [0.5, 0, 0]})
    return bench.do("add_joint", "pin", "revolute", ("crank", "tip"), ("rod", "origin"), axis="y")


def with_events(events: Mapping[str, Mapping[str, Any]]) -> shiftjax.Editor:
    """The same, of a length, with events."""
    builder = shiftjax.ModelBuilder()
    builder.parameter("L", 0.2, unit="length")
    rows = builder.assembly("a")
    rows.body("crank", mass="5 * L", inertia=(0.1, 0.1, 0.1), frames={"tip": ["L", 0, 0]})
    rows.body("rod", mass=1.0, inertia=(0.1, 0.1, 0.1), frames={"tip": [0.5, 0, 0]})
    rows.joint("main", "revolute", parent="fixed", child="crank", axis="y")
    rows.joint("pin", "revolute", parent=("crank", "tip"), child="rod", axis="y")
    for name, words in events.items():
        builder.event(name, **words)
    return shiftjax.Editor(builder.build())


def text_of(model: shiftjax.Model) -> str:
    return json.dumps(to_dict(model))


def type_name(value: object) -> str:
    return type(value).__name__


def assert_replayed(bench: Workbench) -> None:
    """Its script makes the same model, goals and locks."""
    again = Workbench().replay(bench.script)
    assert text_of(again.model) == text_of(bench.model)
    assert repr(again.goals) == repr(bench.goals) and again.locks == bench.locks


# -- goals and locks ---------------------------------------------------------------------------------------------------


def test_no_goal_is_lost_where_a_new_name_is_that_of_another_goal() -> None:
    bench = two_bars().do("keep", "crank", R=AXES).do("keep", "pin", 0.0, name="assembly:bar")
    bench.do("rename", "crank", "bar")
    assert {name: type(goal) for name, goal in bench.goals.items()} == {
        "assembly:bar 2": FrameGoal,
        "assembly:bar": JointGoal,
    }
    bench.do("keep", "bar:tip", T=[0.2, 0, 0]).do("keep", "bar:tip", R=AXES).do("rename", "bar", "crank")
    assert [*bench.goals] == ["assembly:crank 2", "assembly:bar", "assembly:crank:tip", "assembly:crank:tip 2"]
    assert_replayed(bench)


def test_goals_and_locks_of_a_body_and_a_joint_of_one_path_are_told_apart() -> None:
    """Each of both is renamed, and what was kept or locked of the other stays what it was."""
    bench = two_bars().do("rename", "main", "crank").do("lock", "crank:origin")
    bench.do("keep", "assembly:crank:origin", R=AXES).do("keep", "assembly:crank", 0.0)
    assert [type(goal) for goal in bench.goals.values()] == [FrameGoal, JointGoal]
    bench.do("rename", "assembly:crank", "drive", what="joint")
    frame, joint = bench.goals.values()
    assert isinstance(frame, FrameGoal) and isinstance(joint, JointGoal) and bench.notes == ()
    assert frame.frame.base == "assembly:crank" and joint.coordinate == "assembly:drive"
    assert bench.locks == {"assembly:crank"}
    bench.do("rename", "assembly:crank", "wheel").do("rename", "assembly:drive", "wheel")
    assert bench.locks == {"assembly:wheel:origin"} and bench.notes == ()
    assert_replayed(bench)


@pytest.mark.parametrize("type", ["revolute", "spherical"])
def test_the_goal_of_a_drag_of_a_body_beside_a_joint_of_its_path(type: str) -> None:
    """As it is kept, it is the same by the line of the script: of the body."""
    bench = two_bars().do("change_type", "pin", type).do("rename", "pin", "rod")
    bench.do("turn", "rod" if type == "revolute" else "main", 0.3).do("keep")
    bench.do("drag", "rod", [0.5, 0.0, 0.0], [0.4, 0.0, -0.3]).do("keep")
    assert [*map(type_name, bench.goals.values())] == ["JointGoal", "FrameGoal"]
    assert_replayed(bench)


@pytest.mark.parametrize("level", [-1.0, -1e300, "lock", 0])
def test_what_is_locked_stays_beside_goals_of_every_level(level: Any) -> None:
    bench = two_bars().do("lock", "main").do("keep", "main", 1.0, level=level)
    for value in (0.3, 0.4):
        bench.do("turn", "pin", value)
    assert abs(bench.values["assembly:main"]) < EXACT and bench.values["assembly:pin"] == pytest.approx(0.4, abs=EXACT)
    assert bench.goal_states["assembly:main"].angle == pytest.approx(1.0, abs=EXACT)
    bench.do("unlock")
    assert bench.values["assembly:main"] == pytest.approx(1.0, abs=EXACT)


@pytest.mark.parametrize(
    ("step", "args", "words", "allowed"),
    [
        ("keep", ("main", 0.1), {"name": 3}, "the name of a goal"),
        ("keep", ("main", 0.1), {"level": True}, "a number, or one of"),
        ("keep", ("main", 0.1), {"weight": 1e308}, "1e-50 to 1e"),
        ("keep", ("main", 0.1), {"weight": 1e-320}, "1e-50 to 1e"),
        ("turn", ("main",), {"valu": 1}, r"turn\(coordinate, value\)"),
        ("add_joint", ("main",), {}, r"add_joint\(name, type, parent, child"),
        ("add_joint", ("j", "revolute", "ground", ("rod", "tip")), {"axis": "y"}, "'fixed' for ground"),
        ("add_joint", ("j", "revolute", ("world", "o"), "rod"), {"axis": "y"}, "'fixed' for ground"),
        ("reattach", ("pin",), {"parent": "ground"}, "'fixed' for ground"),
        ("add_joint", ("j", "revolute", "rd", "crank"), {}, "one of the bodies: assembly:crank, assembly:rod"),
        ("add_joint", ("j", "revolute", ("fixed", 3), "crank"), {}, "origin"),
    ],
)
def test_a_refusal_says_what_is_allowed(step: str, args: tuple, words: dict[str, Any], allowed: str) -> None:
    bench = two_bars()
    before = bench.script
    with pytest.raises(ModelError, match=f"(?s)allowed: .*{allowed}"):
        bench.do(step, *args, **words)
    assert bench.script == before and not bench.goals


def test_a_body_is_turned_about_an_axis_of_any_length_and_by_any_angle() -> None:
    for axis, angle in (([0.0, 1e300, 0.0], 0.1), ([0.0, 1e-320, 0.0], 0.1), ("y", 0.1 + 2000.0 * np.pi)):
        bench = two_bars().do("rotate", "crank", axis, angle)
        assert bench.values["assembly:main"] == pytest.approx(0.1, abs=EXACT)
    two_bars().do("rotate", "crank", "y", 1e308)


# -- numbers -----------------------------------------------------------------------------------------------------------


def test_a_quotient_of_units_is_one_whatever_is_called_like_them() -> None:
    edit = with_events({}).set({"main.initial_velocity": "30 deg/s"})
    assert edit.model.numbers()["a:main.initial_velocity"] == pytest.approx(np.pi / 6)
    edit.add("parameter", "s", value=0.5).set({"pin.initial_velocity": "60 deg/s"})
    assert edit.model.numbers()["a:pin.initial_velocity"] == pytest.approx(np.pi / 3)
    assert "a:pin.initial_velocity" not in edit.model.expressions


def test_a_number_may_be_worked_out_of_constants() -> None:
    edit = with_events({}).set({"main.initial_displacement": "pi / 4", "rod.mass": "2 * 3"})
    numbers = edit.model.numbers()
    assert numbers["a:main.initial_displacement"] == np.pi / 4 and numbers["a:rod.mass"] == 6.0
    with pytest.raises(ModelError, match="a finite number"):
        edit.set({"rod.mass": "1 / 0"})


def test_what_is_a_length_by_name_may_follow_from_it_by_more() -> None:
    edit = with_events({}).set({"crank:tip.T[0]": "L + 10 mm"})
    assert (
        edit.model.numbers()["a:crank:tip.T[0]"] == pytest.approx(0.21) and edit.model.numbers()["parameters.L"] == 0.2
    )
    edit.set({"L": 0.3})
    assert edit.model.numbers()["a:crank:tip.T[0]"] == pytest.approx(0.31)
    with pytest.raises(ModelError, match="which follows from it"):
        edit.set({"L": "2 * L"})


@pytest.mark.parametrize("name", ["e", "E", "e5", "inf", "nan"])
def test_a_parameter_may_be_called_like_a_part_of_a_number(name: str) -> None:
    edit = with_events({}).rename("L", name)
    assert edit.model.expressions["a:crank:tip.T[0]"] == name
    again = shiftjax.load(json.loads(text_of(edit.model)))
    assert text_of(again) == text_of(edit.model)
    edit.rename(name, "L")
    assert text_of(edit.model) == text_of(with_events({}).model)


# -- events ------------------------------------------------------------------------------------------------------------


def test_events_stay_where_new_objects_have_the_ends_of_their_paths() -> None:
    edit = with_events(
        {
            "far": {"of": "rod:tip.position[2] - crank:tip.position[2] - 0.1"},
            "turned": {"of": "pin.q - 1", "action": "set", "values": {"rod.mass": 2.0}},
        }
    )
    edit.copy("rod", "second")
    assert edit.model.events["far"]["of"] == "a:rod:tip.position[2] - crank:tip.position[2] - 0.1"
    assert edit.model.events["turned"]["of"] == "a:pin.q - 1"
    assert [*edit.model.events["turned"]["values"]] == ["a:rod.mass"]
    assert not any("event" in note for note in edit.notes)
    assert int(shiftjax.simulate(edit.model, 0.01).status) == 0


def test_events_of_a_coordinate_of_another_size_are_told() -> None:
    edit = with_events({"turned": {"of": "pin.q - 1"}}).change_type("pin", "spherical")
    assert any("turned" in note for note in edit.notes)
