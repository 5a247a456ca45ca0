"""Goals that stay while a mechanism is posed by hand, drags that turn bodies, and what is missing. S23, M41, M46."""

from __future__ import annotations

import numpy as np
import pytest

import shiftjax
from shiftjax import FrameGoal, JointGoal, ModelError, Poser, Workbench
from shiftjax.rotations import rotation_of_vector

CLOSED = 1e-12  # residual of loops, dimensionless
ROUNDING = 1e-9  # m or rad: what a more important level may be off, 1e-11 of the model's length and a margin
EXACT = 1e-9  # m or rad: a goal that is met
BOOM, STICK, SLEW = (f"excavator:{name}" for name in ("boom_pivot", "stick_pivot", "slew"))
BUCKET = "excavator:bucket"


def world(poser: Poser, body: str, point: list[float]) -> np.ndarray:
    R, p = poser.poses[body]
    return R @ point + p


def turned(vector: list[float]) -> np.ndarray:
    return np.array(rotation_of_vector(vector))


def arm(*limits: tuple[float | None, float | None]) -> shiftjax.Model:
    """Links of 1 m in a plane, hinged about y at the origin, with limits of their joints."""
    builder = shiftjax.ModelBuilder()
    rows = builder.assembly("arm")
    for k, ends in enumerate(limits):
        rows.body(f"l{k}", mass=1.0, inertia=(1e-3, 0.1, 0.1), frames={"tip": (1, 0, 0)})
        parent = (f"l{k - 1}", "tip") if k else "fixed"
        more = {} if ends == (None, None) else {"limits": ends}
        rows.joint(f"j{k}", "Ry", parent=parent, child=f"l{k}", initial_displacement=0.3 + 0.1 * k, **more)
    return builder.build()


def with_goals() -> Poser:
    """A bucket held in the plane at a place, above what the hand wants, and the slew softly."""
    poser = Poser("excavator")
    place = world(poser, BUCKET, [0.0, 0.0, 0.0])
    return poser.keep("bucket", T=place, along="xz", level="potential").keep("slew", level=3.5, weight=2.0)


def drags(poser: Poser) -> None:
    """Some that go with the goals and some that go against them."""
    start = world(poser, "excavator:stick", [0.3, 0.0, 0.0])
    for k in range(1, 6):
        poser.drag_on("stick", [0.3, 0.0, 0.0], start + np.array([0.02, 0.01, 0.03]) * k)
        assert poser.gap < CLOSED and poser.goal_states[BUCKET].length < ROUNDING
    poser.drop()
    poser.turn("boom_pivot", poser.values[BOOM] + 0.05)
    poser.orient("stick", turned([0.0, 0.1, 0.2]) @ poser.poses["excavator:stick"][0])
    poser.lock("boom_pivot").rotate("bucket", "y", -0.2, [0.1, 0.0, 0.0]).unlock()


def test_a_more_important_goal_is_not_disturbed() -> None:
    """Whatever a hand does below its level: the bucket stays in its place, with loops closed, to rounding."""
    poser = with_goals()
    before = poser.coordinates
    drags(poser)
    assert np.abs(poser.coordinates - before).max() > 1e-2 and poser.gap < CLOSED
    state = poser.goal_states[BUCKET]
    assert state.state == "met" and state.length < ROUNDING


def test_all_taken_back_are_the_same_bits_and_a_script_gives_them_again() -> None:
    """Goals come and go with undo and redo; each pose of the way is there again to the last bit, and so by replay."""
    poser = with_goals()
    drags(poser)
    poser.release("slew")
    poser.keep("stick", R=turned([0.0, -0.5, 0.0]), weight=0.5).release()
    ways = [(poser.coordinates, poser.goals.keys())]
    while poser.undo():
        ways.append((poser.coordinates, poser.goals.keys()))
    assert not poser.goals and np.array_equal(poser.coordinates, Poser("excavator").coordinates)
    for q, names in reversed(ways[:-1]):
        assert poser.redo() and np.array_equal(poser.coordinates, q) and poser.goals.keys() == names
    assert np.array_equal(Poser("excavator").replay(poser.script).coordinates, poser.coordinates)
    bench = Workbench("excavator").replay(poser.script)
    assert np.array_equal(bench.coordinates, poser.coordinates) and bench.goals.keys() == poser.goals.keys()


