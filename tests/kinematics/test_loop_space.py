"""What loops leave free, by independent rows and by singular values: the same steps, the same ranks (row 23).

Tolerances: both solve the same equations to rounding, of condition numbers up to 1e4.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

import shiftjax
from shiftjax.access.stated_state import stated_state
from shiftjax.formats import load
from shiftjax.kinematics.positioning.goals import FrameGoal, JointGoal, ranked
from shiftjax.kinematics.positioning.ground import Footing
from shiftjax.kinematics.positioning.position_search import PositionSearch
from shiftjax.kinematics.positioning.solving.loop_space import WELL, IndependentRows, LoopSpace, by_singular_values
from shiftjax.kinematics.positioning.solving.manifold import Manifold
from shiftjax.kinematics.positioning.solving.solver import solved
from shiftjax.mechanism.model import Model
from shiftjax.models.n_four_bar import n_four_bar

SAME = 1e-9  # of steps and bases: 1e-16 times condition numbers up to 1e4, squared in one of the ways and corrected
CLOSED = 1e-12  # residual of loops, dimensionless
EXACT = 3e-9  # of what is missed, where both come to; 1.2e-9 with the sines of NumPy 2.5
STANDS = 1e-6  # m or rad: where what is missed has no slope any more, to 1e-9 of it
ALONE, NONE = np.zeros(1, int), np.zeros((1, 0), bool)


def search_of(model: Model, goals: Sequence[Any] = (), q: np.ndarray | None = None) -> PositionSearch:
    """A problem of one mechanism, from where it begins or from coordinates (nq,)."""
    goals = goals or [FrameGoal([path for path, _ in model.bodies()][-1], T=(0.3, 0.2, 0.1))]
    stated = stated_state(
        model, q=None, v=None, vary=None, assign=None, derive=None, drive=None, tie=None, start=None, time=None,
        massless=True,
    )  # fmt: skip
    stated = stated if q is None else replace(stated, q=q[:, None])
    return PositionSearch(model, stated, goals, ranked(goals), None, Footing.of(stated))


def assert_alike(quick: LoopSpace, whole: LoopSpace) -> None:
    assert quick.rank == whole.rank and quick.basis.shape == whole.basis.shape
    assert quick.basis.T @ quick.basis == pytest.approx(np.eye(quick.basis.shape[1]), abs=1e-13)
    assert quick.basis @ quick.basis.T == pytest.approx(whole.basis @ whole.basis.T, abs=SAME)
    assert quick.closing == pytest.approx(whole.closing, abs=SAME * max(1.0, np.abs(whole.closing).max(initial=0.0)))


@pytest.mark.parametrize("seed", range(4))
def test_rows_of_which_some_follow_from_others(seed: int) -> None:
    """Random ones of blocks along a chain, in any order, some of them twice, some of them sums."""
    rng = np.random.default_rng(seed)
    A = np.zeros((18, 24))
    for k in range(6):
        A[3 * k : 3 * k + 3, 3 * k : 3 * k + 6] = rng.normal(size=(3, 6))
    mixed = np.concatenate([np.eye(18), np.eye(18)[:4], rng.normal(size=(6, 18))])[rng.permutation(28)]
    J, phi = mixed @ A, mixed @ rng.normal(size=18)
    i, j = np.nonzero(J)
    rows = IndependentRows(J, 18, i, j)
    quick = rows.space(J[i, j], J, phi)
    assert quick is not None and len(rows.others) == 10
    assert_alike(quick, by_singular_values(J, phi))


@pytest.mark.parametrize("name", ["stewart", "bricard"])
def test_loops_of_one_mechanism_have_the_bits_of_many(name: str) -> None:
    goals = search_of(load(name)).goals
    q = goals.moved(goals.x[: goals.plan.nq], 0.1 * np.random.default_rng(2).normal(size=(1, goals.plan.nv)))
    assert goals.lone is not None
    many, (J, phi) = replace(goals, lone=None).closure(q, ALONE), goals.lone.dense(goals.lone.at(q[:, 0]))
    assert np.array_equal(many.missed[0, goals.lone.kept], phi) and np.array_equal(many.rows[0, goals.lone.kept], J)
    assert many.worst == goals.closure(q, ALONE).worst


@pytest.mark.parametrize("name", ["four_bar", "excavator", "stewart", "peaucellier", "bennett", "bricard", "sarrus"])
def test_mechanisms_at_random_poses(name: str) -> None:
    """Closed, and a little open; of Bennett's and Bricard's linkages some rows follow from others where they close."""
    rng, goals = np.random.default_rng(1), search_of(load(name)).goals
    lone, manifold, q = goals.lone, Manifold.of_loops(goals, ALONE), goals.x[: goals.plan.nq]
    assert lone is not None and lone.at(q[:, 0]).space.separated and lone.independent is not None
    implied, compared = len(lone.independent.others), 0
    assert bool(implied) == (name in ("bennett", "bricard"))
    for _ in range(8):
        some, closed = manifold.restored(goals.moved(q, 0.2 * rng.normal(size=(1, goals.plan.nv))), NONE)
        for place in (some, goals.moved(some, 1e-5 * rng.normal(size=(1, goals.plan.nv)))):
            here = lone.at(place[:, 0])
            J, phi = lone.dense(here)
            if closed[0] and (here.gap < CLOSED or not implied):
                quick = lone.independent.space(here.values, J, phi)
                assert quick is not None
                assert_alike(quick, by_singular_values(J, phi))
                compared += 1
    assert compared >= 6


@pytest.mark.parametrize(("count", "bent"), [(1, 0.0), (3, 0.0), (3, 1e-6), (3, 0.03), (3, 0.3)])
def test_parallelograms_where_they_cross(count: int, bent: float) -> None:
    """All rods along one line, and nearly: singular values decide there, on a rank that is less on the line."""
    goals = search_of(load(n_four_bar(count))).goals
    lone, plan = goals.lone, goals.plan
    assert lone is not None
    q, lying = goals.x[: plan.nq, 0], np.pi / 2.0 - bent
    assert lone.at(q).space.rank == 3 * count and lone.independent is not None
    for one in plan.coordinates:
        q[one.q] = lying if "top" in one.path else -lying
    here = lone.at(q)
    assert here.gap < CLOSED
    whole, quick = by_singular_values(*lone.dense(here)), lone.independent.space(here.values, *lone.dense(here))
    assert (whole.rank == 3 * count) == (bent > 0.0)
    assert (quick is not None) == (bent > 100.0 * WELL)
    if quick is not None:
        assert_alike(quick, whole)
    assert_alike(here.space, whole)
    q = goals.x[: plan.nq, 0] = 0.1 * q
    back = goals.closure(q[:, None], ALONE)
    assert_alike(back.loops.space, by_singular_values(*lone.dense(back.loops)))  # type: ignore[union-attr]


def test_a_stretched_arm_within_a_loop() -> None:
    """A four-bar at the end of its rocker's way, which stands still there to first order: no rank is lost."""
    model = load("four_bar")
    far = shiftjax.Poser(model).turn("rocker_pivot", 3.0)
    goals = search_of(model, q=far.coordinates).goals
    rocker = next(one.v for one in goals.plan.coordinates if one.path.endswith("rocker_pivot"))
    assert goals.lone is not None and goals.lone.at(goals.x[: goals.plan.nq, 0]).space.separated
    here = goals.lone.at(far.coordinates)
    assert far.missed > 0.1 and np.abs(here.space.basis[rocker]).max() < 1e-3
    assert goals.lone.independent is not None
    quick = goals.lone.independent.space(here.values, *goals.lone.dense(here))
    assert quick is not None
    assert_alike(quick, by_singular_values(*goals.lone.dense(here)))


