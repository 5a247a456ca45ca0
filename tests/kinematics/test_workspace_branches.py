"""What one assembly branch of a mechanism reaches: to where assemblies meet. Rows 17, 18, 20 of kinematics; F7, F8."""

import json
from itertools import product
from pathlib import Path
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import shiftjax
from shiftjax.cli import main
from shiftjax.errors import ModelError
from shiftjax.kinematics.workspaces.plane import Arrangement, CountedArc
from shiftjax.mechanism.model import Model
from tests.kinematics.mechanisms import LEGS, three_legs
from tests.support.models.reaching_arms import DELTA, arm, delta, delta_discriminants, five_bar, lens
from tests.support.models.turntable import elbows, ring, turntable

AREA = 1e-6  # of itself: cubics through nodes give 1e-7
GROUND, LEFT, RIGHT = 1.0, (0.8, 1.1), (0.7, 1.2)
(r, R), (s, S) = ((abs(a - b), a + b) for a, b in (LEFT, RIGHT))
COMMON = lens(R, S, GROUND) - lens(r, S, GROUND) - lens(R, s, GROUND) + lens(r, s, GROUND)  # of both rings
INPUTS = {"left": 2.0, "right": 1.0}
SLOPED = 1  # side on which the ring of a crank of 0.75 m ends where assemblies meet
STANDS = {f"{joint}.initial_displacement": place for joint, place in INPUTS.items()}


def working_modes(at: np.ndarray, sign: float) -> np.ndarray:
    """(...) how many of a five-bar's four poses at points have the hand on one side of the line between its elbows."""
    count = np.zeros(at.shape[:-1], int)
    for first, second in product((-1, 1), repeat=2):
        a, b = elbows(at, (0.0, 0.0), LEFT, first) - at, elbows(at, (GROUND, 0.0), RIGHT, second) - at
        count += sign * (a[..., 0] * b[..., 1] - a[..., 1] * b[..., 0]) > 0.0
    return count


def side_of(q: dict[str, Any]) -> float:
    """On which side of the line between its elbows the hand of a five-bar is."""
    turned = INPUTS["left"] + q["a:left_elbow"]
    left, right = (length * np.exp(1j * INPUTS[joint]) for joint, length in (("left", LEFT[0]), ("right", RIGHT[0])))
    hand = left + LEFT[1] * np.exp(1j * turned)
    return float(np.sign(np.imag(np.conj(left - hand) * (GROUND + right - hand))))


@pytest.fixture(scope="module")
def by_cranks() -> tuple[float, shiftjax.ReachableSpace]:
    """A five-bar on a branch that it has while its cranks stand: the side of its hand, and what it reaches."""
    model = five_bar(GROUND, LEFT, RIGHT)
    table = shiftjax.branches(model, INPUTS)
    name, box = table.names[0], [(-1.33, 2.03), (-1.71, 1.69)]
    reached = shiftjax.workspace(model, "l2:tip", branch=name, searched=20, box=box, points=15, assign=STANDS)
    assert len(table) == 2
    return side_of(table.of(0)[name]), reached


def test_a_five_bar_reaches_where_its_hand_stays_beside_its_elbows(
    by_cranks: tuple[float, shiftjax.ReachableSpace],
) -> None:
    """Of four poses at a point those count with the hand on one side of the line between the elbows; where the links
    between them lie in line the branch ends."""
    side, reached = by_cranks
    assert reached.consistent and reached.mask is not None
    points = np.stack(np.meshgrid(*reached.axes, indexing="ij"), axis=-1)
    exact = working_modes(points, side) > 0
    assert 0.3 < exact.mean() < 0.7 and (reached.mask == exact).all()
    for one in (one for one in reached.curves if len(one.points) > 2):
        k = len(one.points) // 2
        along = one.points[k + 1] - one.points[k - 1]
        left = 1e-3 * np.array([-along[1], along[0]]) / np.linalg.norm(along)
        assert tuple(working_modes(one.points[k] + np.array([left, -left]), side)) == one.poses
    meeting = [one for one in reached.curves if one.kind == "assembly"]
    assert any(one.boundary for one in meeting)
    for one in meeting:
        assert one.joints == ("a:left_elbow", "a:right_elbow")
        apart = one.q["a:left"] + one.q["a:left_elbow"] - one.q["a:right"] - one.q["a:right_elbow"]
        assert np.abs(np.sin(apart)).max() < 1e-10
    spacing = 0.005
    at = np.stack(np.meshgrid(*(np.arange(-1.95, 2.2, spacing),) * 2, indexing="ij"), axis=-1)
    cells = (working_modes(at, side) > 0).sum() * spacing**2
    assert reached.area == pytest.approx(cells, rel=2e-3)  # cells along the boundary, half in and half out


