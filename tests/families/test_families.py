"""Planar linkages of many topologies (F21): against the solver of LINKS, closed forms, the library's own four-bar."""

from __future__ import annotations

import functools
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from shiftjax import families
from shiftjax.errors import ModelError
from shiftjax.families import Solvability, kernel
from shiftjax.run.assemble import assemble
from tests.reference.links import random_linkages, solution_path, solve

LINKS = 1e-11  # of lengths of about 1: two formulas in f64, where no margin is below `CLEAR`
CLEAR = 1e-4  # margin: roundings grow as its square root's inverse
ROUNDED = 3e-13  # times that inverse: what a chain of eight dyads makes of them
DERIVATIVE = 1e-9  # relative: the complex step is exact, the roundings of eight dyads grow in derivatives
SAME = 1e-12  # m or rad
NEAR = 1e-11  # rad: where the margin is so flat that its roundings move the lock
STEP = 1e-30  # of complex steps
MEMBERS, NODES, POSES = 60, 11, 200
MOTOR = (0, 1)
ANGLES = np.linspace(0.0, 2.0 * np.pi, POSES)


@functools.cache
def sample() -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    return random_linkages(MEMBERS, NODES, seed=3)


@functools.cache
def motion() -> families.FamilyMotion:
    return families.simulate(*sample(), order=2)


def clear(margin: float) -> list[int]:
    """Members that go round with so much margin."""
    return [int(b) for b in np.flatnonzero(motion().margin.min(1) > margin)]


def reference(b: int, x0: np.ndarray | None = None, angles: np.ndarray = ANGLES) -> Any:
    """(T, N, 2) by LINKS."""
    bars, points, types = sample()
    path = solution_path(bars[b], types[b] == 1, MOTOR)
    assert path is not None
    places = solve(path, points[b] if x0 is None else x0, types[b] == 1, MOTOR, angles)
    return places.transpose(1, 0, 2)


def four_bar(crank: float, coupler: float, rocker: float, ground: float, angle: float) -> tuple[Any, Any, Any]:
    """Nodes: pivot of the crank, its pin, pivot of the rocker, the joint between."""
    pin, pivot = crank * np.array([np.cos(angle), np.sin(angle)]), np.array([ground, 0.0])
    between = pivot - pin
    length = np.hypot(*between)
    along = (length**2 + coupler**2 - rocker**2) / (2 * length**2)
    across = np.sqrt((coupler / length) ** 2 - along**2)
    joint = pin + along * between + across * np.array([-between[1], between[0]])
    bars = np.zeros((4, 4), int)
    for i, j in ((0, 1), (1, 3), (2, 3)):
        bars[i, j] = bars[j, i] = 1
    return bars, np.array([[[0.0, 0.0], pin, pivot, joint]]), [1, 0, 1, 0]


def test_curves_are_those_of_links() -> None:
    """Eleven joints, 200 poses, each linkage with a topology of its own; where LINKS has no place there is none."""
    run = motion()
    assert (run.status == 0).all() and run.valid.sum() > 8
    for b in range(MEMBERS):
        places = reference(b)
        np.testing.assert_array_equal(np.isnan(places), np.isnan(run.curves[b]))
        np.testing.assert_array_equal(np.isfinite(places).all((1, 2)), run.closed[b])
        error = np.nanmax(np.abs(places - run.curves[b]), axis=(1, 2))
        assert (error * np.sqrt(np.abs(run.margin[b])) < ROUNDED)[run.closed[b]].all()
    assert len(clear(CLEAR)) > 5
    for b in clear(CLEAR):
        np.testing.assert_allclose(run.curves[b], reference(b), rtol=0, atol=LINKS)


def test_each_dyad_comes_after_its_ends() -> None:
    bars, _, types = sample()
    for b in range(MEMBERS):
        known = {int(n) for n in np.flatnonzero(types[b])} | {1}
        for node, one, other in motion().path(b):
            assert {one, other} <= known and bars[b, node, one] and bars[b, node, other]
            known.add(node)
        assert known == set(range(NODES))


