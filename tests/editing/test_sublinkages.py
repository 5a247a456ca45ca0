"""Sublinkages: in a file, in steps, and in the order in which poses are solved. M22, M23, M30, M33, M62."""

import json
from pathlib import Path
from typing import Any

import jsonschema
import numpy as np
import pytest

import shiftjax
from shiftjax import FrameGoal, JointGoal
from shiftjax.formats import dumps, load, to_dict
from shiftjax.formats.schema import schema
from shiftjax.mechanism.sublinkages import Sublinkage, stages_of
from shiftjax.models.scissor_tower import scissor_tower
from shiftjax.run.info import info, text

CLOSED = 1e-12  # residual of loops, dimensionless
EXACT = 1e-9  # m or rad: a goal that is met
NEAREST = 1e-6  # of a least-squares pose that is not met: its slope vanishes to 1e-9 of what is missed
REST = ["crank_pin", "rocker_pin", "rocker_pivot"]  # of the four-bar
FOLLOWING = ["crank_pivot", "crank_pin", "rocker_pin"]  # where the rocker drives


def stages(*sublinkages: Sublinkage, joints: str = "abcdef") -> list[str]:
    return ["".join(one.joints) for one in stages_of(sublinkages, joints)]


def of(name: str, joints: str = "", disposition: str = "simultaneous", within: str = "") -> Sublinkage:
    return Sublinkage(name, tuple(joints), disposition, within)


# -- order -------------------------------------------------------------------------------------------------------------


def test_driving_ones_come_first_and_driven_ones_last_to_any_depth() -> None:
    """M22: driving children, then a linkage's own joints with those of simultaneous ones, then driven children."""
    assert stages() == ["abcdef"]
    assert stages(of("x", "b"), of("y", "e", within="x")) == ["acdfbe"]
    assert stages(of("late", "a", "driven"), of("early", "f", "driving")) == ["f", "bcde", "a"]
    nested = (
        of("p", "a", "driving"),
        of("q", "b", "driving", "p"),
        of("r", "c", "driven", "p"),
        of("s", "d", within="r"),
    )
    assert stages(*nested) == ["b", "a", "cd", "ef"]
    beside = of("t", "a"), of("u", "b", "driving", "t"), of("v", "c", "driven", "t")
    assert stages(*beside) == ["b", "defa", "c"]  # what a simultaneous one has comes before and after the whole
    assert stages(of("x", "abcdef", "driven"), of("y", within="x")) == ["abcdef"]


def test_welds_that_no_sublinkage_names_belong_to_the_first_stage() -> None:
    """A post that is welded to ground stands there for what drives: its loop closes, whatever else is posed later."""
    every = stages_of((of("early", "f", "driving"), of("late", "a", "driven")), "abcdef", welds="abc")
    assert ["".join(one.joints) for one in every] == ["fbc", "de", "a"]
    assert stages_of((of("x", "a"),), "ab", welds="b")[0].joints == ("a", "b")
    edit = shiftjax.Editor("four_bar").add_body("post", "four_bar", at=[0.6, 0, 0], mass=1.0)
    edit.change_type("post_float", "rigid").reattach("rocker_pivot", parent="post")
    edit.add_body("arm", "four_bar", at=[0.2, 0, 0], mass=1.0)
    edit.add_joint("hang", "revolute", "coupler", "arm", axis="y")
    edit.sublinkage("loop", ["crank_pivot", *REST], disposition="driving")
    poser = shiftjax.Poser(edit.model)
    assert [one.title for one in poser.stages] == ["loop", "the whole linkage"]
    poser.turn("crank_pivot", poser.values["four_bar:crank_pivot"] + 1.0)
    assert poser.gap < CLOSED and poser.missed < EXACT and not poser.notes


def test_a_deep_nest_is_no_deep_recursion() -> None:
    deep = [of(f"s{k}", "ab"[k:], "driven", f"s{k - 1}" if k else "") for k in range(3000)]
    assert stages(*deep[:1], *(of(one.name, "", "driven", one.within) for one in deep[1:])) == ["cdef", "ab"]


