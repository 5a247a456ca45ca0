"""A mechanism posed by hand, without a window: loops closed, locks, ends of travel, what is out of reach, scripts.

S23, M14, M39, M45, M46, E15.
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
