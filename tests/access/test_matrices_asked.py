"""Jacobians (D20) and the matrices of motion (D26) of a configuration: laws on random mechanisms with loops."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import shiftjax
from shiftjax.run.closing import host_evaluation as host
from tests.mechanics.test_identities import mechanism
from tests.support.models.small_loop import loop_states

SEED = 2  # balls, floating bodies, sliders, springs and dampers, loops
ALGEBRA = 1e-10  # relative to the largest entry: sums of twenty bodies' terms
STEP = 1e-5
DIFFERENCE = (
    1e-6  # relative to the largest entry: central differences with steps of 1e-5, third derivatives of order 10
)
POINT = (0.3, -0.7, 0.5)


def near(found: Any, expected: Any, tolerance: float) -> bool:
    found, expected = np.asarray(found), np.asarray(expected)
    assert found.shape == expected.shape
    return bool(np.abs(found - expected).max() < tolerance * max(1.0, np.abs(expected).max()))


def times(A: np.ndarray, x: np.ndarray) -> np.ndarray:
    return np.einsum("bij,bj->bi", A, x)


@pytest.fixture(scope="module")
def at() -> Any:
    """Four closed, moving members."""
    document, _, _, q, v = mechanism(SEED)
    return shiftjax.configuration(shiftjax.load(document), q=q.T, v=v.T)


@pytest.fixture(scope="module")
def small() -> Any:
    """Three members of a small loop."""
    return loop_states()


def displaced(at: Any, h: np.ndarray, v: Any = None) -> Any:
    """The same with coordinates displaced by speeds times one second."""
    q = host.retract(at.plan, at.q.T, np.broadcast_to(h, at.v.shape).T)
    return at.changed(q=q.T, v=at.v if v is None else v)


def difference(at: Any, k: int, ask: Any) -> np.ndarray:
    """The slope with the displacement of one speed."""
    unit = STEP * np.eye(at.plan.nv)[k]
    return (ask(displaced(at, unit)) - ask(displaced(at, -unit))) / (2 * STEP)


def independent(at: Any) -> list[int]:
    return [at.speed_names.index(name) for name in at.independent_names]


def test_jacobians_give_twists_d20(at: Any) -> None:
    """J v is the twist, and J' v + J a the acceleration, of a point, along any axes; by independent speeds, too."""
    a, v_i = at.accelerations(), at.v[:, independent(at)]
    tool = shiftjax.FrameOn("b1", T=POINT, R=[[0, -1, 0], [1, 0, 0], [0, 0, 1]])
    for options in (
        {},
        {"relative_to": "b1"},
        {"relative_to": "b1", "axes": "b3"},
        {"axes": shiftjax.FrameOn("b2")},
        {"relative_to": tool},
    ):
        twist = at.twist("b5", point=POINT, **options)
        J = at.jacobian("b5", point=POINT, **options)
        assert near(times(J, at.v), twist, ALGEBRA)
        assert near(times(at.jacobian("b5", point=POINT, constrained=True, **options), v_i), twist, ALGEBRA)
        compact = at.jacobian("b5", point=POINT, compact=True, **options)
        other: Any = options.get("relative_to", "world")
        names = at.moving_names("b5", relative_to=other)
        moving = [at.speed_names.index(name) for name in names]
        assert (compact == J[:, :, moving]).all() and not np.delete(J, moving, axis=2).any()
    J, rate = (getattr(at, what)("b5", relative_to="b1", point=POINT) for what in ("jacobian", "jacobian_rate"))
    assert near(times(J, a) + times(rate, at.v), at.acceleration("b5", relative_to="b1", point=POINT), ALGEBRA)
    J, rate = (getattr(at, what)("b5", axes="b5") for what in ("jacobian", "jacobian_rate"))
    assert near(times(J, a) + times(rate, at.v), at.acceleration("b5", axes="b5", spatial=True), ALGEBRA)
    moved = times(at.rate("jacobian", "b5", constrained=True), v_i)
    assert near(
        times(at.jacobian("b5", constrained=True), a[:, independent(at)]) + moved, at.acceleration("b5"), ALGEBRA
    )


def test_jacobians_are_slopes_of_poses_d20(small: Any) -> None:
    """Differences of places and arrows by each displacement; and the graph's own slopes."""
    asked = {"frame": "rod:tip", "relative_to": "arm:tip", "point": POINT}
    J, pose, slopes = small.jacobian(**asked), small.pose(**asked), small.derivative("pose", **asked)
    for k in range(small.plan.nv):
        step = difference(small, k, lambda x: x.pose(**asked))
        assert near(step, slopes[..., k], DIFFERENCE)
        assert near(step[:, :3, 3], J[:, 3:, k], DIFFERENCE)
        turned = np.cross(J[:, None, :3, k], pose[:, :3, :3].transpose(0, 2, 1)).transpose(0, 2, 1)
        assert near(step[:, :3, :3], turned, DIFFERENCE)


def test_joint_jacobians_are_the_motion_of_their_joint_d20(at: Any) -> None:
    """A revolute's is a constant axis; each gives the twist of the child's frame as the parent's sees it."""
    for joint in at.plan.joints:
        if not joint.nv or joint.chord:
            continue
        local = at.joint_jacobian(joint.path, axes="parent")
        assert local.shape == (4, 6, joint.nv)
        if joint.type in ("Rx", "Ry", "Rz"):
            axis = np.eye(3)["xyz".index(joint.type[1])]
            assert near(local[:, :3, 0], np.broadcast_to(axis, (4, 3)), ALGEBRA) and near(
                local[:, 3:], np.zeros((4, 3, 1)), ALGEBRA
            )
    with pytest.raises(shiftjax.ModelError, match="an active joint"):
        at.joint_jacobian("b3")