def test_info_prints_the_order() -> None:
    edit = shiftjax.Editor("four_bar").sublinkage("rest", REST, disposition="driven")
    lines = text(edit.model).splitlines()
    assert "posed in stage 1: the whole linkage, 1 joint: four_bar:crank_pivot" in lines
    assert any(line.startswith("posed in stage 2: rest, 3 joints: four_bar:crank_pin, ") for line in lines)
    assert [one["names"] for one in info(edit.model)["stages"]] == [("",), ("rest",)]
    assert [one.names for one in shiftjax.Poser(edit.model).stages] == [("",), ("rest",)]
    assert "stage" not in text(load("four_bar"))


# -- files -------------------------------------------------------------------------------------------------------------


def document(**sublinkages: Any) -> dict[str, Any]:
    return {**to_dict(load("four_bar")), "sublinkages": sublinkages}


def test_files_keep_them_to_the_byte(tmp_path: Path) -> None:
    """M62: names of the user's, joints as texts or lists, what is usual left out."""
    one = {"joints": [["four_bar", "crank_pivot"]], "disposition": "driving"}
    model = load(document(**{"the crank": one, "rest": {"joints": ["four_bar:rocker_pin"], "within": "the crank"}}))
    written = to_dict(model)["sublinkages"]
    assert written == {"the crank": one, "rest": {"joints": [["four_bar", "rocker_pin"]], "within": "the crank"}}
    jsonschema.validate(to_dict(model), schema())
    shiftjax.save(model, tmp_path / "one.json")
    shiftjax.save(load(tmp_path / "one.json"), tmp_path / "two.json")
    assert load(tmp_path / "one.json") == model != load("four_bar")
    assert (tmp_path / "one.json").read_bytes() == (tmp_path / "two.json").read_bytes()
    (note,) = model.ignored()
    assert note.startswith("sublinkages the crank, rest: for posing and travels; here all loops close at once")


def test_the_builder_has_them() -> None:
    """M30: the same records as of a file and of steps."""
    build = shiftjax.ModelBuilder()
    build.assembly("a").body("b", mass=1).joint("pin", "Ry", child="b")
    build.sublinkage("arm", ["a:pin"], disposition="driven", within="all").sublinkage("all")
    assert build.build().sublinkages == (Sublinkage("arm", ("a:pin",), "driven", "all"), Sublinkage("all"))


@pytest.mark.parametrize(
    ("sublinkages", "match"),
    [
        ({"a": {"joints": ["four_bar:nothing"]}}, "no joint 'four_bar:nothing'"),
        ({"a": {"joints": ["crank_pivot"]}}, "give its full path, four_bar:crank_pivot"),
        ({name: {"joints": ["four_bar:crank_pin"]} for name in "ab"}, "sublinkages.b: joints: .* which a has"),
        ({"a": {"within": "b"}, "b": {"within": "a"}}, "a circle: a within b within a"),
        ({"a": {"within": "a"}}, "a circle: a within a"),
        ({"a": {"within": "c"}}, "sublinkages.a: within: found 'c'"),
        ({"a": {"disposition": "leading"}}, "one of driven, driving, simultaneous"),
        ({"a": {"order": 1}}, "unknown key 'order'"),
        ({"a:b": {}}, "a sublinkage called 'a:b'"),
    ],
)
def test_what_is_no_sublinkage_is_refused(sublinkages: dict[str, Any], match: str) -> None:
    with pytest.raises(shiftjax.ModelError, match=match):
        load(document(**sublinkages))


def test_those_of_an_included_file_have_its_name_and_its_paths(tmp_path: Path) -> None:
    inner = document(rest={"joints": ["four_bar:rocker_pin"], "within": "all"}, all={"disposition": "driven"})
    (tmp_path / "inner.json").write_text(json.dumps(inner))
    head = {key: inner[key] for key in ("model_parameters",)}
    entries = [{"name": name, "include": "inner.json"} for name in ("left", "right")]
    outer = {**head, "assemblies": entries, "sublinkages": {"left_all": {"joints": ["right:four_bar:crank_pin"]}}}
    model = load(outer, tmp_path)
    assert model.sublinkages == (
        of("left_all").__class__("left_all", ("right:four_bar:crank_pin",)),
        Sublinkage("left_rest", ("left:four_bar:rocker_pin",), "simultaneous", "left_all_2"),
        Sublinkage("left_all_2", (), "driven"),
        Sublinkage("right_rest", ("right:four_bar:rocker_pin",), "simultaneous", "right_all"),
        Sublinkage("right_all", (), "driven"),
    )
    assert load(to_dict(model)) == model


