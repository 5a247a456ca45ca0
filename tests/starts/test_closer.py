"""The closer: loops are closed by the least change, capped, and members do not see each other."""

from __future__ import annotations

import numpy as np
import pytest

from shiftjax import load
from shiftjax.run.closing.closer import Rule, closed, least_change
from shiftjax.run.closing.host_evaluation import Loops
from shiftjax.run.closing.poses import nearest
from shiftjax.run.start.prepare import prepare

CLOSED = 1e-12  # residual of loops of lengths near 1, dimensionless


def four_bars(members: int, *, lengths: tuple[float, float] = (0.38, 0.42)) -> tuple[Loops, np.ndarray]:
    """Loops of four-bars with different couplers, and the pose of the file, which closes none of them."""
    prepared = prepare(load("four_bar"), {"four_bar:coupler:tip.T[0]": np.linspace(*lengths, members)})
    loops = Loops(prepared.plan, prepared.lane_of(np.arange(members), 1.0), 0)
    return loops, np.repeat(prepared.file_start.q, members, axis=1)


def test_members_do_not_see_each_other() -> None:
    """The bits of a member are the same alone, whatever the others still have to do."""
    loops, q = four_bars(7)
    together = closed(loops, q, least_change((), None), loops.cap, Rule())
    assert (together.size < CLOSED).all() and np.ptp(together.far) > 0
    for k in range(7):
        member = np.array([k])
        alone = closed(loops.of(member), q[:, member], least_change((), None), loops.cap, Rule())
        np.testing.assert_array_equal(alone.q[:, 0], together.q[:, k])
        np.testing.assert_array_equal(alone.J[0], together.J[k])
        assert (alone.size[0], alone.far[0]) == (together.size[k], together.far[k])


@pytest.mark.parametrize("still", [(), (0,)])
def test_changes_that_come_with_residuals_are_those_of_the_step(still: tuple[int, ...]) -> None:
    """Of a list of operations, and of a library's solution of the same equations, singular but for their damping."""
    loops, q = four_bars(5)
    q = q + np.random.default_rng(0).normal(0.0, 0.1, q.shape)
    assert loops.solves(still)
    phi, J, change = loops.solved(q, still, jacobians=True)
    expected = loops.at(q)
    np.testing.assert_array_equal(phi.T, expected[0])
    np.testing.assert_array_equal(J.transpose(2, 0, 1), expected[1])
    wanted = least_change(still, None)(*expected, np.arange(5))
    np.testing.assert_allclose(change.T, wanted, rtol=0.0, atol=1e-4 * np.abs(wanted).max())  # damping and roundings
    moved = J.transpose(2, 0, 1) @ (change.T - wanted)[:, :, None]
    assert np.abs(moved).max() < 1e-10  # they close alike, and differ along the motions of the loops
    assert (change[list(still)] == 0.0).all()


def test_jacobians_that_nobody_wants_change_nothing() -> None:
    loops, q = four_bars(3)
    step = least_change((), None)
    with_them, without = (closed(loops, q, step, loops.cap, Rule(), jacobians=wanted) for wanted in (True, False))
    for name in ("q", "size", "far"):
        np.testing.assert_array_equal(getattr(with_them, name), getattr(without, name))
    assert np.abs(with_them.J).max() > 0.0 and not without.J.any()


def test_what_is_closed_stays() -> None:
    loops, q = four_bars(3)
    once = closed(loops, q, least_change((), None), loops.cap, Rule())
    again = closed(loops, once.q, least_change((), None), loops.cap, Rule(closed=CLOSED))
    np.testing.assert_array_equal(again.q, once.q)
    assert (again.far == 0).all()


def test_still_columns_stay_and_heavy_ones_move_less() -> None:
    loops, q = four_bars(3)
    places = [loops.plan.joints[k].q for k in loops.plan.substructures[0].joints]
    speeds = [loops.plan.joints[k].v for k in loops.plan.substructures[0].joints]
    order = [places[speeds.index(speed)] for speed in loops.columns]
    still = closed(loops, q, least_change([0], None), loops.cap, Rule())
    np.testing.assert_array_equal(still.q[order[0]], q[order[0]])
    weight = np.ones(len(order))
    weight[0] = 100.0
    heavy = closed(loops, q, least_change((), weight), loops.cap, Rule())
    plain = closed(loops, q, least_change((), None), loops.cap, Rule())
    assert (heavy.size < CLOSED).all()
    moved = np.abs(plain.q - q)[order[0]] > 1e-6
    assert moved.any() and (np.abs(heavy.q - q)[order[0]] < np.abs(plain.q - q)[order[0]])[moved].all()


def test_one_iteration_moves_no_farther_than_its_cap() -> None:
    loops, q = four_bars(3, lengths=(0.6, 0.8))
    cap = np.full(len(loops.columns), 0.01)
    pose = closed(loops, q, least_change((), None), cap, Rule(iterations=1))
    assert np.abs(pose.q - q).max() == pytest.approx(0.01)


def test_a_loop_that_cannot_close_is_reported_and_given_up() -> None:
    """A coupler of 9 m reaches nothing: its gap stays, the others close."""
    loops, q = four_bars(2, lengths=(0.4, 9.0))
    pose = closed(loops, q, least_change((), None), loops.cap, Rule())
    assert pose.size[0] < CLOSED < 0.1 < pose.size[1] and np.isfinite(pose.q).all()
    short = closed(loops, q, least_change((), None), loops.cap, Rule(farthest=0.2))
    assert 0.2 < short.far[1] < pose.far[1] and short.size[1] > 0.1


def test_a_pose_without_numbers_is_not_moved() -> None:
    loops, q = four_bars(2)
    q[0, 1] = np.nan
    pose = closed(loops, q, least_change((), None), loops.cap, Rule())
    assert pose.size[0] < CLOSED and pose.size[1] == np.inf and pose.far[1] == 0.0


def test_the_nearest_pose_is_nearest_and_members_do_not_see_each_other() -> None:
    """Poses to both sides on the curve of closed ones are farther from the goal, by the weights; alone it is the same
    to the bit, whatever others still have to do: they went on before until the last one stood.
    """
    loops, q = four_bars(7)
    q = closed(loops, q, least_change((), None), loops.cap, Rule()).q
    places = [one.q for speed in loops.columns for one in loops.plan.coordinates if one.v == speed]
    weight, goal = np.array([1.0, 0.01, 0.01, 0.01]), q.copy()
    goal[places[0]] += np.linspace(-0.1, 0.1, 7)
    goal[places[1]] += 0.3
    pose = nearest(loops.plan, loops.lane, q, loops.index, (), goal, weight)
    assert np.abs(pose - q).max() > 0.05 and np.abs(loops.at(pose)[0]).max() < CLOSED

    def far(at: np.ndarray) -> np.ndarray:
        return ((weight[:, None] * (at - goal)[places]) ** 2).sum(0)

    for turn in (-1e-4, 1e-4):
        moved = pose.copy()
        moved[places[0]] += turn
        beside = closed(loops, moved, least_change([0], None), loops.cap, Rule())
        assert (beside.size < CLOSED).all() and (far(beside.q) > far(pose)).all()
    for k in range(7):
        member = np.array([k])
        alone = nearest(loops.plan, loops.lane.of(member), q[:, member], loops.index, (), goal[:, member], weight)
        np.testing.assert_array_equal(alone[:, 0], pose[:, k])
