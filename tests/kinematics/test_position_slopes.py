"""Slopes of poses that meet goals, or miss them by least: closed forms, differences, both modes, doubts. D21, F8, M15.

Poses of levels that cannot be met are known to 1e-7 or so, where they are flat, which differences divide by their step;
their values are known to rounding, and closed forms have no such error.
"""

from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import shiftjax
from shiftjax import CenterGoal, FrameGoal, FunctionGoal, JointGoal, PotentialGoal, inverse_kinematics
from shiftjax.errors import GradientWarning
from tests.kinematics.test_inverse_kinematics import five_bar, planar_arm

EXACT = 1e-10  # of closed forms
BY_DIFFERENCES = 2e-5  # of central differences with STEP of poses to rounding
STEP = 1e-4
BENT = {"j1": 0.7, "j2": -0.5}
AT = np.array([1.5, 0.0, -0.5])


def both_modes(function: Callable[[Any], Any], x: Any) -> np.ndarray:
    """The Jacobian, which forward and reverse agree about; compiled, in half of the time."""
    x = jnp.asarray(x, float)
    forward, reverse = (np.asarray(jax.jit(way(function))(x)) for way in (jax.jacfwd, jax.jacrev))
    np.testing.assert_allclose(reverse, forward, rtol=0, atol=1e-12 * max(1.0, np.abs(forward).max()))
    return forward


def differences(function: Callable[[Any], Any], x: Any) -> np.ndarray:
    x = np.asarray(x, float)
    columns = []
    for k in range(x.size):
        step = np.zeros(x.size)
        step[k] = STEP
        ends = [np.asarray(function((x.ravel() + sign * step).reshape(x.shape))) for sign in (1, -1)]
        columns.append((ends[0] - ends[1]) / (2.0 * STEP))
    return np.stack(columns, axis=-1).reshape((*np.shape(columns[0]), *x.shape))


def two_links(T: Any, **more: Any) -> Any:
    """The planar arm with its last joint locked: two links of 1 m and 2 m."""
    goals = [FrameGoal("l2:tip", T=T, along="xz"), JointGoal("j2", 0.0, level="lock")]
    return inverse_kinematics(planar_arm(), goals, q={"j0": 0.2, "j1": 0.7}, **more)


def test_two_links_by_their_closed_form() -> None:
    """The slope of a pose that meets its goal is the inverse of the Jacobian; frames follow from coordinates."""
    T = np.array([1.2, 0.0, -1.1])
    q = np.asarray(two_links(T).coordinates)
    a, b = q[0], q[0] + q[1]
    J = np.array([[-np.sin(a) - 2 * np.sin(b), -2 * np.sin(b)], [-np.cos(a) - 2 * np.cos(b), -2 * np.cos(b)]])
    slopes = both_modes(lambda T: two_links(T).coordinates, T)
    np.testing.assert_allclose(slopes[:2][:, [0, 2]], np.linalg.inv(J), rtol=0, atol=EXACT)
    np.testing.assert_allclose(slopes[2], 0.0, rtol=0, atol=EXACT)
    assert both_modes(lambda T: two_links(T).by_goal, T) == pytest.approx(0.0, abs=EXACT)


def test_lengths_move_a_pose_as_its_closed_form_says() -> None:
    """dq = -J^-1 p_l dl: as many designs as lengths, each with its own slope alone; also inside of jit and vmap."""
    lengths = np.array([1.0, 1.1])

    def coordinates(lengths: Any) -> Any:
        return two_links((1.2, 0.0, -1.1), vary={"l0:tip.T[0]": lengths}).coordinates

    q = np.asarray(coordinates(lengths))
    slopes = both_modes(coordinates, lengths)
    for k, (a, b) in enumerate(zip(q[:, 0], q[:, 0] + q[:, 1], strict=True)):
        s, c = lengths[k] * np.array([np.sin(a), np.cos(a)])
        J = np.array([[-s - 2 * np.sin(b), -2 * np.sin(b)], [-c - 2 * np.cos(b), -2 * np.cos(b)]])
        expected = -np.linalg.solve(J, np.array([np.cos(a), -np.sin(a)]))
        np.testing.assert_allclose(slopes[k, :2, k], expected, rtol=0, atol=EXACT)
        assert not slopes[k, :, 1 - k].any()
    compiled = jax.jit(jax.vmap(jax.grad(lambda length: coordinates(length[None])[0, 0])))(jnp.asarray(lengths))
    np.testing.assert_allclose(compiled, [slopes[0, 0, 0], slopes[1, 0, 1]], rtol=0, atol=EXACT)


