"""`load_path`: equilibria along a load, snap-through and buckling, other branches. Row 13 of kinematics, M8b."""

from typing import Any

import numpy as np
import pytest

import shiftjax
from shiftjax.errors import ModelError
from shiftjax.formats.builder import ModelBuilder
from shiftjax.mechanism.model import Model
from shiftjax.outcome import Outcome
from tests.statics.test_equilibrium import ARCH, REST, B, falling, resistance

FORCE = 1e-10  # N: row 13
CRITICAL = 1e-10  # relative, of places and loads at which mechanisms snap or buckle
ROUNDING = 1e-12
LENGTH, TORSION = 0.5, 40.0  # m, N m/rad
SNAP = float(np.sqrt((REST * B * B) ** (2.0 / 3.0) - B * B))
MOST = float(resistance(SNAP))


def column() -> Model:
    """Two links on the z axis, a torsion spring on the pin between them, pressed by a slide at the top."""
    builder = ModelBuilder(gravity=(0.0, 0.0, 0.0))
    a = builder.assembly("column")
    light = {"mass": 1.0, "inertia": (0.1,) * 3}
    for name in ("lower", "upper"):
        a.body(name, frames={"tip": (0.0, 0.0, LENGTH)}, **light)
    a.body("head", **light)
    a.joint("foot", "Ry", child="lower").joint("pin", "Ry", parent=("lower", "tip"), child="upper")
    a.joint("slide", "Tz", child="head", initial_displacement=2.0 * LENGTH)
    a.joint("top", "Ry", parent=("upper", "tip"), child="head")
    a.force("spring", "joint_spring", joint="pin", k=TORSION)
    a.force("load", "constant_load", joint="slide", load=0.0)
    return builder.build()


COLUMN = column()


def test_an_arch_is_followed_through_both_snaps() -> None:
    """P(y) = 2 k (L / sqrt(b^2 + y^2) - 1) y along the whole path, snaps at y* on both sides (row 13)."""
    path = shiftjax.load_path(ARCH, {"load.load": (0.0, -1.2 * MOST)}, channels=["way.q"])
    y, P = path.q["arch:way"][0], -path.loads["arch:load.load"][0]
    here = np.isfinite(y)
    assert path.ends == ("the load factor 1 is reached",) and path.factor[0, here][-1] == 1.0
    assert np.abs(resistance(y[here]) - P[here]).max() < FORCE
    assert [pose.kind for pose in path.critical] == ["limit", "limit"]
    for pose, side in zip(path.critical, (1.0, -1.0), strict=True):
        assert pose.q["arch:way"] == pytest.approx(side * SNAP, rel=CRITICAL)
        assert pose.loads["arch:load.load"] == pytest.approx(-side * MOST, rel=CRITICAL)
    assert ((path.stability[0, here] == "stable") == (np.abs(y[here]) > SNAP)).all()
    assert y[0] == pytest.approx(np.sqrt(REST**2 - B**2)) and y[here].min() < -SNAP  # both stable sides
    assert np.array_equal(path.result.channels["way.q"][0, here], y[here])
    assert repr(path).startswith("Load path of model: 1 curves of 1 members")


def test_a_column_buckles_to_both_sides() -> None:
    """P = 2 k / L; on the branch, at the angle t of the links, P = 2 k t / (L sin t): it bears more and is stable."""
    buckling = 2.0 * TORSION / LENGTH
    path = shiftjax.load_path(
        COLUMN, {"load.load": (0.0, -1.5 * buckling)}, poses=60, limits=(-0.1, 1.0), channels=["foot.reaction_force"]
    )
    (pose,) = path.critical
    assert pose.kind == "branch" and pose.curve == 0
    assert pose.loads["column:load.load"] == pytest.approx(-buckling, rel=CRITICAL)
    assert np.abs([pose.q["column:foot"], pose.q["column:pin"]]).max() < ROUNDING
    assert pose.direction["column:foot"] == pytest.approx(-0.5 * pose.direction["column:pin"], rel=1e-9)
    assert path.member.tolist() == [0, 0, 0] and path.begins.tolist() == [-1, 0, 0]
    straight, *sides = range(3)
    assert np.nanmax(np.abs(path.q["column:foot"][straight])) < ROUNDING
    loaded = path.factor[straight] * 1.5
    stays = np.isfinite(loaded)
    assert ((path.stability[straight, stays] == "stable") == (loaded[stays] < 1.0)).all()
    for side in sides:
        t, P = path.q["column:foot"][side, 1:], -path.loads["column:load.load"][side, 1:]
        here = np.isfinite(t)
        assert here.sum() > 5 and np.abs(P - 2.0 * TORSION * t / (LENGTH * np.sin(t)))[here].max() < CRITICAL * buckling
        assert (path.stability[side, 1:][here] == "stable").all()
        bears = path.channels["foot.reaction_force"][side, 1:, 2]
        assert np.abs(bears - P)[here].max() < CRITICAL * buckling  # the foot bears the load
    first, second = (path.q["column:foot"][side, 1] for side in sides)
    assert first == pytest.approx(-second, rel=1e-9)


