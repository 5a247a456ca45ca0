"""Workspaces of many designs, slopes of areas, what is inscribed, the dexterous part. Rows 17, 20 of kinematics; F8."""

from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import shiftjax
from tests.support.models.reaching_arms import arm, chain, five_bar, lens

AREA = 1e-6  # of itself: cubics through nodes give 1e-7
FIRST, SECOND = np.array([1.0, 0.7]), np.array([0.6, 0.7])
LINKS = ("arm:upper:tip.T[0]", "arm:fore:tip.T[0]")
LOW, HIGH = 0.3, 2.5  # rad, stops of an elbow
STOPS = {"shoulder": (-1.0, 2.0), "elbow": (LOW, HIGH)}


@pytest.fixture(scope="module")
def rings() -> shiftjax.ReachableSpaces:
    vary: dict[str, Any] = dict(zip(LINKS, (FIRST, SECOND), strict=True))
    return shiftjax.workspace(arm(1.0, 0.6), "fore:tip", vary=vary, searched=10, inscribed=True)


def test_rings_of_many_arms(rings: shiftjax.ReachableSpaces) -> None:
    """Area 4 pi l1 l2; an arm of equal links has no hole. One member of many is to the bit what it is alone."""
    assert rings.area == pytest.approx(4.0 * np.pi * FIRST * SECOND, rel=AREA)
    assert [one and len(one.boundary) for one in rings] == [2, 1]
    alone = {path: x[:1] for path, x in zip(LINKS, (FIRST, SECOND), strict=True)}
    (one,) = shiftjax.workspace(arm(1.0, 0.6), "fore:tip", vary=alone, searched=10)
    other = rings[0]
    assert one is not None and other is not None and one.area == other.area
    assert all(np.array_equal(a.points, b.points) for a, b in zip(one.curves, other.curves, strict=True))
    assert [row["area"] for row in rings.table()] == rings.area.tolist()
    assert "what 2 designs reach" in repr(rings)


def test_the_largest_circle_and_square_in_a_ring(rings: shiftjax.ReachableSpaces) -> None:
    """A circle touches both sides of the ring, and is the whole disc where there is no hole.

    The square of side s along the coordinates lies beside the hole r: its far corners are on R, where
    (r + s)^2 + s^2 / 4 = R^2; in a disc its diagonal is 2 R.
    """
    for k, one in enumerate(rings):
        r, R = abs(FIRST[k] - SECOND[k]), FIRST[k] + SECOND[k]
        assert one is not None and one.ball is not None and one.square is not None
        radius = R if r == 0.0 else 0.5 * (R - r)
        assert one.ball[1] == pytest.approx(radius, abs=2e-6 * R)
        assert abs(np.linalg.norm(one.ball[0]) - (R - radius)) < 1e-2 * R
        side = np.sqrt(2.0) * R if r == 0.0 else (np.sqrt(5.0 * R * R - r * r) - 2.0 * r) / 2.5
        corner = (R / np.sqrt(2.0) - r / np.sqrt(2.0)) if r else 0.0  # in a corner of the ring, its near corner on r
        assert max(side, corner) - 4e-4 * R < one.square[1] <= max(side, corner) + 1e-9


