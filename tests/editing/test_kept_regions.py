"""Goals that are kept in another frame or within a region, and goals whose frame goes to another body. S23, M46."""

from __future__ import annotations

import numpy as np
import pytest

import shiftjax
from shiftjax import FrameGoal, JointGoal, ModelError, Poser, Workbench
from shiftjax.editing.standing import Pose, Poses, within
from shiftjax.rotations import rotation_of_vector, vector_of_rotation
from tests.support.models.reaching_arms import two_links

EXACT = 1e-9  # m or rad: a goal that is met, 1e-11 of the model's length and a margin
BUCKET, BOOM, STICK = (f"excavator:{name}" for name in ("bucket", "boom", "stick"))
COUPLER, TIP = "four_bar:coupler", "four_bar:coupler:tip"


def seen(poses: Poses, of: str, from_it: str) -> Pose:
    return within(poses[from_it], poses[of])


def arm() -> Poser:
    return Poser(two_links())


def test_a_goal_in_another_body_goes_with_it() -> None:
    """The bucket as the boom sees it: loops closed, it stays so to rounding while the hand moves the boom; in the world
    it is elsewhere. The script gives it again to the last bit."""
    poser = Poser("excavator")
    before, world = seen(poser.poses, BUCKET, BOOM), poser.poses[BUCKET][1]
    poser.keep("bucket", relative_to="boom", level="potential")
    poser.turn("boom_pivot", poser.values["excavator:boom_pivot"] - 0.1).turn("slew", 0.2)
    now = seen(poser.poses, BUCKET, BOOM)
    assert np.linalg.norm(poser.poses[BUCKET][1] - world) > 0.1
    assert max(np.abs(x - y).max() for x, y in zip(now, before, strict=True)) < EXACT
    state = poser.goal_states[BUCKET]
    assert state.state == "met" and state.title == f"{BUCKET} in {BOOM}" and not len(state.edges)
    (goal,) = poser.goals.values()
    assert isinstance(goal, FrameGoal) and goal.relative_to == BOOM
    poser.drag("bucket", [0.0, 0.0, 0.0], world + np.array([0.3, 0.0, 0.3]))
    assert np.array_equal(Poser("excavator").replay(poser.script).coordinates, poser.coordinates)


def test_a_place_within_a_box_of_a_turned_frame() -> None:
    """The tip of an arm pulled far away: it stops at the face of the box, which is met; the ghost is the nearest place
    of it, and the edges are those of the box in the world, as the frame stands there."""
    poser, R = arm(), np.array(rotation_of_vector([0.0, 0.4, 0.0]))
    start = poser.poses["arm:l1"][0] @ [1.0, 0.0, 0.0] + poser.poses["arm:l1"][1]
    box = [[-0.1, 0.05], [None, None], [-0.02, None]]
    poser.keep("l1", T=start, R=R, at=[1, 0, 0], box=box, turn=[None] * 3, level="potential")  # axes, which are free
    for far in ([0.2, 0.0, 0.1], [-0.05, 0.0, 0.3], [0.0, 0.0, -0.3]):
        poser.drag("l1", [1.0, 0.0, 0.0], start + R @ far)
        tip = R.T @ (poser.poses["arm:l1"][0] @ [1.0, 0.0, 0.0] + poser.poses["arm:l1"][1] - start)
        assert tip[0] < 0.05 + EXACT and tip[2] > -0.02 - EXACT, "the faces hold"
        if far[0] > 0.05:
            assert tip[[0, 2]] == pytest.approx([0.05, 0.1], abs=1e-6), "along the face to next to the hand"
        elif far[2] > 0.0:
            assert tip == pytest.approx(far, abs=1e-6), "without an end upwards"
    state = poser.goal_states["arm:l1"]
    assert state.state == "met" and state.region.startswith("within -0.1 to 0.05")
    corners = (state.edges.reshape(-1, 3) - start) @ R
    assert np.ptp(corners, axis=0)[0] == pytest.approx(0.15) and corners[:, 2].min() == pytest.approx(-0.02)
    assert state.edges.shape == (12, 2, 3) and np.isfinite(state.edges).all()
    assert np.array_equal(arm().replay(poser.script).coordinates, poser.coordinates)
    assert tip[[0, 2]] == pytest.approx([0.0, -0.02], abs=1e-6)
    poser.rank("arm:l1", "posture").drag("l1", [1.0, 0.0, 0.0], start + R @ [0.15, 0.0, 0.1])
    state = poser.goal_states["arm:l1"]  # the hand goes first now
    assert state.length == pytest.approx(0.1, abs=1e-6)
    assert R.T @ (state.ends[1] - start) == pytest.approx([0.05, 0.0, 0.1], abs=1e-6)


