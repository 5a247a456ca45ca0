"""Matrices, forces and energies of the equations of motion at one state: lane code, nested lists of scalars.

Over all speeds of the joints, loops cut (`constrained` False), with the forces at the cuts on the right:

    M a + C v + g = tau + J^T lambda,  J v = nu,  J a = gamma

over the independent speeds, loops closed, with v = Z v_i + v_0 and a = Z a_i + a_0: M_i = Z^T M Z,
C_i = Z^T C Z + Z^T M dZ/dt, g_i = Z^T g, tau_i = Z^T tau, without constraint forces.

C is that of Christoffel's symbols where speeds are rates of coordinates, and M' - 2 C is skew for all speeds, those of
balls and floating bodies, too: Echeandia, Wensing, Numerical Methods to Compute the Coriolis Matrix and Christoffel
Symbols for Rigid-Body Systems, Journal of Computational and Nonlinear Dynamics 16 (2021), of every body about its
centre of mass.
"""

from __future__ import annotations

from collections.abc import Sequence

from shiftjax.access.kinematic_terms import inertia_of, matrix_of
from shiftjax.access.lane_state import LaneState
from shiftjax.algebra import (
    Mat,
    Scalar,
    Vec,
    dot,
    is_zero,
    matmul,
    matvec,
    minus,
    negative,
    plus,
    scale,
    total,
    transpose,
    zeros,
)
from shiftjax.dynamics.reduced import sparse_dot, sparse_product
from shiftjax.dynamics.reduction import Column, ldl_solve
from shiftjax.dynamics.tree import Tree, tree_terms
from shiftjax.plan_elements import PlacedFrame


def mass_matrix(at: LaneState, *, constrained: bool) -> Mat:
    """(n, n)"""
    if constrained:
        images = [sparse_product(at.H, column) for column in at.Z]
        return [[sparse_dot(column, image) for image in images] for column in at.Z]
    return [[row.get(k, 0.0) for k in range(at.plan.nv)] for row in at.H]


def inverse_mass_matrix(at: LaneState, *, constrained: bool) -> Mat:
    """(n, n) accelerations for a unit of each generalised force: M_i^-1, or Z M_i^-1 Z^T of all speeds."""
    count = len(at.Z)
    if not count:
        return [] if constrained else [zeros(at.plan.nv) for _ in range(at.plan.nv)]
    at.ground.need_masses()
    units = [[1.0 if i == k else 0.0 for i in range(count)] for k in range(count)]
    inverse, _ = ldl_solve(mass_matrix(at, constrained=True), units)
    if constrained:
        return inverse
    Z = null_space_matrix(at)
    return matmul(matmul(Z, inverse), transpose(Z))


def coriolis_matrix(at: LaneState, *, constrained: bool) -> Mat:
    """(n, n) C, of the module's description."""
    C = _tree_coriolis(at)
    if not constrained:
        return C
    flow = at.direction(q=at.coordinate_rates(at.v), t=[1.0])
    (rates,) = at.along(null_space_entries, [flow])
    count, nv = len(at.Z), at.plan.nv
    columns = []
    for k, column in enumerate(at.Z):
        rate: Column = {i: x for i, x in enumerate(rates[k * nv : (k + 1) * nv]) if not is_zero(x)}
        inertial = sparse_product(at.H, rate)
        along = [total(C[i][j] * entry for j, entry in column.items()) for i in range(nv)]
        columns.append(at.across([x + inertial.get(i, 0.0) for i, x in enumerate(along)]))
    return [[columns[j][i] for j in range(count)] for i in range(count)]


def null_space_entries(at: LaneState) -> Vec:
    """Columns of Z, one after the other."""
    return [column.get(k, 0.0) for column in at.Z for k in range(at.plan.nv)]


def null_space_matrix(at: LaneState) -> Mat:
    """(nv, n) Z: all speeds for a unit of each independent one."""
    return [[column.get(k, 0.0) for column in at.Z] for k in range(at.plan.nv)]