def test_out_of_reach_the_arm_points_at_its_goal() -> None:
    """The nearest pose of an arm of 3 m turns as the direction of its goal does, and is missed by its distance."""
    far = np.array([3.0, 0.0, -2.0])
    size = np.hypot(far[0], far[2])
    goal = lambda T: inverse_kinematics(planar_arm(), FrameGoal("l2:tip", T=T, along="xz"), q=BENT)  # noqa: E731
    slopes = both_modes(lambda T: goal(T).coordinates, far)
    np.testing.assert_allclose(slopes[0, [0, 2]], np.array([-far[2], far[0]]) * -1.0 / size**2, rtol=0, atol=1e-6)
    np.testing.assert_allclose(slopes[1:], 0.0, rtol=0, atol=1e-6)
    missed = both_modes(lambda T: jnp.linalg.norm(goal(T).by_goal), far)
    np.testing.assert_allclose(missed[[0, 2]], far[[0, 2]] / size, rtol=0, atol=1e-6)


def test_levels_limits_and_regions_by_differences() -> None:
    """Below a target that is met a posture is stationary; ends that something presses move the pose with them."""

    def posture(T: Any) -> Any:
        goals = [FrameGoal("l2:tip", T=T, along="xz"), JointGoal("j0", -0.3, level="posture")]
        return inverse_kinematics(planar_arm(), goals, q=BENT).missed["posture"]

    def at_limit(high: Any) -> Any:
        goals = [FrameGoal("l2:tip", T=(1.0, 0.0, -0.5), along="xz"), JointGoal("j0", -0.3, level="posture")]
        return inverse_kinematics(planar_arm(), goals, limits={"j1": (-0.5, high)}, q=BENT).coordinates

    def levels(wanted: Any) -> Any:
        goals = [
            JointGoal("j0", wanted[0]), JointGoal("j0", wanted[1], weight=2.0),
            FrameGoal("l2:tip", T=(1.5, 0.0, 0.2), along="xz", level=2.5), JointGoal("j2", -1.0, level="posture"),
        ]  # fmt: skip
        return inverse_kinematics(planar_arm(), goals, q=BENT).coordinates

    def edges(T: Any) -> Any:
        goals = [FrameGoal("l2:tip", T=T, along="xz", box=(0.05, 0.0, 0.05)),
                 JointGoal("j0", -1.0, level="posture"), JointGoal("j2", 0.1, level="posture")]  # fmt: skip
        return inverse_kinematics(planar_arm(), goals, q=BENT).coordinates

    for function, x in ((posture, AT), (at_limit, 0.5), (levels, np.array([0.1, 0.3])), (edges, AT)):
        slopes = both_modes(function, x)
        np.testing.assert_allclose(slopes, differences(function, x), rtol=0, atol=BY_DIFFERENCES)
        if function is at_limit:
            assert slopes[1] == pytest.approx(1.0, abs=EXACT)


def test_loops_follow_a_coupler_point() -> None:
    """A four-bar led by a point of its coupler, and a five-bar by its tool: coordinates and lengths, loops closed."""
    at = shiftjax.configuration("four_bar").pose("coupler:tip")[:3, 3]
    place = at + np.array([0.001, 0.0, 0.0])

    def coupler(T: Any) -> Any:
        return inverse_kinematics("four_bar", FrameGoal("coupler:tip", T=T, along="x")).coordinates

    slopes = both_modes(coupler, place)
    moved = shiftjax.configuration("four_bar", coupler(place))
    along = dict(zip(moved.speed_names, slopes[:, 0], strict=True))
    tip = np.asarray(moved.jacobian("coupler:tip", constrained=False))[3]  # of the point's x
    assert tip @ [along[name] for name in moved.speed_names] == pytest.approx(1.0, abs=1e-9)

    def tool(length: Any) -> Any:
        goal = FrameGoal("left_rod:tip", T=(0.5, 0.0, 1.0), along="xz")
        return inverse_kinematics(five_bar(), goal, vary={"right_rod:tip.T[0]": length}).coordinates

    lengths = np.array([1.5])
    np.testing.assert_allclose(both_modes(tool, lengths), differences(tool, lengths), rtol=0, atol=BY_DIFFERENCES)


def test_the_nearest_pose_of_a_loop_by_the_curve_it_can_take() -> None:
    """Of a point off the curve of a coupler the nearest one moves by 1 / (1 - d k) of what the goal moves along the
    curve, of curvature k at distance d: what a Gauss-Newton slope leaves out."""
    at = shiftjax.configuration("four_bar").pose("rocker:tip")[:3, 3]
    pivot = shiftjax.configuration("four_bar").pose("rocker")[:3, 3]
    radius, way = np.linalg.norm(at - pivot), (at - pivot) / np.linalg.norm(at - pivot)
    across = np.array([way[2], 0.0, -way[0]])  # where Ry turns it
    goal = pivot + way * (radius + 0.2)

    def rocker(T: Any) -> Any:
        return inverse_kinematics("four_bar", FrameGoal("rocker:tip", T=T, along="xz")).q["four_bar:rocker_pivot"]

    assert both_modes(rocker, goal) @ across == pytest.approx(1.0 / (radius + 0.2), abs=1e-6)
    assert both_modes(rocker, goal) @ way == pytest.approx(0.0, abs=1e-6)


