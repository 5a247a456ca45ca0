"""Edits of a mechanism as values: bodies stay where they stand, what is the same moves the same, notes, scripts.

M10, M11, M12, M28, M31, M32, M33, M34, M35, M36, M37, M38, M40, M47, D15.
"""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import shiftjax
from shiftjax.formats import dumps, load, to_dict
from tests.support.complete import without

STAYS = 1e-12  # of rotation matrices and places [m]: rounding of a few products
SAME = 1e-8  # of energies of the same motion in other coordinates: errors of RK4 in steps of 1 ms


def far(before: Mapping[str, Any], now: Mapping[str, Any]) -> float:
    """By how much bodies that are in both stand elsewhere."""
    same = [path for path in before if path in now]
    return max(max(np.abs(before[path][k] - now[path][k]).max() for k in range(2)) for path in same)


def energies(model: shiftjax.Model) -> np.ndarray:
    """Over half a second: the same of the same motion, whatever its coordinates."""
    run = shiftjax.simulate(model, 0.5, 1e-3, channels=["energy.kinetic", "energy.potential"], output_step=0.05)
    return np.stack([run.channels["energy.kinetic"], run.channels["energy.potential"]])


INVERTED = ("stewart", "invert('leg_1'); invert('head_2'); invert('foot_x_3')")  # compiles two platforms: 6 s
EDITS = [
    ("four_bar", "invert('rocker_pivot'); invert('crank_pin')"),
    INVERTED,
    ("four_bar", "split('coupler', 'half', ['tip']); merge('half_weld')"),
    ("stewart", "split('platform', 'half', ['head_1', 'head_2', 'tool']); merge('half_weld')"),
    ("four_bar", "make_tree('rocker_pin')"),
    ("four_bar", "make_closure('crank_pivot')"),
    ("four_bar", "change_type('rocker_pin', 'spherical'); change_type('rocker_pin', 'revolute', axis='y')"),
    ("double_pendulum", "invert('elbow'); split('link1', 'half', ['distal']); merge('half_weld')"),
]


@pytest.mark.parametrize(("name", "steps"), without(EDITS, [INVERTED]))
def test_the_same_mechanism_moves_as_before(name: str, steps: str) -> None:
    """Joints turned round, a body cut in two, loops cut elsewhere."""
    edit = shiftjax.Editor(name)
    poses, before = edit.poses, energies(edit.model)
    edit.replay(steps.replace("; ", "\n"))
    assert far(poses, edit.poses) < STAYS
    assert energies(edit.model) == pytest.approx(before, rel=SAME, abs=SAME * np.abs(before).max())


def test_a_welded_body_has_the_masses_of_both() -> None:
    """A pendulum whose elbow is merged at its angle swings as one whose elbow is rigid."""
    merged = shiftjax.Editor("double_pendulum").merge("elbow")
    welded = shiftjax.Editor("double_pendulum").change_type("elbow", "rigid")
    assert (merged.freedoms, welded.freedoms) == (1, 1)
    assert len([*merged.model.bodies()]) == 1
    assert energies(merged.model) == pytest.approx(energies(welded.model), rel=SAME)


def test_a_body_keeps_its_place_when_nothing_holds_it() -> None:
    """It gets a free joint where it stands, which goes when a joint holds it again. M11, M12."""
    edit = shiftjax.Editor("four_bar")
    poses = edit.poses
    edit.remove("rocker_pivot")
    assert edit.freedoms == 3
    edit.remove("crank_pivot")
    assert any("four_bar:coupler_float, a free joint, carries four_bar:coupler" in note for note in edit.notes)
    edit.add_joint("hinge", "revolute", "fixed", "crank", axis="y")
    assert any("coupler_float" in note and "of no use any more" in note for note in edit.notes)
    assert all(joint.type != "float" for _, joint in edit.model.joints())
    assert edit.freedoms == 3
    assert far(poses, edit.poses) < STAYS


def test_what_refers_to_it_goes_with_it() -> None:
    edit = shiftjax.Editor("excavator")
    edit.remove("boom")
    (note,) = (note for note in edit.notes if note.startswith("left out, too"))
    assert "excavator:" in note
    left = {path for path, _ in edit.model.bodies()} | {"fixed"}
    assert all({joint.parent.body, joint.child.body} <= left for _, joint in edit.model.joints())
    assert not edit.model.dangling()