# -- steps -------------------------------------------------------------------------------------------------------------


def test_steps_put_them_in_and_take_them_out() -> None:
    """M30, M33: nothing moves; joints go from one to another, and to what is around one that is removed."""
    edit = shiftjax.Editor("four_bar")
    before, poses = dumps(to_dict(edit.model)), edit.poses
    edit.sublinkage("rest", REST, disposition="driven").sublinkage("pins", REST[:2], within="rest")
    assert edit.notes == (
        "four_bar:crank_pin was in the sublinkage rest",
        "four_bar:rocker_pin was in the sublinkage rest",
    )
    edit.sublinkage("pins", disposition="driving")
    assert edit.model.sublinkages == (
        Sublinkage("rest", ("four_bar:rocker_pivot",), "driven"),
        Sublinkage("pins", ("four_bar:crank_pin", "four_bar:rocker_pin"), "driving", "rest"),
    )
    edit.rename("rest", "others").rename("four_bar:rocker_pivot", "pivot").rename("four_bar", "linkage", "assembly")
    assert [one.within for one in edit.model.sublinkages] == ["", "others"]
    assert edit.model.sublinkages[0].joints == ("linkage:pivot",)
    assert all(np.array_equal(edit.poses[f"linkage:{n}"][1], poses[f"four_bar:{n}"][1]) for n in ("crank", "rocker"))
    edit.remove("sublinkages.pins")
    assert edit.model.sublinkages[0].joints == ("linkage:pivot", "linkage:crank_pin", "linkage:rocker_pin")
    edit.remove("rocker")
    assert edit.model.sublinkages[0].joints == ("linkage:crank_pin",)
    assert "the sublinkage others is without linkage:pivot, linkage:rocker_pin" in edit.notes
    again = shiftjax.Editor("four_bar").replay(edit.script)
    assert again.model == edit.model
    while edit.undo():
        pass
    assert dumps(to_dict(edit.model)) == before


def test_copies_belong_to_the_sublinkage_of_what_they_copy() -> None:
    edit = shiftjax.Editor("double_pendulum").sublinkage("second", ["elbow"], disposition="driven")
    edit.copy("link2", "again")
    assert edit.model.sublinkages[0].joints == ("double_pendulum:elbow", "again:elbow")


@pytest.mark.parametrize(
    ("step", "match"),
    [
        ({"name": "a:b", "joints": []}, "the name 'a:b'"),
        ({"name": "a", "joints": "crank_pin"}, "a list of paths"),
        ({"name": "a", "joints": ["pin"]}, "none of the joints"),
        ({"name": "a", "disposition": "first"}, "driving, driven, simultaneous"),
        ({"name": "a", "within": "b"}, "another sublinkage"),
        ({"name": "a", "within": "a"}, "a circle"),
    ],
)
def test_steps_that_cannot_be_are_refused(step: dict[str, Any], match: str) -> None:
    edit = shiftjax.Editor("four_bar")
    with pytest.raises(shiftjax.ModelError, match=match):
        edit.sublinkage(**step)
    assert edit.model.sublinkages == ()


# -- poses -------------------------------------------------------------------------------------------------------------