def test_a_member_of_a_batch_is_one_alone() -> None:
    k = [TORSION, 1.5 * TORSION]
    load = {"load.load": (0.0, -600.0)}
    given = {"poses": 20, "distance": 0.1}
    every = shiftjax.load_path(COLUMN, load, vary={"spring.k": k}, **given)
    for member, stiffness in enumerate(k):
        alone = shiftjax.load_path(COLUMN, load, vary={"spring.k": [stiffness]}, **given)
        curves = every.member == member
        assert np.array_equal(every.factor[curves], alone.factor, equal_nan=True)
        assert np.array_equal(every.q["column:pin"][curves], alone.q["column:pin"], equal_nan=True)
        (pose,) = alone.critical
        assert pose.loads["column:load.load"] == pytest.approx(-2.0 * stiffness / LENGTH, rel=CRITICAL)


def test_a_length_is_a_load_too() -> None:
    """Loops that a growing length moves: the path is that of equilibria, one by one."""
    path = shiftjax.load_path("four_bar", {"coupler:tip.T[0]": (0.48, 0.52)}, poses=60, distance=0.02)
    here = np.isfinite(path.factor[0])
    assert path.ends == ("the load factor 1 is reached",)
    lengths = path.loads["four_bar:coupler:tip.T[0]"][0, here]
    stand = shiftjax.equilibrium("four_bar", vary={"coupler:tip.T[0]": lengths})
    for coordinate, q in stand.q.items():
        assert np.abs(path.q[coordinate][0, here] - q).max() < ROUNDING, coordinate
    assert np.nanmax(path.result.certificate["gap"]) < ROUNDING


def test_curves_can_be_seen_and_drawn() -> None:
    pytest.importorskip("matplotlib").use("agg")
    path = shiftjax.load_path(COLUMN, {"load.load": (0.0, -200.0)}, poses=15, distance=0.1, keep=[1])
    assert path.result.poses["column:lower"].shape == (1, 15, 7) and path.result.settings["parameter"] == "pose"
    figure = path.plot("pin")
    (panel,) = figure.axes
    assert panel.get_xlabel() == "column:pin [rad]" and len(panel.lines) == 2 * 3 + 1
    with pytest.raises(ModelError, match="Did you mean 'pin'"):
        path.plot("pinn")


def test_what_cannot_be_followed_is_said() -> None:
    with pytest.raises(ModelError, match="a pair"):
        shiftjax.load_path(ARCH, {"load.load": 3.0})  # type: ignore[dict-item]
    with pytest.raises(ModelError, match="two different"):
        shiftjax.load_path(ARCH, {"load.load": (1.0, 1.0)})
    with pytest.raises(ModelError, match="around 0"):
        shiftjax.load_path(ARCH, {"load.load": (0.0, 1.0)}, limits=(0.5, 1.0))
    down = {"load.load": (0.0, -100.0)}
    wrongs: list[dict[str, Any]] = [{"distance": "far"}, {"distance": True}, {"limits": 3}, {"limits": ("a", "b")}]
    for wrong in wrongs:
        with pytest.raises(ModelError, match=next(iter(wrong))):
            shiftjax.load_path(ARCH, down, **wrong)
    with pytest.raises(ModelError, match=r"vary block\.mass"):
        shiftjax.load_path(ARCH, down, vary={"block.mass": 1.0})
    with pytest.raises(ModelError, match="that varies, too"):
        shiftjax.load_path(ARCH, down, vary={"arch:load.load": [1.0, 2.0]})
    with pytest.raises(ModelError, match="a load twice"):
        shiftjax.load_path(ARCH, down | {"arch:load.load": (0.0, 1.0)})
    with pytest.raises(ModelError, match="where a joint begins"):
        shiftjax.load_path(ARCH, {"way.initial_displacement": (0.5, 0.6)})
    falls = shiftjax.load_path(falling(), {"block.mass": (1.0, 2.0)})
    assert falls.status.tolist() == [Outcome.no_equilibrium] and "still move a:way" in falls.result.messages[0]
    assert np.isnan(falls.factor).all() and falls.ends == ("there is no equilibrium under the first load",)