def test_another_body_is_ground() -> None:
    """Poses stay, and so does how bodies move to each other: the mechanism has the freedom that it had. M37."""
    edit = shiftjax.Editor("four_bar")
    poses = edit.poses
    edit.ground("coupler", "frame")
    assert edit.freedoms == 1
    assert far(poses, edit.poses) < STAYS
    assert {path for path, _ in edit.model.bodies()} >= {"four_bar:frame", "four_bar:coupler"}
    standing = shiftjax.assemble(edit.model, channels=["coupler:tip.position"])
    assert standing.channels["coupler:tip.position"][0] == pytest.approx(
        shiftjax.assemble("four_bar", channels=["coupler:tip.position"]).channels["coupler:tip.position"][0], abs=STAYS
    )


def test_a_branch_is_copied_onto_another_frame() -> None:
    """A second arm with its masses, springs and joints, at another place. D15."""
    edit = shiftjax.Editor("double_pendulum").add_body("beam", at=[0.0, 2.0, -1.0], mass=1.0)
    edit.change_type("beam_float", "rigid").copy("link1", "twin", parent="beam")
    bodies = dict(edit.model.bodies())
    assert bodies["twin:link1"].mass == bodies["double_pendulum:link1"].mass
    assert edit.freedoms == 4
    apart = np.array([0.0, 2.0, -1.0]) - [0.0, 0.0, -3.0]
    for name in ("link1", "link2"):
        (R, p), (R_twin, p_twin) = edit.poses[f"double_pendulum:{name}"], edit.poses[f"twin:{name}"]
        assert R_twin == pytest.approx(R, abs=STAYS)
        assert p_twin - p == pytest.approx(apart, abs=STAYS)


def test_a_four_bar_from_nothing() -> None:
    """Bodies and joints put in one after another, closed by a joint between frames that do not meet yet."""
    edit = shiftjax.Editor(shiftjax.ModelBuilder().build())
    for name, length in (("crank", 0.2), ("coupler", 0.5), ("rocker", 0.4)):
        edit.add_body(name, "bar", mass=1.0, inertia=(0.01, 0.01, 0.01), frames={"tip": [length, 0.0, 0.0]})
    edit.add_joint("motor", "revolute", "fixed", "crank", axis="y")
    edit.add_joint("pin", "revolute", ("crank", "tip"), ("coupler", "origin"), axis="y")
    edit.add_body("post", "bar", at=[0.6, 0.0, 0.0]).change_type("post_float", "rigid")
    edit.add_joint("pivot", "revolute", ("post", "origin"), ("rocker", "origin"), axis="y")
    assert edit.freedoms == 3
    edit.add_joint("wrist", "revolute", ("coupler", "tip"), ("rocker", "tip"), axis="y")
    assert edit.freedoms == 1
    assert "freedoms: 3 before, 1 now" in edit.notes
    edit.add("restraint", "spring", type="spring", joint="pivot", coefficients=[[2.0, 0.0]])
    ends = shiftjax.assemble(edit.model, channels=["coupler:tip.position", "rocker:tip.position"]).channels
    assert ends["coupler:tip.position"] == pytest.approx(ends["rocker:tip.position"], abs=1e-12)
    assert np.isinf(shiftjax.travel(edit.model, "motor").high)
    again = shiftjax.Editor(shiftjax.ModelBuilder().build()).replay(edit.script)
    assert dumps(to_dict(again.model)) == dumps(to_dict(edit.model))


def test_a_joint_at_a_place_in_the_world() -> None:
    """Both bodies get a frame there, and nothing moves; a body alone gets one where the other's frame is."""
    edit = shiftjax.Editor("four_bar").add_body("post", at=[1.0, 0.0, 0.0]).remove("rocker_pivot")
    poses = edit.poses
    edit.add_joint("hinge", "revolute", "fixed", "post", axis="y", at=[1.0, 0.0, 0.2])
    edit.add_joint("slide", "prismatic", "post", ("rocker", "tip"), axis="x")
    joints = {path.rpartition(":")[2]: joint for path, joint in edit.model.joints()}
    frames = {frame.name: frame.T for frame in edit.model.frames}
    assert frames[joints["hinge"].parent.frame] == pytest.approx((1.0, 0.0, 0.2))
    assert joints["slide"].child.frame == "tip"
    assert far(poses, edit.poses) < STAYS