def legged_arm(rng: np.random.Generator, legs: int, *, rigid: bool) -> shiftjax.Model:
    """A random spatial arm of four joints, and legs between pairs of its bodies: of any length, or rigid ones."""
    edit = shiftjax.Editor(shiftjax.ModelBuilder().build())
    at, body = np.zeros(3), "fixed"
    for k in range(4):
        edit.add_body(f"arm_{k}", at=at, mass=1.0)
        edit.add_joint(f"arm_joint_{k}", "revolute", body, f"arm_{k}", at=at, axis=rng.normal(size=3).tolist())
        body, at = f"arm_{k}", at + (rng.normal(size=3) if k else [9.0, 0.0, 0.0])  # longer than all legs
    for k in range(legs):
        first, last = sorted(rng.choice([1, 2, 3], 2, replace=False).tolist())
        elbow = np.array([9.0, 0.0, 0.0])
        foot, head = elbow + rng.normal(size=3), elbow + 0.4 * rng.normal(size=3)
        way = (head - foot) / np.linalg.norm(head - foot)
        edit.add_body(f"leg_{k}_low", at=foot, mass=1.0)
        edit.add_joint(f"leg_{k}_foot", "spherical", f"arm_{first}", f"leg_{k}_low", at=foot)
        low = f"leg_{k}_low"
        if not rigid:
            edit.add_body(f"leg_{k}_rod", at=head, mass=1.0)
            edit.add_joint(f"leg_{k}_slide", "prismatic", low, f"leg_{k}_rod", at=head, axis=way.tolist())
            low = f"leg_{k}_rod"
        edit.add_joint(f"leg_{k}_tip", "spherical", low, f"arm_{last}", at=head)
    return edit.model


def split_in_two(model: shiftjax.Model) -> shiftjax.Model:
    """With the legs as a driven sublinkage."""
    legs = [path for path, _ in model.joints() if ":leg" in path]
    return shiftjax.Editor(model).sublinkage("legs", legs, disposition="driven").model


@pytest.mark.parametrize("rigid", [False, True])
def test_what_is_driven_never_moves_what_drives_it(rigid: bool) -> None:
    """M22, M23: the arm goes where it goes without legs, to the last bit, whether these reach or not."""
    for seed in range(4):
        rng = np.random.default_rng(seed)
        model = split_in_two(legged_arm(rng, 1 + seed % 2, rigid=rigid))
        legs = [path for path, _ in model.bodies() if ":leg" in path]
        poser, alone = shiftjax.Poser(model), shiftjax.Poser(shiftjax.Editor(model).remove(*legs).model)
        begun = poser.coordinates
        way = 0.3 * rng.normal(size=3)
        for one in (poser, alone):
            one.drag("arm_3", [0.2, 0.1, 0.0], one.poses["assembly:arm_3"][1] + way)
            one.turn("arm_joint_1", 0.4)
        assert all(poser.values[path] == value for path, value in alone.values.items()), seed
        assert poser.missed == alone.missed
        if not rigid:
            assert poser.gap < CLOSED and not poser.open_loops and not poser.notes
            continue
        assert poser.open_loops.keys() <= {f"assembly:leg_{k}_{end}" for k in range(2) for end in ("tip", "foot")}
        assert "cannot close are open" in poser.notes[0]
        while poser.undo():
            pass
        assert np.array_equal(poser.coordinates, begun) and poser.gap < CLOSED


def test_what_is_not_driven_moves_what_would_drive_it() -> None:
    """The counterpart: without sublinkages rigid legs hold the arm back."""
    model = legged_arm(np.random.default_rng(0), 2, rigid=True)
    apart, together = shiftjax.Poser(split_in_two(model)), shiftjax.Poser(model)
    for one in (apart, together):
        one.drag("arm_3", [0.2, 0.1, 0.0], one.poses["assembly:arm_3"][1] + [0.2, 0.1, 0.3])
    assert together.gap < CLOSED and together.missed > 1e-3 > apart.missed and apart.gap > 1e-3


def test_a_goal_of_what_is_driven_waits() -> None:
    """A tip that driven joints alone can move: those that drive stay to the last bit; undone, all is as it was."""
    edit = shiftjax.Editor("excavator")
    words = ("stick", "bucket", "rocker", "link")
    edit.sublinkage(
        "arm", [path for path, _ in edit.model.joints() if any(w in path for w in words)], disposition="driven"
    )
    poser = shiftjax.Poser(edit.model)
    before = poser.values
    poser.drag("bucket", [0.0, 0.0, 0.0], poser.poses["excavator:bucket"][1] + [0.0, 0.4, 0.1])
    moved = {path for path, value in poser.values.items() if value != before[path]}
    assert moved and moved <= {one for stage in poser.stages[1:] for one in stage.joints} and poser.gap < CLOSED