def test_both_branches_of_a_five_bar_are_mirror_images(by_cranks: tuple[float, shiftjax.ReachableSpace]) -> None:
    """What all assemblies reach is more than either."""
    assert by_cranks[1].area < 0.97 * COMMON


def with_hand() -> Model:
    """A five-bar whose hand slides in the plane: with that standing each leg has two assemblies."""
    a = (builder := shiftjax.ModelBuilder().frame("right", T=(GROUND, 0.0, 0.0))).assembly("a")
    a.body("hand")
    a.joint("slides", "translational_2d", child="hand", initial_displacement={"x": 0.5, "y": 1.0})
    for name, length in zip(("l1", "l2", "r1", "r2"), (*LEFT, *RIGHT), strict=True):
        a.body(name, frames={"tip": (length, 0.0, 0.0)})
    for side, base in (("left", "fixed"), ("right", ("fixed", "right"))):
        a.joint(side, "Rz", parent=base, child=f"{side[0]}1")
        a.joint(f"{side}_elbow", "Rz", parent=(f"{side[0]}1", "tip"), child=f"{side[0]}2")
        a.joint(f"{side}_pin", "Rz", parent=(f"{side[0]}2", "tip"), child=("hand", "origin"))
    return builder.build()


def test_four_branches_of_a_hand_reach_what_two_rings_have_in_common() -> None:
    """One pose within on each of them, and none beyond; two of them, as two designs."""
    model = with_hand()
    names = shiftjax.branches(model, {"slides.x": 0.5, "slides.y": 1.0}).names
    assert len({*names}) == 4
    names = names[1:3]  # both differ in both legs
    lengths = {"r2:tip.T[0]": [RIGHT[1]] * 2}
    every = shiftjax.workspace(model, "hand:origin", vary=lengths, branch=[*names], searched=40)
    assert every.area == pytest.approx(COMMON, rel=AREA)
    for name, one in zip(names, every, strict=True):
        assert one is not None and one.branch == name and one.to_dict()["branch"] == name
        assert {(curve.kind, curve.boundary, *sorted(curve.poses)) for curve in one.curves} == {
            ("singular", True, 0, 1)
        }


def test_branches_of_one_leg() -> None:
    """With the whole left leg standing the branch says on which side the right elbow is: two of four poses."""
    model = five_bar(GROUND, LEFT, RIGHT)
    at = {"left": 2.0, "left_elbow": -1.3}
    name = shiftjax.branches(model, at).names[1]
    assign = {f"{joint}.initial_displacement": place for joint, place in at.items()}
    reached = shiftjax.workspace(model, "l2:tip", assign=assign, branch=name, searched=40)
    assert reached.area == pytest.approx(COMMON, rel=AREA)
    assert {max(one.poses) - min(one.poses) for one in reached.boundary} == {2}
    assert "branch " + name in repr(reached)


