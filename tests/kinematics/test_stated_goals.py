"""Poses within what a model itself states: limits, locks, targets, postures. M4, M14, M16, M17."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import shiftjax
from shiftjax import FrameGoal, JointGoal, ModelError, inverse_kinematics
from shiftjax.cli import main
from shiftjax.mechanism.model import Model
from tests.kinematics.test_inverse_kinematics import five_bar

STAYS = 1e-12  # m or rad, of what is locked
ROUNDING = 1e-11  # of poses, in m and rad
AT = {"j1": 0.3, "j2": 0.4}  # where the arm begins, away from its singular pose
TIP = FrameGoal("l2:tip", T=(1.5, 0, 1.0), along="xz")


def arm(stop: float | None = None, l1: dict[str, Any] | None = None, **joints: dict[str, Any]) -> Model:
    """Three rods of 1 m in the x-z plane, whose joints state something."""
    builder = shiftjax.ModelBuilder(gravity=(0, 0, -9.81))
    rows = builder.assembly("arm")
    for k in range(3):
        more = l1 or {} if k == 1 else {}
        rows.body(f"l{k}", mass=1.0, inertia=(1e-3, 0.1, 0.1), frames={"tip": (1, 0, 0)}, **more)
        parent: Any = (f"l{k - 1}", "tip") if k else "fixed"
        rows.joint(f"j{k}", "Ry", parent=parent, child=f"l{k}", **joints.get(f"j{k}", {}))
    if stop is not None:
        rows.force("end", "stop", joint="j0", lower=-1.0, upper=stop, k=1e3, c=1.0, blend=1e-3)
    return builder.build()


def marked(model: Model, **joints: dict[str, Any]) -> Model:
    """The same with limits at some joints, by the steps of an editor."""
    edit = shiftjax.Editor(model)
    for name, (low, high) in joints.items():
        edit.limit(name, low, high)
    return edit.model


def test_limits_of_a_model_are_those_of_a_call_to_the_last_bit() -> None:
    """In open chains and in loops, which stand at their limits here."""
    limits: Any = {"j0": (-0.2, 0.1), "j2": (None, 0.5)}
    own = inverse_kinematics(arm(j0={"limits": (-0.2, 0.1)}, j2={"limits": (None, 0.5)}), [TIP], q=AT)
    given = inverse_kinematics(arm(), [TIP], limits=limits, q=AT)
    assert (own.coordinates == given.coordinates).all() and (own.by_goal == given.by_goal).all()
    limits = {"left_pivot": (-2.4, -1.8), "right_pivot": (-2.0, -0.4)}
    goal = FrameGoal("left_rod:tip", T=[[0.3, 0, 1.9], [1.2, 0, 1.6]], along="xz")
    own = inverse_kinematics(marked(five_bar(), **limits), [goal])
    given = inverse_kinematics(five_bar(), [goal], limits=limits)
    assert (own.coordinates == given.coordinates).all() and own.q["five:left_pivot"].max() == pytest.approx(-1.8)


def test_the_tighter_end_of_a_limit_and_a_stop_counts_and_a_call_wins() -> None:
    goal = JointGoal("j0", 2.0)

    def end(model: Model, **options: Any) -> float:
        return float(inverse_kinematics(model, goal, **options).q["arm:j0"].item())

    limits = {"limits": (-0.5, 0.6)}
    assert end(arm(0.4, j0=limits)) == pytest.approx(0.4, abs=ROUNDING)
    assert end(arm(0.8, j0=limits)) == pytest.approx(0.6, abs=ROUNDING)
    assert end(arm(0.4, j0=limits), limits={"j0": (None, 1.5)}) == pytest.approx(1.5, abs=ROUNDING)
    assert end(arm(0.4, j0=limits), vary={"j0.limits[1]": [0.3]}) == pytest.approx(0.3, abs=ROUNDING)
    with pytest.raises(ModelError, match=r"arm:j0: found ends of its way 0\.5 and 0\.4; allowed: a lower end up to"):
        end(arm(0.4, j0={"limits": (0.5, 1.0)}))


def test_a_posture_resolves_the_redundancy_of_an_arm() -> None:
    """Three joints, a place in a plane: one is free, and goes to its posture; of two the heavier comes nearer."""
    result = inverse_kinematics(arm(j0={"posture": -0.7}), [TIP], q=AT)
    assert result.q["arm:j0"] == pytest.approx(-0.7, abs=ROUNDING) and result.missed["target"] < ROUNDING
    alike = inverse_kinematics(arm(), [TIP, JointGoal("j0", -0.7, level="posture")], q=AT)
    assert (alike.coordinates == result.coordinates).all()
    missed = [
        float(inverse_kinematics(arm(j0={"posture": {"value": -1.2, "weight": weight}}, j1={"posture": 1.4}), [TIP],
                                 q=AT).q["arm:j0"]) + 1.2 for weight in (0.2, 1.0, 5.0)]  # fmt: skip
    assert abs(missed[0]) > abs(missed[1]) > abs(missed[2]) > 1e-4  # M17: monotone


def test_a_level_of_a_file_is_a_level_as_any() -> None:
    """A target above the place that the call asks for, which is missed then."""
    first = inverse_kinematics(arm(j0={"target": {"value": 0.5, "level": 1.5}}, j1={"lock": True}), [TIP], q=AT)
    assert first.q["arm:j0"] == pytest.approx(0.5, abs=ROUNDING) and first.q["arm:j1"] == pytest.approx(0.3, abs=STAYS)
    assert list(first.missed) == ["lock", "1.5", "target"] and first.missed["target"] > 0.1


def test_what_a_call_says_of_a_coordinate_on_a_level_counts_in_its_place() -> None:
    model = arm(j0={"posture": -0.7, "lock": True})
    here = inverse_kinematics(model, q=AT)
    assert here.q["arm:j0"] == 0.0 and here.missed["posture"] == pytest.approx(0.7)
    freed = inverse_kinematics(model, [JointGoal("arm:j0", 0.2, level="lock"), JointGoal("j0", 0.4, level=3)], q=AT)
    assert freed.q["arm:j0"] == pytest.approx(0.2, abs=ROUNDING) and len(freed.labels) == 2
    other = inverse_kinematics(model, [JointGoal("j0", 0.4)], q=AT)  # another level: both are there
    assert other.q["arm:j0"] == pytest.approx(0.0, abs=STAYS) and len(other.labels) == 3
    with pytest.raises(ModelError, match="Give at least one"):
        inverse_kinematics(arm(), q=AT)


def test_numbers_of_goals_vary() -> None:
    values = np.array([-0.2, -0.5, -0.9])
    many = inverse_kinematics(arm(j0={"posture": 0.0}), [TIP], q=AT, vary={"j0.posture.value": values})
    assert many.q["arm:j0"] == pytest.approx(values, abs=ROUNDING)


def test_a_locked_body_stays_while_its_loop_goes_on() -> None:
    """Of a five-bar the left crank: the tool goes along the circle that is left. Of members each where it begins."""
    model = shiftjax.Editor(five_bar()).lock("left_crank").model
    goal = FrameGoal("left_rod:tip", T=(0.2, 0, 2.0), along="xz")
    begin = np.array([-1.9, -1.8])
    result = inverse_kinematics(model, [goal], q={"left_pivot": begin})
    assert result.q["five:left_pivot"] == pytest.approx(begin, abs=STAYS)
    assert np.abs(result.q["five:right_pivot"] + 1.2).max() > 1e-2
    at = shiftjax.configuration(model, result.coordinates)
    tip = at.pose("left_crank:tip")[:, :3, 3]
    assert tip == pytest.approx(np.stack([np.cos(begin), 0.0 * begin, -np.sin(begin)], axis=1), abs=STAYS)


def test_a_locked_ball_stays() -> None:
    """Its frames stay in each other, whatever else moves."""
    model = shiftjax.Editor("stewart").lock("head_1").model
    goal = FrameGoal("platform", T=(0.0, 0.02, -0.6))
    poses = inverse_kinematics(model), inverse_kinematics(model, goal), inverse_kinematics("stewart", goal)
    at = [pose.q["stewart:head_1"] for pose in poses]
    assert at[1] == pytest.approx(at[0], abs=STAYS) and np.abs(at[2] - at[0]).max() > 1e-3


def test_a_workspace_ends_at_limits() -> None:
    """A rod of 1 m on a carriage: 2 m of way, half a turn; the tighter of limit and stop."""
    builder = shiftjax.ModelBuilder()
    rows = builder.assembly("crane").body("carriage", mass=1, inertia=(1, 1, 1))
    rows.body("rod", mass=1, inertia=(1, 1, 1), frames={"tip": (1, 0, 0)})
    rows.joint("rail", "Tx", child="carriage", limits=(-1.0, 1.0))
    rows.joint("pin", "Ry", parent="carriage", child="rod", limits=(0.0, 3.0))
    rows.force("end", "stop", joint="pin", lower=-1.0, upper=1.0, k=1e3, c=1.0, blend=1e-3)
    model = builder.build()
    assert shiftjax.workspace(model, ["rail", "pin"]).area == pytest.approx(2.0, abs=1e-6)
    crossed = model.replace({"end.upper": -0.5})
    with pytest.raises(ModelError, match=r"crane:pin: found ends of its way 0 and -0\.5; allowed: a lower end up to"):
        shiftjax.workspace(crossed, ["rail", "pin"])


def test_the_command_takes_what_the_file_states(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """With goals of its own, or without any."""
    file = str(tmp_path / "arm.json")
    shiftjax.save(arm(j0={"posture": -0.7}, j1={"limits": (-0.5, 0.5)}, j2={"lock": True}), file)
    assert main(["ik", file, "--json"]) == 0
    said = json.loads(capsys.readouterr().out)
    assert said["q"]["arm:j0"] == pytest.approx(-0.7, abs=ROUNDING) and said["reached"]
    assert main(["ik", file, "--joint", "j1=2", "--posture", "j0=0.3", "--json"]) == 3  # beyond its limit
    said = json.loads(capsys.readouterr().out)
    assert (said["q"]["arm:j0"], said["q"]["arm:j1"]) == pytest.approx((0.3, 0.5), abs=ROUNDING)