def test_a_wheel_that_turns_freely_hides_no_path() -> None:
    """A suspension is loaded to twice its weight: poses are its equilibria, and the note says what was not sought."""
    gravity = {"model_parameters.gravity[2]": (9.81, 19.62)}
    path = shiftjax.load_path("double_wishbone", gravity, poses=60, distance=0.1)
    here = np.isfinite(path.factor[0])
    assert path.ends == ("the load factor 1 is reached",) and not path.critical
    stand = shiftjax.equilibrium("double_wishbone", assign={"model_parameters.gravity[2]": 19.62})
    knee = "double_wishbone:lower_right_pivot"
    assert path.q[knee][0, here][-1] == pytest.approx(float(stand.q[knee]), abs=1e-9)
    assert "no stiffness at all" in path.result.notes[-1]


def test_a_steep_arch_leaves_its_way_before_it_snaps() -> None:
    """A block that is free to the side: 2 k (1 - L y^2 / r^3) = 0 there, on a curved path, with r^2 = b^2 + y^2."""
    b, rest, k = 0.3, 1.0, 100.0
    builder = ModelBuilder(gravity=(0.0, 0.0, 0.0))
    builder.frame("left", T=(-b, 0.0, 0.0)).frame("right", T=(b, 0.0, 0.0))
    a = builder.assembly("arch")
    a.body("slide", mass=0.1, inertia=(0.1,) * 3).body("block", mass=1.0, inertia=(0.1,) * 3)
    a.joint("side", "Tx", child="slide")
    a.joint("way", "Tz", parent="slide", child="block", initial_displacement=float(np.sqrt(rest**2 - b**2)))
    for name in ("left", "right"):
        a.restraint(name, "spring", frames=[("fixed", name), ("block", "origin")], coefficients=[[k, -k * rest]])
    a.force("load", "constant_load", joint="way", load=0.0)
    roots = np.roots([1.0, -rest, 0.0, rest * b * b])
    r = max(float(root.real) for root in roots if abs(root.imag) < 1e-12 and b < root.real < rest)
    y = np.sqrt(r * r - b * b)
    P = 2.0 * k * (rest / r - 1.0) * y
    path = shiftjax.load_path(builder.build(), {"load.load": (0.0, -100.0)}, poses=60)
    first = path.critical[0]
    assert first.kind == "branch" and first.q["arch:way"] == pytest.approx(y, rel=CRITICAL)
    assert first.loads["arch:load.load"] == pytest.approx(-P, rel=CRITICAL)
    assert abs(first.direction["arch:way"]) < 1e-8 and first.direction["arch:side"] == 1.0
    limit = next(pose for pose in path.critical if pose.curve == 0 and pose.kind == "limit")
    snap = np.sqrt((rest * b * b) ** (2.0 / 3.0) - b * b)
    assert limit.q["arch:way"] == pytest.approx(snap, rel=CRITICAL)  # later on, where it is unstable to the side
    assert path.stability[0, limit.pose] == "unstable"
    x, z = path.q["arch:side"][1:, 1:], path.q["arch:way"][1:, 1:]  # first ones are the branch points themselves
    pull = [k * (1.0 - rest / np.hypot(x - side, z)) for side in (-b, b)]
    here = np.isfinite(x)
    left = pull[0] * (x + b) + pull[1] * (x - b)
    down = (pull[0] + pull[1]) * z - path.loads["arch:load.load"][1:, 1:]
    assert here.sum() > 20 and np.abs(left[here]).max() < FORCE and np.abs(down[here]).max() < FORCE