def test_an_arc_that_slows_down_before_its_end_is_not_cut_there() -> None:
    """Beside a corner parameters go on where a curve hardly does: an end of another arc 7e-7 before it is its own."""
    slow = np.array([[0.0, 1 / 6, 1 / 3, 0.5], [0.5, 0.99, 0.999, 1.0]])[:, :, None] * [1.0, 0.0]
    back = np.array([[1.0 - 7e-7, 2 / 3, 1 / 3, 0.0]])[:, :, None] * [1.0, 0.0]
    arrangement = Arrangement([CountedArc(slow, 1, 0), CountedArc(back, 1, 1)])
    assert arrangement.groups == [[0, 1]], "two arcs on each other, and no part of 7e-7 that lies on both"


def test_a_coupler_point_reaches_a_ring_on_each_branch() -> None:
    """Between the nearest and the farthest place of its curve of that branch, also where the crank does not turn round
    and the curve ends where assemblies meet: what the other branch reaches is another ring."""
    model = turntable()
    name = {side: one for side, one in zip((-1, 1), shiftjax.branches(model, {"crank_pivot": 1.0}).names, strict=True)}
    cranks, sides = [0.4, 0.4, 0.75, 0.75], [-1, 1, -1, 1]
    every = shiftjax.workspace(
        model, "coupler:pen", vary={"crank:tip.T[0]": cranks}, branch=[name[side] for side in sides], searched=40
    )
    exact = [ring(crank, side) for crank, side in zip(cranks, sides, strict=True)]
    assert every.area == pytest.approx(exact, rel=AREA)
    for crank, one in zip(cranks, every, strict=True):
        assert one is not None
        assert any(curve.kind == "assembly" for curve in one.curves) == (crank > 0.7)


def test_areas_of_branches_have_slopes() -> None:
    """Along a boundary on which assemblies meet, too: those of a ring against differences of its closed form."""
    crank = 0.75
    model, name = turntable(), shiftjax.branches(turntable(), {"crank_pivot": 1.0}).names[SLOPED > 0]

    def area(x: jax.Array) -> jax.Array:
        vary = {"crank:tip.T[0]": x[None]}
        return shiftjax.workspace(model, "coupler:pen", vary=vary, branch=name, searched=20).area[0]

    slope, step = float(jax.grad(area)(jnp.array(crank))), 1e-5
    differences = (ring(crank + step, SLOPED) - ring(crank - step, SLOPED)) / (2.0 * step)
    assert slope == pytest.approx(differences, rel=1e-6)


def test_over_the_plane_of_its_inputs() -> None:
    """A branch has one pose there, and ends where all of them fold: half of what all assemblies have."""
    model = five_bar(GROUND, LEFT, RIGHT)
    name = shiftjax.branches(model, INPUTS).names[0]
    reached = shiftjax.workspace(model, ("left", "right"), assign=STANDS, branch=name, searched=20)
    assert {one.kind for one in reached.curves} == {"singular"}
    assert {max(one.poses) for one in reached.curves} == {1}


# -- grids ------------------------------------------------------------------------------------------------------------


def delta_sides(points: np.ndarray, sign: float) -> np.ndarray:
    """(...) of how many poses of a delta at places of its plate (..., 3) the rods' determinant has a sign."""
    legs: list[list[np.ndarray]] = []
    for x in 2.0 * np.pi / 3.0 * np.arange(3):
        turn = np.array([[np.cos(x), np.sin(x), 0.0], [-np.sin(x), np.cos(x), 0.0], [0.0, 0.0, 1.0]])
        at = points @ turn.T + np.array([DELTA["plate"] - DELTA["base"], 0.0, 0.0])  # of the corner, from the shoulder
        rod = np.sqrt(np.maximum(DELTA["rod"] ** 2 - at[..., 1] ** 2, 0.0))
        sides = list[np.ndarray]()
        flat = at[..., [0, 2]]
        far = np.linalg.norm(flat, axis=-1)
        along = (DELTA["arm"] ** 2 - rod**2 + far**2) / (2.0 * far)
        up = np.sqrt(np.where(along**2 < DELTA["arm"] ** 2, DELTA["arm"] ** 2 - along**2, np.nan))
        unit = flat / far[..., None]
        for side in (-1.0, 1.0):  # an elbow is in the plane of its arm, its rod's shadow from there
            elbow = along[..., None] * unit + side * up[..., None] * np.stack([-unit[..., 1], unit[..., 0]], axis=-1)
            off = at - np.stack([elbow[..., 0], np.zeros_like(far), elbow[..., 1]], axis=-1)
            sides.append(off @ turn)
        legs.append(sides)
    every = [np.linalg.det(np.nan_to_num(np.stack(rods, axis=-1))) for rods in product(*legs)]
    return sum(((sign * one > 0.0).astype(int) for one in every), np.zeros(points.shape[:-1], int))