def test_rates_are_derivatives_by_the_angle() -> None:
    """Velocities by complex steps, accelerations by differences of these."""
    run, h = motion(), 1e-3

    def velocity(b: int, turned: float) -> np.ndarray:
        return reference(b, angles=ANGLES + turned + 1j * STEP).imag / STEP

    for b in clear(0.02)[:3]:
        np.testing.assert_allclose(run.velocities[b], velocity(b, 0.0), rtol=0, atol=DERIVATIVE)
        near, far = (velocity(b, h * k) - velocity(b, -h * k) for k in (1, 2))
        scale = np.abs(run.accelerations[b]).max()
        np.testing.assert_allclose(run.accelerations[b], (8 * near - far) / (12 * h), rtol=0, atol=1e-7 * scale)


def test_derivatives_by_every_point() -> None:
    """Tangents against complex steps of LINKS; the pullback is their transpose, margins and locked members included."""
    bars, x0, types = sample()
    draw = np.random.default_rng(5)
    change = draw.normal(size=x0.shape)

    def results(points: Any) -> Any:
        run = families.simulate(bars, points, types, order=2)
        return run.curves, run.velocities, run.accelerations, run.margin

    values, dots = jax.jvp(results, (jnp.asarray(x0),), (jnp.asarray(change),))
    np.testing.assert_array_equal(values[1], motion().velocities)
    for b in clear(0.02)[:4]:
        exact = reference(b, x0[b] + 1j * STEP * change[b]).imag / STEP
        np.testing.assert_allclose(dots[0][b], exact, rtol=DERIVATIVE, atol=DERIVATIVE * np.abs(exact).max())
        h = 1e-3  # of the angle: the derivative of a velocity is that of a derivative
        near, far = (
            (reference(b, x0[b] + 1j * STEP * change[b], ANGLES + h * k).imag / STEP
             - reference(b, x0[b] + 1j * STEP * change[b], ANGLES - h * k).imag / STEP) for k in (1, 2)
        )  # fmt: skip
        slope = (8 * near - far) / (12 * h)
        np.testing.assert_allclose(dots[1][b], slope, rtol=0, atol=1e-7 * np.abs(slope).max())
    bar = [draw.normal(size=np.shape(value)) for value in values]
    seeds = [np.where(np.isnan(value), np.nan, seed) for value, seed in zip(values, bar, strict=True)]
    slopes = families.simulate(*sample(), order=2).pullback(*seeds)
    assert np.isfinite(slopes).all()
    whole = sum(
        (np.nan_to_num(np.asarray(dot)) * seed).reshape(MEMBERS, -1).sum(1) for dot, seed in zip(dots, bar, strict=True)
    )
    size = sum(
        (np.nan_to_num(np.abs(dot)) * np.abs(seed)).reshape(MEMBERS, -1).sum(1)
        for dot, seed in zip(dots, bar, strict=True)
    )
    np.testing.assert_array_less(np.abs((slopes * change).sum((1, 2)) - whole), DERIVATIVE * size)


def test_margin_has_the_derivatives_of_the_dyad_that_is_nearest_to_locking() -> None:
    """1 - |cos| of the angle between coupler and rocker, by complex steps, before and behind the end of its travel."""
    bars, x0, types = four_bar(5.0, 4.0, 4.0, 6.0, 0.7)
    angles = np.array([0.5, 2.5])
    margin, dot = jax.jvp(
        lambda x: families.simulate(bars, x, types, angles=angles, order=0).margin, (x0,), (np.ones_like(x0) * x0**2,)
    )
    x = x0[0] + 1j * STEP * x0[0] ** 2
    r = [np.sqrt(((x[i] - x[j]) ** 2).sum()) for i, j in ((0, 1), (1, 3), (2, 3))]
    pin = x[0] + r[0] * np.stack([np.cos(angles), np.sin(angles)], 1)
    cosine = (r[1] ** 2 + r[2] ** 2 - ((x[2] - pin) ** 2).sum(1)) / (2 * r[1] * r[2])
    expected = 1.0 - cosine * np.sign(cosine.real)
    assert margin[0, 0] > 0 > margin[0, 1]
    np.testing.assert_allclose(margin[0], expected.real, rtol=0, atol=SAME)
    np.testing.assert_allclose(dot[0], expected.imag / STEP, rtol=DERIVATIVE)