def test_a_crank_out_of_reach_leaves_the_nearest_pose_and_says_so() -> None:
    """M23: a rocker that drives goes beyond its dead point: the crank is where |gap|^2 has no slope, a closed form.

    The crank's pivot and the rocker's tip come nearer to each other than the difference of the bars a < b between them:
    both lie along the line of these points, and the pin is open by b - a - d.
    """
    edit = shiftjax.Editor("four_bar").sublinkage(
        "rest", ["crank_pivot", "crank_pin", "rocker_pin"], disposition="driven"
    )
    limit = float(shiftjax.travel("four_bar", "rocker_pivot").high)
    bench = shiftjax.Workbench(edit.model).do("turn", "rocker_pivot", limit + 0.2)
    assert bench.values["four_bar:rocker_pivot"] == limit + 0.2 and bench.missed == 0.0
    numbers, poses = edit.model.numbers(), bench.poses
    tip = {f.name: np.array(f.T) for f in dict(edit.model.bodies())["four_bar:rocker"].frames}["tip"]
    R, p = poses["four_bar:rocker"]
    apart = np.linalg.norm(R @ tip + p - poses["four_bar:crank"][1])
    short, long = numbers["four_bar:crank:tip.T[0]"], numbers["four_bar:coupler:tip.T[0]"]
    gap = bench.open_loops["four_bar:crank_pin"]
    assert gap.length == pytest.approx(long - short - apart, abs=NEAREST) and gap.angle < NEAREST
    joint = shiftjax.inverse_kinematics(edit.model, JointGoal("rocker_pivot", limit + 0.2))
    rows = joint.by_goal[: sum("opens" in label for label in joint.labels)]
    assert np.linalg.norm(rows[3:]) == pytest.approx(long - short - apart, abs=NEAREST)
    assert joint.status == shiftjax.Outcome.not_assembled and not joint.reached and joint.gap > 0.01
    assert bench.notes == (
        f"loops that what is driven cannot close are open, as little as can be: four_bar:crank_pin by {gap.text}",
    )
    for what in (lambda: bench.do("invert", "rocker_pivot"), lambda: bench.save("open.json")):
        with pytest.raises(shiftjax.ModelError, match="loops that are open: four_bar:crank_pin"):
            what()
    again = shiftjax.Workbench(edit.model).replay(bench.script)
    assert np.array_equal(again.coordinates, bench.coordinates)
    assert bench.undo() and bench.gap < CLOSED and not bench.open_loops
    assert bench.redo() and bench.do("turn", "rocker_pivot", limit - 0.2) is bench
    assert bench.gap < CLOSED and not bench.notes  # it comes together again


def test_a_flip_holds_what_drives() -> None:
    """M22: the rocker of a four-bar drives, though its crank stands on ground, too; what is open cannot be flipped."""
    edit = shiftjax.Editor("four_bar")
    edit.sublinkage("rest", ["crank_pivot", "crank_pin", "rocker_pin"], disposition="driven")
    bench = shiftjax.Workbench(edit.model)
    before = bench.values
    bench.flip()
    assert bench.values["four_bar:rocker_pivot"] == pytest.approx(before["four_bar:rocker_pivot"], abs=EXACT)
    assert abs(bench.values["four_bar:crank_pivot"] - before["four_bar:crank_pivot"]) > 0.1 and bench.gap < CLOSED
    bench.do("turn", "rocker_pivot", 2.6)
    with pytest.raises(shiftjax.ModelError, match="flip: found loops that are open"):
        bench.flip()


