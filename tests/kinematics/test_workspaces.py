"""What mechanisms reach: boundaries with their types, areas, masks and margins. Rows 17 and 18 of kinematics."""

import json
from typing import Any

import numpy as np
import pytest

import shiftjax
from tests.support.models.reaching_arms import arm, delta, delta_discriminants, five_bar, lens

AREA = 1e-6  # of itself, which is asked of areas within curves; cubics through their nodes give 1e-7
FIRST, SECOND = 1.0, 0.6


@pytest.fixture(scope="module")
def ring() -> shiftjax.ReachableSpace:
    box = [(-1.77, 1.83), (-1.79, 1.81)]
    return shiftjax.workspace(arm(FIRST, SECOND), "fore:tip", box=box, points=19, searched=20)


def test_an_arm_of_two_links_reaches_a_ring(ring: shiftjax.ReachableSpace) -> None:
    """Of area 4 pi l1 l2, between the circles on which it is stretched and folded."""
    assert ring.area == pytest.approx(4.0 * np.pi * FIRST * SECOND, rel=AREA)
    assert ring.consistent and len(ring.boundary) == 2
    for one in ring.boundary:
        assert (one.kind, one.joints, set(one.poses)) == ("singular", ("arm:shoulder", "arm:elbow"), {0, 2})
        radius = np.linalg.norm(one.points, axis=1)
        stretched = np.cos(one.q["arm:elbow"])
        assert radius == pytest.approx(FIRST + SECOND * stretched, abs=1e-12)
        assert np.abs(stretched) == pytest.approx(1.0, abs=1e-12)


def test_a_grid_is_judged_by_the_curves(ring: shiftjax.ReachableSpace) -> None:
    radius = np.hypot(*np.meshgrid(*ring.axes, indexing="ij"))
    depth = np.minimum(FIRST + SECOND - radius, radius - FIRST + SECOND)
    assert ring.mask is not None and ring.margin is not None and ring.ball is not None
    assert (ring.mask == (depth > 0.0)).all()
    assert ring.margin == pytest.approx(depth, abs=1e-6)  # cubics are 2e-7 off their circles
    assert ring.ball[1] == pytest.approx(depth.max(), abs=1e-6)


def test_a_five_bar_reaches_what_two_rings_have_in_common() -> None:
    """Of each arm the circles on which it is stretched or folded, in two assemblies of the other one."""
    ground, left, right = 1.0, (0.8, 1.1), (0.7, 1.2)
    reached = shiftjax.workspace(five_bar(ground, left, right), "l2:tip", searched=40)
    (r, R), (s, S) = ((abs(a - b), a + b) for a, b in (left, right))
    exact = lens(R, S, ground) - lens(r, S, ground) - lens(R, s, ground) + lens(r, s, ground)
    assert reached.area == pytest.approx(exact, rel=AREA)
    assert len(reached.boundary) == len(reached.curves) == 4
    for one in reached.boundary:
        of_left = "a:left" in one.joints
        assert one.joints == (("a:left", "a:left_elbow", "a:pin") if of_left else ("a:right", "a:right_elbow", "a:pin"))
        radius = np.linalg.norm(one.points - (0.0 if of_left else np.array([ground, 0.0])), axis=1)
        lengths = left if of_left else right
        assert min(np.abs(radius - sum(lengths)).max(), np.abs(radius - abs(np.subtract(*lengths))).max()) < 1e-10
        assert (one.sheets, set(one.poses)) == (2, {0, 4})


def test_joints_end_at_their_stops() -> None:
    """The map from an elbow bent one way to the plane has the determinant l1 l2 sin: its area is its integral."""
    low, high = 0.3, 2.5
    model = arm(FIRST, SECOND, {"shoulder": (-1.0, 2.0), "elbow": (low, high)})
    reached = shiftjax.workspace(model, "fore:tip", searched=20)
    assert reached.area == pytest.approx(3.0 * FIRST * SECOND * (np.cos(low) - np.cos(high)), rel=AREA)
    assert {(one.kind, one.joints, one.end) for one in reached.boundary} == {
        ("limit", (f"arm:{joint}",), end) for joint in ("shoulder", "elbow") for end in ("lower", "upper")
    }
    whole = shiftjax.workspace(model, "fore:tip", stops=False, searched=20)
    assert whole.area == pytest.approx(4.0 * np.pi * FIRST * SECOND, rel=AREA)


def test_a_joint_may_turn_by_more_than_a_turn() -> None:
    """Its stops meet no end of what is reached: a whole ring, once over and partly twice."""
    low, high = 0.1, 2.0
    model = arm(FIRST, SECOND, {"shoulder": (-3.5, 3.5), "elbow": (low, high)})
    reached = shiftjax.workspace(model, "fore:tip", searched=20)
    assert reached.area == pytest.approx(2.0 * np.pi * FIRST * SECOND * (np.cos(low) - np.cos(high)), rel=AREA)
    assert {one.joints for one in reached.boundary} == {("arm:elbow",)}
    assert max(max(one.poses) for one in reached.curves) == 2


