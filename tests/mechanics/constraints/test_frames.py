"""Frames as forces and constraints ask for them (D17): laws of their motion, and of forces that act at a point."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from shiftjax.algebra import minus, norm_squared, scale
from shiftjax.constraints import CONSTRAINTS
from shiftjax.constraints.derived import Asked, DerivedConstraint
from shiftjax.dynamics.kinematics import Motion
from shiftjax.errors import ModelError
from shiftjax.field import number
from shiftjax.forces import FORCES, ForceKind, Load
from shiftjax.formats.builder import ModelBuilder
from shiftjax.mechanism.model import Model
from shiftjax.plan_elements import ORIGIN, WORLD, PlacedFrame
from shiftjax.run.closing import host_evaluation as host
from shiftjax.run.simulate import simulate
from shiftjax.run.start.prepared import Prepared
from tests.mechanics.test_identities import mechanism
from tests.support.laws import ALGEBRA, DIFFERENCE, STEP, check_power, check_rows
from tests.support.models.mechanisms import closed_states, rod

SEEDS = (0, 2, 5)  # with floats, balls, sliders and reversed joints among them
POINT = (0.3, -0.7, 0.5)  # m, in a frame
ENERGY = 1e-9  # of the largest energy, RK4 at 1 ms
MOMENTUM = 1e-10  # kg m/s and kg m^2/s, sums over half a second


def pairs(prepared: Prepared) -> list[tuple[PlacedFrame, PlacedFrame]]:
    """Frames of several bodies seen from the world, from each other, and from another frame of their own body."""
    frames = [frame for _, frame in prepared.plan.frames]
    chosen = frames[:: max(1, len(frames) // 5)]
    return [(a, b) for a in chosen for b in (WORLD, *chosen[:3]) if a != b]


def numbers(values: Any, members: int) -> np.ndarray:
    return host.per_member(values, members)


@pytest.mark.parametrize("seed", SEEDS)
def test_velocities_are_jacobian_times_speeds(seed: int) -> None:
    """v = J v and w = J_w v, at speeds that open the loops too."""
    _, _, prepared, q, v = mechanism(seed)
    v = v + np.random.default_rng(seed).standard_normal(v.shape)
    motion, members = prepared.file_lane().motion(list(q), list(v)), q.shape[1]
    for frame, other in pairs(prepared):
        for velocity, columns in (
            (motion.velocity(frame, POINT, relative=other), motion.jacobian(frame, POINT, relative=other)),
            (motion.angular_velocity(frame, relative=other), motion.angular_jacobian(frame, relative=other)),
        ):
            along = sum((numbers(column, members) * v[k] for k, column in columns.items()), np.zeros((3, members)))
            assert np.abs(numbers(velocity, members) - along).max() < ALGEBRA * 100


@pytest.mark.parametrize("seed", SEEDS)
def test_velocity_and_bias_are_differences_along_the_motion(seed: int) -> None:
    """Of positions and of rotations, and of velocities at constant speeds, whoever looks."""
    _, _, prepared, q, v = mechanism(seed)
    lane, plan, members = prepared.file_lane(), prepared.plan, q.shape[1]
    now = lane.motion(list(q), list(v))
    after, before = (lane.motion(list(host.retract(plan, q, sign * STEP * v)), list(v)) for sign in (1, -1))
    for frame, other in pairs(prepared):

        def slope(quantity: str, *at: Any, other: PlacedFrame = other) -> np.ndarray:
            ends = [numbers(getattr(m, quantity)(*at, relative=other), members) for m in (after, before)]
            return (ends[0] - ends[1]) / (2 * STEP)

        velocity = numbers(now.velocity(frame, POINT, relative=other), members)
        w = numbers(now.angular_velocity(frame, relative=other), members)
        bound = DIFFERENCE * 100 * max(1.0, np.abs(velocity).max(), np.abs(w).max()) ** 2
        assert np.abs(slope("point", frame, POINT) - velocity).max() < bound
        for axis in np.eye(3).tolist():  # an arrow fixed in the frame turns with w
            arrow = minus(now.point(frame, axis, relative=other), now.point(frame, relative=other))
            turned = slope("point", frame, axis) - slope("point", frame)
            assert np.abs(turned - np.cross(w, numbers(arrow, members), axis=0)).max() < 2 * bound
        bias = numbers(now.bias(frame, POINT, relative=other), members)
        assert np.abs(slope("velocity", frame, POINT) - bias).max() < bound
        spin = numbers(now.angular_bias(frame, relative=other), members)
        assert np.abs(slope("angular_velocity", frame) - spin).max() < bound


@pytest.mark.parametrize("seed", SEEDS)
def test_a_frame_seen_both_ways_is_one_motion(seed: int) -> None:
    """The pose of b in a is the inverse of that of a in b; w_ab = -R w_ba."""
    _, _, prepared, q, v = mechanism(seed)
    motion, members = prepared.file_lane().motion(list(q), list(v)), q.shape[1]
    for a, b in pairs(prepared):
        (R, p), (back, origin) = motion.pose(a, relative=b), motion.pose(b, relative=a)
        R, back = (host.matrices_per_member(x, members) for x in (R, back))
        assert np.abs(R @ back - np.eye(3)).max() < ALGEBRA
        assert np.abs(np.einsum("bij,jb->ib", R, numbers(origin, members)) + numbers(p, members)).max() < ALGEBRA * 10
        w, w_back = (numbers(motion.angular_velocity(*x[:1], relative=x[1]), members) for x in ((a, b), (b, a)))
        assert np.abs(np.einsum("bij,jb->ib", R, w_back) + w).max() < ALGEBRA * 100


def power_of(load: Load, motion: Motion, members: int) -> np.ndarray:
    """(B,) power of the wrenches of a load, by the spatial velocities of the bodies on which they act."""
    total = np.zeros(members)
    for node, (moment, force) in load.wrenches.items():
        body = motion.rooted.node(node)
        total += (numbers(moment, members) * numbers(body.w, members)).sum(0)
        total += (numbers(force, members) * numbers(body.u, members)).sum(0)
    return total


@pytest.mark.parametrize("seed", SEEDS)
def test_the_power_of_a_force_is_force_times_velocity(seed: int) -> None:
    """Of the point where it acts; with a reaction, of the velocity relative to the other body; likewise torques."""
    _, _, prepared, q, v = mechanism(seed)
    motion, members = prepared.file_lane().motion(list(q), list(v)), q.shape[1]
    force = [1.3, -0.4, 2.1]
    for frame, other in pairs(prepared):
        for name, velocity in (
            ("add_force_at", motion.velocity(frame, POINT, relative=other)),
            ("add_torque", motion.angular_velocity(frame, relative=other)),
        ):
            load, at = Load(motion, motion.rooted), (POINT,) if name == "add_force_at" else ()
            getattr(load, name)(frame, *at, force, axes=other, reaction=other)
            expected = (np.array(force)[:, None] * numbers(velocity, members)).sum(0)
            assert np.abs(power_of(load, motion, members) - expected).max() < ALGEBRA * 100


@pytest.mark.parametrize("seed", SEEDS)
def test_action_and_reaction_are_opposite_at_one_place(seed: int) -> None:
    """A pair of forces between bodies has no resultant and no moment about any point of space."""
    _, _, prepared, q, v = mechanism(seed)
    motion, members = prepared.file_lane().motion(list(q), list(v)), q.shape[1]
    for frame, other in pairs(prepared):
        if 0 in (frame.node, other.node) or frame.node == other.node:
            continue
        load = Load(motion, motion.rooted)
        load.add_force_at(frame, POINT, [1.0, 2.0, -3.0], axes=frame, reaction=other)
        moments, forces = np.zeros((3, members)), np.zeros((3, members))
        for node, (moment, force) in load.wrenches.items():
            shift = minus(motion.chain().node(node).p, motion.rooted.node(node).p)  # of the point of its tree
            forces += numbers(force, members)
            moments += numbers(moment, members) + np.cross(numbers(shift, members), numbers(force, members), axis=0)
        assert np.abs(forces).max() < ALGEBRA and np.abs(moments).max() < ALGEBRA * 100


# -- forces and constraints that use them --------------------------------------------------------------------------


class Attraction(ForceKind):
    """A spring between points of two bodies, k r^2 / 2, and a brake of their relative rotation."""

    frames, dissipates = 2, True
    fields = (number("k", "N/m", "stiffness"), number("c", "N m s/rad", "brake of the rotation", default=0.0))

    def apply(self, element, motion, load, states):  # type: ignore[no-untyped-def]
        n, (a, b) = motion.values(element.numbers), element.frames
        x = motion.point(a, POINT, relative=b)
        load.add_force_at(a, POINT, scale(-n["k"], x), axes=b, reaction=b)
        load.add_potential(0.5 * n["k"] * norm_squared(x))
        w = motion.angular_velocity(a, relative=b)
        load.add_torque(a, scale(-n["c"], w), axes=b, reaction=b)
        load.dissipate(n["c"] * norm_squared(w))
        return ()


class Distance(DerivedConstraint):
    """Two points keep their distance, which may change with time."""

    frames, row_names, units, time_dependent = 2, ("distance",), ("m",), True
    fields = (number("length", "m", "at time 0"), number("rate", "m/s", "its rate", default=0.0))

    def phi(self, group, motion: Asked):  # type: ignore[no-untyped-def]
        n, (a, b) = motion.values(group.numbers), group.frames
        length = n["length"] + n["rate"] * motion.t
        square = norm_squared(motion.point(a, POINT, relative=b))
        return [0.5 * (square - length * length)]


class Wanders(Distance):
    """Asks for a pose that depends on joints beyond its frames."""

    def phi(self, group, motion: Asked):  # type: ignore[no-untyped-def]
        return [motion.point(group.frames[0])[0]]


class Timeless(Distance):
    """Asks for time, and does not say so."""

    time_dependent = False


FORCES["attraction"] = Attraction()
for name, kind in (("my_distance", Distance()), ("wanders", Wanders()), ("timeless", Timeless())):
    CONSTRAINTS[name] = kind


def floating(brake: float = 0.0) -> Model:
    """Two trees that float without gravity, one of two rods, drawn to each other."""
    builder = ModelBuilder(gravity=(0.0, 0.0, 0.0))
    a = builder.assembly("a")
    for name, mass in (("one", 1.0), ("arm", 0.7), ("two", 2.0)):
        solid = {"inertia": (0.2, 0.3, 0.25), "center_of_mass": (0.2, 0.1, 0.0), "frames": {"tip": (0.5, 0.0, 0.0)}}
        a.body(name, mass=mass, **solid)
    a.joint("free", "float", child="one", initial_velocity=[1.0, -2.0, 0.5, 0.3, 0.1, -0.2])
    a.joint("elbow", "Ry", parent=("one", "tip"), child="arm", initial_displacement=0.7, initial_velocity=2.0)
    place = {"T": [0.5, 1.0, -0.4], "rotation": [0.3, 0.2, 0.9]}
    a.joint("loose", "float", child="two", initial_displacement=place)
    a.force("pull", "attraction", frames=[("arm", "tip"), ("two", "tip")], k=5.0, c=brake)
    return builder.build()


def momenta(model: Model, result: Any) -> tuple[np.ndarray, np.ndarray]:
    """(n, 3) linear and angular momentum about the world's origin, of all bodies."""
    linear, angular = 0.0, 0.0
    for path, _ in model.bodies():
        name = path.rpartition(":")[2]
        x, v, w, e = (
            result.channels[f"{name}.{what}"] for what in ("position", "velocity", "angular_velocity", "orientation")
        )
        n = model.numbers()
        R = np.stack([np.stack(r, -1) for r in _matrix(e)], -2)
        center = R @ np.array([n[f"{path}.center_of_mass[{k}]"] for k in range(3)])
        inertia = np.diag([n[f"{path}.inertia.I{k}"] for k in ("xx", "yy", "zz")])
        p = n[f"{path}.mass"] * (v + np.cross(w, center))
        linear = linear + p
        angular = angular + np.cross(x + center, p) + np.einsum("nij,jk,nlk,nl->ni", R, inertia, R, w)
    return np.asarray(linear), np.asarray(angular)