@pytest.mark.parametrize(("name", "body"), [("four_bar", "coupler"), ("stewart", "platform")])
def test_a_turn_after_a_drag_is_the_same_by_its_script(name: str, body: str) -> None:
    """A step follows from the pose before it alone, and from nothing that a drag of many parts left behind."""
    poser = Poser(name)
    full = f"{name}:{body}"
    start = world(poser, full, [0.05, 0.0, 0.0])
    for k in range(1, 13):
        poser.drag_on(body, [0.05, 0.0, 0.0], start + np.array([0.003, 0.0, -0.002]) * k)
    poser.drop().rotate(body, "y", 0.05).keep()
    poser.drag(body, [0.0, 0.0, 0.0], start)
    assert np.array_equal(Poser(name).replay(poser.script).coordinates, poser.coordinates)


def test_a_drag_makes_the_goal_that_is_kept() -> None:
    """M46: of a drag the place of the point alone, of a turning one the axes alone, of a joint its coordinate; the
    goal of a drag is none any more when another step has come."""
    poser = Poser("excavator")
    place = world(poser, BUCKET, [0.1, 0.0, 0.0]) + np.array([0.05, 0.0, 0.05])
    poser.drag("bucket", [0.1, 0.0, 0.0], place).keep(level=2.5)
    poser.orient("bucket", turned([0.0, 0.1, 0.0]) @ poser.poses[BUCKET][0]).keep()
    poser.turn("slew", 0.2).keep(weight=3.0)
    point, axes, slew = poser.goals.values()
    assert isinstance(point, FrameGoal) and point.R is None and (point.T == place).all() and point.level == 2.5
    assert isinstance(axes, FrameGoal) and axes.T is None and axes.R is not None and axes.level == "target"
    assert isinstance(slew, JointGoal) and slew.value == 0.2 and slew.weight == 3.0
    assert [*poser.goals] == [BUCKET, f"{BUCKET} 2", SLEW]
    again = shiftjax.inverse_kinematics(poser.posed, [point, axes, slew])  # the same goals there
    assert again.by_goal.size == 7
    for step in (poser.settle, lambda: poser.lock("slew")):
        step()
        with pytest.raises(ModelError, match="keep: found no drag or turn before it"):
            poser.keep()


def test_an_unreachable_goal_leaves_what_is_missed() -> None:
    """A double pendulum of 1.4 m: 0.6 m are missing, and the state says so; the other goal of its level shares it."""
    poser = Poser("double_pendulum")
    hinge, far = np.array([0.0, 0.0, -3.0]), np.array([0.0, 1.2, -1.4])
    poser.keep("link2", T=far, at=[0.0, 0.0, 0.6])
    (state,) = poser.goal_states.values()
    assert state.state == "nearest" and state.length == pytest.approx(0.6, abs=1e-6) and not state.limits
    assert state.ends[0] == pytest.approx(hinge + 0.7 * (far - hinge), abs=1e-3) and state.ends[1] == pytest.approx(far)
    assert "0.6 m missing, the nearest pose from here" in state.text and poser.missed == 0.0
    poser.turn("shoulder", 0.0)  # the hand goes first, the goal takes what is left
    assert poser.missed < EXACT and poser.goal_states[state.name].length > 0.6
    assert poser.hand_states[0].text == "met"
    poser.settle()
    assert poser.goal_states[state.name].length == pytest.approx(0.6, abs=1e-6) and poser.hand_states == ()


def test_what_blocks_a_goal_is_named() -> None:
    """Multipliers of limits: of two joints at their limits only the one that holds the goal is named; none of an arm
    that is too short."""
    poser = Poser(arm((None, 0.3), (-0.4, None), (None, None)))
    poser.turn("j1", -0.4)
    R, tip = poser.poses["arm:l0"][0], world(poser, "arm:l1", [0.0, 0.0, 0.0])
    poser.drag("l0", [1.0, 0.0, 0.0], tip + R @ [0.0, 0.0, -0.3])  # about y that is onwards
    (state,) = poser.hand_states
    assert state.state == "blocked" and state.limits == ("arm:j0",)
    assert state.text == f"{state.length:.4g} m missing, blocked by the limit of arm:j0"
    poser.keep("l1", R=turned([0.0, -0.9, 0.0]))
    assert poser.goal_states["arm:l1"].state == "met"
    poser.keep("j1", -0.7, level="lock")
    state = poser.goal_states["arm:j1"]
    assert state.limits == ("arm:j1",) and state.angle == pytest.approx(0.3, abs=EXACT)
    poser.keep("l1", R=turned([0.0, 1.5, 0.0]), level=2.5)  # the coordinate at its limit is held by what comes before
    assert poser.goal_states["arm:l1"].state == "blocked" and poser.goal_states["arm:l1"].limits == ("arm:j0",)
    short = Poser(arm((None, None), (None, None))).drag("l1", [1.0, 0.0, 0.0], [0.0, 0.0, 5.0])
    assert short.hand_states[0].state == "nearest" and short.missed == pytest.approx(3.0, abs=1e-6)


