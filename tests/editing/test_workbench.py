"""`Workbench`: one history of changes and poses, one script. F17, M6, M28, M39, M50, E15."""

from __future__ import annotations

import dataclasses
from pathlib import Path

import numpy as np
import pytest

import shiftjax
from shiftjax import ModelError, Workbench
from shiftjax.editing.workbench import STEPS, steps_in_words
from tests.support.complete import part

CLOSED = 1e-12  # loops, dimensionless
SAME = 1e-12  # m or rad: the same pose worked out again
PIVOT, PIN = "four_bar:rocker_pivot", "four_bar:rocker_pin"


def text_of(model: shiftjax.Model, folder: Path) -> bytes:
    shiftjax.save(model, folder / "model.json")
    return (folder / "model.json").read_bytes()


def test_changes_and_poses_are_one_history(tmp_path: Path) -> None:
    """A change begins from the pose, a pose from the change; undo goes back through both, redo forward again."""
    bench = Workbench("four_bar")
    texts, poses = [text_of(bench.model, tmp_path)], [bench.poses]
    steps = [
        ("turn", "crank_pivot", 1.3), ("invert", "rocker_pivot"), ("turn", "crank_pivot", 1.6),
        ("set", {"coupler:tip.T[0]": "0.45 m"}), ("lock", "crank_pivot"), ("split", "rocker", "half"),
    ]  # fmt: skip
    for step, *args in steps:
        bench.do(step, *args)
        assert bench.gap < CLOSED
        texts.append(text_of(bench.model, tmp_path))
        poses.append(bench.poses)
    assert len(set(texts)) == len(texts) and bench.script.count("\n") == len(steps)
    for k in reversed(range(len(steps))):
        assert bench.undo() and text_of(bench.model, tmp_path) == texts[k]
        for body, (_, place) in poses[k].items():
            assert np.abs(bench.poses[body][1] - place).max() < SAME
    assert not bench.undo() and bench.script == ""
    while bench.redo():
        pass
    assert text_of(bench.model, tmp_path) == texts[-1]
    again = Workbench("four_bar").replay(bench.script)
    assert text_of(again.model, tmp_path) == texts[-1]


def test_a_change_moves_nothing_and_locks_stay() -> None:
    bench = Workbench("four_bar").do("turn", "crank_pivot", 1.4).do("lock", "crank_pivot")
    before = bench.poses
    bench.do("invert", "rocker_pivot")
    for body, (R, place) in before.items():
        assert np.abs(bench.poses[body][0] - R).max() < SAME and np.abs(bench.poses[body][1] - place).max() < SAME
    assert bench.locks == {"four_bar:crank_pivot"}
    bench.do("remove", "crank_pivot")
    assert bench.locks == set() and any("crank_pivot" in note for note in bench.notes)
    bench.undo()
    assert bench.locks == {"four_bar:crank_pivot"}


def test_a_number_on_its_way_is_one_step() -> None:
    """Loops are closed at each of its values; where they cannot be, the number stays and nothing has happened."""
    bench, path = Workbench("four_bar"), "four_bar:coupler:tip.T[0]"
    for value in (0.41, 0.43, 0.46):
        bench.set_on(path, value)
        assert bench.gap < CLOSED and bench.drawn_model.numbers()[path] == value and bench.script == ""
    bench.drop()
    assert bench.script == f"set({{{path!r}: 0.46}})\n" and bench.numbers_set == (path,)
    with pytest.raises(ModelError, match="loops stay open"):
        bench.set_on(path, 40.0)
    bench.drop()
    assert bench.script.count("\n") == 1 and bench.drawn_model.numbers()[path] == 0.46
    bench.set_on(path, 0.5)
    bench.drag_on("rocker", [0.1, 0, 0], [0.3, 0, 0.3]).drop()  # what moves next settles it
    assert [line.partition("(")[0] for line in bench.script.splitlines()] == ["set", "set", "pose"]