def test_curves_whose_image_is_a_point_are_left_out() -> None:
    """A folded arm of equal links turns about its shoulder, and its tip stays there."""
    reached = shiftjax.workspace(arm(FIRST, FIRST), "fore:tip", searched=20)
    assert reached.area == pytest.approx(4.0 * np.pi * FIRST**2, rel=AREA)
    assert len(reached.curves) == len(reached.boundary) == 1


def test_singular_curves_over_the_plane_of_two_inputs() -> None:
    """A five-bar's drives are singular where the links between its elbows lie in line."""
    reached = shiftjax.workspace(five_bar(1.0, (0.8, 1.1), (0.7, 1.2)), ("left", "right"), searched=40)
    assert reached.curves and not reached.boundary and np.isnan(reached.area)
    assert "may turn round" in reached.notes[0]
    for one in reached.curves:
        assert one.joints == ("a:left_elbow", "a:right_elbow", "a:pin")
        left, right = one.points.T
        between = np.hypot(1.0 + 0.7 * np.cos(right) - 0.8 * np.cos(left), 0.7 * np.sin(right) - 0.8 * np.sin(left))
        assert np.minimum(abs(between - 2.3), abs(between - 0.1)).max() < 1e-10


@pytest.fixture(scope="module")
def grid() -> shiftjax.ReachableSpace:
    box = [(-0.9, 0.9), (-0.9, 0.9), (0.11, 1.1)]
    return shiftjax.workspace(delta(), "plate:origin", box=box, points=21, searched=4)


def test_a_delta_reaches_where_its_discriminants_are_positive(grid: shiftjax.ReachableSpace) -> None:
    points = np.stack(np.meshgrid(*grid.axes, indexing="ij"), axis=-1)
    assert grid.freedoms == 3 and grid.mask is not None
    exact = (delta_discriminants(points) >= 0.0).all(-1)
    assert 0.1 < exact.mean() < 0.9
    assert (grid.mask == exact).all()


def test_margins_are_distances_to_where_discriminants_vanish(grid: shiftjax.ReachableSpace) -> None:
    """To planes through points of the boundary: off by the curvature of tori of 0.45 m times h^2 / 8, and 1 % of h.

    Within what is reached: beyond its edges planes go on.
    """
    assert grid.mask is not None and grid.margin is not None
    spacing = grid.axes[0][1] - grid.axes[0][0]
    points = np.stack(np.meshgrid(*grid.axes, indexing="ij"), axis=-1)
    near = (grid.margin > 0.0) & (grid.margin < spacing)
    some = points[near][::23]
    off = 0.1 * spacing  # and the 4000 directions are 0.05 rad apart
    steps = np.random.default_rng(0).normal(size=(4000, 3))
    steps /= np.linalg.norm(steps, axis=1)[:, None]
    for at, margin in zip(some, grid.margin[near][::23], strict=True):
        shorter, longer = (
            (delta_discriminants(at + radius * steps) >= 0.0).all(-1) for radius in (margin - off, margin + off)
        )
        assert shorter.all() or margin < off
        assert not longer.all()


def test_what_is_answered_is_plain(ring: shiftjax.ReachableSpace) -> None:
    again = json.loads(ring.to_json())
    assert again["area"] == ring.area
    assert np.array(again["curves"][0]["points"]) == pytest.approx(ring.curves[0].points)
    assert [row["kind"] for row in ring.table()] == ["singular", "singular"]
    assert "boundary: singular: arm:shoulder, arm:elbow" in repr(ring)
    axes = ring.plot()
    assert len(axes.lines) == 2


@pytest.mark.parametrize(
    ("asked", "options", "message"),
    [
        (("shoulder",), {}, "two or three"),
        ("fore:tip", {"points": 10}, "box"),
        ("fore:tip", {"box": [(0, 1)], "points": 10}, "2 pairs"),
        ("fore:tip", {"box": [(0, 1), (0, 1)]}, "at least 2"),
        (("fore:tip.x", "fore:tip.y", "elbow"), {}, "at most as many coordinates as freedoms"),
        (("fore:tip.x", "wrist"), {}, "no active"),
        ("upper:tip", {}, "move together on a curve"),
        ("fore:tip", {"searched": 0}, "searched"),
        ("fore:tip", {"searched": "many"}, "a whole number from 1"),
    ],
)
def test_what_is_refused(asked: Any, options: dict, message: str) -> None:
    with pytest.raises(shiftjax.ModelError, match=message):
        shiftjax.workspace(arm(FIRST, SECOND), asked, **options)


def test_more_freedoms_need_a_grid() -> None:
    with pytest.raises(shiftjax.ModelError, match="no grid, for 3 freedoms"):
        shiftjax.workspace(delta(), "plate:origin")


def test_slides_without_limits_have_no_area() -> None:
    a = (builder := shiftjax.ModelBuilder()).assembly("table")
    a.body("cart")
    a.joint("slides", "translational_2d", child="cart")
    reached = shiftjax.workspace(builder.build(), "cart:origin", searched=5)
    assert np.isnan(reached.area)
    assert "without a limit" in reached.notes[0]
