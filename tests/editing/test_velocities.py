"""What a mechanism can do where it was posed, to first order: screws, instant centres, ellipsoids of velocity, poses at
which loops lose rank. M65."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import shiftjax
from shiftjax import ModelBuilder
from shiftjax.editing.velocities import motion_finder
from shiftjax.editing.velocities.free_motions import FreeMotions
from shiftjax.kinematics.positioning.solving.lone_loops import LoneLoops
from shiftjax.mechanism.model import Model
from shiftjax.rotations import vector_of_rotation
from tests.support.models.flat_linkages import PARALLELOGRAM, linkage
from tests.support.models.mechanisms import rod
from tests.support.models.planar_four_bars import angles, four_bar

CLOSED_FORM = 1e-9  # m, rad: sums and one linear system of numbers near one, loops closed to 1e-12
PATH = 1e-6  # of differences with steps of 1e-4
COUPLER, CRANK, ROCKER = (f"four_bar:{name}" for name in ("coupler", "crank", "rocker"))
LENGTHS = (5.0, 4.0, 3.0, 6.0)  # of a linkage of bars that can lie in one line


def moved(bench: shiftjax.Workbench, body: str, joint: str = "", other: str = "fixed") -> Any:
    """The screw of a body, and the motions."""
    motions = bench.free_motions()
    return motions.screw(body, motions.led(joint), other)


def meeting(a: np.ndarray, b: np.ndarray, c: np.ndarray, d: np.ndarray) -> np.ndarray:
    """Where the line through two points of the plane x, z meets that through two others."""
    one, other = (b - a)[[0, 2]], (d - c)[[0, 2]]
    share = np.linalg.solve(np.stack([one, -other]).T, (c - a)[[0, 2]])
    return a + share[0] * (b - a)


@pytest.mark.parametrize("crank", [0.3, 1.7, 3.6, 5.2])
def test_the_instant_centre_of_a_coupler_is_where_the_cranks_lines_meet(crank: float) -> None:
    """Its rate is the velocity of the pin over the pin's distance; centres of three bodies are in line (Aronhold,
    Kennedy)."""
    bench = shiftjax.Workbench("four_bar").do("turn", "crank_pivot", crank)
    p = {body: bench.poses[body] for body in (COUPLER, CRANK, ROCKER)}
    pin, wrist = p[COUPLER][1], p[ROCKER][0] @ np.array([0.4, 0.0, 0.0]) + p[ROCKER][1]
    screw = moved(bench, COUPLER)
    assert screw.kind == "rotation" and screw.pitch == 0.0
    assert screw.point == pytest.approx(meeting(p[CRANK][1], pin, p[ROCKER][1], wrist), abs=CLOSED_FORM)
    assert screw.rate * np.linalg.norm(pin - screw.point) == pytest.approx(0.2, abs=CLOSED_FORM)  # by 1 rad of 0.2 m
    between = moved(bench, COUPLER, other=ROCKER)
    assert between.point == pytest.approx(wrist, abs=CLOSED_FORM)
    third = moved(bench, ROCKER)
    line = np.stack([screw.point, between.point, third.point])[:, [0, 2]]
    assert abs(np.linalg.det(line[1:] - line[0])) < CLOSED_FORM
    motions = bench.free_motions()
    assert motions.freedoms == motions.columns == 1 and motions.normal == pytest.approx([0.0, 1.0, 0.0])


def test_the_screw_of_a_screw_joint_has_its_pitch() -> None:
    """Along its axis, through its place, also as a body that is carried sees it."""
    builder = ModelBuilder().frame("nut", T=(0.1, 0.2, 0.3))
    rig = builder.assembly("rig")
    rig.body("spindle", **rod(1.0)).body("rider", **rod(1.0))
    rig.joint("thread", "screw", parent=("fixed", "nut"), child="spindle", axis=(0.0, 0.6, 0.8), pitch=0.02)
    rig.joint("rail", "Tx", parent="spindle", child="rider")
    bench = shiftjax.Workbench(builder.build()).do("turn", "thread", 1.2)
    screw = moved(bench, "rig:spindle", "rig:thread")
    assert screw.kind == "screw" and screw.pitch == pytest.approx(0.02, abs=CLOSED_FORM)
    assert screw.direction == pytest.approx([0.0, 0.6, 0.8], abs=CLOSED_FORM) and screw.rate == pytest.approx(1.0)
    off = screw.point - np.array([0.1, 0.2, 0.3])
    assert np.linalg.norm(np.cross(off, screw.direction)) < CLOSED_FORM
    slide = moved(bench, "rig:rider", "rig:rail", "rig:spindle")
    assert slide.kind == "translation" and slide.rate == pytest.approx(1.0, abs=CLOSED_FORM)
    assert slide.direction == pytest.approx(bench.poses["rig:spindle"][0][:, 0], abs=CLOSED_FORM)
    assert moved(bench, "rig:rider", "rig:thread", "rig:spindle").kind == "rest"


@pytest.mark.parametrize(("model", "body", "joint"), [("bennett", "link2", "joint1"), ("stewart", "platform", "leg_1"),
                                                      ("slider_crank", "slider", "crank_pivot")])  # fmt: skip
def test_screws_are_those_of_differences_of_poses(model: str, body: str, joint: str) -> None:
    """Of motions on the loops to either side; as ground sees it and as another body does."""
    bench = shiftjax.Workbench(model)
    full, first = bench.model.resolve(body), next(path for path, _ in bench.model.bodies())
    motions = bench.free_motions()
    led = motions.led(bench.model.resolve(joint))
    assert led.weights is not None
    h = 1e-4
    for other in ("fixed", first):
        sides = []
        for sign in (1.0, -1.0):
            there = shiftjax.Poser(model)
            poses = there.stand({name: x + sign * h * float(motions.rates[name] @ led.weights)
                                 for name, x in there.values.items()}).poses  # fmt: skip
            (R, p), (S, o) = poses[full], poses[other]
            sides.append((S.T @ R, S.T @ (p - o)))
        (R1, p1), (R0, p0) = sides
        S = bench.poses[other][0]
        w = S @ np.array(vector_of_rotation((R1 @ R0.T).tolist())) / (2.0 * h)
        u = S @ (p1 - p0) / (2.0 * h)
        screw = motions.screw(full, led, other)
        if screw.kind == "rest":
            assert np.abs([*w, *u]).max() < PATH
            continue
        turning = screw.rate if screw.kind in ("rotation", "screw") else 0.0
        assert w == pytest.approx(turning * screw.direction, abs=PATH)
        going = screw.rate * (screw.pitch if turning else 1.0) * screw.direction
        arm = bench.poses[full][1] - screw.point
        assert u == pytest.approx(np.cross(turning * screw.direction, arm) + going, abs=PATH)


def arm(*lengths: float, places: tuple[float, ...]) -> Model:
    """Bars in the plane x, y, one behind the other."""
    builder = ModelBuilder()
    rig, before = builder.assembly("arm"), "fixed"
    for k, (length, place) in enumerate(zip(lengths, places, strict=True)):
        rig.body(f"bar_{k}", **rod(length))
        parent = before if before == "fixed" else (before, "tip")
        rig.joint(f"pivot_{k}", "Rz", parent=parent, child=f"bar_{k}", initial_displacement=place)
        before = f"bar_{k}"
    return builder.build()


@pytest.mark.parametrize("elbow", [0.4, 1.5, -2.3])
def test_the_ellipsoid_of_two_bars_has_the_singular_values_of_their_jacobian(elbow: float) -> None:
    """J = [-a sin - b sin(+), -b sin(+); a cos + b cos(+), b cos(+)]; forces are dual: products are one."""
    a, b, shoulder = 0.7, 0.5, 0.3
    bench = shiftjax.Workbench(arm(a, b, places=(shoulder, elbow)))
    R, p = bench.poses["arm:bar_1"]
    one = bench.free_motions().ellipsoid("arm:bar_1", p + R @ np.array([b, 0.0, 0.0]))
    assert one is not None and dict(one.inputs) == {"arm:pivot_0": "rad", "arm:pivot_1": "rad"}
    both = shoulder + elbow
    column = np.array([-b * np.sin(both), b * np.cos(both)])
    J = np.stack([column + np.array([-a * np.sin(shoulder), a * np.cos(shoulder)]), column], axis=1)
    assert one.J[:2] == pytest.approx(J, abs=CLOSED_FORM) and np.abs(one.J[2]).max() < CLOSED_FORM
    sizes = np.linalg.svd(J, compute_uv=False)
    assert one.sizes == pytest.approx(sizes, abs=CLOSED_FORM) and one.condition == pytest.approx(sizes[0] / sizes[1])
    assert one.sizes * one.force_sizes == pytest.approx(1.0)
    assert one.sizes.prod() == pytest.approx(a * b * abs(np.sin(elbow)), abs=CLOSED_FORM)


def test_ellipsoids_are_lines_where_a_direction_is_lost() -> None:
    """A stretched arm goes across itself alone; one freedom has a line as long as its velocity ratio, which is no loss.
    Joints that are named are inputs before others; those that cannot be are left out."""
    bench = shiftjax.Workbench(arm(0.7, 0.5, places=(0.3, 0.0)))
    R, p = bench.poses["arm:bar_1"]
    lost = bench.free_motions().ellipsoid("arm:bar_1", p + R @ np.array([0.5, 0.0, 0.0]))
    assert lost is not None and np.isinf(lost.condition) and len(lost.sizes) == 1
    assert abs(lost.axes[:, 0] @ R[:, 1]) == pytest.approx(1.0)
    bench = shiftjax.Workbench("four_bar").do("turn", "crank_pivot", 0.7)
    pin = bench.poses[COUPLER][1]
    line = bench.free_motions().ellipsoid(COUPLER, pin)
    assert line is not None and line.sizes == pytest.approx([0.2]) and line.condition == 1.0
    by_rocker = bench.free_motions().ellipsoid(COUPLER, pin, ["four_bar:rocker_pivot"])
    assert by_rocker is not None and [*by_rocker.inputs] == ["four_bar:rocker_pivot"]
    ratio = moved(bench, ROCKER, "four_bar:crank_pivot").rate
    assert by_rocker.sizes == pytest.approx([0.2 / ratio])
    slide = shiftjax.Workbench("slider_crank").free_motions()
    guide = [name for name, unit in slide.units.items() if unit == "m"]
    one = slide.ellipsoid("slider_crank:slider", np.zeros(3), guide)
    assert one is not None and dict(one.inputs) == {guide[0]: "m"} and one.sizes == pytest.approx([1.0])


def test_a_direction_that_a_point_never_has_is_not_lost() -> None:
    """The first bar of an arm of two goes on circles, a cab by its slew alone; one end of a link on a sphere has the
    two directions of the sphere."""
    bench = shiftjax.Workbench(arm(0.7, 0.5, places=(0.3, 0.4)))
    elbow = bench.free_motions().ellipsoid("arm:bar_1", bench.poses["arm:bar_1"][1])
    assert elbow is not None and elbow.reach == 1 and elbow.sizes == pytest.approx([0.7]) and elbow.condition == 1.0
    bench = shiftjax.Workbench("excavator")
    motions = bench.free_motions()
    for body, reach in (("cab", 1), ("boom", 2), ("bucket", 3)):
        R, p = bench.poses[f"excavator:{body}"]
        one = motions.ellipsoid(body, p + R @ np.array([1.0, 0.2, 0.3]))
        assert one is not None and one.reach == len(one.sizes) == reach and np.isfinite(one.condition), body
    builder = ModelBuilder()
    rig = builder.assembly("rig").body("post", **rod(1.0)).body("hip", **rod(1.0)).body("leg", **rod(1.0))
    rig.joint("ball", "spherical", parent="fixed", child="post").joint("knee", "Ry", parent="post", child="hip")
    rig.joint("foot", "Rx", parent="hip", child="leg")
    on_sphere = shiftjax.Workbench(builder.build()).free_motions().ellipsoid("leg", np.array([0.3, 0.0, 0.4]))
    assert on_sphere is not None and on_sphere.reach == len(on_sphere.sizes) == 2 and np.isfinite(on_sphere.condition)


def test_what_is_locked_elsewhere_is_another_mechanism() -> None:
    """Two axes that meet at an angle lead a point over a sphere, where the joint between them is locked; locked
    straight, they are one axis, and the point has one direction at all poses."""
    builder = ModelBuilder()
    rig = builder.assembly("rig").body("one", **rod(1.0)).body("two", **rod(1.0)).body("three", **rod(1.0))
    rig.joint("a", "Rz", parent="fixed", child="one").joint("b", "Rx", parent="one", child="two")
    rig.joint("c", "Rz", parent="two", child="three", initial_displacement=0.7)
    bench = shiftjax.Workbench(builder.build())
    for place, reach in ((0.5, 2), (0.0, 1), (0.5, 2)):
        bench.do("turn", "b", place).do("lock", "b")
        point = bench.poses["rig:three"][0] @ np.array([0.4, 0.0, 0.0])
        one = bench.free_motions().ellipsoid("three", point)
        assert one is not None and one.reach == len(one.sizes) == reach, place
        bench.do("unlock", "b").free_motions()


def test_a_point_of_an_axis_stands_still_whatever_way_the_axis_has() -> None:
    """What is left of its velocity is rounding, and no force of 1e16 N."""
    bench = shiftjax.Workbench("bennett")
    for place in (0.3, 0.9):
        motions = bench.do("turn", "joint1", place).free_motions()
        screw = motions.screw("link3", motions.led())
        one = motions.ellipsoid("link3", screw.point + 0.3 * screw.direction)
        assert screw.kind == "rotation" and one is not None and not len(one.sizes) and one.reach == 0


def test_of_several_freedoms_a_joint_leads_or_the_last_motion() -> None:
    """Before either it is said how many there are. A joint goes by one, all else by the least change on the loops; the
    point that was dragged goes the way that it was dragged."""
    bench = shiftjax.Workbench("excavator")
    bucket, origin = "excavator:bucket", bench.poses["excavator:bucket"][1]
    motions = bench.free_motions()
    assert motions.columns == motions.freedoms == 4 and motions.normal is None
    led = motions.led()
    assert led.weights is None and led.text.startswith("4 freedoms: drag")
    with pytest.raises(shiftjax.ModelError, match="4 freedoms: drag a body"):
        motions.screw(bucket, led)
    with pytest.raises(shiftjax.ModelError, match="screw: body: found 'spade'"):
        motions.screw("spade", motions.led("slew"))
    with pytest.raises(shiftjax.ModelError, match="free motions: joint: found 'hinge'"):
        motions.led("hinge")
    with pytest.raises(shiftjax.ModelError, match="ellipsoid: point"):
        motions.ellipsoid("bucket", np.array([0.0, np.nan, 0.0]))
    led = motions.led("excavator:boom_pivot")
    assert led.weights is not None and "boom_pivot" in led.text
    assert motions.rates["excavator:boom_pivot"] @ led.weights == pytest.approx(1.0)
    row = motions.rates["excavator:boom_pivot"]  # no motion that leaves the joint alone makes it shorter
    assert np.linalg.svd(row[None])[2][1:] @ led.weights == pytest.approx(0.0, abs=CLOSED_FORM)
    for part in np.linspace(0.0, 1e-3, 3):
        bench.drag_on(bucket, [0, 0, 0], origin + part * np.array([0.6, 0.0, 0.8]))
        motions = bench.free_motions()
    led = motions.led()
    assert led.weights is not None and led.text == "of the last drag"
    way = motions.twists[motions.bodies[bucket], 3:] @ led.weights
    assert abs(way / np.linalg.norm(way) @ [0.6, 0.0, 0.8]) == pytest.approx(1.0, abs=1e-4)  # of a way of 1 mm
    bench.drop().do("turn", "stick_pivot", 1.2)
    led = bench.free_motions().led()
    assert led.lead == "excavator:stick_pivot" and "turned last" in led.text


def test_what_is_locked_does_not_move() -> None:
    """A locked input of a five-bar leaves a four-bar with its instant centre; a locked body stands; all locked, nothing
    moves; a locked ball joint is rigid."""
    bench = shiftjax.Workbench("excavator").do("lock", "boom")
    motions = bench.free_motions()
    assert motions.columns == motions.freedoms == 2 and motions.normal is not None
    led = motions.led("excavator:bucket_pivot")
    assert led.weights is not None and motions.screw("excavator:boom", led).kind == "rest"
    bench.do("lock", "stick_pivot")
    led = bench.free_motions().led()
    assert led.text == "of one freedom"
    screw = moved(bench, "excavator:bucket")
    assert screw.point == pytest.approx(bench.poses["excavator:bucket"][1], abs=CLOSED_FORM)  # its pivot
    bench.do("lock", "bucket")
    motions = bench.free_motions()
    assert motions.columns == 0 and motions.led().text == "nothing can move"
    assert (
        bench.do("unlock", "bucket", "boom").free_motions().led("stick_pivot").text
        == "stick_pivot cannot move from here"
    )
    assert motions.ellipsoid("excavator:bucket", np.zeros(3)) is None
    builder = ModelBuilder()
    rig = builder.assembly("rig")
    rig.body("one", **rod(1.0)).body("other", **rod(1.0))
    rig.joint("pivot", "Rz", parent="fixed", child="one")
    rig.joint("ball", "spherical", parent=("one", "tip"), child="other")
    bench = shiftjax.Workbench(builder.build())
    assert bench.free_motions().columns == 4
    bench.do("lock", "ball")
    assert bench.free_motions().columns == 1
    assert moved(bench, "rig:other", other="rig:one").kind == "rest" and moved(bench, "rig:other").rate == 1.0


def test_open_loops_have_no_motions() -> None:
    """Where what is driven does not follow, tangents of the loops are no motions of the mechanism."""
    rest = ["crank_pivot", "crank_pin", "rocker_pin"]
    model = shiftjax.Editor("four_bar").sublinkage("rest", rest, disposition="driven").model
    limit = float(shiftjax.travel("four_bar", "rocker_pivot").high)
    bench = shiftjax.Workbench(model).do("turn", "rocker_pivot", limit + 0.2)
    for act in (bench.free_motions, lambda: bench.singular_poses_of("crank_pivot")):
        with pytest.raises(shiftjax.ModelError, match="loops that are open: four_bar:crank_pin"):
            act()
    assert bench.undo() and bench.free_motions().columns == 1


def test_where_loops_lose_rank_the_way_that_it_came_is_told() -> None:
    """A parallelogram that was turned flat: two motions of one freedom; its coupler goes on without turning. No
    ellipsoid is that of its inputs."""
    bench = shiftjax.Workbench(PARALLELOGRAM)
    sideways = moved(bench, "bar:coupler")
    assert sideways.kind == "translation" and np.isinf(sideways.pitch)
    for place in np.linspace(-0.01, 0.0, 5):
        bench.turn_on("crank_pivot", float(place)).free_motions()
    motions = bench.drop().free_motions()
    led = motions.led()
    assert motions.lost and (motions.columns, motions.freedoms) == (2, 1) and "lose rank" in led.text
    assert led.weights is not None and motions.screw("bar:coupler", led).kind == "translation"
    assert motions.ellipsoid("bar:coupler", np.zeros(3)) is None
    flat = shiftjax.Workbench(linkage((1.0, 1.5, 1.0, 1.5), (0.0, 0.0, 0.0))).free_motions()
    assert flat.lost and flat.led().weights is None


def test_numbers_of_few_digits_change_no_motion() -> None:
    """A pivot beside its plane by 4e-9 m, by which alone the loop is open: the instant centre of the planar one."""
    exact = four_bar((1.0, 3.0, 2.5, 3.2), 0.7)
    off = dataclasses.replace(exact.replace({"fixed:a.T[2]": 4e-9}), origin=None, replaced=())
    assert shiftjax.Poser(off).prepared.plan.substructures[0].rounded
    there, here = (moved(shiftjax.Workbench(model), "coupler") for model in (off, exact))
    assert there.kind == "rotation" and there.point[:2] == pytest.approx(here.point[:2], abs=CLOSED_FORM)
    assert there.rate == pytest.approx(here.rate, abs=CLOSED_FORM)


def test_singular_poses_along_a_travel_are_those_of_closed_forms() -> None:
    """A parallelogram is flat at 0 and 180 degrees, a linkage with 5 + 4 = 3 + 6 at 0 of its crank; a crank-rocker is
    nowhere, and two freedoms have no such list."""
    for joint in ("crank_pivot", "joint"):
        poses = shiftjax.Workbench(PARALLELOGRAM).singular_poses_of(joint)
        assert [one.kind for one in poses] == ["crossing"] * 2 and "two ways" in poses[0].text
        places = np.array([one.places[f"bar:{joint}"] for one in poses])
        assert np.sin(places) == pytest.approx(0.0, abs=CLOSED_FORM) and np.cos(places).sum() == pytest.approx(0.0)
    (one,) = shiftjax.Workbench(four_bar(LENGTHS, 0.7)).singular_poses_of("crank_pivot")
    assert one.kind == "crossing" and abs(one.places["bar:crank_pivot"]) < CLOSED_FORM
    rocker = angles(LENGTHS, np.array(0.0), 1)[1]
    assert np.cos(one.places["bar:rocker_pivot"] - rocker) == pytest.approx(1.0)
    assert shiftjax.Workbench("four_bar").singular_poses_of("crank_pivot") == ()
    with pytest.raises(shiftjax.ModelError, match="no driver leads"):
        shiftjax.Workbench("two_slider_cranks").singular_poses_of("first_crank_pivot")


def test_a_pose_costs_one_evaluation_of_loops_and_screws(monkeypatch: pytest.MonkeyPatch) -> None:
    """And one factorisation of the loops, beside the first one, which counts freedoms at a pose nearby."""
    calls: dict[str, int] = {}

    def counted(name: str, function: Callable[..., Any]) -> Callable[..., Any]:
        def call(*args: Any) -> Any:
            calls[name] = calls.get(name, 0) + 1
            return function(*args)

        return call

    bench = shiftjax.Workbench("excavator")
    bench.free_motions()
    bench.drag_on("excavator:bucket", [0, 0, 0], bench.poses["excavator:bucket"][1] + [0.05, 0.0, 0.0])
    monkeypatch.setattr(motion_finder.AloneOn, "__call__", counted("screws", motion_finder.AloneOn.__call__))
    monkeypatch.setattr(LoneLoops, "space", counted("factors", LoneLoops.space))
    motions = bench.free_motions()
    parts = len(shiftjax.Poser("excavator").prepared.plan.substructures)
    assert isinstance(motions, FreeMotions) and calls == {"screws": 1 + parts, "factors": 1}