def test_areas_of_arms_have_slopes() -> None:
    """Both ways, through folds and limits: 4 pi l1 l2, and with stops (hi - lo) l1 l2 (cos low - cos high)."""

    def ring(x: jax.Array) -> jax.Array:
        vary = {path: x[k : k + 1] for k, path in enumerate(LINKS)}
        return shiftjax.workspace(arm(1.0, 0.6), "fore:tip", vary=vary, searched=10).area[0]

    at = jnp.array([1.0, 0.6])
    slopes = np.asarray(jax.jit(jax.grad(ring))(at))
    assert slopes == pytest.approx(4.0 * np.pi * np.array([0.6, 1.0]), rel=AREA)
    assert np.asarray(jax.jit(jax.jacfwd(ring))(at)) == pytest.approx(slopes, rel=1e-12)
    model = arm(1.0, 0.6, STOPS)
    paths = (*LINKS, "arm:shoulder_stop.lower", "arm:elbow_stop.lower", "arm:elbow_stop.upper")

    def sector(x: jax.Array) -> jax.Array:
        vary = {path: x[k : k + 1] for k, path in enumerate(paths)}
        return shiftjax.workspace(model, "fore:tip", vary=vary, searched=10).area[0]

    def exact(x: jax.Array) -> jax.Array:
        return (2.0 - x[2]) * x[0] * x[1] * (jnp.cos(x[3]) - jnp.cos(x[4]))

    at = jnp.array([1.0, 0.6, -1.0, LOW, HIGH])
    area, slopes = jax.jit(jax.value_and_grad(sector))(at)
    assert area == pytest.approx(float(exact(at)), rel=AREA)
    assert np.asarray(slopes) == pytest.approx(np.asarray(jax.grad(exact)(at)), rel=AREA)


def test_the_area_of_a_five_bar_has_slopes() -> None:
    """That of two rings in common, by the ground and all bars: corners of the boundary, where two folds meet."""
    model = five_bar(1.0, (0.8, 1.1), (0.7, 1.2))
    paths = ("fixed:right.T[0]", *(f"a:{name}:tip.T[0]" for name in ("l1", "l2", "r1", "r2")))

    def area(x: jax.Array) -> jax.Array:
        vary = {path: x[k : k + 1] for k, path in enumerate(paths)}
        return shiftjax.workspace(model, "l2:tip", vary=vary, searched=40).area[0]

    def exact(x: np.ndarray) -> float:
        d, (r, R), (s, S) = x[0], *((abs(a - b), a + b) for a, b in (x[1:3], x[3:5]))
        return lens(R, S, d) - lens(r, S, d) - lens(R, s, d) + lens(r, s, d)

    at, h = np.array([1.0, 0.8, 1.1, 0.7, 1.2]), 1e-5
    slopes = [(exact(at + h * e) - exact(at - h * e)) / (2.0 * h) for e in np.eye(5)]
    assert np.asarray(jax.jit(jax.grad(area))(jnp.array(at))) == pytest.approx(slopes, rel=2e-6)


def test_a_flooded_grid_counts_no_cells_beyond_its_box() -> None:
    """All points are reached: the volume is the box's. Cells of points on its faces were counted whole."""
    box = [(-0.4, 0.4), (-0.4, 0.4)]
    disc = shiftjax.workspace(chain((0.3, 0.2, 0.1)), "link_2:tip", box=box, points=10)
    assert disc.mask is not None and disc.mask.all()
    assert disc.area == pytest.approx(0.64, rel=1e-12)


def test_a_design_that_moves_on_a_curve_has_no_area() -> None:
    """A fore arm without length: others have theirs, wherever it stands among them; alone it is refused."""
    length, model = "arm:fore:tip.T[0]", arm(1.0, 0.6)
    some = shiftjax.workspace(model, "fore:tip", vary={length: [0.0, 0.5]}, searched=2)
    assert np.isnan(some.area[0]) and some.area[1] == pytest.approx(2.0 * np.pi, rel=1e-6)
    (first, _) = some
    assert first is not None and "move together on a curve" in first.notes[0]
    with pytest.raises(shiftjax.ModelError, match="move together on a curve"):
        shiftjax.workspace(model, "fore:tip", vary={length: [0.0]}, searched=2)