def test_a_body_is_turned_about_a_point() -> None:
    """A platform of six freedoms turns to the axes and its point stays; a coupler turns, its point as near as it can;
    `rotate` is that by an angle about an axis of the world."""
    poser = Poser("stewart")
    point, (R, _) = [0.1, 0.05, 0.0], poser.poses["stewart:platform"]
    before, target = world(poser, "stewart:platform", point), turned([0.1, -0.05, 0.2]) @ R
    for part in (0.3, 0.6, 1.0):
        axes = turned([0.1 * part, -0.05 * part, 0.2 * part]) @ R
        for _ in range(3):
            poser.orient_on("platform", axes, point)
    poser.drop()
    assert np.abs(poser.poses["stewart:platform"][0] - target).max() < 1e-6
    assert world(poser, "stewart:platform", point) == pytest.approx(before, abs=1e-6)
    assert "# orient(" in poser.script and poser.hand_states[0].state == "met"
    one = Poser("four_bar").rotate("coupler", "y", 0.1, [0.1, 0.0, 0.0])
    axes = turned([0.0, 0.1, 0.0]) @ Poser("four_bar").poses["four_bar:coupler"][0]
    other = Poser("four_bar").orient("coupler", axes, [0.1, 0.0, 0.0])
    assert np.array_equal(one.coordinates, other.coordinates) and one.missed < EXACT and one.gap < CLOSED
    assert one.script == "rotate('four_bar:coupler', 'y', 0.1, [0.1, 0.0, 0.0])\n"
    poser.keep("platform", T=before, at=point).rotate("platform", "z", 0.1, [-0.1, 0.0, 0.0])
    (state,) = poser.goal_states.values()
    assert state.state == "met" and poser.missed < 1e-6  # what is kept is the pivot then
    planar = Poser("four_bar").rotate("coupler", "x", 0.4)  # which a planar loop does not let it
    assert planar.missed == pytest.approx(0.4, abs=1e-9) and planar.hand_states[0].state == "nearest"


def test_axes_about_which_a_body_turns() -> None:
    assert np.abs(Poser("four_bar").turning_axes("coupler")) == pytest.approx(np.array([[0.0, 1.0, 0.0]]), abs=1e-9)
    assert Poser("stewart").turning_axes("platform").shape == (3, 3)
    assert Poser("four_bar").lock("crank_pivot").turning_axes("coupler").shape == (0, 3)


def test_locks_and_goals_together() -> None:
    """A goal that is stretched is followed as soon as it is let: a lock is above it, and what is freed goes to it."""
    poser = Poser(arm((None, None), (None, None)))
    poser.lock("j1").keep("l1", T=[1.2, 0.0, 0.9], at=[1.0, 0.0, 0.0])
    assert poser.goal_states["arm:l1"].state == "nearest"
    assert poser.values["arm:j1"] == pytest.approx(0.4, abs=1e-12)
    poser.unlock()
    assert poser.goal_states["arm:l1"].state == "met"
    q = poser.coordinates
    assert np.array_equal(poser.lock("j0").coordinates, q)  # nothing is missing: nothing moves


