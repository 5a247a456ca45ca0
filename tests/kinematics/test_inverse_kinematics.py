"""Inverse kinematics with priorities: MSim's levels (M1, M13, M14, M15, M16, M17, M18, M20, M23, M26), D21, D22, D23,
F17.

Tolerances: a goal that can be met is met quadratically, to rounding; a level above another one may be missed by 1e-11
more.
"""

from __future__ import annotations

import itertools
import json
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from scipy.optimize import minimize

import shiftjax
from shiftjax import CenterGoal, FrameGoal, FunctionGoal, JointGoal, ModelError, PotentialGoal, inverse_kinematics
from shiftjax.cli import main
from shiftjax.mechanism.model import Model

ROUNDING = 1e-11  # of poses, in m and rad
UNCHANGED = 1e-10  # of a level, whatever lower ones want (kinematics, row 16)


@cache
def planar_arm() -> Model:
    """Three rods of 1 m in the x-z plane."""
    builder = shiftjax.ModelBuilder(gravity=(0, 0, -9.81))
    rows = builder.assembly("arm")
    for k in range(3):
        rows.body(f"l{k}", mass=1.0, center_of_mass=(0.5, 0, 0), inertia=(1e-3, 0.1, 0.1), frames={"tip": (1, 0, 0)})
        rows.joint(f"j{k}", "Ry", parent=(f"l{k - 1}", "tip") if k else "fixed", child=f"l{k}")
    return builder.build()


@cache
def five_bar() -> Model:
    """Two cranks of 1 m whose pivots are 1 m apart and whose rods of 1.5 m meet: two freedoms, one loop."""
    builder = shiftjax.ModelBuilder(gravity=(0, 0, -9.81)).frame("left").frame("right", T=(1, 0, 0))
    rows = builder.assembly("five")
    for side, angle in (("left", -1.9), ("right", -1.2)):
        for part, length, height in (("crank", 1.0, 0.5), ("rod", 1.5, 0.7)):
            rows.body(
                f"{side}_{part}", mass=1.0, center_of_mass=(height, 0, 0), inertia=(1e-3, 0.1, 0.1),
                frames={"tip": (length, 0, 0)},
            )  # fmt: skip
        rows.joint(f"{side}_pivot", "Ry", parent=("fixed", side), child=f"{side}_crank", initial_displacement=angle)
        rows.joint(f"{side}_knee", "Ry", parent=(f"{side}_crank", "tip"), child=f"{side}_rod")
    rows.joint("tool", "Ry", parent=("left_rod", "tip"), child=("right_rod", "tip"))
    return builder.build()


@cache
def iiwa() -> tuple[Model, np.ndarray]:
    """KUKA LBR iiwa 14: lengths and limits of its data sheet; bodies of no matter."""
    builder = shiftjax.ModelBuilder()
    rows = builder.assembly("iiwa")
    for k, length in enumerate((0.36, 0.0, 0.42, 0.0, 0.4, 0.0, 0.126)):
        rows.body(f"l{k}", mass=1.0, inertia=(1e-2, 1e-2, 1e-2), frames={"tip": (0, 0, length)})
        parent: Any = (f"l{k - 1}", "tip") if k else "fixed"
        rows.joint(f"j{k}", "Ry" if k % 2 else "Rz", parent=parent, child=f"l{k}")
    return builder.build(), np.deg2rad([170, 120, 170, 120, 170, 120, 175])


def errors_of(result: Any) -> dict[str, float]:
    return {level: float(x) for level, x in result.missed.items()}