def test_an_energy_and_functions_are_of_the_last_stage_that_they_depend_on() -> None:
    """M22: a lower link that is driven hangs down from where the upper one is held; a sum is met by what comes last."""
    edit = shiftjax.Editor("double_pendulum").sublinkage("lower", ["elbow"], disposition="driven")
    begin = {"shoulder": 0.4, "elbow": 0.9}
    hanging = shiftjax.inverse_kinematics(edit.model, shiftjax.PotentialGoal(), q=begin)
    assert hanging.q["double_pendulum:shoulder"] == 0.4 and hanging.reached
    down = shiftjax.configuration(edit.model, q=dict(hanging.q)).pose("link2")[:3, :3] @ [0.0, 0.0, 1.0]
    assert down == pytest.approx([0.0, 0.0, 1.0], abs=EXACT)
    both = shiftjax.inverse_kinematics(edit.model, shiftjax.FunctionGoal("shoulder.q + elbow.q", 1.0), q=begin)
    assert both.q["double_pendulum:shoulder"] == 0.4 and both.q["double_pendulum:elbow"] == pytest.approx(
        0.6, abs=EXACT
    )
    one = shiftjax.inverse_kinematics(edit.model, shiftjax.FunctionGoal("shoulder.q", 1.0), q=begin)
    assert one.q["double_pendulum:shoulder"] == pytest.approx(1.0, abs=EXACT) and one.q["double_pendulum:elbow"] == 0.9


def test_drags_in_parts_come_to_where_whole_ones_do() -> None:
    edit = shiftjax.Editor("four_bar").sublinkage("rest", REST, disposition="driven")
    poser, whole = shiftjax.Poser(edit.model), shiftjax.Poser(edit.model).turn("crank_pivot", 3.0)
    for value in np.linspace(1.1, 3.0, 12):
        poser.turn_on("crank_pivot", float(value))
        assert poser.gap < CLOSED
    poser.drop()
    assert poser.coordinates == pytest.approx(whole.coordinates, abs=EXACT)  # no step of a whole turn leaves its branch
    assert poser.script.count("\n") == 1
    assert np.array_equal(shiftjax.Poser(edit.model).replay(poser.script).coordinates, poser.coordinates)


def test_many_members_go_through_the_same_stages() -> None:
    edit = shiftjax.Editor("four_bar").sublinkage("rest", REST, disposition="driven")
    angles = np.linspace(0.3, 6.0, 7)
    many = shiftjax.inverse_kinematics(edit.model, JointGoal("crank_pivot", angles))
    plain = shiftjax.inverse_kinematics("four_bar", JointGoal("crank_pivot", angles))
    assert many.reached.all() and many.coordinates == pytest.approx(plain.coordinates, abs=EXACT)
    tip = FrameGoal("coupler", T=plain.coordinates[:, :3])  # which moves with the crank and its pin: those of "rest" go
    assert np.array_equal(
        shiftjax.inverse_kinematics(edit.model, tip).q["four_bar:crank_pivot"],
        np.full(7, shiftjax.Poser(edit.model).values["four_bar:crank_pivot"]),
    )
    with pytest.raises(shiftjax.ModelError, match="sublinkages: found numbers that JAX traces"):
        import jax

        jax.grad(lambda x: shiftjax.inverse_kinematics(edit.model, JointGoal("crank_pivot", x)).coordinates[0])(1.0)


def test_locks_and_limits_that_what_drives_overrides_are_named() -> None:
    """M22, M33: what drives comes first; a driven coordinate or body that cannot stay is no secret."""
    edit = shiftjax.Editor("four_bar").sublinkage("rest", FOLLOWING, disposition="driven")
    edit.limit("crank_pin", -0.7, 0.0)
    poser = shiftjax.Poser(edit.model)
    there = poser.values["four_bar:rocker_pivot"]
    poser.lock("crank_pivot", "coupler")
    assert not poser.notes
    poser.turn("rocker_pivot", there + 0.2)
    at = poser.values["four_bar:crank_pin"]
    assert poser.missed == 0.0 and at < -0.7
    assert poser.notes == (
        "what is driven follows what drives it, not its locks: four_bar:coupler, four_bar:crank_pivot moved",
        f"what is driven follows what drives it, not its limits: four_bar:crank_pin stands at {at:.4g}",
    )
    poser.unlock().turn("rocker_pivot", there)
    assert not poser.notes  # it came back


