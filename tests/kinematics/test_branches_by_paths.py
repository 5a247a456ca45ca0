"""Assemblies of groups that no closed form solves (F7): published numbers of real ones, each certified."""

import numpy as np
import pytest

import shiftjax
from shiftjax.run.assemblies.charts import drawn, features, numbers_of
from shiftjax.run.assemblies.legs import LEGS, roots_of_legs
from shiftjax.run.assemblies.skeleton import LOOP, SPATIAL, Closure, Posed, Skeleton
from tests.kinematics import mechanisms
from tests.kinematics.mechanisms import MANSEUR_DOTY, PUMA, angles, dietmaier, forward, gripping, three_legs
from tests.support.complete import complete_only

EXACT = 1e-12  # of poses in f64, lengths of about 1
DIGITS = 1e-10  # of numbers that are stated with twelve digits
PUBLISHED = 2e-6  # of postures of which some are nearly double, from lengths of six digits


def test_three_legs_in_the_plane() -> None:
    """Row 7 of the specification of kinematics: exactly six poses, of which each angle has twelve digits."""
    table = shiftjax.branches(three_legs(), {f"slide_{k}": leg for k, leg in enumerate(mechanisms.LEGS)})
    poses = [-2.764606900687, -1.566604685465, -1.247537328588, -1.007484005786, -0.377793566391, 0.710112262819]
    np.testing.assert_allclose(np.sort(angles(table, "a:base_0", "a:top_0")), poses, rtol=0.0, atol=DIGITS)
    assert table.complete == "proven" and table.certified.all() and len({*table.names}) == 6


def test_designs_by_vary() -> None:
    """Legs that vary: the same counts as one at a time, real and complex ones together six."""
    legs = np.array([2.4, 2.64, 3.4])
    at = {"slide_0": legs, "slide_1": mechanisms.LEGS[1], "slide_2": mechanisms.LEGS[2]}
    table = shiftjax.branches(three_legs(), at)
    assert (table.real + table.complex).tolist() == [6, 6, 6] and table.real[1] == 6 and table.real[2] < 6


def test_sixteen_poses_of_six_joints() -> None:
    """Manseur and Doty's arm reaches a pose in sixteen ways; two of them are published."""
    pose = mechanisms.MANSEUR_DOTY_POSE
    table = shiftjax.branches(gripping(MANSEUR_DOTY, pose))
    every = np.array([table.q[f"arm:joint_{k}"] for k in range(1, 7)]).T
    assert len(table) == 16 and table.complete == "proven" and table.certified.all()
    U, _, V = np.linalg.svd(pose[:3, :3])
    for turns in every:
        hand = forward(MANSEUR_DOTY, turns)
        np.testing.assert_allclose(hand[:3, 3], pose[:3, 3], rtol=0.0, atol=EXACT)
        np.testing.assert_allclose(hand[:3, :3], U @ V, rtol=0.0, atol=EXACT)
    for stated in mechanisms.MANSEUR_DOTY_TWO:
        off = np.abs(np.exp(1j * every) - np.exp(1j * np.array(stated))).max(1)
        assert off.min() < 1e-7  # the pose has six digits, and so has what its rotation was made orthonormal from


def test_eight_poses_of_a_puma() -> None:
    """An arm with a spherical wrist reaches a pose in eight ways (Pieper 1968)."""
    stated = [0.3, 0.9, 2.5, 0.4, 0.8, -0.6]
    goal = forward(PUMA, stated)
    table = shiftjax.branches(gripping(PUMA, goal))
    every = np.array([table.q[f"arm:joint_{k}"] for k in range(1, 7)]).T
    assert len(table) == 8 and table.complete == "proven" and table.certified.all()
    for turns in every:
        np.testing.assert_allclose(forward(PUMA, turns), goal, rtol=0.0, atol=EXACT)
    assert np.abs(every - stated).max(1).min() < EXACT * 10.0