def test_the_dexterous_part_of_an_arm_of_three_links() -> None:
    """With every orientation: the wrist's ring moved by the hand, from |l1 - l2| + l3 to l1 + l2 - l3."""
    first, second, hand = 1.0, 0.6, 0.2
    asked: dict[str, Any] = {"box": [(-1.9, 1.9)] * 2, "points": 21, "orientations": 12}
    reached = shiftjax.workspace(chain((first, second, hand)), "link_2:tip", **asked)
    radius = np.hypot(*np.meshgrid(*reached.axes, indexing="ij"))
    inner, outer = first - second + hand, first + second - hand
    assert reached.dexterous is not None and reached.mask is not None
    assert (reached.dexterous == ((radius > inner) & (radius < outer))).all()
    assert (reached.mask == ((radius > first - second - hand) & (radius < first + second + hand))).all()
    cell = reached.axes[0][1] - reached.axes[0][0]
    assert reached.dexterous_area == pytest.approx(np.pi * (outer**2 - inner**2), abs=cell * np.pi * (outer + inner))
    assert reached.to_dict()["dexterous_area"] == reached.dexterous_area
    assert "with every orientation" in repr(reached)


def test_designs_that_cannot_be_assembled() -> None:
    """A five-bar on a ground longer than all its bars."""
    model = five_bar(1.0, (0.8, 1.1), (0.7, 1.2))
    far = shiftjax.workspace(model, "l2:tip", vary={"fixed:right.T[0]": [1.0, 9.0]}, searched=10)
    assert far[0] is not None and far[1] is None
    assert np.isnan(far.area).tolist() == [False, True]
    assert far.to_dict()["members"][1] is None


def test_the_circle_in_a_rectangle_of_slides() -> None:
    """3 m x 1 m, whose sides are traced by pieces of different lengths: no circle is larger than what is between."""
    a = (builder := shiftjax.ModelBuilder()).assembly("gantry")
    for name, parent, kind, low, high in (("x", "fixed", "Tx", -1.0, 2.0), ("y", "x", "Ty", -0.5, 0.5)):
        a.body(name)
        a.joint(f"slide_{name}", kind, parent=parent, child=name)
        a.force(f"stop_{name}", "stop", joint=f"slide_{name}", lower=low, upper=high, k=1.0, blend=0.01)
    reached = shiftjax.workspace(builder.build(), "y:origin", searched=2, inscribed=True)
    assert reached.ball is not None and reached.ball[1] == pytest.approx(0.5, abs=2e-7 * 3.0)


@pytest.mark.parametrize(
    ("model", "asked", "options", "message"),
    [
        (arm(1.0, 0.6), "fore:tip", {"inscribed": 1}, "inscribed"),
        (arm(1.0, 0.6), "fore:tip", {"orientations": 12}, "at least 3"),
        (arm(1.0, 0.6), "fore:tip", {"vary": {"upper:tip.T[9]": [1.0]}}, "upper:tip.T"),
        (chain((0.3, 0.2, 0.1)), "link_2:tip", {"box": [(0, 1)] * 2, "points": 3, "inscribed": True}, "traced"),
        (chain((0.3, 0.2, 0.1)), "link_2:tip", {"box": [(0, 1)] * 2, "points": 3, "orientations": 5}, "from 12 on"),
        (chain((0.3, 0.2, 0.1)), ("joint_0", "joint_1"), {"box": [(0, 1)] * 2, "points": 3, "orientations": 12},
         "both places of a frame"),
    ],
)  # fmt: skip
def test_what_is_refused_of_designs(model: Any, asked: Any, options: dict, message: str) -> None:
    with pytest.raises(shiftjax.ModelError, match=message):
        shiftjax.workspace(model, asked, **options)


def test_the_command(tmp_path: Any, shell: Any) -> None:
    shiftjax.save(arm(1.0, 0.6), tmp_path / "arm.json")
    code, out, _ = shell("workspace", str(tmp_path / "arm.json"), "arm:fore:tip", "--inscribed")
    assert code == 0 and "largest circle: radius 0.6" in out and "largest square: side" in out
    shiftjax.save(chain((1.0, 0.6, 0.2)), tmp_path / "chain.json")
    grid = ("--box=-1.9:1.9", "--box=-1.9:1.9", "--points", "9", "--orientations", "12")
    code, out, _ = shell("workspace", str(tmp_path / "chain.json"), "arm:link_2:tip", *grid)
    assert code == 0 and "points with every orientation: area" in out