def _tree_coriolis(at: LaneState) -> Mat:
    nv = at.plan.nv
    nodes = [k for k in range(len(at.plan.nodes)) if _moves(at, k)]
    flow = at.direction(q=at.coordinate_rates(at.v))
    (rates,) = at.along(lambda x: _entries(x, nodes), [flow])
    now = _entries(at, nodes)
    C = [[0.0] * nv for _ in range(nv)]
    first = 0
    for node in nodes:
        numbers, inertia = at.plan.nodes[node].numbers, inertia_of(at, node)
        assert numbers is not None and inertia is not None
        speeds = _speeds(at, node)
        places = [slice(first + 6 * k, first + 6 * k + 6) for k in range(len(speeds))]
        first += 6 * len(speeds)
        columns, changes = [now[place] for place in places], [rates[place] for place in places]
        R, _ = at.rest.pose(PlacedFrame(node, None))
        world = matmul(matmul(R, inertia), transpose(R))
        w = zeros()
        for speed, column in zip(speeds, columns, strict=True):
            w = plus(w, scale(at.v[speed], column[:3]))
        half = _turning(world, w)
        m = at.lane.params.at(numbers.mass)
        for j, (column, change) in enumerate(zip(columns, changes, strict=True)):
            moment = plus(matvec(world, change[:3]), matvec(half, column[:3]))
            image = [*moment, *scale(m, change[3:])]
            for i, other in enumerate(columns):
                C[speeds[i]][speeds[j]] = C[speeds[i]][speeds[j]] + dot(other, image)
    return C


def _moves(at: LaneState, node: int) -> bool:
    numbers = at.plan.nodes[node].numbers
    return (
        node > 0
        and numbers is not None
        and not all(is_zero(x) for x in (at.lane.params.at(numbers.mass), *at.lane.params.at(numbers.inertia)))
    )


def _speeds(at: LaneState, node: int) -> list[int]:
    branch, _, _ = at.plan.between(node, 0)
    return sorted(speed for joint in branch for speed in at.plan.joints[joint].speeds)


def _entries(at: LaneState, nodes: Sequence[int]) -> Vec:
    """Of every body six numbers a speed that moves it: angular velocity, and velocity of the centre of mass."""
    out: Vec = []
    for node in nodes:
        numbers = at.plan.nodes[node].numbers
        assert numbers is not None
        frame, centre = PlacedFrame(node, None), at.lane.params.at(numbers.center_of_mass)
        angular, linear = at.rest.angular_jacobian(frame), at.rest.jacobian(frame, centre)
        for k in _speeds(at, node):
            out += [*angular.get(k, zeros()), *linear.get(k, zeros())]
    return out


def _turning(inertia: Mat, w: Vec) -> Mat:
    """([w] I - I [w] - [I w]) / 2, [x] y = x x y."""
    spin, image = _crossing(w), _crossing(matvec(inertia, w))
    first, second = matmul(spin, inertia), matmul(inertia, spin)
    return [[0.5 * (first[i][j] - second[i][j] - image[i][j]) for j in range(3)] for i in range(3)]


def _crossing(w: Vec) -> Mat:
    x, y, z = w
    return [[0.0, -z, y], [z, 0.0, -x], [-y, x, 0.0]]


def coriolis_forces(at: LaneState, *, constrained: bool) -> Vec:
    """(n,) what M a + g lacks at the speeds: C v, or with loops closed Z^T (C v + M a_0), which drivers enter, too."""
    force = negative(tree_terms(at.motion, zeros(), at.states, which=()).force)
    if not constrained:
        return force
    inertial = sparse_product(at.H, at.driven_accelerations)
    return at.across([x + inertial.get(k, 0.0) for k, x in enumerate(force)])