def _matrix(e: np.ndarray) -> list[list[np.ndarray]]:
    w, x, y, z = e.T
    return [
        [1 - 2 * (y * y + z * z), 2 * (x * y - w * z), 2 * (x * z + w * y)],
        [2 * (x * y + w * z), 1 - 2 * (x * x + z * z), 2 * (y * z - w * x)],
        [2 * (x * z - w * y), 2 * (y * z + w * x), 1 - 2 * (x * x + y * y)],
    ]


def test_forces_between_floating_bodies_keep_energy_and_momentum() -> None:
    """An internal force has no resultant: linear and angular momentum stay, and its spring gives back what it takes."""
    model = floating()
    names = [f"{body}.{what}" for body in ("one", "arm", "two")
             for what in ("position", "orientation", "velocity", "angular_velocity")]  # fmt: skip
    result = simulate(model, 0.5, 1e-3, channels=names, output_step=0.05)
    assert result.status == 0 and result.certificate["energy_error"] < ENERGY
    for momentum in momenta(model, result):
        assert np.abs(momentum).max() > 1.0 and np.abs(momentum - momentum[0]).max() < MOMENTUM
    braked = simulate(floating(0.3), 0.5, 1e-3, channels=[*names, "energy.total"], output_step=0.05)
    assert braked.certificate["energy_error"] < ENERGY and np.diff(braked.channels["energy.total"]).max() < 0
    for momentum in momenta(model, braked):
        assert np.abs(momentum - momentum[0]).max() < MOMENTUM


