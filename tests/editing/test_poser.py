"""A mechanism posed by hand, without a window: loops closed, locks, ends of travel, what is out of reach, scripts.

S23, M4, M14, M16, M39, M45, M46, E15.
"""

from pathlib import Path

import numpy as np
import pytest

import shiftjax
from shiftjax.formats import load

CLOSED = 1e-12  # residual of loops, dimensionless
EXACT = 1e-9  # m or rad: a goal that is met


def world(poser: shiftjax.Poser, body: str, point: list[float]) -> np.ndarray:
    R, p = next(pose for path, pose in poser.poses.items() if path.endswith(body))
    return R @ point + p


@pytest.mark.parametrize(("name", "body"), [("four_bar", "coupler"), ("excavator", "bucket"), ("stewart", "platform")])
def test_a_dragged_body_follows_with_loops_closed(name: str, body: str) -> None:
    """In many small parts, one step of the history, which the script gives again to the last bit."""
    poser, point = shiftjax.Poser(name), [0.05, 0.0, 0.0]
    start, before = world(poser, body, point), poser.coordinates
    for k in range(1, 13):
        poser.drag_on(body, point, start + np.array([0.002, 0.0, -0.001]) * k)
        assert poser.gap < CLOSED
    poser.drop()
    after = poser.coordinates
    assert np.abs(after - before).max() > 1e-3
    assert poser.script.count("\n") == 1 and "# drag(" in poser.script
    assert np.array_equal(shiftjax.Poser(name).replay(poser.script).coordinates, after)
    assert poser.undo() and np.array_equal(poser.coordinates, before) and not poser.undo()
    assert poser.redo() and np.array_equal(poser.coordinates, after) and not poser.redo()


def test_what_is_out_of_reach_leaves_the_nearest_pose() -> None:
    """The tip of a two-link pendulum, 1.4 m long, drawn to 2 m from its hinge: 0.6 m are missed. Undo goes back."""
    poser = shiftjax.Poser("double_pendulum")
    before = poser.coordinates
    hinge, far = np.array([0.0, 0.0, -3.0]), np.array([0.0, 1.2, -1.4])
    poser.drag("link2", [0.0, 0.0, 0.6], far)
    tip = world(poser, "link2", [0.0, 0.0, 0.6])
    assert poser.missed == pytest.approx(0.6, abs=1e-6)
    assert tip == pytest.approx(hinge + 0.7 * (far - hinge), abs=1e-3)
    poser.undo()
    assert np.array_equal(poser.coordinates, before)


def test_joints_turn_to_the_ends_of_their_travel() -> None:
    """A rocker beyond its dead point stays at it; its range is its travel, a crank's a turn."""
    poser = shiftjax.Poser("four_bar")
    travel = shiftjax.travel("four_bar", "rocker_pivot")
    low, high = poser.ranges()["four_bar:rocker_pivot"]
    assert (low, high) == pytest.approx((float(travel.low), float(travel.high)), abs=EXACT)
    low, high = poser.ranges()["four_bar:crank_pivot"]
    assert high - low == pytest.approx(2.0 * np.pi)
    poser.turn("rocker_pivot", 2.2)
    assert poser.values["four_bar:rocker_pivot"] == pytest.approx(2.2, abs=EXACT) and poser.missed < EXACT
    poser.turn("rocker_pivot", 2.6)
    assert poser.values["four_bar:rocker_pivot"] == pytest.approx(float(travel.high), abs=1e-6)
    assert poser.missed == pytest.approx(2.6 - float(travel.high), abs=1e-6) and poser.gap < CLOSED


def test_locked_joints_stay() -> None:
    """A boom is locked while the bucket is dragged: above all goals, as level lock of the solver."""
    poser = shiftjax.Poser("excavator").lock("boom_pivot", "slew")
    before = poser.values
    start = world(poser, "bucket", [0.0, 0.0, 0.0])
    poser.drag("bucket", [0.0, 0.0, 0.0], start + np.array([0.1, 0.0, 0.1]))
    for path in ("excavator:boom_pivot", "excavator:slew"):
        assert poser.values[path] == pytest.approx(before[path], abs=1e-12)
    assert world(poser, "bucket", [0.0, 0.0, 0.0]) != pytest.approx(start, abs=1e-3)
    assert poser.unlock("slew").locks == {"excavator:boom_pivot"} and not poser.unlock().locks
    assert poser.undo() and poser.locks == {"excavator:boom_pivot"}