def gravity_forces(at: LaneState, *, constrained: bool) -> Vec:
    """(n,) g, the generalised forces that hold the mechanism against gravity."""
    force = negative(tree_terms(at.rest, at.lane.gravity(), at.states, which=()).force)
    return at.across(force) if constrained else force


def applied_forces(at: LaneState, which: Sequence[int] | None, *, constrained: bool) -> Vec:
    """(n,) tau of all forces of the model but gravity, or of some.

    Args:
        which: places of forces in the plan.
    """
    plan = at.plan
    bears = plan.bears and (which is None or any(plan.forces[k].bears for k in which))
    motion = at.observed.loaded if bears else at.motion
    force = minus(
        tree_terms(motion, zeros(), at.states, which=which).force,
        tree_terms(motion, zeros(), at.states, which=()).force,
    )
    return at.across(force) if constrained else force


def constraint_forces(at: LaneState) -> Vec:
    """(nv,) J^T lambda, what closes the loops and drives: M a + C v + g - tau."""
    return negative(at.observed.reactions.tree.force)


def multipliers(at: LaneState) -> Vec:
    """(m,) lambda of all rows; of redundant ones those of least norm, as of reactions."""
    reactions = at.observed.reactions
    return [x for block in at.plan.substructures for k in block.groups for x in reactions.of_constraint(k)]


def constraint_jacobian(at: LaneState) -> Mat:
    """(m, nv) J of all rows."""
    return [[row.get(k, 0.0) for k in range(at.plan.nv)] for rows in at.rows for row in rows.J]


def constraint_values(at: LaneState, name: str) -> Vec:
    """(m,) Phi, nu or gamma of all rows."""
    return [x for rows in at.rows for x in getattr(rows, name)]


def augmented_mass_matrix(at: LaneState, step: float, *, constrained: bool) -> Mat:
    """(n, n) M - h dtau/dv - h^2 dtau/dq: what a linearly implicit Euler step of length h solves with."""
    nv = at.plan.nv
    units = [[1.0 if i == k else 0.0 for i in range(nv)] for k in range(nv)]
    by_speed = [at.direction(v=unit) for unit in units]
    by_place = [at.direction(q=at.coordinate_rates(unit)) for unit in units]
    slopes = at.along(lambda x: applied_forces(x, None, constrained=False), [*by_speed, *by_place])
    M = mass_matrix(at, constrained=False)
    columns = []
    for k in range(nv):
        implicit = plus(scale(step, slopes[k]), scale(step * step, slopes[nv + k]))
        columns.append(minus([M[i][k] for i in range(nv)], implicit))
    if not constrained:
        return matrix_of(at, columns, constrained=False)
    return transpose([at.across(list(column)) for column in transpose(matrix_of(at, columns, constrained=True))])


def energies(at: LaneState) -> Tree:
    """Kinetic and potential energy, of one pass over the tree."""
    return tree_terms(at.motion, at.lane.gravity(), at.states)


def kinetic_energy(at: LaneState) -> Scalar:
    """[J]"""
    return energies(at).kinetic


def potential_energy(at: LaneState) -> Scalar:
    """[J] of gravity, springs and all other conservative forces."""
    if at.plan.bears:
        return energies(at).potential
    return tree_terms(at.rest, at.lane.gravity(), at.states).potential


def lagrangian(at: LaneState) -> Scalar:
    """[J] kinetic less potential energy."""
    both = energies(at)
    return both.kinetic - both.potential


def total_energy(at: LaneState) -> Scalar:
    """[J]"""
    both = energies(at)
    return both.kinetic + both.potential


def generalized_momentum(at: LaneState, *, constrained: bool) -> Vec:
    """(n,) M v, the slopes of the kinetic energy with the speeds; with loops closed Z^T M v."""
    product = sparse_product(at.H, dict(enumerate(at.v)))
    out = [product.get(k, 0.0) for k in range(at.plan.nv)]
    return at.across(out) if constrained else out
