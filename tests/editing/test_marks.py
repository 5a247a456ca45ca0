"""Steps that state limits, locks, targets, postures and what is virtual; what others make of these.

M5, M14, M41, M42, M62.
"""

from __future__ import annotations

import numpy as np
import pytest

import shiftjax
from shiftjax.formats import dumps, load, to_dict
from shiftjax.mechanism.records import WantedValue
from tests.editing.test_editor import STAYS, far

EVERY = """limit('rocker_pivot', 0.5, '100deg')
target('crank_pivot', 1.0, weight=2.0)
posture('rocker_pin', '20deg', level=5)
lock('crank', 'crank_pin')
make_virtual('crank_pin')
"""


def test_each_step_is_taken_back_and_repeated() -> None:
    edit = shiftjax.Editor("four_bar")
    before, poses = dumps(to_dict(edit.model)), edit.poses
    for number, line in enumerate(EVERY.splitlines(), 1):
        edit.replay(line)
        assert not edit.notes and len(edit.steps) == number
    assert edit.script == EVERY and far(poses, edit.poses) < STAYS
    joints, bodies = dict(edit.model.joints()), dict(edit.model.bodies())
    assert joints["four_bar:rocker_pivot"].limits == (0.5, pytest.approx(np.deg2rad(100.0)))
    assert joints["four_bar:crank_pivot"].target == WantedValue(1.0, 2.0)
    assert joints["four_bar:rocker_pin"].posture == WantedValue(float(np.deg2rad(20.0)), 1.0, 5.0)
    assert joints["four_bar:crank_pin"].lock is True and joints["four_bar:crank_pin"].virtual
    assert bodies["four_bar:crank"].lock and not bodies["four_bar:coupler"].lock
    last = dumps(to_dict(edit.model))
    assert load(to_dict(edit.model)) == edit.model
    assert dumps(to_dict(shiftjax.Editor("four_bar").replay(edit.script).model)) == last
    while edit.undo():
        pass
    assert dumps(to_dict(edit.model)) == before
    while edit.redo():
        pass
    assert dumps(to_dict(edit.model)) == last


def test_what_was_stated_goes_again() -> None:
    edit = shiftjax.Editor("four_bar").replay(EVERY)
    edit.unlock("crank").limit("rocker_pivot").target("crank_pivot", None).posture("rocker_pin", None)
    assert [path for path, joint in edit.model.joints() if joint.lock] == ["four_bar:crank_pin"]
    edit.unlock().make_real("crank_pin")
    assert edit.model == shiftjax.Editor("four_bar").model


def test_joints_of_several_coordinates() -> None:
    """By coordinate, or all of them; a ball as a whole."""
    edit = shiftjax.Editor("four_bar").change_type("rocker_pivot", "cylindrical")
    edit.limit("rocker_pivot.slide", -0.1, 0.1).limit("rocker_pivot.angle", None, 3.0).lock("rocker_pivot.slide")
    joint = dict(edit.model.joints())["four_bar:rocker_pivot"]
    assert dict(joint.limits) == {"angle": (None, 3.0), "slide": (-0.1, 0.1)} and joint.lock == ("slide",)  # type: ignore[arg-type]
    edit.lock("rocker_pivot").limit("rocker_pivot.slide")
    joint = dict(edit.model.joints())["four_bar:rocker_pivot"]
    assert dict(joint.limits) == {"angle": (None, 3.0)} and joint.lock is True  # type: ignore[arg-type]
    edit.unlock("rocker_pivot.angle").limit("rocker_pivot.angle")
    joint = dict(edit.model.joints())["four_bar:rocker_pivot"]
    assert joint.limits is None and joint.lock == ("slide",)
    edit.unlock().change_type("rocker_pivot", "spherical").lock("rocker_pivot")
    assert dict(edit.model.joints())["four_bar:rocker_pivot"].lock is True


def test_a_limit_before_where_it_stands_is_noted() -> None:
    edit = shiftjax.Editor("double_pendulum").set({"elbow.initial_displacement": 0.6}).limit("elbow", -0.5, 0.5)
    assert edit.notes[0].startswith("double_pendulum:elbow: it starts at 0.6 rad, beyond its limits")