def test_forty_postures_of_a_platform() -> None:
    """Dietmaier's platform has forty real postures, all of them certified; three are published."""
    table = shiftjax.branches(dietmaier())
    assert len(table) == 40 and table.complete == "proven" and table.certified.all() and table.complex.tolist() == [0]
    w, x, y, z = table.q["a:free.rotation"].T
    first = np.array([1 - 2 * (y * y + z * z), 2 * (x * y + w * z), 2 * (x * z - w * y)])
    second = np.array([2 * (x * y - w * z), 1 - 2 * (x * x + z * z), 2 * (y * z + w * x)])
    place = np.array([table.q[f"a:free.{axis}"] for axis in "xyz"])
    every = np.concatenate([place, first, second]).T
    for stated in mechanisms.DIETMAIER_THREE:
        assert np.abs(every - np.array(stated)).max(1).min() < PUBLISHED


@complete_only
def test_the_pose_of_a_random_arm_is_among_sixteen() -> None:
    """Every general loop of six turns has 16 poses, complex ones too, and the one that was drawn is among them."""
    random = np.random.default_rng(7)
    arm = {"alpha": random.uniform(0.4, 1.4, 6), "a": random.uniform(0.2, 1.0, 6), "d": random.uniform(-0.5, 0.5, 6)}
    stated = random.uniform(-2.0, 2.0, 6)
    table = shiftjax.branches(gripping(arm, forward(arm, stated)))
    every = np.array([table.q[f"arm:joint_{k}"] for k in range(1, 7)]).T
    assert table.complete == "proven" and len(table) + table.complex[0] == 16 and len(table) % 2 == 0
    assert np.abs(every - stated).max(1).min() < EXACT * 100.0


@pytest.mark.parametrize("motions", LEGS)
def test_a_leg_has_two_poses(motions: tuple[str, ...]) -> None:
    """Two turns whose axes meet, and a ball at either end: both poses close, and one of them is the one that was drawn,
    the other has both turns half a turn further round."""
    skeleton = Skeleton(motions, (Closure(LOOP, ((0, 1, 2), ())),), SPATIAL)
    numbers, X = drawn(skeleton, np.random.default_rng(1))
    screws = numbers_of(skeleton, numbers[None])
    a, b = (k for k, motion in enumerate(motions) if motion == "turn")
    axes = np.real(screws.axis[:, [a, b]])
    screws.axis[:, [a, b]] = axes / np.linalg.norm(axes, axis=2)[:, :, None]
    screws.center[:, [a, b]] = np.real(screws.center[:, [a, a]])  # a point of both
    posed = Posed(skeleton, screws, X[None])
    R, p = posed.pose((0, 1, 2))
    screws.end_R[:, 0] = np.swapaxes(R, 1, 2)
    screws.end_p[:, 0] = -np.einsum("pji,pj->pi", R, p)
    roots = roots_of_legs(skeleton, screws)[0]
    closed = Posed(skeleton, screws.of(np.zeros(2, int)), roots)
    assert np.abs(closed.residuals()).max() < 1e-11 and closed.turn_left().max() < 1e-11
    off = np.abs(features(skeleton, roots) - features(skeleton, X[None])).max(1)
    assert off.min() < 1e-10 < off.max()


def test_a_platform_on_universal_legs() -> None:
    """The library's platform with feet out of their plane: 40 poses, each leg in both of its own, all certified."""
    random, model = np.random.default_rng(3), shiftjax.load("stewart")
    feet = {f"fixed:foot_{k}.T[2]": float(height) for k, height in enumerate(random.uniform(-0.05, 0.05, 6), 1)}
    table = shiftjax.branches(model, {f"leg_{k}": 0.854 for k in range(1, 7)}, assign=feet)
    assert table.complete == "proven" and table.certified.all() and len({*table.names}) == len(table)
    assert table.real[0] + table.complex[0] == 40 * 64 and table.real[0] % 64 == 0