def test_a_force_between_floating_bodies_has_the_power_it_says() -> None:
    prepared, q, v = closed_states(floating(0.3), 3, seed=3)
    assert (check_power(prepared, q, v) < 0).all()


def linked(kind: str = "my_distance", **values: float) -> Model:
    """Two chains of two bodies from ground, whose ends a constraint ties."""
    builder = ModelBuilder(gravity=(0.0, 0.0, -9.81))
    builder.frame("far", T=(0.9, 0.2, 0.1))
    a = builder.assembly("a")
    for name in ("left", "right", "left2", "right2"):
        a.body(name, **rod(0.5))
    a.joint("one", "Ry", child="left", initial_displacement=0.5, initial_velocity=1.0)
    a.joint("two", "Rz", parent=("left", "tip"), child="left2", initial_displacement=-0.4)
    a.joint("three", "spherical", parent=("fixed", "far"), child="right", initial_velocity=[0.3, 1.0, -0.5])
    a.joint("four", "Tx", parent=("right", "tip"), child="right2", initial_displacement=0.1)
    a.constraint("rope", kind, frames=[("left2", "tip"), ("right2", "tip")], length=1.2, **values)
    return builder.build()


@pytest.mark.parametrize("rate", [0.0, 0.4])
def test_rows_derived_of_phi_are_its_derivatives(rate: float) -> None:
    """J, nu and gamma of a distance between moving bodies, of one that grows with time too."""
    prepared, q, v = closed_states(linked(), 3, seed=2)
    check_rows(prepared, q, v, seed=1)
    result = simulate(linked(rate=rate), 0.5, 1e-3)
    assert result.status == 0 and result.certificate["gap"] < 1e-12 and result.certificate["velocity_gap"] < 1e-11
    assert result.certificate["energy_error"] < ENERGY


def test_phi_may_not_depend_on_joints_beyond_its_own() -> None:
    """A pose in the world of two moving frames: the rows would move with joints that no plan knows of."""
    with pytest.raises(ModelError, match=r"a:rope.*a pose that others move too.*relative=other"):
        simulate(linked("wanders"), 0.01, 1e-3)
    with pytest.raises(ModelError, match=r"a:rope.*asks for time.*time_dependent"):
        simulate(linked("timeless"), 0.01, 1e-3)


def test_a_chain_refuses_bodies_that_its_base_does_not_carry() -> None:
    prepared, q, v = closed_states(linked(), 1, seed=2)
    motion, node = prepared.file_lane().motion(list(q), list(v)), {n.path: k for k, n in enumerate(prepared.plan.nodes)}
    chain = motion.chain(node["a:left"])
    assert chain.node(node["a:left2"]).p is not None
    for body in ("a:right", "fixed"):
        with pytest.raises(ModelError, match=rf"motion\.chain of a:left.*{body}.*relative=other"):
            chain.node(node[body])
    assert motion.point(PlacedFrame(node["a:right"], None), ORIGIN, relative=PlacedFrame(node["a:left"], None))