def test_a_joint_is_moved_on_its_bodies() -> None:
    """Nothing moves at once; then the bodies turn about another place, by the same coordinate. M47."""
    edit = shiftjax.Editor("four_bar")
    before, place = edit.poses, np.array([0.3, 0.0, -0.2])
    values = shiftjax.Poser(edit.model).values
    edit.move_joint("rocker_pin", at=place.tolist())
    assert kept(edit.model) and far(before, edit.poses) < STAYS and edit.freedoms == 1
    assert shiftjax.Poser(edit.model).values == pytest.approx(values, abs=STAYS)
    at = shiftjax.configuration(edit.model)
    joint = dict(edit.model.joints())["four_bar:rocker_pin"]
    for ref in (joint.parent, joint.child):
        assert at.pose(ref.path)[:3, 3] == pytest.approx(place, abs=STAYS)
    with pytest.raises(shiftjax.ModelError, match="a joint with an axis"):
        shiftjax.Editor("stewart").move_joint("head_2", axis="x")

    one = shiftjax.Editor(pair().build())
    there = one.poses
    one.move_joint("j2", axis=[1.0, 0.0, 1.0])
    assert kept(one.model) and far(there, one.poses) < STAYS
    screw = shiftjax.configuration(one.model).jacobian("two")[:3, 1]  # its angular speed by that of the joint
    assert np.abs(np.abs(screw) - np.array([1.0, 0.0, 1.0]) / np.sqrt(2)).max() < STAYS
    again = shiftjax.Editor(pair().build()).replay(one.script)
    assert again.model == one.model


def test_other_lengths_close_the_loop_again() -> None:
    edit = shiftjax.Editor("four_bar").set({"coupler:tip.T[0]": "52 cm"})
    known = shiftjax.assemble("four_bar", vary={"coupler:tip.T[0]": [0.52]}, channels=["coupler:tip.position"])
    there = edit.poses["four_bar:coupler"]
    tip = there[0] @ [0.52, 0.0, 0.0] + there[1]
    assert tip == pytest.approx(known.channels["coupler:tip.position"][0, 0], abs=1e-10)


def test_several_steps_are_one() -> None:
    """One analysis, one entry of the history; an error takes all of them back. M28."""
    edit = shiftjax.Editor("four_bar")
    before, analyses = edit.model, edit.analyses
    with edit.transaction():
        edit.remove("rocker_pivot").remove("crank_pivot").invert("crank_pin")
        edit.add_joint("hinge", "revolute", "fixed", "crank", axis="y")
    assert edit.analyses == analyses + 1
    assert len(edit.script.splitlines()) == 1
    assert shiftjax.Editor("four_bar").replay(edit.script).model == edit.model  # also what is rounded on the way
    assert edit.undo() and edit.model is before and not edit.undo()
    assert edit.redo() and not edit.redo()
    now = edit.model
    with pytest.raises(shiftjax.ModelError, match="none of the joints"), edit.transaction():
        edit.remove("hinge").invert("none")
    assert edit.model is now
    edit.undo()
    edit.set({"crank.mass": 2.0})
    assert not edit.redo()


def test_what_acts_on_a_coordinate_that_is_gone_goes() -> None:
    edit = shiftjax.Editor("slider_crank")
    edit.add("restraint", "spring", type="spring", joint="crank_pivot", coefficients=[[2.0, 0.0]])
    edit.change_type("crank_pivot", "spherical")
    assert any("left out with coordinates of" in note and "spring" in note for note in edit.notes)
    assert not [*edit.model.restraints()]
    edit.undo()
    edit.change_type("crank_pivot", "prismatic")
    assert any("numbers by rad of" in note for note in edit.notes)


def test_a_file_keeps_where_its_loops_are_cut(tmp_path: Path) -> None:
    edit = shiftjax.Editor("four_bar").make_tree("rocker_pin")
    assert edit.notes == ("its loop is cut at four_bar:crank_pin",)
    edit.save(tmp_path / "cut.json")
    again = load(tmp_path / "cut.json")
    assert again == edit.model
    assert [path for path, joint in again.joints() if joint.cut] == ["four_bar:crank_pin"]
    assert shiftjax.info(again)["substructures"][0]["chords"] == ["four_bar:crank_pin"]