def test_a_member_is_the_four_bar_of_the_library() -> None:
    """The same geometry, assembled by Newton's method at every angle of the crank; Ry turns x towards -z."""
    angles = np.linspace(0.1, 6.2, 12)
    paths = ["crank:tip.position", "coupler:tip.position"]
    poses = assemble(
        "four_bar", vary={"crank_pivot.initial_displacement": angles}, hold=["crank_pivot"], channels=paths
    )
    tips = [poses.channels[path][:, 0, [0, 2]] * [1.0, -1.0] for path in paths]
    bars, _, types = four_bar(1.0, 1.0, 1.0, 1.0, 1.0)
    drawn = np.array([[[0.0, 0.0], tips[0][3], [0.5, 0.0], tips[1][3]]])
    run = families.simulate(bars, drawn, types, angles=angles, nodes=[1, 3])
    assert (poses.status == 0).all() and run.valid.all()
    np.testing.assert_allclose(run.curves[0], np.stack(tips, 1), rtol=0, atol=SAME)


@pytest.mark.parametrize("poses", [7, 200])
def test_locks_are_at_their_angles(poses: int) -> None:
    """Non-Grashof 5-4-4-6: the crank's travel ends where cos is -1/20, as coupler and rocker are stretched."""
    given = four_bar(5.0, 4.0, 4.0, 6.0, 0.7)
    run = families.simulate(*given, angles=np.linspace(-np.pi, np.pi, poses))
    locks = run.locks()
    np.testing.assert_allclose(locks.angle, np.arccos(-0.05) * np.array([-1.0, 1.0]), rtol=0, atol=SAME)
    assert locks.node.tolist() == [3, 3] and locks.ends.tolist() == [False, True] and locks.member.tolist() == [0, 0]
    assert not run.valid.any()
    inside = np.abs(run.angles) < np.arccos(-0.05)
    np.testing.assert_array_equal(run.closed[0], inside)
    np.testing.assert_array_equal(np.isfinite(run.curves[0, :, 3]).all(1), inside)
    assert np.isfinite(run.curves[0, :, :3]).all()


@pytest.mark.parametrize("begin", [-0.5, -0.01, 0.0052 - 2.0])
def test_locks_between_poses_are_found(begin: float) -> None:
    """A crank so long that coupler and rocker are a little too short near 180 degrees, between two of few poses."""
    short = 1e-5
    given = four_bar(1.0, 2.0, 2.0 - short, 3.0, 0.7)
    run = families.simulate(*given, angles=np.pi + begin + np.array([-2.0, -1.0, 0.0, 1.0, 2.0]))
    locks = run.locks()
    edge = np.arccos((1.0 + 9.0 - (4.0 - short) ** 2) / 6.0)
    assert run.valid.all() and locks.ends.tolist() == [True, False] and locks.node.tolist() == [3, 3]
    np.testing.assert_allclose(locks.angle, [edge, 2.0 * np.pi - edge], rtol=0, atol=NEAR)


def linkage(nodes: int, fixed: list[int], bars: list[tuple[int, int]]) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    matrix, types = np.zeros((nodes, nodes), int), np.zeros(nodes, int)
    types[fixed] = 1
    for i, j in bars:
        matrix[i, j] = matrix[j, i] = 1
    return matrix, np.random.default_rng(nodes).uniform(0.0, 1.0, (nodes, 2)), types


REFUSED = {
    Solvability.no_motor: linkage(4, [0, 2], [(1, 3), (2, 3)]),
    Solvability.overconstrained: linkage(5, [0, 2, 3], [(0, 1), (1, 4), (2, 4), (3, 4)]),
    Solvability.loose: linkage(4, [0, 2], [(0, 1), (1, 3)]),
    # a triad: three nodes in a triangle, each on one node that is known
    Solvability.no_dyads: linkage(7, [0, 2, 3], [(0, 1), (1, 4), (2, 5), (3, 6), (4, 5), (5, 6), (4, 6)]),
    Solvability.drawn_flat: (
        linkage(4, [0, 2], [(0, 1), (1, 3), (2, 3)])[0],
        np.array([[0.0, 0.0], [1.0, 0.0], [4.0, 0.0], [2.0, 0.0]]),
        np.array([1, 0, 1, 0]),
    ),
}