# What every level wants, each against all others.
OF_ARM: dict[str, Any] = {
    "limits": {"j0": (-0.2, 0.2)},
    "lock": [JointGoal("j0", 0.9, level="lock"), JointGoal("j1", -0.4, level="lock")],
    "potential": [PotentialGoal()],
    "target": [FrameGoal("l2:tip", T=(-3.5, 0, 1.0), along="xz")],
    "posture": [JointGoal(f"j{k}", -1.0, level="posture") for k in range(3)],
}
OF_FIVE_BAR: dict[str, Any] = {
    "limits": {"left_pivot": (-1.7, -1.5)},
    "lock": [JointGoal("left_pivot", -2.2, level="lock"), JointGoal("left_knee", -0.5, level="lock")],
    "potential": [PotentialGoal()],
    "target": [FrameGoal("left_rod:tip", T=(4.0, 0, 1.0), along="xz")],
    "posture": [JointGoal(name, 1.0, level="posture") for name in ("left_pivot", "left_knee", "right_pivot")],
}


STARTS = {"bent": {"j0": 0.1, "j1": 0.7, "j2": -0.5}, "stretched": {"j0": 0.0}, "": None}


@cache
def solved(levels: tuple[str, ...], start: str = "") -> Any:
    """The arm from a start, or the five-bar, with what these levels want."""
    model, wants = (planar_arm(), OF_ARM) if start else (five_bar(), OF_FIVE_BAR)
    goals = [goal for level in levels if level != "limits" for goal in wants[level]]
    # where limits are all there is, a goal that wants nothing
    goals = goals or [JointGoal("j0" if start else "left_pivot", box=np.inf, level=9)]
    limits = wants["limits"] if "limits" in levels else None
    return inverse_kinematics(model, goals, limits=limits, q=STARTS[start])


@pytest.mark.parametrize(("higher", "lower"), [*itertools.combinations(OF_ARM, 2)])
@pytest.mark.parametrize("start", ["bent", "stretched"])
def test_a_lower_level_costs_a_higher_one_nothing(higher: str, lower: str, start: str) -> None:
    """M15, of an open chain, at a singular pose, too."""
    alone, both, free = solved((higher,), start), solved((higher, lower), start), solved((lower,), start)
    assert errors_of(both)[higher] <= errors_of(alone)[higher] + UNCHANGED
    assert errors_of(both)[lower] > errors_of(free)[lower] + 1e-3  # they are in conflict


@pytest.mark.parametrize(("higher", "lower"), [*itertools.combinations(["loops", *OF_FIVE_BAR], 2)])
def test_all_fifteen_conflicts_with_a_loop(higher: str, lower: str) -> None:
    """M15: invariant > limit > lock > potential > target > posture, each against each."""
    both = solved((higher, lower) if higher != "loops" else (lower,))
    assert shiftjax.configuration(five_bar(), both.coordinates).gap <= 1e-14
    if higher != "loops":
        assert errors_of(both)[higher] <= errors_of(solved((higher,)))[higher] + UNCHANGED
        assert errors_of(both)[lower] > errors_of(solved((lower,)))[lower] + 1e-3


def test_all_levels_at_once_of_many_members() -> None:
    """F17: 1 000 poses a call; each is what it is alone."""
    rng = np.random.default_rng(0)
    T = np.stack([rng.uniform(0.0, 1.5, 1000), np.zeros(1000), rng.uniform(0.5, 2.5, 1000)], axis=1)

    def goals(T: np.ndarray) -> list[Any]:
        return [FrameGoal("left_rod:tip", T=T, along="xz"), JointGoal("left_pivot", -1.9, level="posture")]

    limits = {"left_pivot": (-2.4, -1.2), "right_pivot": (-2.0, -0.4)}
    many = inverse_kinematics(five_bar(), goals(T), limits=limits)
    at = shiftjax.configuration(five_bar(), many.coordinates)
    assert at.gap.max() <= 1e-14
    place = at.pose("left_rod:tip")[:, :3, 3]
    np.testing.assert_allclose(place[many.reached], T[many.reached], atol=ROUNDING)
    assert 200 < many.reached.sum() < 1000
    for name, (low, high) in limits.items():
        assert (many.q[f"five:{name}"] >= low - ROUNDING).all()
        assert (many.q[f"five:{name}"] <= high + ROUNDING).all()
    for k in (0, 1, *np.flatnonzero(~many.reached)[:3]):
        one = inverse_kinematics(five_bar(), goals(T[k]), limits=limits)
        assert one.missed["target"] == pytest.approx(many.missed["target"][k], abs=1e-9)
        assert bool(one.messages) == (not many.reached[k])


