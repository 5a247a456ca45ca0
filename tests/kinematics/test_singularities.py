"""Poses at which loops lose rank on a path: crossings with their tangents, cusps, ends. Rows 5 and 19 of kinematics."""

import numpy as np
import pytest

import shiftjax
from shiftjax.outcome import Outcome
from tests.support.models.flat_linkages import BASE, PARALLELOGRAM
from tests.support.models.planar_four_bars import angles, four_bar

FOUND = 1e-12  # rad: to which a zero of smooth determinants is found


@pytest.mark.parametrize("count", [100, 101, 25])
def test_a_parallelogram_meets_its_mirror_twice_a_turn(count: int) -> None:
    """At 0, pi and 2 pi; the other curve is the antiparallelogram, whose rocker turns by -(d + a) / (d - a) there."""
    crossings = shiftjax.singularities(PARALLELOGRAM, {"crank_pivot": np.linspace(-1.0, 7.0, count)})
    assert [one.kind for one in crossings] == ["crossing"] * 3
    assert np.abs([one.parameter for one in crossings] - np.pi * np.arange(3)).max() < FOUND
    for one, ratio in zip(crossings, ((BASE + 1.0) / (BASE - 1.0), (BASE - 1.0) / (BASE + 1.0), 5.0), strict=True):
        along, across = ({path.partition(":")[2]: x for path, x in z.items()} for z in one.tangents)
        assert along["rocker_pivot"] / along["crank_pivot"] == pytest.approx(1.0, abs=1e-8)
        assert across["rocker_pivot"] / across["crank_pivot"] == pytest.approx(-ratio, abs=1e-6)
        assert one.q["bar:rocker_pivot"] == pytest.approx(one.q["bar:crank_pivot"], abs=FOUND)
        assert one.loops == ("bar:joint",)


def test_a_change_point_linkage_crosses_and_ends() -> None:
    """5-4-3-6: at 0 degrees a crossing, the end at the arc of cosine 0.2; tangents are those of both branches."""
    lengths = (5.0, 4.0, 3.0, 6.0)
    way = np.linspace(0.7, -1.5, 45)
    crossing, end = shiftjax.singularities(four_bar(lengths, 0.7), {"crank_pivot": way})
    assert (crossing.kind, end.kind) == ("crossing", "end")
    assert abs(crossing.parameter) < FOUND
    assert end.inputs["bar:crank_pivot"] == pytest.approx(-np.arccos(0.2), abs=1e-9)
    h, slopes = 1e-4, []
    for branch in (1, -1):  # each has a corner at 0: from one side it goes on as the other one
        rocker = angles(lengths, np.array([h, 2.0 * h]), branch)[1]
        slopes.append((rocker[1] - rocker[0]) / h)
    seen = sorted(z["bar:rocker_pivot"] / z["bar:crank_pivot"] for z in crossing.tangents)
    assert seen == pytest.approx(sorted(slopes), rel=1e-3)


@pytest.mark.parametrize("count", [9, 40, 41, 200])
def test_paths_pass_crossings_on_their_branch(count: int) -> None:
    """Parallelograms stay parallelograms at any stride, also where a pose of the path is the flat one (41)."""
    u = np.linspace(-1.0, 1.0, count)
    path = shiftjax.follow(PARALLELOGRAM, {"crank_pivot": u}, channels=["rocker_pivot.q", "rocker_pivot.v"])
    assert path.status == Outcome.ok
    assert np.abs(path.channels["rocker_pivot.q"] - u).max() < 1e-13
    assert np.abs(path.channels["rocker_pivot.v"] - 1.0).max() < 1e-10
    assert any("singular" in note for note in path.notes) == (0.0 in np.round(u, 12))


def test_uneven_paths_go_over_poses_at_which_branches_meet() -> None:
    """Onto the flat pose of a parallelogram, on from there, to and fro; the rates are those of its branch."""
    names = [f"rocker_pivot.{what}" for what in ("q", "v", "a", "mobility")]
    for way in ([-1.0, -0.5, -0.2, 0.0, 0.1, 0.5], [1.0, 0.3, 0.0, -0.2], [-0.6, 0.0, -0.7, 0.0, 0.4]):
        path = shiftjax.follow(PARALLELOGRAM, {"crank_pivot": np.array(way)}, channels=names)
        q, v, a, mobility = (path.channels[name] for name in names)
        assert path.status == Outcome.ok
        assert np.abs(q - way).max() < 1e-12
        assert np.abs(v - 1.0).max() < 1e-9 and np.abs(a).max() < 1e-6
        assert (np.isnan(mobility) == (np.array(way) == 0.0)).all()
        assert any("singular" in note for note in path.notes)
    by_time = shiftjax.follow(
        PARALLELOGRAM, {"crank_pivot": [-1.0, -0.4, 0.0]}, [0.0, 1.0, 3.0], channels=["rocker_pivot.v", "crank_pivot.v"]
    )
    assert np.abs(np.subtract(*by_time.channels.values())).max() < 1e-9


def test_regular_paths_have_none() -> None:
    assert shiftjax.singularities("four_bar", {"crank_pivot": np.linspace(1.0, 7.3, 60)}) == ()
    with pytest.raises(shiftjax.ModelError, match="one path"):
        shiftjax.singularities("four_bar", {"crank_pivot": np.zeros((2, 3))})


def test_a_last_pose_that_is_singular_is_leapt_to() -> None:
    """Over it and back: place and slope are those of the branch; what follows from the Jacobian is left out."""
    names = [f"rocker_pivot.{what}" for what in ("q", "v", "mobility")]
    for order in (1, 2):
        path = shiftjax.follow(PARALLELOGRAM, {"crank_pivot": np.linspace(1.0, 0.0, 20)}, order=order, channels=names)
        q, v, mobility = (path.channels[name] for name in names)
        assert path.status == Outcome.ok and abs(q[-1]) < 1e-12 and abs(v[-1] - 1.0) < 1e-9
        assert np.isnan(mobility[-1]) and np.isfinite(mobility[:-1]).all()
        assert path.final is not None and np.abs(path.final["q"]).max() < 1e-12
        assert any("singular" in note for note in path.notes)
    (one,) = shiftjax.singularities(PARALLELOGRAM, {"crank_pivot": np.linspace(1.0, 0.0, 20)})
    assert one.kind == "crossing" and abs(one.parameter) < FOUND