def test_what_is_not_made_of_dyads_has_a_status_and_the_others_run() -> None:
    good = four_bar(1.0, 3.0, 3.0, 2.5, 0.3)
    mixed = [*REFUSED.values(), (good[0], good[1][0], good[2])]
    run = families.simulate(*zip(*mixed, strict=True), poses=9, order=2)
    assert run.status.tolist() == [*(int(code) for code in REFUSED), 0]
    assert run.valid.tolist() == [False] * len(REFUSED) + [True]
    assert np.isnan(run.margin[:-1]).all() and np.isnan(run.curves[:-1]).all()
    assert "triad" in run.message(3) and run.message(5) == "" and "1 loose" in repr(run)
    alone = families.simulate(*good, poses=9, order=2)
    np.testing.assert_array_equal(run.curves[-1, :, :4], alone.curves[0])
    assert np.isnan(run.curves[-1, :, 4:]).all(), "nodes that a smaller linkage does not have"
    assert not run.locks().member.size
    slopes = run.pullback(curves=np.ones_like(run.curves))
    assert np.isfinite(slopes).all() and not slopes[:-1, 3].any()


def test_nothing_is_compiled_for_a_topology() -> None:
    motion()
    before = kernel._program.cache_info().misses
    families.simulate(*random_linkages(9, 17, seed=8), poses=33, order=2)
    assert kernel._program.cache_info().misses == before


def test_many_nodes_and_other_motors() -> None:
    """A chain of 70 dyads, numbered at random, so that its order has to be found; against LINKS."""
    nodes = 73
    bars = [
        (0, 1),
        (1, 3),
        (2, 3),
        *((n - 1 - n % 2, n) for n in range(4, nodes)),
        *((n - 3, n) for n in range(4, nodes)),
    ]
    matrix, x0, types = linkage(nodes, [0, 2], list(dict.fromkeys((min(b), max(b)) for b in bars)))
    x0[1] = x0[0] + 0.01
    place = np.random.default_rng(0).permutation(nodes)
    back = np.argsort(place)
    motor = (int(back[0]), int(back[1]))
    given = matrix[place][:, place], x0[place], types[place]
    run = families.simulate(given[0], given[1][None], given[2], motor=motor, poses=5, order=0)
    path = solution_path(given[0], given[2] == 1, motor)
    assert path is not None and run.status.tolist() == [0] and len(run.path(0)) == nodes - 3
    expected = solve(path, given[1], given[2] == 1, motor, run.angles).transpose(1, 0, 2)
    np.testing.assert_array_equal(np.isnan(expected), np.isnan(run.curves[0]))
    placed = np.isfinite(expected)
    assert placed.mean() > 0.2
    np.testing.assert_allclose(run.curves[0][placed], expected[placed], rtol=0, atol=1e-9)


def test_chosen_nodes_and_leaving_at_a_lock() -> None:
    bars, x0, types = sample()
    whole = motion()
    chosen = np.stack([np.full(MEMBERS, NODES - 1), np.arange(MEMBERS) % 9], 1)
    run = families.simulate(bars, x0, types, nodes=chosen, order=2, stop=True)
    np.testing.assert_array_equal(run.valid, whole.valid)
    again = families.simulate(bars, x0, types, nodes=chosen, order=2, out=run)
    assert np.shares_memory(again.curves, run.curves)
    run = families.simulate(bars, x0, types, nodes=chosen, order=2, stop=True)
    members = np.flatnonzero(whole.valid)
    np.testing.assert_array_equal(again.curves[members], run.curves[members])
    for part in ("curves", "velocities", "accelerations"):
        of_all = getattr(whole, part)[members]
        expected = np.take_along_axis(of_all, chosen[members][:, None, :, None], 2)
        np.testing.assert_array_equal(getattr(run, part)[members], expected)
    assert np.isfinite(run.curves).mean() < np.isfinite(whole.curves).mean(), "nodes behind a lock are left out"
    bar = np.random.default_rng(1).normal(size=run.curves.shape)
    spread = np.zeros_like(whole.curves)
    np.put_along_axis(spread, chosen[:, None, :, None], bar, 2)
    np.testing.assert_array_equal(run.pullback(bar), whole.pullback(spread))


def test_jax_transforms_agree() -> None:
    """grad, jit and vmap of one loss; members are repeated by vmap, and so are their angles."""
    bars, x0, types = (part[:3] for part in sample())
    angles = np.linspace(0.0, 1.0, 3 * 4).reshape(3, 4)

    def loss(points: Any) -> Any:
        run = families.simulate(bars, points, types, angles=angles, nodes=[-1])
        return jnp.where(run.closed[..., None, None], run.curves**2 + run.velocities, 0.0).sum()

    slopes = jax.grad(loss)(x0)
    run = families.simulate(bars, x0, types, angles=angles, nodes=[-1])
    seed = np.where(run.closed[..., None, None], 1.0, 0.0)
    by_hand = run.pullback(2 * seed * np.nan_to_num(run.curves), seed * np.ones_like(run.velocities))
    np.testing.assert_allclose(slopes, by_hand, rtol=1e-13)
    np.testing.assert_array_equal(jax.jit(jax.grad(loss))(x0), slopes)
    np.testing.assert_array_equal(jax.vmap(jax.grad(loss))(np.stack([x0, x0]))[1], slopes)
    assert np.abs(slopes).max() > 0