def test_a_grid_of_one_branch() -> None:
    """A delta whose arms stand has two places of its plate, one on each side of the elbows: each is flooded to where
    they meet, on all sheets of its poses."""
    arms: dict[str, Any] = dict.fromkeys(("shoulder_0", "shoulder_1", "shoulder_2"), -0.3)
    table = shiftjax.branches(delta(), arms)
    assert sorted(np.sign(table["slides.z"])) == [-1.0, 1.0]
    name, box = table.names[int(table["slides.z"].argmin())], [(-0.63, 0.63), (-0.61, 0.61), (-0.05, 1.01)]
    assign = {f"{joint}.initial_displacement": x for joint, x in arms.items()}
    reached = shiftjax.workspace(delta(), "plate:origin", assign=assign, branch=name, box=box, points=9, searched=100)
    assert reached.mask is not None and reached.branch == name
    exact = delta_sides(np.stack(np.meshgrid(*reached.axes, indexing="ij"), axis=-1), -1.0) > 0
    whole = (delta_discriminants(np.stack(np.meshgrid(*reached.axes, indexing="ij"), axis=-1)) > 0.0).all(-1)
    assert (reached.mask == exact).all() and (exact != whole).any()


# -- what is asked ----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("model", "frame", "asked", "message"),
    [
        (five_bar(GROUND, LEFT, RIGHT), "l2:tip", {"assign": STANDS, "branch": "+"}, r"'\+', which no member has"),
        (five_bar(GROUND, LEFT, RIGHT), "l2:tip", {"branch": "++"}, "branch: found a start that leaves 2 freedoms"),
        (arm(1.0, 0.6), "fore:tip", {"branch": "+"}, "follows others by a loop; allowed: no branch of an open chain"),
        (turntable(), "coupler:pen", {"branch": ["+-", "--"]}, "2 names; allowed: one for all, or one for each of 1"),
    ],
)
def test_branches_that_are_refused(model: Model, frame: str, asked: dict[str, Any], message: str) -> None:
    with pytest.raises(ModelError, match=message):
        shiftjax.workspace(model, frame, searched=2, **asked)


def test_numbers_of_names_count_for_nothing() -> None:
    """A plate on three legs has three assemblies of one sign: what is reached is of all of them, and says so."""
    at = {f"slide_{k}": leg for k, leg in enumerate(LEGS)}
    assign = {f"{joint}.initial_displacement": place for joint, place in at.items()}
    model, box = three_legs(), [(-1.0, 3.0), (-1.0, 3.0)]
    one, other = (
        shiftjax.workspace(model, "plate:origin", assign=assign, branch=name, box=box, points=2, searched=2)
        for name in ("+++1", "+++2")
    )
    assert "numbers tell them apart" in one.notes[0] and one.mask is not None
    assert one.branch == "+++1" and other.branch == "+++2"


def test_the_command_takes_a_branch(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = tmp_path / "turntable.json"
    shiftjax.save(turntable(), file)
    words = ["workspace", str(file), "coupler:pen", "--branch=--"]
    assert main([*words, "--json"]) == 0
    answer = json.loads(capsys.readouterr().out)
    assert answer["branch"] == "--" and answer["area"] == pytest.approx(ring(0.4, 1), rel=AREA)
    assert main([*words[:3], "--branch=+"]) == 2
    assert "which no member has; allowed: '+-', '--'" in capsys.readouterr().err