def test_an_arm_reaches_what_it_can() -> None:
    """iiwa 14, random reachable poses within limits; bench_inverse_kinematics.py runs 10 000 (kinematics, row 15)."""
    model, ends = iiwa()
    angles = np.random.default_rng(1).uniform(-ends, ends, (200, 7))
    wanted = shiftjax.configuration(model, {f"j{k}": angles[:, k] for k in range(7)}).pose("l6:tip")
    goal = FrameGoal("l6:tip", T=wanted[:, :3, 3], R=wanted[:, :3, :3])
    limits = {f"j{k}": (-end, end) for k, end in enumerate(ends)}
    result = inverse_kinematics(model, [goal], limits=limits, q={"j1": 0.3, "j3": 0.6, "j5": 0.4}, tries=30)
    assert result.reached.all()
    assert (np.abs(result.coordinates) <= ends).all()
    pose = shiftjax.configuration(model, result.coordinates).pose("l6:tip")
    np.testing.assert_allclose(pose, wanted, atol=ROUNDING)
    first = inverse_kinematics(model, [goal], limits=limits, q={"j1": 0.3, "j3": 0.6, "j5": 0.4})
    assert 0.9 < first.reached.mean() < 1.0
    assert "`tries`" in first.messages[int(np.flatnonzero(~first.reached)[0])]


def test_an_arm_that_cannot_reach_stretches_and_stays() -> None:
    """M23, M26: the nearest pose, without swinging about it; the distance is exact."""
    result = inverse_kinematics(planar_arm(), [FrameGoal("l2:tip", T=(4, 0, 1), along="xz")], q={"j1": 0.5, "j2": 0.3})
    assert not result.reached
    assert np.hypot(*result.by_goal) == pytest.approx(np.hypot(4, 1) - 3.0, abs=1e-9)
    assert max(abs(float(result.q[f"arm:j{k}"])) for k in (1, 2)) < 1e-4
    assert result.iterations < 150


def test_an_arm_that_points_at_its_goal_bends() -> None:
    """Stretched towards a goal within reach nothing has a slope: it is no minimum, and is left."""
    result = inverse_kinematics(planar_arm(), [FrameGoal("l2:tip", T=(1.5, 0, 0), along="xz")])
    assert result.reached


def test_a_platform_on_six_legs() -> None:
    """A parallel robot: all joints of its legs follow, loops closed to rounding."""
    model = shiftjax.load("stewart")
    at = shiftjax.configuration(model).pose("platform")
    rng = np.random.default_rng(2)
    T = at[:3, 3] + rng.uniform(-0.05, 0.05, (40, 3))
    turned = np.array([[np.cos(0.1), -np.sin(0.1), 0], [np.sin(0.1), np.cos(0.1), 0], [0, 0, 1]]) @ at[:3, :3]
    result = inverse_kinematics(model, [FrameGoal("platform", T=T, R=turned)])
    there = shiftjax.configuration(model, result.coordinates)
    assert result.reached.all()
    assert there.gap.max() < 1e-14
    np.testing.assert_allclose(there.pose("platform")[:, :3, 3], T, atol=ROUNDING)
    np.testing.assert_allclose(there.pose("platform")[:, :3, :3], np.broadcast_to(turned, (40, 3, 3)), atol=ROUNDING)


