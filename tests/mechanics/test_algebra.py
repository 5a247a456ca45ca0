"""The scalar algebra and the screws made of it (S54): identities on random numbers, and folding of known zeros."""

import math

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from shiftjax import algebra, rotations
from shiftjax.algebra import LaneValue
from shiftjax.dynamics.tree import SpatialInertia
from shiftjax.lanes.building import graph_of
from shiftjax.lanes.graph import Graph
from shiftjax.lanes.in_numpy import InNumpy
from shiftjax.measures.channels import quaternion_of_rotation

ALGEBRA = 1e-12  # f64 products of a few numbers of size 1 to 10
number = st.floats(-10, 10, allow_nan=False).map(lambda x: float(x))
vector = st.lists(number, min_size=3, max_size=3)
angle = st.floats(-math.pi, math.pi, allow_nan=False).map(float)


def close(a: object, b: object, size: float = 1.0) -> bool:
    return bool(np.allclose(np.asarray(a, float), np.asarray(b, float), rtol=0, atol=ALGEBRA * max(1.0, size)))


@given(vector, vector, vector)
def test_s54_cross_and_dot(a: list[float], b: list[float], c: list[float]) -> None:
    """a x b is square to both; a . (b x c) is cyclic; Jacobi's identity."""
    assert close(algebra.dot(a, algebra.cross(a, b)), 0, 1e3)
    assert close(algebra.dot(a, algebra.cross(b, c)), algebra.dot(b, algebra.cross(c, a)), 1e3)
    jacobi = [
        algebra.cross(a, algebra.cross(b, c)),
        algebra.cross(b, algebra.cross(c, a)),
        algebra.cross(c, algebra.cross(a, b)),
    ]
    assert close(np.sum(np.asarray(jacobi, float), 0), 0, 1e3)


@given(vector.filter(lambda v: 0.1 < np.linalg.norm(v)), angle)
def test_s54_rotations_are_orthonormal(axis: list[float], q: float) -> None:
    """R R^T = 1, det R = 1, the axis stays, and both ways to make R agree."""
    direction = algebra.unit(axis)
    R = np.asarray(rotations.rotation_about(direction, q), float)
    assert close(R @ R.T, np.eye(3))
    assert close(np.linalg.det(R), 1)
    assert close(R @ direction, direction)
    assert close(R, rotations.rotation_of_vector([q * x for x in direction]))


@given(vector.filter(lambda v: 0.1 < np.linalg.norm(v)), st.floats(-3.1, 3.1))
def test_s54_quaternion_round_trip(axis: list[float], q: float) -> None:
    """Rotation to quaternion and back, composed quaternions compose rotations."""
    R = rotations.rotation_about(algebra.unit(axis), float(q) if q else 0.0)
    e = [float(np.ravel(x)[0]) for x in quaternion_of_rotation([[np.array([x]) for x in row] for row in R])]
    assert close(np.linalg.norm(e), 1)
    assert e[0] >= 0
    assert close(rotations.rotation_of_quaternion(e), R)
    assert close(rotations.rotation_of_quaternion(rotations.quaternion_product(e, e)), np.asarray(R) @ np.asarray(R))


@given(vector, vector, vector, st.floats(0.1, 10))
def test_s54_inertia_is_symmetric_and_power_is_energy(c: list[float], w: list[float], u: list[float], m: float) -> None:
    """V . (I V) = m |u + w x c|^2 of a point mass: spatial inertia about a point away from the mass."""
    mass = float(m)
    moment = [mass * x for x in c]
    square = sum(x * x for x in c)
    second = [[mass * ((square if i == j else 0.0) - c[i] * c[j]) for j in range(3)] for i in range(3)]
    spin, momentum = SpatialInertia(mass, moment, second).times(w, u)
    velocity = np.add(u, np.cross(w, c))
    assert close(algebra.dot(w, spin) + algebra.dot(u, momentum), mass * velocity @ velocity, 1e6)


def test_known_zeros_and_ones_cost_nothing() -> None:
    """A rotation about z keeps its structural entries as Python floats (design rule 2)."""
    graph = Graph()
    q = LaneValue(graph, graph.node("in", 0))
    R = rotations.rotation_about([0.0, 0.0, 1.0], q)
    assert [type(x) is float for row in R for x in row] == [False, False, True, False, False, True, True, True, True]
    for zero in (0.0 * q, q - q, algebra.dot([0.0, q], [q, 0.0])):
        assert type(zero) is float and zero == 0.0
    assert 1.0 * q is q and q + 0.0 is q and algebra.dot([1.0, 0.0], [q, q]) is q


@given(number, number)
def test_a_known_quotient_is_rounded_as_one_that_is_not(a: float, b: float) -> None:
    """By a known number: a spline through known values has the bits of one whose values are varied."""
    graph = graph_of(lambda x: [algebra.ratio(x[0], b)], 1) if b else None
    if graph is not None and abs(1.0 / b) < math.inf:
        assert float(InNumpy(graph)([a])[0]) == algebra.ratio(a, b)


def test_rotation_vector_is_smooth_at_zero() -> None:
    """exp of a small rotation vector to rounding, at zero the identity and finite."""
    for size in (0.0, 1e-300, 1e-12, 1e-5, 1e-4, 1e-3):
        R = rotations.rotation_of_vector([np.array([size]), 0.0, 0.0])
        assert close(np.ravel(np.asarray(R[1][2])), -math.sin(size))
        assert close(np.ravel(np.asarray(R[1][1])), math.cos(size))