def test_what_fails_changes_nothing() -> None:
    """A step that is refused, in a transaction or alone, leaves model, pose and script as they were. E15."""
    bench = Workbench("four_bar").do("turn", "crank_pivot", 1.2)
    model, script, q = bench.drawn_model, bench.script, bench.coordinates
    for step, args, words in (
        ("merge", ("nobody",), "none of the"), ("turn", ("crank_pivot", np.inf), "finite"), ("dance", (), "dance"),
        ("set", ({"coupler:tip.T[0]": 40.0},), "loops"),
        ("add_joint", ("crank_pivot", "revolute", "crank", "rocker"), "taken"),
    ):  # fmt: skip
        with pytest.raises(ModelError, match=words):
            bench.do(step, *args)
        assert bench.drawn_model is model and bench.script == script and (bench.coordinates == q).all()
    with pytest.raises(ModelError, match="within a transaction"), bench.transaction():
        bench.do("invert", "rocker_pivot")
        bench.do("turn", "crank_pivot", 1.0)
    assert bench.drawn_model is model and bench.script == script


def test_several_changes_in_a_line_are_one_step() -> None:
    bench = Workbench("four_bar").replay("invert('rocker_pivot'); split('rocker', 'half')")
    assert bench.script.count("\n") == 1
    bench.undo()
    assert bench.script == ""


def test_from_nothing() -> None:
    """A workbench without a model is ground alone; what has no mass is posed all the same."""
    bench = Workbench()
    assert bench.freedoms == 0 and bench.values == {} and bench.model == shiftjax.ModelBuilder().build()
    bench.replay("add_body('arm', assembly='robot', frames={'tip': [0.5, 0, 0]})")
    assert bench.freedoms == 6 and bench.values == {}
    bench.replay("add_joint('axis', 'revolute', 'fixed', 'arm', at=[0, 0, 0], axis='y')")
    bench.do("turn", "axis", 0.3)
    assert bench.values == {"robot:axis": pytest.approx(0.3)} and bench.freedoms == 1
    way = bench.way_of("axis")
    assert way.high - way.low == pytest.approx(2 * np.pi) and way.dead == ()


def test_a_curve_and_the_ends_of_a_travel() -> None:
    """The crank leads the coupler's curve, which is closed; a rocker's ends are dead points."""
    bench = Workbench("four_bar")
    curve = bench.curve_of("coupler", [0.1, 0.0, 0.1])
    assert curve.coordinate == "four_bar:crank_pivot" and curve.closed
    assert np.abs(curve.points[0] - curve.points[-1]).max() < SAME
    R, place = bench.poses["four_bar:coupler"]
    assert curve.distance(R @ [0.1, 0.0, 0.1] + place) < SAME
    whole = shiftjax.follow("four_bar", {"crank_pivot": curve.places[[50]]}, channels=["coupler.position"])
    tip = shiftjax.point_curve("four_bar", "coupler", [0.0, 0.0, 0.0])
    assert np.abs(tip.points[50] - np.asarray(whole.channels["coupler.position"])[0]).max() < SAME
    way, ends = bench.way_of("rocker_pivot"), shiftjax.travel("four_bar", "rocker_pivot")
    assert (way.low, way.high) == pytest.approx((ends.low, ends.high), abs=SAME)
    assert [one["four_bar:crank_pivot"] for one in way.dead] == pytest.approx(
        [ends.at_low["four_bar:crank_pivot"], ends.at_high["four_bar:crank_pivot"]], abs=SAME
    )
    assert bench.travel_of("rocker_pivot") == shiftjax.travel("four_bar", "rocker_pivot")


def test_a_curve_between_ends_says_so() -> None:
    """Of a four-bar in which no joint of ground turns round the curve is that between the ends of the widest joint."""
    model = shiftjax.load("four_bar")
    numbers = {path: value for path, value in model.numbers().items() if path.endswith("tip.T[0]") and value}
    rocker = model.replace({path: 0.3 for path in numbers})
    curve = shiftjax.point_curve(rocker, "coupler", [0.1, 0.0, 0.0])
    assert np.isfinite(curve.points).all() and curve.closed == bool(shiftjax.travel(rocker, curve.coordinate).unlimited)
    for point, words in (([1.0, 2.0], "three finite"), ([0.0, 0.0, np.nan], "three finite")):
        with pytest.raises(ModelError, match=words):
            shiftjax.point_curve(model, "coupler", point)
    with pytest.raises(ModelError, match="an active body"):
        shiftjax.point_curve(model, "rocker_pivot", [0.0, 0.0, 0.0])
    with pytest.raises(ModelError, match="freedom"):
        shiftjax.point_curve("excavator", "bucket", [0.0, 0.0, 0.0])