def test_a_posed_model_begins_there(tmp_path: Path) -> None:
    """Its file, a run and an editor begin in the pose that was made by hand."""
    poser = shiftjax.Poser("four_bar").turn("crank_pivot", 1.9)
    poser.save(tmp_path / "posed.json")
    again = shiftjax.Poser(load(tmp_path / "posed.json"))
    assert again.coordinates == pytest.approx(poser.coordinates, abs=EXACT)
    edit = shiftjax.Editor(poser.posed)
    assert edit.poses["four_bar:coupler"][1] == pytest.approx(poser.poses["four_bar:coupler"][1], abs=EXACT)
    run = shiftjax.simulate(poser.posed, 0.01, channels=["crank_pivot.q"])
    assert run.channels["crank_pivot.q"][0] == pytest.approx(1.9, abs=EXACT)


def test_several_coordinates_at_once() -> None:
    poser = shiftjax.Poser("double_pendulum").stand({"shoulder": 0.2, "elbow": -0.4})
    assert poser.values == pytest.approx({"double_pendulum:shoulder": 0.2, "double_pendulum:elbow": -0.4}, abs=EXACT)


@pytest.mark.parametrize(
    ("step", "message"),
    [
        ("drag('none', [0, 0, 0], [0, 0, 0])", "body to drag: found 'none'"),
        ("drag('crank', [0, 0], [0, 0, 0])", "point: found"),
        ("drag('crank', [0, 0, 0], [0, 0, 1e400])", "target: found"),
        ("turn('rocker_pivot', 'far')", "a finite number"),
        ("turn('none', 1.0)", "none"),
        ("lock('none')", "none"),
        ("pose([0, 0, 0, 0])", "loops are open by"),
        ("pose([0, 0])", "4 finite numbers"),
        ("stand({})", "no coordinate"),
        ("fly()", "a step: drag, turn"),
    ],
)
def test_what_is_refused(step: str, message: str) -> None:
    poser = shiftjax.Poser("four_bar")
    with pytest.raises(shiftjax.ModelError, match=message):
        poser.replay(step)
    assert poser.script == ""


@pytest.mark.parametrize(
    ("name", "body", "dragged"), [("excavator", "stick", "bucket"), ("four_bar", "crank", "rocker")]
)
def test_a_locked_body_stays(name: str, body: str, dragged: str) -> None:
    """While its loop is dragged in parts: a bucket on a stick that is held; a four-bar cannot move at all then."""
    poser = shiftjax.Poser(name).lock(body)
    (full,) = poser.locks
    before, start = poser.poses, world(poser, dragged, [0.05, 0.0, 0.0])
    for k in range(1, 9):
        poser.drag_on(dragged, [0.05, 0.0, 0.0], start + np.array([0.01, 0.0, 0.02]) * k)
    poser.drop()
    for now, then in zip(poser.poses[full], before[full], strict=True):
        assert now == pytest.approx(then, abs=CLOSED)
    moved = np.linalg.norm(world(poser, dragged, [0.05, 0.0, 0.0]) - start)
    assert (moved > 1e-2) == (name == "excavator") and poser.gap < CLOSED
    assert not poser.unlock(body).locks and poser.script.endswith(f"unlock('{full}')\n")


def test_locks_of_a_file_and_of_a_hand_are_the_same(tmp_path: Path) -> None:
    """Of coordinates, a ball and a body: what is saved opens with them, and without what was freed."""
    model = shiftjax.Editor("stewart").lock("leg_1", "head_2").model
    poser = shiftjax.Poser(model).lock("platform").unlock("leg_1").lock("leg_3")
    assert poser.locks == {"stewart:head_2", "stewart:platform", "stewart:leg_3"}
    poser.save(tmp_path / "locked.json")
    again = shiftjax.Poser(load(tmp_path / "locked.json"))
    assert again.locks == poser.locks
    assert dict(poser.posed.bodies())["stewart:platform"].lock and not dict(poser.posed.joints())["stewart:leg_1"].lock
    poser.undo()
    assert poser.locks == {"stewart:head_2", "stewart:platform"}
    before = poser.coordinates
    poser.drag("platform", [0.0, 0.0, 0.0], [0.0, 0.0, 0.0])
    assert poser.coordinates == pytest.approx(before, abs=1e-12) and poser.missed > 0.1