def test_goals_of_a_workbench_go_through_changes() -> None:
    """They are where they were after a change, what they are about may be gone or have another name; a number on its
    way keeps them."""
    bench = Workbench("four_bar")
    place = bench.poses["four_bar:coupler"][1] + np.array([0.03, 0.0, 0.02])
    bench.do("keep", "coupler", T=place)
    bench.do("keep", "rocker_pivot")
    bench.set_on("four_bar:coupler:tip.T[0]", 0.52)
    assert {*bench.goals} == {"four_bar:coupler", "four_bar:rocker_pivot"}
    bench.drop()
    assert {*bench.goals} == {"four_bar:coupler", "four_bar:rocker_pivot"}
    bench.do("remove", "rocker_pivot")
    assert [*bench.goals] == ["four_bar:coupler"]
    assert any("no goal any more: four_bar:rocker_pivot" in note for note in bench.notes)
    again = Workbench("four_bar").replay(bench.script)
    assert np.array_equal(again.coordinates, bench.coordinates) and again.model == bench.model
    bench.undo()
    assert len(bench.goals) == 2
    while bench.undo():
        pass
    assert not bench.goals and np.array_equal(bench.coordinates, Workbench("four_bar").coordinates)


def test_a_goal_in_place_of_one_of_the_model() -> None:
    """A target of the file and a kept goal of one coordinate, on one level: the hand's counts, as in a call of
    `inverse_kinematics`; on another level both do."""
    model = shiftjax.Editor(arm((None, None), (None, None))).target("j0", 0.0).model
    poser = Poser(model).keep("j0", 0.5)
    assert poser.values["arm:j0"] == pytest.approx(0.5, abs=EXACT)
    poser.release().settle().turn("j1", 0.2)
    assert poser.values["arm:j0"] == pytest.approx(0.0, abs=EXACT)
    poser.keep("j0", 0.5, level="posture")
    assert poser.values["arm:j0"] == pytest.approx(0.0, abs=EXACT)
    assert poser.goal_states["arm:j0"].angle == pytest.approx(0.5, abs=EXACT)


def test_names_of_goals() -> None:
    """The same freedoms of the same point again take the place of the goal; others have a number, or a name."""
    poser = Poser("four_bar").keep("coupler", T=[0.1, 0.0, 0.2]).keep("coupler", T=[0.1, 0.0, 0.21])
    assert [*poser.goals] == ["four_bar:coupler"]
    poser.keep("coupler:tip", T=[0.4, 0.0, 0.3], name="tip").keep("coupler", R=np.eye(3))
    assert [*poser.goals] == ["four_bar:coupler", "tip", "four_bar:coupler 2"]
    assert poser.release("tip", "coupler 2").goals.keys() == {"four_bar:coupler"}
    assert poser.script.endswith("release('four_bar:coupler 2', 'tip')\n")
    stands = Poser("four_bar").keep("coupler:tip")
    (state,) = stands.goal_states.values()
    assert state.state == "met" and state.body == "four_bar:coupler"
    assert np.array_equal(stands.coordinates, Poser("four_bar").coordinates)


@pytest.mark.parametrize(
    ("step", "message"),
    [
        ("keep()", "no drag or turn before it"),
        ("keep('none')", "found 'none'"),
        ("keep('crank_pivot', 'far')", "a finite number"),
        ("keep('crank_pivot', T=[0, 0, 0])", "T: found of a coordinate"),
        ("keep('coupler', 0.3)", "value: found 0.3"),
        ("keep('coupler', T=[0, 0])", "three finite numbers"),
        ("keep('coupler', R=[[1, 0, 0], [0, 2, 0], [0, 0, 1]])", "orthonormal"),
        ("keep('coupler', T=[0, 0, 0], along='xx')", 'different letters of "xyz"'),
        ("keep('coupler', T=[0, 0, 0], about='x')", "about: found without R"),
        ("keep('coupler', level='first')", "a number, or one of"),
        ("keep('coupler', weight=0)", "a positive number"),
        ("release('coupler')", "allowed: no goal"),
        ("rotate('coupler', 'w', 0.1)", "three finite numbers"),
        ("rotate('coupler', [0, 0, 0], 0.1)", "a vector of length 0"),
        ("rotate('coupler', 'y', 'far')", r"a finite number \[rad\]"),
        ("orient('coupler', [1, 0, 0])", "a rotation matrix of 3 x 3"),
        ("orient('none', [[1, 0, 0], [0, 1, 0], [0, 0, 1]])", "body to drag"),
    ],
)
def test_what_is_refused(step: str, message: str) -> None:
    poser = Poser("four_bar")
    with pytest.raises(ModelError, match=message):
        poser.replay(step)
    assert poser.script == "" and not poser.goals