def test_regions() -> None:
    """D23: within a region nothing moves, beside it the frame goes to its edge."""
    model, q = planar_arm(), {"j0": 0.1, "j1": 0.7, "j2": -0.5}
    place = shiftjax.configuration(model, q).pose("l2:tip")[:3, 3]
    goal = FrameGoal("l2:tip", T=place + np.array([0.01, 0, 0.02]), along="xz", box=(0.05, 0, 0.05))
    inside = inverse_kinematics(model, [goal], q=q)
    assert inside.reached
    assert inside.iterations == 0
    beside = inverse_kinematics(
        model, [FrameGoal("l2:tip", T=place + np.array([0.2, 0, 0]), along="xz", box=(0.05, 0, 0.05))], q=q
    )
    moved = shiftjax.configuration(model, beside.coordinates).pose("l2:tip")[:3, 3] - place
    assert beside.reached
    assert moved[0] == pytest.approx(0.15, abs=ROUNDING)
    assert abs(moved[2]) <= 0.05 + ROUNDING
    half_open = JointGoal("j0", 0.0, box=(-np.inf, -0.3))
    assert inverse_kinematics(model, [half_open], q=q).q["arm:j0"] == pytest.approx(-0.3, abs=ROUNDING)


def test_weights_shift_the_compromise() -> None:
    """M17: of two goals that exclude each other the heavier one is missed by less, the more so the heavier it is."""
    missed = []
    for weight in (0.3, 1.0, 3.0, 10.0):
        goals = [
            FrameGoal("l2:tip", T=(2, 0, 0), along="xz"),
            FrameGoal("l1:tip", T=(-2, 0, 0), along="xz", weight=weight),
        ]
        result = inverse_kinematics(planar_arm(), goals, q={"j0": 0.4, "j1": 0.9, "j2": -1.2})
        missed.append(np.hypot(*result.by_goal[2:]) / weight)
    assert (np.diff(missed) < 0).all()


def test_the_center_of_mass_and_levels_between() -> None:
    """Levels are numbers: a goal on 2.5 is met as far as the targets on 2 let it."""
    goals = [FrameGoal("l2:tip", T=(1.5, 0, 0.5), along="xz"), CenterGoal((0.2, 0, 0), along="x", level=2.5)]
    result = inverse_kinematics(planar_arm(), goals, q={"j0": 0.3, "j1": 0.7, "j2": -0.5})
    at = shiftjax.configuration(planar_arm(), result.coordinates)
    np.testing.assert_allclose(at.pose("l2:tip")[[0, 2], 3], [1.5, 0.5], atol=ROUNDING)
    # the one freedom that is left, looked at all round
    every = shiftjax.configuration(planar_arm(), np.array(_elbows(1.5, 0.5))).center_of_mass()
    best = np.abs(every[:, 0] - 0.2).min()
    assert result.by_goal[2] == pytest.approx(best, abs=2e-3)


def _elbows(x: float, z: float) -> list[np.ndarray]:
    """Poses of the arm whose tip is there, by the direction of its last rod."""
    out = []
    for angle in np.linspace(-np.pi, np.pi, 721):
        wrist = np.array([x - np.cos(angle), z + np.sin(angle)])  # Ry turns x to -z
        far = np.hypot(*wrist)
        if far <= 2.0:
            bend = 2.0 * np.arccos(far / 2.0)
            for sign in (-1.0, 1.0):
                first = -np.arctan2(wrist[1], wrist[0]) - 0.5 * sign * bend
                out.append(np.array([first, sign * bend, angle - first - sign * bend]))
    return out


def test_the_least_energy_is_an_equilibrium() -> None:
    """M18, M20: with a loop, by Newton's method on the Lagrangian."""
    result = inverse_kinematics(shiftjax.load("four_bar"), [PotentialGoal()])
    rest = shiftjax.equilibrium("four_bar")
    for path, value in rest.q.items():
        assert result.q[path] == pytest.approx(value, abs=1e-8)