def test_edges_are_come_to_and_gone_along() -> None:
    """Next to a goal beyond an edge, with and without ends elsewhere: a step that crosses the edge comes back onto it,
    and the next ones go along it (400 iterations crept there without arriving)."""
    poser = arm()
    start = poser.poses["arm:l1"][0] @ [1.0, 0.0, 0.0] + poser.poses["arm:l1"][1]
    for far in (np.inf, 9.0):
        box = [[-0.1, 0.05], [-far, far], [-0.02, far]]
        goals = [
            FrameGoal("arm:l1:tip", T=start, box=box, level=1),
            FrameGoal("arm:l1:tip", T=start + np.array([0.2, 0.0, 0.1]), level=2),
        ]
        met = shiftjax.inverse_kinematics(poser.model, goals)
        assert met.missed["1"] < EXACT and met.missed["2"] == pytest.approx(0.15, abs=1e-6) and met.iterations < 40


def test_a_turn_and_a_coordinate_within_a_region() -> None:
    """Axes that may be off by an angle stop there; so does a coordinate; the missing angle counts from the edge."""
    poser = arm().keep("l1", R=np.eye(3), turn=0.0 * np.ones(3) + [0, 0.2, 0], along="xyz", level="potential")
    poser.turn("j0", 0.9).turn("j1", 0.3)
    turned = vector_of_rotation(poser.poses["arm:l1"][0].tolist())
    assert float(turned[1]) == pytest.approx(0.2, abs=1e-6) and poser.goal_states["arm:l1"].state == "met"
    poser.release().keep("j1", 0.5, box=[-0.1, None]).turn("j1", 0.2)
    state = poser.goal_states["arm:j1"]
    assert state.angle == pytest.approx(0.2, abs=EXACT) and state.region == "within -0.1 to inf rad"
    poser.turn("j1", 2.0)
    assert poser.goal_states["arm:j1"].state == "met"
    (goal,) = poser.goals.values()
    assert isinstance(goal, JointGoal)
    met = shiftjax.inverse_kinematics(poser.posed, [goal])  # the same goal of a call is met there, too
    assert met.reached and poser.script.splitlines()[-3] == "keep('arm:j1', 0.5, box=[-0.1, None])"


def test_the_goal_of_a_drag_counts_in_part() -> None:
    """`keep` of the last drag with freedoms and a region; a region of what the drag did not want is refused."""
    poser = arm().drag("l1", [1.0, 0.0, 0.0], [1.2, 0.0, 0.6])
    poser.keep(along="x", box=[0.1, 0.1, 0.1])
    (goal,) = poser.goals.values()
    assert isinstance(goal, FrameGoal) and goal.along == "x" and np.array_equal(goal.box[0], [-0.1, 0.1])
    poser.turn("j0", poser.values["arm:j0"] + 0.05)
    assert poser.goal_states["arm:l1"].length < EXACT
    with pytest.raises(ModelError, match="about: found of a coordinate"):
        poser.keep(about="x")
    assert np.array_equal(arm().replay(poser.script).coordinates, poser.coordinates)


def test_a_goal_goes_with_its_frame_to_another_body() -> None:
    """`split` and `merge` move frames: goals of them stay, unchanged in the world, and so do goals seen from them; undo
    and the script have them as they were."""
    bench = Workbench("four_bar")
    place = bench.poses[COUPLER][0] @ [0.5, 0.0, 0.0] + bench.poses[COUPLER][1] + [0.02, 0.0, 0.01]
    bench.do("keep", "coupler:tip", T=place, along="xz").do("keep", "rocker", relative_to="coupler:tip", weight=0.1)
    before = bench.goal_states
    bench.do("split", "coupler", "half", ["tip"])
    assert [*bench.goals] == ["four_bar:half:tip", "four_bar:rocker"] and not bench.notes
    seen_from = bench.goal_states["four_bar:rocker"].seen_from
    assert seen_from == "four_bar:half:tip" and bench.goal_states["four_bar:half:tip"].body == "four_bar:half"
    bench.do("merge", "half_weld")
    assert [*bench.goals] == [TIP, "four_bar:rocker"] and not any("no goal" in note for note in bench.notes)
    for name, state in bench.goal_states.items():
        assert (
            state.length == pytest.approx(before[name].length, abs=1e-9) and state.seen_from == before[name].seen_from
        )
    again = Workbench("four_bar").replay(bench.script)
    assert np.array_equal(again.coordinates, bench.coordinates) and again.goals.keys() == bench.goals.keys()
    assert bench.undo() and [*bench.goals] == ["four_bar:half:tip", "four_bar:rocker"]