GOOD = four_bar(1.0, 3.0, 3.0, 2.5, 0.3)


@pytest.mark.parametrize(
    ("change", "match"),
    [
        ({"adjacency": np.triu(GOOD[0])}, "symmetric"),
        ({"adjacency": np.eye(4)}, "to itself"),
        ({"adjacency": 2 * GOOD[0]}, "0 and 1"),
        ({"adjacency": GOOD[0][:3, :3]}, r"adjacency: found shape \(3, 3\)"),
        ({"x0": GOOD[1][0]}, r"x0\[None\]"),
        ({"x0": "abc"}, "x0"),
        ({"x0": np.where(GOOD[1] > 2.0, np.nan, GOOD[1])}, r"x0\[0, "),
        ({"node_types": [1, 0, 2, 0]}, "node_types"),
        ({"motor": (0, 4)}, "motor"),
        ({"motor": (0.0, 1.0)}, "motor"),
        ({"poses": 0}, "poses"),
        ({"angles": [np.inf]}, "angles"),
        ({"angles": np.zeros((2, 3))}, "angles"),
        ({"order": 3}, "order"),
        ({"threads": 0}, "threads"),
        ({"nodes": [4]}, "nodes"),
        ({"nodes": [3, -1]}, "each node once"),
    ],
)
def test_what_is_no_linkage_is_refused(change: dict[str, Any], match: str) -> None:
    given = {"adjacency": GOOD[0], "x0": GOOD[1], "node_types": GOOD[2], **change}
    with pytest.raises(ModelError, match=match):
        families.simulate(**given)


def test_threads_share_linkages_without_a_trace() -> None:
    """More than one thread takes at once: bits do not depend on who runs what."""
    linkages = random_linkages(150, 8, seed=1)
    one, two = (families.simulate(*linkages, poses=9, threads=count) for count in (1, 2))
    np.testing.assert_array_equal(one.curves, two.curves)
    np.testing.assert_array_equal(one.pullback(one.curves), two.pullback(two.curves))


def test_no_linkage_at_all() -> None:
    run = families.simulate(np.zeros((0, 4, 4)), np.zeros((0, 4, 2)), np.zeros((0, 4)), poses=3)
    assert run.curves.shape == (0, 3, 4, 2) and not run.locks().member.size and run.pullback(run.curves).shape[0] == 0


def test_lists_of_other_lengths_and_shapes_are_refused() -> None:
    with pytest.raises(ModelError, match="as many as x0 has"):
        families.simulate([GOOD[0]], [GOOD[1][0], GOOD[1][0][:3]], [GOOD[2]])
    with pytest.raises(ModelError, match=r"node_types\[0\]"):
        families.simulate([GOOD[0], GOOD[0][:3, :3]], [GOOD[1][0], GOOD[1][0][:3]], [[1, 0], [1, 0, 1]])
    run = families.simulate(*GOOD, poses=3, order=0)
    for name, slopes in (("curves", run.curves[:, :2]), ("velocities", run.curves), ("margin", run.margin[0])):
        with pytest.raises(ModelError, match=name):
            run.pullback(**{name: slopes})
    with pytest.raises(ModelError, match="as many linkages"):
        families.simulate(*GOOD, poses=3, order=1, out=run)
    with pytest.raises(ModelError, match="stop"):
        jax.grad(lambda x: families.simulate(GOOD[0], x, GOOD[2], stop=True).curves.sum())(GOOD[1])
    with jax.enable_x64(False), pytest.raises(ModelError, match="in f32"):
        jax.grad(lambda x: families.simulate(GOOD[0], x, GOOD[2]).curves.sum())(GOOD[1].astype(np.float32))
    with pytest.raises(ModelError, match="points"):
        jax.grad(lambda x: families.simulate(GOOD[0], x, GOOD[2]).locks().angle.sum())(GOOD[1])