def test_rotations_energies_and_functions() -> None:
    """Rotation vectors are met without a singular slope; masses move an equilibrium; own functions are rows."""
    at = shiftjax.configuration("stewart").pose("platform")

    def turned(angle: Any) -> Any:
        c, s = jnp.cos(angle), jnp.sin(angle)
        R = jnp.array([[c, -s, 0.0], [s, c, 0.0], [0.0, 0.0, 1.0]]) @ at[:3, :3]
        return inverse_kinematics("stewart", FrameGoal("platform", T=at[:3, 3], R=R)).q["stewart:leg_1"]

    assert both_modes(turned, 0.1) == pytest.approx(differences(turned, 0.1), abs=BY_DIFFERENCES)

    def hanging(mass: Any) -> Any:
        goals = [JointGoal("j0", 0.5, level="lock"), PotentialGoal(), CenterGoal((0.0, 0.0, 0.0), of="l2", along="x")]
        return inverse_kinematics(planar_arm(), goals, q={"j1": 0.3}, vary={"l1.mass": mass}).by_goal

    mass = np.array([1.0])
    np.testing.assert_allclose(both_modes(hanging, mass), differences(hanging, mass), rtol=0, atol=1e-3)

    def reach(value: Any) -> Any:
        goals = [FunctionGoal("norm(l2:tip.position)", value), JointGoal("j0", 0.1), JointGoal("j1", 0.4)]
        return inverse_kinematics(planar_arm(), goals, q=BENT).coordinates

    np.testing.assert_allclose(both_modes(reach, 2.5), differences(reach, 2.5), rtol=0, atol=1e-3)


def test_what_slopes_do_not_tell_is_said() -> None:
    """Freedoms that goals leave go with the least change, which is said; so is a limit that nothing presses."""

    def free(T: Any) -> Any:
        return inverse_kinematics(planar_arm(), FrameGoal("l2:tip", T=T, along="xz"), q=BENT).coordinates

    with pytest.warns(GradientWarning, match="leave it freedoms"):
        slopes = np.asarray(jax.jacfwd(free)(jnp.asarray(AT)))
    J = np.asarray(shiftjax.configuration(planar_arm(), free(AT)).jacobian("l2:tip"))[[3, 5]]
    np.testing.assert_allclose(slopes[:, [0, 2]], np.linalg.pinv(J), rtol=0, atol=1e-9)

    def touched(T: Any) -> Any:
        high = float(two_links(np.array([1.2, 0.0, -1.1])).q["arm:j1"])
        return two_links(T, limits={"j1": (-3.0, high)}).coordinates

    with pytest.warns(GradientWarning, match="touches a limit"):
        jax.jacrev(touched)(jnp.array([1.2, 0.0, -1.1]))


def test_values_are_those_of_plain_calls() -> None:
    """To the last bit; what has no slopes is there, too."""
    plain = two_links(AT)
    seen: dict[str, Any] = {}

    def traced(T: Any) -> Any:
        seen["record"] = record = two_links(T)
        return record.coordinates, (record.by_goal, record.reached, record.status, record.iterations)

    coordinates, _, rest = jax.linearize(traced, jnp.asarray(AT), has_aux=True)
    np.testing.assert_array_equal(coordinates, plain.coordinates)
    np.testing.assert_array_equal(rest[0], plain.by_goal)
    assert (bool(rest[1]), int(rest[2]), int(rest[3])) == (True, 0, int(plain.iterations))
    assert seen["record"].labels == plain.labels


def test_a_member_without_a_pose_has_no_slopes() -> None:
    """Beside others, whose slopes stay: a design that is not finite had the slope 0, without a word."""
    lengths = jnp.array([1.0, jnp.nan, 1.1])

    def first(x: Any) -> Any:
        return two_links(AT, vary={"l0:tip.T[0]": x}).q["arm:j0"]

    with pytest.warns(GradientWarning, match="member 1"):
        _, forward = jax.jvp(first, (lengths,), (jnp.ones(3),))
    with pytest.warns(GradientWarning, match="member 1"):
        reverse = jax.vjp(first, lengths)[1](jnp.ones(3))[0]
    alone = jax.grad(lambda x: first(x)[0])(lengths[2:])
    for slopes in (forward, reverse):
        assert np.isnan(slopes[1]) and np.isfinite(slopes[0])
        np.testing.assert_allclose(slopes[2], alone[0], rtol=0, atol=EXACT)