@pytest.mark.parametrize(
    ("step", "message"),
    [
        ("invert('none')", r"invert: found 'none', none of the joints"),
        ("add_joint('x', 'revolute', 'crank', 'rocker')", r"add_joint x: axis: found none"),
        ("add_joint('x', 'revolute', 'crank', 'crank', axis='y')", r"both ends on four_bar:crank"),
        ("add_joint('x', 'revolute', ['crank', 'tip'], 'rocker', axis='y', at=[0, 0, 0])", r"at: found beside a frame"),
        ("change_type('crank_pin', 'screw')", r"change_type four_bar:crank_pin: pitch: found nothing"),
        ("change_type('crank_pin', 'hinge')", r"found 'hinge'"),
        ("reattach('crank_pin')", r"neither parent nor child"),
        ("move_joint('crank_pin')", r"neither a place nor an axis"),
        ("move_joint('crank_pin', axis=[0, 0, 0])", r"x, y, z, or \[x, y, z\] in the world"),
        ("move_joint('crank_pin', at=[0, 0])", r"at: found"),
        ("reattach('crank_pin', child=['rocker', 'tip'])", r"cannot stand as they are"),
        ("add_body('x', at=([[2, 0, 0], [0, 2, 0], [0, 0, 2]], [0, 0, 0]))", r"no rotation"),
        ("add_body('x:y')", r"the name 'x:y'"),
        ("copy('rocker', '')", r"the name ''"),
        ("copy('rocker', 'twin', parent=['fixed', 'nix'])", r"no frame 'nix'"),
        ("add('driver', 'x', type='nix', joint='crank_pivot')", r"add driver x: type: found 'nix'"),
        ("add('force', 'x', joint='crank_pivot')", r"add force x: type: found None"),
        ("set({})", r"set: found no number"),
        ("set({'crank.mass': None})", r"a finite number"),
        ("remove()", r"remove: found nothing"),
        ("remove('nix')", r"'nix', of which there are 0"),
        ("invert(3)", r"the path of one of the joints"),
        ("invert()", r"missing a required argument"),
        ("merge('crank_pivot')", r"a joint on ground, which is no body"),
        ("root('crank')", r"one of a mechanism that floats"),
        ("add_body('crank')", r"a body four_bar:crank; allowed: a name that is not taken"),
        ("add_body('x', at=[1, 2])", r"\[x, y, z\], or \(R, \[x, y, z\]\)"),
        ("split('coupler', 'half', ['end'])", r"the frame 'end'; allowed: tip"),
        ("add('force', 'x', type='torsion')", r"found 'torsion'"),
        ("set({'crank.mass': -1.0})", r"crank\.mass"),
        ("fly('crank')", r"script, line 1: found 'fly'; allowed: a step"),
        ("invert(open('x'))", r"script, line 1: .*with plain values"),
        ("undo()", r"found 'undo'; allowed: a step"),
    ],
)
def test_what_is_refused(step: str, message: str) -> None:
    edit = shiftjax.Editor("four_bar")
    before = edit.model
    with pytest.raises(shiftjax.ModelError, match=message):
        edit.replay(step)
    assert edit.model is before and edit.script == ""


# -- what stands in files beside plain numbers -------------------------------------------------------------------------


def pair(**more: Any) -> shiftjax.ModelBuilder:
    """Two rods with names of their own numbers, each on a hinge."""
    builder = shiftjax.ModelBuilder().parameter("L", 0.5, unit="length").parameter("q0", 0.3, unit="angle")
    a = builder.assembly("a")
    rod = {"inertia": (0.1, 0.1, 0.1), "frames": {"tip": ["L", 0, 0]}}
    a.body("one", mass="2 * L", **rod).body("two", **{"mass": "3 * L", **rod, **more})
    a.joint("j1", "revolute", child="one", axis="y", initial_displacement="q0")
    a.joint("j2", "revolute", parent=("one", "tip"), child="two", axis="y", initial_displacement="q0 / 2")
    return builder


def kept(model: shiftjax.Model) -> bool:
    """Whether a file keeps the model, and what follows from parameters gives its numbers."""
    return load(to_dict(model)) == model


@pytest.mark.parametrize(
    "step",
    ["invert('j2')", "merge('j2')", "change_type('j2', 'spherical')", "change_type('j1', 'cylindrical')",
     "ground('two')", "reattach('j2', parent='fixed')", "split('one', 'half', ['tip'])", "copy('one', 'twin')",
     "remove('one')"],
)  # fmt: skip
def test_numbers_that_follow_from_others_do_or_are_told(step: str) -> None:
    edit = shiftjax.Editor(pair().build())
    before, numbers = edit.poses, dict(edit.model.expressions)
    edit.replay(step)
    assert kept(edit.model) and far(before, edit.poses) < STAYS
    lost = [path for path in numbers if path not in edit.model.expressions]
    said = " ".join(edit.notes)
    assert not lost or "followed from others" in said or "left out" in said or "half:tip" in str(edit.model.expressions)