def test_coordinates_of_an_open_chain_are_put_where_they_are_wanted() -> None:
    """M20: nothing is iterated; the most important level decides each, by weights, and within limits."""
    rng = np.random.default_rng(3)
    first = rng.normal(size=40)
    goals = [
        JointGoal("j0", first), JointGoal("j0", 0.4, level="posture"),
        JointGoal("j1", 0.3, weight=2.0), JointGoal("j1", first),
        JointGoal("j2", 5.0), JointGoal("j2", level="posture"),
    ]  # fmt: skip
    result = inverse_kinematics(planar_arm(), goals, limits={"j2": (-1.0, 1.0)})
    assert not result.iterations.any()
    q = {path.rpartition(":")[2]: values for path, values in result.q.items()}
    np.testing.assert_array_equal(q["j0"], first)
    np.testing.assert_allclose(q["j1"], (4.0 * 0.3 + first) / 5.0, rtol=0, atol=ROUNDING)
    assert (q["j2"] == 1.0).all() and not result.reached.any()
    missed = np.sqrt((2.0 * (0.3 - q["j1"])) ** 2 + (first - q["j1"]) ** 2 + 4.0**2)
    np.testing.assert_allclose(result.missed["target"], missed, rtol=0, atol=ROUNDING)
    held = inverse_kinematics(planar_arm(), [JointGoal("j0", 0.3), JointGoal("j1")], q={"j1": 0.7})
    assert held.reached and not held.iterations and held.q["arm:j1"] == 0.7


def test_joints_without_goals_hang_where_energy_is_least() -> None:
    """M20: with a potential the others of an open chain go to an equilibrium of their own."""
    result = inverse_kinematics(planar_arm(), [JointGoal("j0", 0.5, level="lock"), PotentialGoal()], q={"j1": 0.3})
    at = shiftjax.configuration(planar_arm(), result.coordinates)
    forces = dict(zip(at.speed_names, np.asarray(at.gravity_forces()), strict=True))
    assert result.q["arm:j0"] == pytest.approx(0.5, abs=ROUNDING)
    assert max(abs(forces[name]) for name in ("arm:j1", "arm:j2")) < 1e-7 and abs(forces["arm:j0"]) > 1.0


def test_designs_that_vary_have_goals_of_their_own() -> None:
    lengths = np.array([0.8, 1.0, 1.2])
    goal = FrameGoal("l2:tip", T=np.array([[1.0, 0, 0.5], [1.2, 0, 0.2], [0.3, 0, 1.5]]), along="xz")
    result = inverse_kinematics(planar_arm(), [goal], vary={"l0:tip.T[0]": lengths}, q={"j1": 0.6, "j2": 0.4})
    assert result.reached.all()
    at = shiftjax.configuration(planar_arm(), result.coordinates, vary={"l0:tip.T[0]": lengths})
    np.testing.assert_allclose(at.pose("l2:tip")[:, [0, 2], 3], goal.T[:, [0, 2]], atol=ROUNDING)


@pytest.mark.parametrize(
    ("goals", "options", "says"),
    [
        ([], {}, "Give at least one"),
        ("tip", {}, "FrameGoal"),
        ([FrameGoal("l2:tip")], {}, "neither T nor R"),
        ([FrameGoal("l2:tap", T=(0, 0, 0))], {}, "l2:tip"),
        ([FrameGoal("l2:tip", T=(0, 0, 0), along="xx")], {}, "different letters"),
        ([FrameGoal("l2:tip", T=(0, 0, 0), weight=-1)], {}, "positive"),
        ([FrameGoal("l2:tip", T=(0, 0, 0), level="aim")], {}, "posture"),
        ([FrameGoal("l2:tip", T=(0, 0, 0), box=(1, 2))], {}, "Half widths"),
        ([JointGoal("elbow", 1.0)], {}, "elbow"),
        ([JointGoal("j0", np.nan)], {}, "goals[0].value"),
        ([JointGoal("j0", [1.0, 2.0]), JointGoal("j1", [1.0, 2.0, 3.0])], {}, "one length for all"),
        ([PotentialGoal(level="target"), JointGoal("j0", 1.0)], {}, "level of its own"),
        ([JointGoal("j0", 1.0)], {"limits": {"j0": (1.0, 0.0)}}, "low <= high"),
        ([JointGoal("j0", 1.0)], {"limits": {"j0": 1.0}}, "(low, high)"),
        ([JointGoal("j0", 1.0)], {"tries": 0}, "from 1 to"),
        (None, {}, "FrameGoal"),
        ([FrameGoal("l2:tip", T=(np.nan, 0, 0))], {}, "goals[0].T"),
        ([FrameGoal("l2:tip", T=(1.0, 0))], {}, "goals[0].T"),
        ([FrameGoal("l2:tip", T=(1.0, 0, 0), turn=0.1)], {}, "without R"),
        ([JointGoal("j0", 1.0)], {"limits": 3}, "limits"),
        ([JointGoal("j0", 1.0)], {"limits": {"j0": (0, 1), "arm:j0": (0, 2)}}, "twice"),
        ([JointGoal("j0", 1.0)], {"limits": {"j0": (np.zeros(2), np.ones(3))}}, "one length for all"),
        ([JointGoal("j0", [1.0, 2.0])], {"vary": {"l0.mass": [1.0, 2.0, 3.0]}}, "one length for all"),
    ],
)  # fmt: skip
def test_what_cannot_be_is_refused(goals: Any, options: dict[str, Any], says: str) -> None:
    with pytest.raises(ModelError) as error:
        inverse_kinematics(planar_arm(), goals, **options)
    assert says in str(error.value)