def test_what_is_asked_of_an_open_pose_is_not_answered_of_another_one() -> None:
    """M23, M33: a model of an open pose would begin elsewhere, where its loops close."""
    edit = shiftjax.Editor("four_bar").sublinkage("rest", FOLLOWING, disposition="driven").limit("crank_pin", -4.0, 1.0)
    bench = shiftjax.Workbench(edit.model).do("turn", "rocker_pivot", 2.6)
    assert bench.open_loops
    for asked in (lambda: bench.travel_of("rocker_pivot"), lambda: bench.curve_of("coupler", [0.2, 0.0, 0.1])):
        with pytest.raises(shiftjax.ModelError, match="loops that are open: four_bar:crank_pin"):
            asked()
    way = bench.way_of("rocker_pivot")  # which goes on, with what is driven open
    assert (way.low, way.high, way.dead) == (2.6 - np.pi, 2.6 + np.pi, ())
    assert (bench.way_of("crank_pin").low, bench.way_of("crank_pin").high) == (-4.0, 1.0)


def test_stated_poses_that_are_open_more_than_they_must_be_are_said_to_be() -> None:
    """M23: coordinates of what is driven that are not as near as they come; those of a drag's end are."""
    edit = shiftjax.Editor("four_bar").sublinkage("rest", FOLLOWING, disposition="driven")
    poser = shiftjax.Poser(edit.model)
    for k in range(2):
        poser.pose(poser.coordinates + 0.1 * (np.arange(4) == k))
        assert "and could be open less: four_bar:crank_pin by" in poser.notes[0]
        poser.undo()
    for value in (2.55, 2.6, 2.6):
        poser.turn_on("rocker_pivot", value)
    again = shiftjax.Poser(edit.model).replay(poser.drop().script)
    assert again.notes == poser.notes and "as little as can be" in again.notes[0]


def test_a_floor_far_out_of_reach_is_at_its_nearest_pose_in_one_step() -> None:
    """M23: a leap needs more steps than one search takes; it comes to where smaller ones come."""
    edit = shiftjax.Editor(load(scissor_tower(1))).abstract(("fixed", "foot"), "platform_1", "floor")
    whole, parts = shiftjax.Poser(edit.model), shiftjax.Poser(edit.model)
    top = whole.poses["tower:platform_1"][1]
    for poser, ways in ((whole, (5.0,)), (parts, (1.0, 2.0, 3.0, 5.0))):
        for way in ways:
            poser.drag("platform_1", [0.0, 0.0, 0.0], top + np.array([0.2, way, 0.0]))
        assert "as little as can be" in poser.notes[0]
    gaps = [[gap.length for gap in poser.open_loops.values() if gap.length > 0.1] for poser in (whole, parts)]
    assert sorted(gaps[0]) == pytest.approx(sorted(gaps[1]), abs=1e-4)  # |e| is flat there


def test_an_energy_that_falls_without_end_is_told_of_sublinkages_too() -> None:
    """M22: a free body that is driven falls for ever, as without sublinkages."""
    edit = shiftjax.Editor("double_pendulum").add_body(
        "stone", "double_pendulum", mass=1.0, inertia=[0.1, 0.1, 0.1], at=[1.0, 0.0, 0.0]
    )
    for model in (edit.model, edit.sublinkage("lower", ["elbow", "stone_float"], disposition="driven").model):
        came = shiftjax.inverse_kinematics(model, shiftjax.PotentialGoal())
        assert not came.reached and "still falls" in came.messages


def test_a_locked_joint_that_turns_any_way_is_not_let_elsewhere() -> None:
    """M33: neither by a flip nor by a pose of a table; a quaternion and minus it are one place."""
    build = shiftjax.ModelBuilder()
    build.assembly("a").body("top", mass=1.0, inertia=[0.1, 0.1, 0.1]).joint("ball", "spherical", child="top")
    poser = shiftjax.Poser(build.build()).lock("ball")
    here = poser.coordinates
    assert poser.allows(here) and poser.allows(-here)
    assert not poser.allows(np.array([0.8, 0.6, 0.0, 0.0]))