def test_masses_that_follow_from_others_are_those_of_both() -> None:
    """The mass of two bodies that are one is a number: 2.5 kg, whatever the length becomes."""
    edit = shiftjax.Editor(pair().build()).merge("j2")
    assert dict(edit.model.bodies())["a:one"].mass == pytest.approx(2.5)
    assert any("a:one.mass" in note for note in edit.notes)
    edit.set({"parameters.L": 0.6})
    assert dict(edit.model.bodies())["a:one"].mass == pytest.approx(2.5)


def test_a_pose_by_hand_is_what_its_file_says() -> None:
    poser = shiftjax.Poser(pair().build()).turn("j1", 1.2)
    assert kept(poser.posed)
    assert shiftjax.Poser(load(to_dict(poser.posed))).values["a:j1"] == pytest.approx(1.2, abs=1e-9)


def test_lists_may_share_names() -> None:
    """A body, a joint and a spring of one name, and names with points."""
    builder = shiftjax.ModelBuilder()
    a = builder.assembly("a.b")
    rod = {"mass": 1.0, "inertia": (0.1, 0.1, 0.1), "frames": {"tip": [0.5, 0, 0]}}
    a.body("one", **rod).body("j.1", **rod)
    a.joint("j.1", "revolute", child="one", axis="y")
    a.joint("one", "revolute", parent=("one", "tip"), child="j.1", axis="y")
    a.restraint("one", "spring", joint="j.1", coefficients=[[3.0, 0.0]])
    a.driver("motor", "constant_speed", joint="j.1", speed=1.0)
    for step in ("invert('one')", "change_type('one', 'spherical')", "make_closure('one')", "split('one', 'half')",
                 "copy('one', 'c.d')", "add_body('three')", "ground('one')"):  # fmt: skip
        edit = shiftjax.Editor(builder.build())
        before = edit.poses
        edit.replay(step)
        assert kept(edit.model) and far(before, edit.poses) < STAYS
        assert len([*edit.model.restraints()]) >= 1 and len([*edit.model.drivers()]) >= 1
    with pytest.raises(shiftjax.ModelError, match="of which there are 3"):
        shiftjax.Editor(builder.build()).remove("one")


def test_what_would_change_the_motion_is_refused() -> None:
    """Speeds of a free joint that another body would have, unlike gravities, a driver that leads elsewhere."""
    builder = shiftjax.ModelBuilder()
    a = builder.assembly("a")
    rod = {"mass": 1.0, "inertia": (0.1, 0.1, 0.1), "frames": {"tip": [0.5, 0, 0]}}
    a.body("one", **rod).body("two", gravity_scale=0.0, **rod)
    a.joint("free", "float", child="one", initial_velocity=[1.0, 0, 0, 0, 0, 2.0])
    a.joint("j2", "revolute", parent=("one", "tip"), child="two", axis="y")
    edit = shiftjax.Editor(builder.build())
    for step, message in (("root('two')", "initial speeds of a:free"), ("merge('j2')", "gravity_scale 1 and 0")):
        with pytest.raises(shiftjax.ModelError, match=message):
            edit.replay(step)
    motor = {"type": "constant_speed", "joint": "crank_pivot", "speed": 1.0, "offset": 0.9}
    driven = shiftjax.Editor(shiftjax.Editor("four_bar").add("driver", "motor", **motor).model)
    with pytest.raises(shiftjax.ModelError, match="steps that move nothing"):
        driven.change_type("crank_pivot", "prismatic")
    assert not driven.steps


def test_what_is_switched_off_is_not_edited() -> None:
    model = pair(active=False).build()
    for step in (
        "invert('j2')",
        "split('two', 'half')",
        "merge('j2')",
        "add_joint('x', 'revolute', 'one', 'two', axis='y')",
    ):
        with pytest.raises(shiftjax.ModelError, match="switched off"):
            shiftjax.Editor(model).replay(step)
    edit = shiftjax.Editor(model).add_body("three", active=False).invert("j1")
    assert kept(edit.model)


def test_events_of_what_is_gone_go() -> None:
    edit = shiftjax.Editor(pair().event("low", "j1.q - 1").event("top", "j2.v").build()).remove("two")
    assert [*edit.model.events] == ["low"]
    assert any("events left out" in note and "top" in note for note in edit.notes)