def test_mass_matrices_d26(at: Any) -> None:
    """T = v M v / 2, whose second slopes M is, p = M v its first; M^-1 M = 1 on the freedoms."""
    M, T = at.mass_matrix(), at.kinetic_energy()
    assert near(0.5 * np.einsum("bi,bij,bj->b", at.v, M, at.v), T, ALGEBRA)
    assert near(at.derivative("kinetic_energy", wrt="v"), times(M, at.v), ALGEBRA)
    assert near(at.generalized_momentum(), times(M, at.v), ALGEBRA)
    assert near(at.derivative("generalized_momentum", wrt="v"), M, ALGEBRA)
    Mi, Z = at.mass_matrix(constrained=True), at.null_space()
    assert near(Mi, Z.transpose(0, 2, 1) @ M @ Z, ALGEBRA)
    assert near(at.inverse_mass_matrix(constrained=True) @ Mi, np.broadcast_to(np.eye(Mi.shape[1]), Mi.shape), 1e-9)
    J = at.constraint_jacobian()
    assert J.shape[1] == len(at.row_names) and near(J @ Z, np.zeros((*J.shape[:2], Z.shape[2])), ALGEBRA)
    assert near(J @ at.inverse_mass_matrix(), np.zeros_like(J), 1e-9)
    assert near(times(J, at.v), at.constraint_speeds(), ALGEBRA)
    assert near(times(J, at.accelerations()), at.constraint_accelerations(), ALGEBRA * 10)
    assert np.abs(at.constraint_residuals()).max() < 1e-9  # as the states were closed


@pytest.mark.parametrize("constrained", [False, True])
def test_coriolis_matrices_d26(at: Any, constrained: bool) -> None:
    """C v is what the speeds take, and dM/dt - 2 C is skew: floating bodies, balls and closed loops, too."""
    C = at.coriolis_matrix(constrained=constrained)
    v = at.v[:, independent(at)] if constrained else at.v
    assert near(times(C, v), at.coriolis_forces(constrained=constrained), ALGEBRA)
    rate = at.rate("mass_matrix", constrained=constrained)
    assert near(rate, C + C.transpose(0, 2, 1), ALGEBRA * 10)


def test_equations_of_motion_balance_d26(small: Any) -> None:
    """M a + C v + g = tau + J^T lambda; Z^T of it has no constraint forces; power is the rate of the energies."""
    a, Z, J = small.accelerations(), small.null_space(), small.constraint_jacobian()
    given = small.applied_forces()
    rest = times(small.mass_matrix(), a) + small.coriolis_forces() + small.gravity_forces() - given
    assert near(rest, small.constraint_forces(), ALGEBRA)
    assert near(rest, times(J.transpose(0, 2, 1), small.multipliers()), ALGEBRA * 10)
    assert near(times(Z.transpose(0, 2, 1), rest), np.zeros(Z.shape[::2]), ALGEBRA * np.abs(rest).max())
    a_i = a[:, independent(small)]
    left = times(small.mass_matrix(constrained=True), a_i) + small.coriolis_forces(constrained=True)
    left = left + small.gravity_forces(constrained=True) - small.applied_forces(constrained=True)
    assert near(left, np.zeros_like(left), ALGEBRA * max(1.0, np.abs(rest).max()))
    assert near(small.lagrangian() + 2 * small.potential_energy(), small.total_energy(), ALGEBRA)
    parts = [small.applied_forces(path) for path in dict.fromkeys(force.path for force in small.plan.forces)]
    assert near(sum(parts), given, ALGEBRA)
    rest = small.changed(q=small.q, v=None)  # where dampers do nothing
    power = np.einsum("bi,bi->b", small.v, given - rest.applied_forces())
    assert near(small.rate("total_energy"), power, ALGEBRA * 10)
    assert near(rest.derivative("potential_energy"), rest.gravity_forces() - rest.applied_forces(), ALGEBRA * 10)


def test_slopes_are_differences_d26(small: Any) -> None:
    """Of M, C, g, tau by displacements, C and tau by speeds."""
    asked = ("mass_matrix", "coriolis_matrix", "gravity_forces", "applied_forces")
    slopes = {name: small.derivative(name) for name in asked}
    for k in range(0, small.plan.nv, 3):
        for name in asked:
            assert near(difference(small, k, lambda x, n=name: getattr(x, n)()), slopes[name][..., k], DIFFERENCE)
        unit = STEP * np.eye(small.plan.nv)[k]
        ends = [displaced(small, 0 * unit, small.v + s * unit) for s in (1, -1)]
        for name in ("coriolis_forces", "applied_forces"):
            step = [getattr(end, name)() for end in ends]
            assert near((step[0] - step[1]) / (2 * STEP), small.derivative(name, wrt="v")[..., k], DIFFERENCE)
    h = 1e-3
    implicit = small.mass_matrix() - h * small.derivative("applied_forces", wrt="v") - h**2 * slopes["applied_forces"]
    assert near(small.augmented_mass_matrix(h), implicit, ALGEBRA)
    Z = small.null_space()
    assert near(small.augmented_mass_matrix(h, constrained=True), Z.transpose(0, 2, 1) @ implicit @ Z, ALGEBRA)
