"""Planar dyads in closed form: every kind of ring, in any plane of space, next to the ends of travels. E1."""

from itertools import product

import mpmath
import numpy as np
import pytest

import shiftjax
from shiftjax.dynamics.planar_dyads import closed_dyad
from shiftjax.dynamics.planar_loops import SLIDE, TURN, planar_dyad
from shiftjax.mechanism.model import Model
from shiftjax.outcome import Outcome
from shiftjax.rotations import rotation_of_vector
from shiftjax.run.closing.host_evaluation import closure
from shiftjax.run.programs.pose_groups import at_random
from shiftjax.run.start.prepare import prepare
from tests.support.models.planar_four_bars import four_bar

RINGS = [ring for ring in product((TURN, SLIDE), repeat=3) if ring.count(SLIDE) < 3]
OBLIQUE = np.array(rotation_of_vector([0.7, -0.4, 0.9]))
ROUNDING = 1e-14  # rad or m: of poses a metre wide


def ring_of(kinds: tuple[str, ...], plane: np.ndarray, seed: int) -> Model:
    """Ground, a crank that turns, and two links in a ring, drawn closed: turns about points, slides along lines."""
    rng = np.random.default_rng(seed)
    poses = [(np.zeros(2), 0.0), *((rng.uniform(-0.5, 0.5, 2), rng.uniform(-3.0, 3.0)) for _ in range(3))]
    frames: list[dict[str, dict[str, tuple[float, ...]]]] = [{}, {}, {}, {}]
    names, builder = ("fixed", "crank", "near_link", "far_link"), shiftjax.ModelBuilder()
    joints: list[tuple[str, str, int, int, float]] = []
    for number, kind in enumerate((TURN, *kinds)):
        first, second, place = number, (number + 1) % 4, rng.uniform(-1.0, 1.0, 2)
        sides, way = rng.uniform(-3.0, 3.0, 2), rng.uniform(0.3, 0.8)
        there = place
        if kind == SLIDE:
            sides[1], there = sides[0], place + way * np.array([np.cos(sides[0]), np.sin(sides[0])])
        for body, point, side in ((first, place, sides[0]), (second, there, sides[1])):
            p, angle = poses[body]
            x, y = point - p
            c, s = np.cos(angle), np.sin(angle)
            T = np.array([c * x + s * y, c * y - s * x, 0.0])
            T = plane @ T if body == 0 else T
            frames[body][f"at_{number}"] = {"T": tuple(T), "rotation": (0.0, 0.0, float(side - angle))}
        type_, displacement = ("Tx", way) if kind == SLIDE else ("Rz", sides[1] - sides[0])
        joints.append((f"joint_{number}", type_, first, second, displacement))
    for name, values in frames[0].items():
        builder.frame(name, R=plane.tolist(), **values)
    part = builder.assembly("ring")
    for name, of_body in zip(names[1:], frames[1:], strict=True):
        part.body(name, frames=of_body)
    for name, kind, first, second, displacement in joints:
        ends = ((names[k], f"at_{name[-1]}") for k in (first, second))
        part.joint(name, kind, parent=next(ends), child=next(ends), initial_displacement=float(displacement))
    return builder.build()


@pytest.mark.parametrize("plane", [np.eye(3), OBLIQUE], ids=["xy", "oblique"])
@pytest.mark.parametrize("kinds", RINGS, ids=["".join(kind[0] for kind in ring) for ring in RINGS])
def test_a_dyad_closes_to_rounding_on_the_assembly_that_it_has(kinds: tuple[str, ...], plane: np.ndarray) -> None:
    """Rings opened by up to 0.02 rad and m: residuals of the loop by NumPy, and the drawn poses from near them."""
    for seed in range(8):
        prepared = prepare(ring_of(kinds, plane, seed), {})
        plan, lane, drawn = prepared.plan, prepared.file_lane(), prepared.file_start.q[:, 0]
        (group,) = (group for group in plan.constraints if group.loop is not None)
        place = {one.v: one.q for one in plan.coordinates if not one.path.endswith("joint_0")}
        dyad = planar_dyad(at_random(prepared.setup), group, [*place])
        assert dyad is not None
        assert sorted(motion.kind for motion in dyad.ring) == sorted(kinds)
        open_by = np.random.default_rng(seed).uniform(-1.0, 1.0, (plan.nq, 40)) * np.logspace(-13.0, np.log10(0.02), 40)
        q = drawn[:, None] + open_by
        closing = closed_dyad(dyad, lane, list(q))
        if (root := closing.root) is not None:
            if np.abs(root.before / root.size).min() < 0.15:
                continue  # where assemblies meet so near is another matter
            assert (root.before * root.after > 0.0).all()
        for speed, change in closing.change.items():
            q[place[speed]] += change
        assert np.abs(closure(lane, q, 0)[0]).max() < ROUNDING
        assert (np.abs(q - drawn[:, None]).max(0) < 50.0 * np.abs(open_by).max(0) + ROUNDING).all()


def test_loops_out_of_one_plane_are_left_to_newton() -> None:
    for name in ("bennett", "bricard", "delta"):
        prepared = prepare(shiftjax.load(name), {})
        motion = at_random(prepared.setup)
        loops = [group for group in prepared.plan.constraints if group.loop is not None]
        assert all(planar_dyad(motion, group, range(3)) is None for group in loops)


def test_places_next_to_the_end_of_a_travel_are_right_to_their_condition() -> None:
    """5-4-4-6 up to 1e-12 rad before its end, by 50 digits: a place is known to roundings over its distance's root."""
    lengths, theta = (5.0, 4.0, 4.0, 6.0), 0.7
    end = float(np.arccos(-0.05))
    u = np.concatenate([np.linspace(theta, end - 0.01, 60), end - np.logspace(-2.0, -12.0, 21)[1:]])
    path = shiftjax.follow(four_bar(lengths, theta), {"crank_pivot": u}, channels=["rocker_pivot.q"], order=0)
    assert path.status == Outcome.ok
    assert path.certificate["gap"] < 1e-14
    mpmath.mp.dps = 50
    for crank, rocker in zip(u[60:], path.channels["rocker_pivot.q"][60:], strict=True):
        off = np.remainder(rocker - _rocker(lengths, crank) + np.pi, 2.0 * np.pi) - np.pi
        assert abs(off) < 2.0 * np.finfo(float).eps / np.sqrt(end - crank)


def _rocker(lengths: tuple[float, ...], crank: float) -> float:
    """The rocker's angle where the cross product of coupler and rocker is positive."""
    a, b, c, d = map(mpmath.mpf, lengths)
    x, y = d - a * mpmath.cos(crank), -a * mpmath.sin(crank)
    f = mpmath.hypot(x, y)
    coupler = mpmath.atan2(y, x) - mpmath.acos((b * b + f * f - c * c) / (2 * b * f))
    return float(mpmath.atan2(b * mpmath.sin(coupler) - y, b * mpmath.cos(coupler) - x))