def test_random_changes_and_poses(tmp_path: Path) -> None:
    """Any mixture keeps loops closed; undone it is the file it began as, done again the same, by its script, too."""
    rng = np.random.default_rng(5)
    bench = Workbench("four_bar")
    first, done = text_of(bench.model, tmp_path), 0
    while done < part(60, 25):
        joints = [path for path, joint in bench.drawn_model.joints() if joint.type != "rigid"]
        bodies = [path for path, _ in bench.drawn_model.bodies()]
        joint, body = str(rng.choice(joints)), str(rng.choice(bodies))
        place = (bench.poses[body][1] + rng.normal(size=3) * [0.02, 0.0, 0.02]).tolist()
        lines = [
            f"turn({joint!r}, {bench.values.get(joint, 0.0) + float(0.1 * rng.normal())!r})",
            f"drag({body!r}, [0, 0, 0], {place})",
            f"invert({joint!r})", f"split({body!r}, 'part_{done}')", f"lock({joint!r})", "unlock()",
            f"set({{'{body}.mass': {float(rng.uniform(1, 2))!r}}})",
        ]  # fmt: skip
        try:
            bench.replay(lines[int(rng.integers(len(lines)))])
        except ModelError:
            continue
        done += 1
        assert bench.gap < CLOSED
    last, script = text_of(bench.model, tmp_path), bench.script
    while bench.undo():
        pass
    assert text_of(bench.model, tmp_path) == first
    while bench.redo():
        pass
    assert text_of(bench.model, tmp_path) == last
    assert text_of(Workbench("four_bar").replay(script).model, tmp_path) == last


def test_a_virtual_joint_restricts_and_leads() -> None:
    """M6: an arm whose hand holds a virtual pivot of the world turns about it, by the value of that joint; without it
    the arm is free again."""
    builder = shiftjax.ModelBuilder()
    arm = builder.assembly("arm")
    for k, start in enumerate((0.4, 0.7, -0.5)):
        arm.body(f"l{k}", mass=1.0, inertia=(0.1, 0.1, 0.1), frames={"tip": (1.0, 0.0, 0.0)})
        on = ("fixed", "origin") if k == 0 else (f"l{k - 1}", "tip")
        arm.joint(f"j{k}", "revolute", parent=on, child=f"l{k}", axis="y", initial_displacement=start)
    bench = Workbench(builder.build())
    pivot, (R, place) = np.array([2.0, 0.0, -0.6]), bench.poses["arm:l2"]
    bench.do("add_joint", "camera", "revolute", "fixed", "l2", at=pivot.tolist(), axis="y", virtual=True)
    assert bench.freedoms == 1 and dict(bench.model.joints())["arm:camera"].virtual
    bench.do("turn", "camera", 0.15)
    turned, moved = bench.poses["arm:l2"]
    about = (
        shiftjax.Workbench().do("add_body", "x", assembly="a").do("add_joint", "y", "revolute", "fixed", "x", axis="y")
    )
    turn = about.do("turn", "y", 0.15).poses["a:x"][0]
    np.testing.assert_allclose(turned, turn @ R, rtol=0, atol=1e-9)
    np.testing.assert_allclose(moved, pivot + turn @ (place - pivot), rtol=0, atol=1e-9)
    bench.do("remove", "camera")
    assert bench.freedoms == 3


def test_names_of_assemblies_with_points() -> None:
    """A body goes where it is said, whatever the name is, and once."""
    bench = Workbench()
    for name in ("one", "two"):
        bench.do("add_body", name, "v1.2", mass=1.0)
    assert [one.name for one in bench.model.assemblies] == ["v1.2"] and len([*bench.model.bodies()]) == 2
    bench.do("add_joint", "pin", "revolute", "one", "two", assembly="v1.2", axis="y")
    assert [path.rpartition(":")[2] for path, _ in bench.model.joints() if path.endswith("pin")] == ["pin"]