def test_the_command(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """In any units, with exit codes; what is out of reach says what is missed."""
    file = str(tmp_path / "arm.json")
    shiftjax.save(planar_arm(), file)
    begin = ["--begin", "j1=40deg", "--begin", "j2=20deg"]
    assert (
        main(["ik", file, "--place", "l2:tip=1500mm,-,0.5", "--limit", "j0=-:10deg", "--posture", "j0=0", *begin]) == 0
    )
    assert "reached" in capsys.readouterr().out
    assert main(["ik", file, "--place", "l2:tip=4,-,0", "--lock", "j0", "--json", *begin]) == 3
    said = json.loads(capsys.readouterr().out)
    assert not said["reached"]
    assert said["missed"]["l2:tip along x [m]"] == pytest.approx(-1.0, abs=1e-6)
    assert said["q"]["arm:j0"] == 0.0
    assert main(["ik", file, "--place", "l2:tip=1,2"]) == 2
    assert "X,Y,Z" in capsys.readouterr().err
    assert main(["ik", file, "--joint", "j0=30mm"]) == 2


def test_stops_of_the_model_are_limits() -> None:
    """Unless a call names others; they may vary."""
    builder = shiftjax.ModelBuilder()
    rows = builder.assembly("lever")
    rows.body("bar", mass=1.0, inertia=(1e-2, 1e-2, 1e-2))
    rows.joint("pin", "Ry", child="bar")
    rows.force("end", "stop", joint="pin", lower=-0.4, upper=0.3, k=1e3, c=1.0, blend=1e-3)
    model, goal = builder.build(), JointGoal("pin", 1.0)
    assert inverse_kinematics(model, [goal]).q["lever:pin"] == pytest.approx(0.3, abs=ROUNDING)
    assert inverse_kinematics(model, [goal], limits={"pin": (None, 0.7)}).q["lever:pin"] == pytest.approx(0.7)
    many = inverse_kinematics(model, [goal], vary={"end.upper": np.array([0.2, 0.5])})
    assert many.q["lever:pin"] == pytest.approx([0.2, 0.5], abs=ROUNDING)


def test_goals_that_follow_from_others() -> None:
    """Rows that depend on each other, of consistent goals and at singular poses, stop no member."""
    crank = np.linspace(1.3, 1.7, 30)
    rocker = shiftjax.follow("four_bar", {"crank_pivot": crank}, channels=["rocker_pivot.q"]).channels["rocker_pivot.q"]
    both = [JointGoal("crank_pivot", crank), JointGoal("rocker_pivot", rocker)]
    assert inverse_kinematics("four_bar", both).reached.all()
    twice = [JointGoal("j0", 0.4), JointGoal("j0", 0.4), JointGoal("j1", 0.2, level="posture")]
    assert inverse_kinematics(planar_arm(), twice).reached
    folded = inverse_kinematics(planar_arm(), [FrameGoal("l1:tip", T=(0, 0, 0), along="xz")], q={"j1": 2.0})
    assert folded.reached
    assert abs(abs(folded.q["arm:j1"]) - np.pi) < 1e-4  # a double root: known to the root of a rounding


def test_what_falls_for_ever_is_not_reached() -> None:
    builder = shiftjax.ModelBuilder(gravity=(0, 0, -9.81))
    rows = builder.assembly("lift")
    rows.body("box", mass=1.0, inertia=(1e-2, 1e-2, 1e-2))
    rows.joint("rail", "Tz", child="box")
    result = inverse_kinematics(builder.build(), [PotentialGoal()])
    assert not result.reached
    assert "falls" in str(result.messages)


def test_goals_of_functions_of_ones_own() -> None:
    """D21: an expression of channels at a value or in a region, and a lane function, on any level."""
    goals = [
        FunctionGoal("norm(l2:tip.position)", 1.7, level=0),
        FunctionGoal("j0.q + j1.q + j2.q == 0.5"),
        FunctionGoal("j1.q", box=(0.9, np.inf), level="posture"),
    ]
    result = inverse_kinematics(planar_arm(), goals, q={"j1": 0.7, "j2": -0.5})
    at = shiftjax.configuration(planar_arm(), result.coordinates)
    assert result.labels[0] == "norm(l2:tip.position) [m]"
    assert np.linalg.norm(at.pose("l2:tip")[:3, 3]) == pytest.approx(1.7, abs=ROUNDING)
    assert result.coordinates.sum() == pytest.approx(0.5, abs=ROUNDING)

    def bends(state: Any) -> list[Any]:
        return [state.q[1] * state.q[2], state.q[1] - state.q[2]]

    both = inverse_kinematics(planar_arm(), FunctionGoal(bends, [0.2, 0.25], unit="rad"), q={"j1": 0.7, "j2": 0.4})
    product, difference = both.coordinates[:, 1] * both.coordinates[:, 2], both.coordinates @ [0.0, 1.0, -1.0]
    np.testing.assert_allclose([product, difference], [[0.2, 0.25]] * 2, rtol=0, atol=ROUNDING)


@pytest.mark.parametrize(
    ("goal", "says"),
    [
        (FunctionGoal("j0.v"), "depends on speeds"),
        (FunctionGoal("j0.a"), "accelerations"),
        (FunctionGoal("t - 1"), "depends on the time"),
        (FunctionGoal("l2:tip.position"), "one number"),
        (FunctionGoal("elbow.q"), "elbow"),
        (FunctionGoal("j0.q", unit="m"), "channels have units"),
        (FunctionGoal(3.0), "a function of a LaneState"),
        (FunctionGoal(lambda at: at.elbow), "shiftjax.algebra"),
        (FunctionGoal("j0.q", box=(1.0, -1.0)), "Exchange"),
    ],
)
def test_functions_that_are_no_goals_are_refused(goal: Any, says: str) -> None:
    with pytest.raises(ModelError) as error:
        inverse_kinematics(planar_arm(), goal)
    assert says in str(error.value)


def test_limits_of_a_joint_that_closes_a_loop_hold() -> None:
    """M4: it keeps its coordinate where the loop is cut, so that its limits are those of any joint."""
    goal = FrameGoal("left_rod:tip", T=(0.5, 0, 1.0), along="xz")
    free = inverse_kinematics(five_bar(), goal)
    assert free.reached and free.q["five:tool"] < -2.3
    held_back = inverse_kinematics(five_bar(), goal, limits={"tool": (-2.0, -1.0)})
    assert held_back.q["five:tool"] == pytest.approx(-2.0, abs=10 * ROUNDING)  # 2e-11 with NumPy 2.5
    assert shiftjax.configuration(five_bar(), held_back.coordinates).gap <= 1e-14
    stated = shiftjax.Editor(five_bar()).limit("tool", -2.0, -1.0).model
    np.testing.assert_array_equal(inverse_kinematics(stated, goal).coordinates, held_back.coordinates)


def test_a_posture_goes_along_the_edges_of_a_region_above_it() -> None:
    """D23: the best place in a region for a lower level is at a corner of it or on an edge, as SLSQP finds it; an edge
    that is pressed no more is let go."""
    model, begin, target = planar_arm(), {"j1": 0.7, "j2": -0.5}, np.array([1.5, -0.5])

    def place(q: Any) -> np.ndarray:
        return shiftjax.configuration(model, q).pose("l2:tip")[[0, 2], 3]

    for wanted in ((-1.0, 0.1), (0.8, 0.1), (0.1, -0.9)):
        goals: list[Any] = [JointGoal(name, x, level="posture") for name, x in zip(("j0", "j2"), wanted, strict=True)]
        goals.append(FrameGoal("l2:tip", T=(1.5, 0, -0.5), along="xz", box=(0.05, 0, 0.05)))
        result = inverse_kinematics(model, goals, q=begin)
        oracle = minimize(
            lambda q, wanted=wanted: 0.5 * ((q[0] - wanted[0]) ** 2 + (q[2] - wanted[1]) ** 2), result.coordinates,
            constraints=[{"type": "ineq", "fun": lambda q: 0.05 - np.abs(place(q) - target)}], method="SLSQP",
            options={"ftol": 1e-14, "maxiter": 300},
        )  # fmt: skip
        assert result.missed["target"] <= ROUNDING
        assert 0.5 * result.missed["posture"] ** 2 == pytest.approx(oracle.fun, abs=1e-9)


@pytest.mark.parametrize(("limits", "rest"), [(None, 0.0), ((0.2, 0.5), 0.2), ((-0.5, -0.3), -0.3)])
def test_a_stiff_joint_rests_at_zero_or_at_its_nearest_limit(limits: Any, rest: float) -> None:
    """M19: a spring that states no rest pulls to 0, and where limits keep the joint from there, to the nearest one."""
    builder = shiftjax.ModelBuilder()
    rows = builder.assembly("lever")
    rows.body("bar", mass=1.0, inertia=(1e-2, 1e-2, 1e-2))
    rows.joint("pin", "Ry", child="bar", initial_displacement=0.4, **({} if limits is None else {"limits": limits}))
    rows.force("spring", "joint_spring", joint="pin", k=3.0)
    result = inverse_kinematics(builder.build(), PotentialGoal())
    assert result.reached
    assert result.q["lever:pin"] == pytest.approx(rest, abs=1e-9)


def test_loops_that_cannot_close_open_by_as_little_as_can_be() -> None:
    """M13: two chains of 2.5 m, 7 m apart: both stretch along the line and miss by 2 m at the joint that closes them;
    joints of the tree are exact, a lower level costs the gap nothing, and loops that close are as ever."""
    apart = np.array([1.0, 7.0])
    goal = FrameGoal("left_rod:tip", T=(0.5, 0.0, 1.0), along="xz")
    result = inverse_kinematics(five_bar(), goal, vary={"fixed:right.T[0]": apart}, open_loops=True)
    assert list(result.status) == [0, shiftjax.Outcome.not_assembled]
    assert list(result.reached) == [True, False]
    assert result.gap == pytest.approx([0.0, 2.0], abs=1e-9)
    rows = [k for k, label in enumerate(result.labels) if label.startswith("five:tool opens")]
    assert np.sort(np.abs(result.by_goal[1, rows])) == pytest.approx([0.0] * 5 + [2.0], abs=1e-6)
    assert "five:tool opens" in result.messages[1]
    assert np.sin(result.coordinates[1, :4]) == pytest.approx(0.0, abs=1e-4)  # stretched, a double root
    closed = inverse_kinematics(five_bar(), goal)
    assert result.q["five:left_pivot"][0] == pytest.approx(float(closed.q["five:left_pivot"]), abs=1e-8)
    plain = inverse_kinematics(five_bar(), goal, vary={"fixed:right.T[0]": apart})
    assert np.isnan(plain.coordinates[1]).all()