def test_a_joint_of_another_kind_keeps_what_its_coordinates_allow() -> None:
    """The rest goes with a note: limits of another unit, or of a joint that turns any way."""
    edit = shiftjax.Editor("four_bar").replay(EVERY).limit("crank_pin", -3.0, 3.0).posture("crank_pin", 0.1)
    edit.change_type("crank_pin", "screw", axis="y", pitch=0.0)
    joint = dict(edit.model.joints())["four_bar:crank_pin"]
    assert joint.limits == (-3.0, 3.0) and joint.posture == WantedValue(0.1) and joint.lock is True and joint.virtual
    assert not any("left out" in note for note in edit.notes)
    edit.change_type("crank_pin", "spherical")
    joint = dict(edit.model.joints())["four_bar:crank_pin"]
    assert joint.limits is joint.posture is None and joint.lock is True and joint.virtual
    assert "four_bar:crank_pin: limits and posture of the screw are left out" in edit.notes
    edit.change_type("crank_pin", "rigid")
    assert any("crank_pin: lock of the spherical are left out" in note for note in edit.notes)
    edit = shiftjax.Editor("four_bar").change_type("rocker_pivot", "cylindrical").lock("rocker_pivot.slide")
    edit.limit("rocker_pivot.angle", -9.0, 9.0).change_type("rocker_pivot", "planar")
    joint = dict(edit.model.joints())["four_bar:rocker_pivot"]
    assert dict(joint.limits) == {"angle": (-9.0, 9.0)} and not joint.lock  # type: ignore[arg-type]
    assert "four_bar:rocker_pivot: lock of the cylindrical are left out" in edit.notes


def test_other_steps_keep_or_say_it() -> None:
    """Inverted joints, copies and halves have what they had; what merges says what went with its joint."""
    edit = shiftjax.Editor("double_pendulum").limit("elbow", -1.0, 2.0).lock("elbow", "link2").invert("elbow")
    joint = dict(edit.model.joints())["double_pendulum:elbow"]
    assert joint.limits == (-1.0, 2.0) and joint.lock is True
    edit.copy("link2", "again")
    copied = dict(edit.model.joints())["again:elbow"]
    assert copied.limits == (-1.0, 2.0) and dict(edit.model.bodies())["again:link2"].lock
    edit.merge("double_pendulum:elbow")
    assert "limits and lock of double_pendulum:elbow went with it" in edit.notes
    edit = shiftjax.Editor("double_pendulum").lock("link1").merge("elbow")
    assert "double_pendulum:link2 is locked, as double_pendulum:link1 was" in edit.notes
    edit = shiftjax.Editor("double_pendulum").add_body("ghost", virtual=True).split("ghost", "half")
    assert dict(edit.model.bodies())["double_pendulum:half"].virtual
    edit.add_joint("hold", "rigid", "link1", "ghost").merge("hold")
    assert "double_pendulum:link1 is real, as one of both was" in edit.notes


def test_the_lock_of_a_free_joint_stays_with_its_body() -> None:
    edit = shiftjax.Editor("double_pendulum").remove("shoulder").lock("link1_float").root("link2")
    assert dict(edit.model.bodies())["double_pendulum:link1"].lock
    assert not any(joint.lock for _, joint in edit.model.joints())
    assert "double_pendulum:link1 is locked, as the free joint at it was" in edit.notes


@pytest.mark.parametrize(
    ("step", "message"),
    [
        ("limit('rocker_pivot', 1, 0)", "limits 1 and 0; allowed: a lower limit below the upper one"),
        ("limit('rocker_pivot', '3mm', 1)", "low"),
        ("limit('coupler', 0, 1)", "limit coupler"),
        ("target('crank_pivot', 'a')", "a finite number"),
        ("target('crank_pivot', 1.0, weight=0)", "a number above 0"),
        ("posture('crank_pivot', 1.0, level='first')", "level"),
        ("posture('crank_pivot', 1e400)", "value"),
        ("lock()", "coordinates, joints or bodies"),
        ("lock('none')", "none"),
        ("unlock('none')", "none"),
        ("make_virtual('crank')", "found mass 0.5.*a virtual body without mass and inertia"),
        ("make_virtual('none')", "of which there are 0"),
        ("make_real()", "bodies or joints"),
    ],
)
def test_what_is_refused(step: str, message: str) -> None:
    edit = shiftjax.Editor("four_bar")
    model = edit.model
    with pytest.raises(shiftjax.ModelError, match=message):
        edit.replay(step)
    assert edit.model is model