def test_limits_and_goals_of_a_file_hold_while_a_body_is_dragged() -> None:
    """An arm of three joints follows in a plane: the free one keeps its posture, another comes to its limit first."""
    builder = shiftjax.ModelBuilder()
    rows = builder.assembly("arm")
    for k, more in enumerate(({"posture": -0.4}, {"limits": (None, 1.2)}, {})):
        rows.body(f"l{k}", mass=1.0, inertia=(1e-3, 0.1, 0.1), frames={"tip": (1, 0, 0)})
        parent = (f"l{k - 1}", "tip") if k else "fixed"
        rows.joint(f"j{k}", "Ry", parent=parent, child=f"l{k}", initial_displacement=(-0.4, 0.5, 0.8)[k], **more)
    poser = shiftjax.Poser(builder.build())
    start = world(poser, "l2", [1.0, 0.0, 0.0])
    for k in range(1, 6):
        poser.drag_on("l2", [1.0, 0.0, 0.0], start + np.array([-0.02, 0.0, 0.0]) * k)
    poser.drop()
    assert poser.missed < EXACT and poser.values["arm:j0"] == pytest.approx(-0.4, abs=1e-6)
    poser.turn("j1", 2.0)
    assert poser.values["arm:j1"] == pytest.approx(1.2, abs=EXACT) and poser.missed == pytest.approx(0.8, abs=EXACT)
    assert poser.ranges()["arm:j1"][1] == 1.2


def test_what_is_locked_has_a_name_of_its_own() -> None:
    """A body beside a joint of the same path goes by its origin; an end of a path that two have is refused."""
    builder = shiftjax.ModelBuilder()
    for side in ("left", "right"):
        rows = builder.assembly(side).body("crank", mass=1.0, inertia=(1, 1, 1)).body("rod", mass=1.0, lock=True)
        rows.joint("crank", "Ry", child="crank").joint("knee", "cylindrical", axis="z", parent="crank", child="rod")
    poser = shiftjax.Poser(builder.build())
    assert poser.locks == {"left:rod", "right:rod"}
    with pytest.raises(
        shiftjax.ModelError, match=r"lock: found crank, of which there are 2; allowed: left:crank, right"
    ):
        poser.lock("crank")
    poser.unlock().lock("left:crank", "right:crank:origin", "left:knee", "right:knee.slide")
    bodies, joints = dict(poser.posed.bodies()), dict(poser.posed.joints())
    assert [path for path, body in bodies.items() if body.lock] == ["right:crank"]
    locked = {path: joint.lock for path, joint in joints.items() if joint.lock}
    assert locked == {"left:crank": True, "left:knee": True, "right:knee": ("slide",)}
    assert (
        shiftjax.Poser(poser.posed).locks
        == poser.locks
        == {*locked, "right:crank:origin"} - {"left:knee", "right:knee"}
        | {"left:knee.angle", "left:knee.slide", "right:knee.slide"}
    )


def test_a_quaternion_of_another_length_is_no_pose() -> None:
    """It would scale the body that it turns; one with its rounding is taken as it is."""
    edit = shiftjax.Editor("pendulum").add_body("ball", "pendulum", mass=1.0)
    poser = shiftjax.Poser(edit.add_joint("socket", "spherical", "link", "ball").model)
    pose = poser.coordinates.copy()
    (turn,) = (k for k in range(len(pose) - 3) if pose[k] == 1.0)
    pose[turn] = 2.0
    with pytest.raises(shiftjax.ModelError, match="socket: found a quaternion of length 2; allowed: 1"):
        poser.pose(pose)
    pose[turn : turn + 2] = np.cos(0.3), np.sin(0.3)
    assert np.array_equal(poser.pose(pose).coordinates, pose)