def test_locks_and_limits_bound_the_other_assembly() -> None:
    """What is locked is an input; an assembly beyond limits is none."""
    bench = Workbench("four_bar").do("lock", "rocker_pivot")
    before = bench.values[PIVOT]
    bench.flip()
    assert bench.values[PIVOT] == pytest.approx(before, abs=SAME)
    tight = Workbench("four_bar").do("limit", "rocker_pivot", 1.0, 2.0)
    with pytest.raises(ModelError, match="beyond limits"):
        tight.flip()
    with pytest.raises(ModelError, match="nothing that moves"):
        Workbench().flip()


def test_curves_of_what_does_not_move_or_close() -> None:
    """No freedom is refused; with gears a turn of the crank is not the whole curve."""
    stiff = Workbench("four_bar").do("change_type", "crank_pin", "rigid")
    with pytest.raises(ModelError, match="cannot move"):
        stiff.curve_of("rocker", [0.1, 0.0, 0.0])
    with pytest.raises(ModelError, match="ground, which stands still"):
        stiff.curve_of("fixed", [0.1, 0.0, 0.0])
    one = shiftjax.PointCurve("x", np.zeros(1), np.ones((1, 3)), False)
    assert one.distance(np.zeros(3)) == pytest.approx(np.sqrt(3.0))
    builder = shiftjax.ModelBuilder()
    part = builder.assembly("geared")
    part.body("crank", mass=1.0, inertia=(0.1, 0.1, 0.1), frames={"tip": (0.3, 0.0, 0.0)})
    part.body("wheel", mass=1.0, inertia=(0.1, 0.1, 0.1))
    part.joint("pivot", "revolute", child="crank", axis="y")
    part.joint("pin", "revolute", parent=("crank", "tip"), child="wheel", axis="y")
    part.constraint("gear", "gear", joints=["pivot", "pin"], ratio=1.5)
    assert not shiftjax.point_curve(builder.build(), "geared:wheel", [0.2, 0.0, 0.0]).closed


def test_arguments_by_name_and_of_wrong_types() -> None:
    bench = Workbench("four_bar").do("set", values={"crank.mass": 2.0})
    assert bench.numbers_set == ("four_bar:crank.mass",)
    for step, args, words in (("split", ("rocker", 5), "name"), ("split", ("rocker", "h", 3), "frames")):
        with pytest.raises(ModelError, match=words):
            bench.do(step, *args)
    with pytest.raises(ModelError, match="a finite number"):
        bench.set_on("crank.mass", "x")  # type: ignore[arg-type]
    with pytest.raises(ModelError, match="within a transaction"), bench.transaction():
        bench.drag_on("rocker", [0, 0, 0], [0, 0, 0])


def test_every_step_is_told_in_words() -> None:
    words = steps_in_words()
    assert [line.partition("(")[0] for line in words] == [*STEPS] and all(": " in line for line in words)


def test_poses_keep_a_history_of_their_own(tmp_path: Path) -> None:
    """Many poses of one model are steps that share it."""
    bench = Workbench("four_bar")
    for k in range(5):
        bench.turn_on("crank_pivot", 1.0 + 0.1 * k)
    bench.drop()
    bench.do("turn", "crank_pivot", 2.0)
    assert bench.script.count("\n") == 2
    step = bench._history[1]
    assert step.model is bench.drawn_model and dataclasses.replace(step) == step


def test_the_other_assembly() -> None:
    """With the crank where it stands a four-bar closes in two ways; each is a step, and the script has the pose."""
    bench = Workbench("four_bar")
    table = shiftjax.branches("four_bar", {"crank_pivot": bench.values["four_bar:crank_pivot"]})
    first = bench.values
    name = bench.flip()
    assert name in table.names and bench.gap < CLOSED and bench.script.endswith(f"  # flip({name!r})\n")
    assert bench.values["four_bar:crank_pivot"] == pytest.approx(first["four_bar:crank_pivot"], abs=SAME)
    there = sorted(np.cos(table["rocker_pivot"]))
    assert sorted(np.cos([first[PIVOT], bench.values[PIVOT]])) == pytest.approx(there, abs=SAME)
    assert Workbench("four_bar").replay(bench.script).values == bench.values
    bench.flip()
    assert bench.values == pytest.approx(first, abs=SAME)
    assert bench.flip(name) == name
    with pytest.raises(ModelError, match="flip"):
        bench.flip("++++")
    with pytest.raises(ModelError, match="one assembly"):
        Workbench("double_pendulum").flip()