def test_a_goal_of_a_body_that_becomes_a_part_of_another_one() -> None:
    """The body goes, what was its origin is a place of the other one, turned and shifted: the goal leads there the same
    pose as before, and one that was seen from it is where it was."""
    bench = Workbench("excavator")
    R, T = np.array(rotation_of_vector([0.0, -0.7, 0.0])), bench.poses[BUCKET][1] + [0.1, 0.0, 0.2]
    bench.do("keep", "bucket", T=T, R=R, level="posture").do("keep", "boom", relative_to="bucket", name="seen")
    states, goals = bench.goal_states, bench.goals
    bench.do("merge", "bucket_pivot")
    assert {*bench.goals} == {STICK, "seen"}, bench.notes
    for before, now in zip(states.values(), bench.goal_states.values(), strict=True):
        assert now.length == pytest.approx(before.length, abs=1e-9), (before, now)
        assert now.angle == pytest.approx(before.angle, abs=1e-9)
        assert now.ends == pytest.approx(before.ends, abs=1e-9)
    moved = bench.goals["seen"]
    assert isinstance(moved, FrameGoal) and moved.relative_to == STICK and goals["seen"].level == moved.level
    assert np.array_equal(Workbench("excavator").replay(bench.script).coordinates, bench.coordinates)


def test_a_goal_between_bodies_that_become_one_is_gone() -> None:
    """Nothing moves it any more; a note says so, and undo has it again."""
    bench = Workbench("four_bar").do("keep", "coupler", relative_to="crank", box=[0.1, 0.1, 0.1])
    bench.do("merge", "crank_pin")
    assert not bench.goals and f"no goal any more: {COUPLER}" in bench.notes
    assert bench.undo() and [*bench.goals] == [COUPLER]


def test_a_goal_of_a_coordinate_of_another_unit_is_gone() -> None:
    """An angle is no length; one that turns about another axis stays an angle."""
    bench = Workbench("four_bar").do("keep", "crank_pivot", box=[-0.1, None], name="angle")
    bench.do("change_type", "crank_pivot", "Rz")
    assert [*bench.goals] == ["angle"] and not any("no goal" in note for note in bench.notes)
    bench.do("change_type", "crank_pivot", "Tx")
    assert not bench.goals and "no goal any more: angle" in bench.notes
    assert bench.undo() and [*bench.goals] == ["angle"]


def test_a_lock_goes_with_its_body_into_another_one() -> None:
    """The body that is left is locked, and nothing says that it is not."""
    bench = Workbench("excavator").do("lock", "bucket").do("merge", "bucket_pivot")
    assert bench.locks == {STICK}
    assert f"{STICK} is locked, as {BUCKET} was" in bench.notes
    assert not any("not locked any more" in note for note in bench.notes)


def test_a_goal_that_is_replaced_is_named() -> None:
    """The same name again takes the place of the goal, and a note says so; undo has the one before."""
    bench = Workbench("four_bar").do("keep", "coupler", T=[0.1, 0.0, 0.2], name="there")
    assert not bench.notes
    bench.do("keep", "crank_pivot", name="there")
    assert bench.notes == ("the goal 'there', of four_bar:coupler, is replaced by another one",)
    assert [*bench.goals] == ["there"] and isinstance(bench.goals["there"], JointGoal)
    bench.do("turn", "crank_pivot", 1.0)
    assert not bench.notes  # it is of that step
    bench.do("keep", "crank_pivot", bench.goals["there"].value, name="there")  # type: ignore[union-attr]
    assert not bench.notes and bench.undo() and bench.undo() and bench.undo()
    assert isinstance(bench.goals["there"], FrameGoal)


@pytest.mark.parametrize(
    ("step", "message"),
    [
        ("keep('coupler', relative_to='none')", "relative_to: found 'none'"),
        ("keep('coupler', relative_to='coupler:tip')", "of the same body as four_bar:coupler"),
        ("keep('coupler', relative_to=3)", "the path of a body or a frame"),
        ("keep('crank_pivot', relative_to='coupler')", "relative_to|found"),
        ("keep('crank_pivot', turn=[1, 1, 1])", "turn: found of a coordinate"),
        ("keep('crank_pivot', box=[1, 0])", "lower ends that are not above"),
        ("keep('coupler', T=[0, 0, 0], box=[0.1, 0.1])", "box: found"),
        ("keep('coupler', T=[0, 0, 0], turn=[1, 1, 1])", "turn: found without R"),
        ("keep('coupler', R=[[1, 0, 0], [0, 1, 0], [0, 0, 1]], box=[1, 1, 1])", "box: found without T"),
        ("keep(relative_to='coupler')", "no drag or turn before it"),
        ("turn('crank_pivot', 1.0); keep(T=[0, 0, 0])", "script, line 1"),
    ],
)
def test_what_is_refused(step: str, message: str) -> None:
    poser = Poser("four_bar")
    with pytest.raises(ModelError, match=message):
        poser.replay(step)
    assert not poser.goals
    with pytest.raises(ModelError, match="T: found without what it is of"):
        poser.turn("crank_pivot", 1.0).keep(T=[0, 0, 0])