@pytest.mark.parametrize("name", ["four_bar", "excavator", "bennett", "peaucellier", "vehicle_chassis"])
def test_both_ways_come_to_the_same_pose(name: str) -> None:
    """With a lock before, a goal that may be out of reach, and a posture after: levels, too, are those of many."""
    model = load(name)
    plan, goals = search_of(model).plan, []
    plain = [one.path for one in plan.coordinates if one.plain]
    goals += [JointGoal(plain[0], level="lock", box=0.3)] if name != "bennett" else []
    body = [path for path, _ in model.bodies()][-1]
    R, p = shiftjax.Poser(model).poses[body]
    goals += [FrameGoal(body, T=p + R @ np.array([0.02, 0.03, 0.01])), JointGoal(plain[-1], 0.2, level="posture")]
    search = search_of(model, goals)
    q = search.goals.x[: plan.nq]
    alone, among = solved(search.goals, q, ALONE), solved(replace(search.goals, lone=None), q, ALONE)
    assert search.goals.lone is not None and search.goals.lone.independent is not None
    assert alone.value == pytest.approx(among.value, abs=EXACT)
    assert alone.q == pytest.approx(among.q, abs=STANDS)


def test_a_tower_of_loops_is_dragged_with_loops_closed() -> None:
    """Twenty loops, thirty parts: to where the hand is, and as near as it comes where it is out of reach."""
    poser = shiftjax.Poser(load(n_four_bar(20)))
    body, tip = [path for path, _ in poser.model.bodies()][-1], np.array([0.0, 1.0, 0.0])
    R, p = poser.poses[body]
    pivot = p.copy()
    for k in range(30):
        target = p + R @ tip + k * np.array([0.01, 0.0, 0.004])
        poser.drag_on(body, tip, target)
        assert poser.gap < CLOSED
    poser.drag(body, tip, target)
    R, p = poser.poses[body]
    nearest = pivot + (target - pivot) * [1, 1, 0] / np.linalg.norm((target - pivot)[:2])
    assert p + R @ tip == pytest.approx(nearest, abs=1e-7)
