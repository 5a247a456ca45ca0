"""Force elements: polynomials and their senses, knots, forces between frames against virtual work and the oracle."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from shiftjax.dynamics.tree import tree_terms
from shiftjax.errors import ModelError
from shiftjax.forces.polynomials import antiderivative, ascending, piecewise, piecewise_integral
from shiftjax.formats import load, to_dict
from shiftjax.formats.builder import ModelBuilder
from shiftjax.mechanism.model import Model
from shiftjax.models import path
from shiftjax.run.closing import host_evaluation as host
from shiftjax.run.simulate import simulate
from shiftjax.run.start.prepare import prepare
from shiftjax.run.start.prepared import Prepared
from tests.mechanics.constraints.test_between_frames import closed
from tests.reference import oracle as reference
from tests.reference.oracle import Oracle
from tests.support.models.mechanisms import host_acceleration, nominal_blocks, pendulum, rod

ALGEBRA = 1e-12  # relative: the same formulas in another order
DIFFERENCE = 1e-7  # central differences with steps of 1e-5 of smooth functions of size 1
WHOLE_MODEL = 1e-8  # accelerations of a whole vehicle against the oracle's SVD, relative to the largest

numbers = st.floats(-3.0, 3.0)


# -- polynomials ---------------------------------------------------------------------------------------------------


@given(st.lists(numbers, min_size=1, max_size=5), numbers)
def test_ascending_polynomials(c: list[float], x: float) -> None:
    """c[0] + c[1] x + ..., and its integral from 0."""
    assert ascending(c, x) == pytest.approx(np.polyval(c[::-1], x), abs=1e-10)
    assert ascending(antiderivative(c), x) == pytest.approx(np.polyval(np.polyint(c[::-1]), x), abs=1e-10)


@settings(max_examples=200)
@given(st.lists(numbers, min_size=0, max_size=3, unique=True), st.data(), numbers)
def test_pieces_are_those_of_the_oracle(knots: list[float], data: Any, x: float) -> None:
    """S41: k knots, k + 1 pieces, highest power first in the file; the integral is continuous."""
    knots = sorted(knots)
    shape = st.lists(numbers, min_size=2, max_size=2)
    pieces = data.draw(st.lists(shape, min_size=len(knots) + 1, max_size=len(knots) + 1))
    x = data.draw(st.sampled_from([x, *knots]))
    entry = {"knot_points": knots, "coefficients": [piece[::-1] for piece in pieces]}
    assert piecewise(knots, pieces, x) == pytest.approx(reference.piecewise(entry, x), abs=1e-12)
    zero = knots[0] if knots else 0.0
    whole = reference.piecewise_integral(entry, x) - reference.piecewise_integral(entry, zero)
    assert piecewise_integral(knots, pieces, x) == pytest.approx(whole, abs=1e-10)


def test_a_value_at_a_knot_belongs_to_the_right() -> None:
    """S41: x exactly at a knot, and the two representable neighbours; jumps are allowed."""
    knots, pieces = [1.0, 2.0], [[10.0], [20.0], [30.0]]
    values = [piecewise(knots, pieces, x) for x in (np.nextafter(1.0, 0), 1.0, np.nextafter(2.0, 0), 2.0, 5.0)]
    assert values == [10.0, 20.0, 20.0, 30.0, 30.0]


# -- along joints --------------------------------------------------------------------------------------------------


def test_gravity_of_single_bodies() -> None:
    """In a loop: scales of all bodies are a gravity of that size; of one, its weight alone, which the joint bears."""
    model = closed("joint")
    names = [path for path, _ in model.bodies()]
    channels = ["pivot.q", "energy.potential"]
    scaled = simulate(model, 0.5, vary={f"{name}.gravity_scale": [0.0, 0.4, 1.0] for name in names}, channels=channels)
    whole = simulate(model, 0.5, vary={"model_parameters.gravity[2]": [0.0, -0.4 * 9.81, -9.81]}, channels=channels)
    assert (scaled.status == 0).all() and (scaled.certificate["energy_error"] < 1e-8).all()
    for channel in channels:
        assert np.abs(scaled.channels[channel] - whole.channels[channel]).max() < 1e-11
    rod = pendulum(initial_displacement=0.0)
    lifted = simulate(rod, 0.01, vary={"rod.gravity_scale": [1.0, 0.0, -2.0]}, channels=["pivot.a"])
    a = lifted.channels["pivot.a"][:, 0]
    assert a == pytest.approx(a[0] * np.array([1.0, 0.0, -2.0]), rel=ALGEBRA)
    lighter = rod.replace({"rod.gravity_scale": 0.25})
    assert load(to_dict(lighter)) == lighter and lighter.numbers()["a:rod.gravity_scale"] == 0.25


def test_joint_polynomials_ascend() -> None:
    """Q = -sum c_k q^k - sum d_k v^k, on a rod without gravity."""
    stiffness, damping, q, v = (0.3, -1.0, 2.0), (0.1, 0.5, -0.25), 0.7, -1.3
    model = pendulum(stiffness=stiffness, damping=damping, initial_displacement=q, initial_velocity=v)
    weightless = model.replace({"model_parameters.gravity[2]": 0.0})
    result = simulate(weightless, span=0.01, channels=["pivot.a", "energy.potential"])
    force = -np.polyval(stiffness[::-1], q) - np.polyval(damping[::-1], v)
    assert result.channels["pivot.a"][0] == pytest.approx(force / (1 / 3), rel=ALGEBRA)
    potential = 0.3 * q - 0.5 * q**2 + 2 / 3 * q**3
    assert result.channels["energy.potential"][0] == pytest.approx(potential, rel=ALGEBRA)


@pytest.mark.parametrize(("kind", "x"), [("spring", 0.6), ("damper", -0.8), ("friction", -0.8)])
@pytest.mark.parametrize("joint", ["Ry", "Tx", "revolute", "prismatic"])
def test_joint_restraints_descend(kind: str, x: float, joint: str) -> None:
    """S40, S41: Q = -f(x), f piecewise, highest power first; x a displacement for springs, else its rate."""
    builder = ModelBuilder(gravity=(0.0, 0.0, 0.0))
    axis: Any = {"axis": (1, 0, 0)} if joint in ("revolute", "prismatic") else {}
    builder.assembly("a").body("b", mass=2.0, inertia=(2.0, 2.0, 2.0)).joint(
        "j", joint, child="b", initial_displacement=0.6, initial_velocity=-0.8, **axis
    ).restraint("r", kind, joint="j", knot_points=(-1.0, x), coefficients=((9.0,), (5.0, 1.0), (2.0, 0.5, 0.0)))
    result = simulate(builder.build(), span=0.01, channels=["j.a"])
    assert result.channels["j.a"][0] == pytest.approx(-(2 * x**2 + 0.5 * x) / 2.0, rel=ALGEBRA)


def test_friction_that_jumps_takes_energy() -> None:
    """S41: a sign-like friction: the rod's swing dies, energy balances but for the steps of the jump."""
    builder = ModelBuilder(gravity=(0.0, 0.0, -9.81))
    builder.assembly("a").body("rod", **rod(1.0)).joint("pivot", "Ry", child="rod", initial_displacement=1.0).restraint(
        "rub", "friction", joint="pivot", knot_points=(0.0,), coefficients=((-0.5,), (0.5,))
    )
    result = simulate(builder.build(), span=2.0, channels=["energy.total"])
    energy = result.channels["energy.total"]
    assert energy[-1] < energy[0] - 0.5 and result.certificate["energy_error"] < 1e-3


@pytest.mark.parametrize(
    ("joint", "frames", "message"),
    [("ball", None, "ball"), (None, None, "joint"), ("slide", ("fixed", "b"), "joint")],
)
def test_restraints_that_fit_nothing_are_refused(joint: str | None, frames: Any, message: str) -> None:
    """S40: a joint of three coordinates, neither end, both ends."""
    builder = ModelBuilder()
    a = builder.assembly("a").body("b").joint("slide", "Tx", child="b").body("c").joint("ball", "spherical", child="c")
    a.restraint("r", "spring", joint=joint, frames=frames, coefficients=((1.0, 0.0),))
    with pytest.raises(ModelError, match=message):
        builder.build()


# -- between frames ------------------------------------------------------------------------------------------------

TYPES = [None, "Tx", "Ty", "Tz"]


def tethered(kind: str, distance: str | None, ends: str) -> tuple[dict[str, Any], Prepared]:
    """A branched spatial tree with a floating body; one restraint between two of its frames."""
    builder = ModelBuilder(gravity=(0.0, 0.0, 0.0))
    turn: Any = reference.rotation((0.2, 0.5, -0.4))
    builder.frame("post", T=(0.3, -0.2, 0.9), R=turn)
    a = builder.assembly("a")
    turned = {"T": (0.4, 0.1, -0.2), "R": reference.rotation((0.5, -0.3, 0.8))}
    for name in ("one", "two", "three"):
        a.body(name, mass=1.0, center_of_mass=(0.1, 0.2, 0.3), inertia=(0.4, 0.5, 0.6), frames={"tip": turned})
    a.joint("j1", "revolute", child="one", axis=(1, 2, 2), initial_displacement=0.4, initial_velocity=0.7)
    a.joint("j2", "prismatic", parent=("one", "tip"), child="two", axis=(2, -1, 2), initial_displacement=0.3,
            initial_velocity=-1.1)  # fmt: skip
    place = {"T": (1.0, 0.5, -0.5), "R": reference.rotation((0.3, 0.6, 0.1))}
    a.joint("j3", "float", child="three", initial_displacement=place, initial_velocity=(0.1, 0.2, -0.3, 0.5, -0.4, 0.6))
    pairs = {
        "bodies": (("two", "tip"), ("three", "tip")),
        "ground": (("fixed", "post"), ("two", "tip")),
        "back": (("three", "tip"), ("fixed", "post")),
        "chain": (("one", "tip"), ("two", "tip")),
    }
    coefficients, knots = ((3.0, 0.4), (1.5, -2.0, 0.7)), (0.1,)
    a.restraint("r", kind, frames=pairs[ends], distance_type=distance, coefficients=coefficients, knot_points=knots)
    return builder.document, prepare(builder.build(), {})


def plan_speeds(oracle: Oracle, prepared: Prepared, values: np.ndarray) -> np.ndarray:
    """Values by the oracle's speeds in the order of the plan."""
    out = np.zeros(prepared.plan.nv)
    for joint in oracle.joints:
        own = prepared.plan.joints[prepared.plan.joint_index(f"a:{joint.name}")]
        out[own.v : own.v + own.nv] = values[joint.v]
    return out


def tree_of(prepared: Prepared, q: np.ndarray, v: np.ndarray) -> Any:
    """Forces and energies of states (nq, B), (nv, B)."""
    lane = prepared.file_lane()
    return tree_terms(lane.motion(list(q), list(v)), lane.gravity(), ())


def generalized(prepared: Prepared) -> np.ndarray:
    """(nv,) forces of the restraint alone at the start: the tree's less those of the tree without it."""
    start, free = prepared.file_start, prepare(_without_restraint(prepared), {})
    both = [host.per_member(tree_of(p, start.q, start.v).force, 1)[:, 0] for p in (prepared, free)]
    return both[0] - both[1]


def _without_restraint(prepared: Prepared) -> Model:
    (assembly,) = prepared.model.assemblies
    return replace(prepared.model, assemblies=(replace(assembly, restraints=()),))


@pytest.mark.parametrize("ends", ["bodies", "ground", "back", "chain"])
@pytest.mark.parametrize("distance", TYPES)
@pytest.mark.parametrize("kind", ["spring", "damper", "friction"])
def test_forces_between_frames_are_those_of_the_oracle(kind: str, distance: str | None, ends: str) -> None:
    """S40: Euclidean distance or along an axis of the first frame; force, moment and the work of turning that axis."""
    document, prepared = tethered(kind, distance, ends)
    oracle = Oracle(document)
    q, v = oracle.start()
    own = generalized(prepared)
    expected = plan_speeds(oracle, prepared, oracle.forces(oracle.motion(q, v), q, v))
    assert np.abs(own - expected).max() < ALGEBRA * max(1.0, np.abs(expected).max())
    assert np.abs(expected).max() > 1e-3


@pytest.mark.parametrize("ends", ["bodies", "ground", "back", "chain"])
@pytest.mark.parametrize("distance", TYPES)
def test_springs_are_the_slope_of_their_potential(distance: str | None, ends: str) -> None:
    """Virtual work by central differences: Q . dq = -dV along every speed."""
    _, prepared = tethered("spring", distance, ends)
    plan, start, step = prepared.plan, prepared.file_start, 1e-5
    changes = np.hstack([np.eye(plan.nv), -np.eye(plan.nv)]) * step
    q = host.retract(plan, np.repeat(start.q, 2 * plan.nv, axis=1), changes)
    potential = tree_of(prepared, q, np.repeat(start.v, 2 * plan.nv, axis=1)).potential
    slope = (potential[: plan.nv] - potential[plan.nv :]) / (2 * step)
    assert np.abs(generalized(prepared) + slope).max() < DIFFERENCE


@pytest.mark.parametrize("distance", TYPES)
@pytest.mark.parametrize("kind", ["damper", "friction"])
def test_power_is_force_times_speed(kind: str, distance: str | None) -> None:
    """Design rule 4: what is integrated as work is Q . v."""
    for ends in ("bodies", "back"):
        _, prepared = tethered(kind, distance, ends)
        start = prepared.file_start
        (power,) = tree_of(prepared, start.q, start.v).power
        assert power == pytest.approx(generalized(prepared) @ start.v[:, 0], rel=ALGEBRA)


def test_a_tethered_tree_keeps_its_energy() -> None:
    """The same forces in a run: spring energy in E, damper work in W."""
    for kind in ("spring", "damper"):
        for distance in (None, "Ty"):
            _, prepared = tethered(kind, distance, "bodies")
            result = simulate(prepared.model, span=0.5, step=1e-3)
            assert result.status == 0 and result.certificate["energy_error"] < 1e-6, (kind, distance)


@pytest.mark.parametrize("name", ["andrews", "double_wishbone", "excavator", "vehicle_chassis", "stewart", "sarrus"])
def test_accelerations_of_sprung_models_are_those_of_the_oracle(name: str) -> None:
    """S40: springs and polynomials of the library's models at their own starts, through the loops."""
    oracle = Oracle(path(name))
    prepared = prepare(load(name), {})
    start = prepared.file_start
    found, _ = host_acceleration(prepared, start.q, start.v, nominal_blocks(prepared))
    q, v = np.zeros(oracle.nq), np.zeros(oracle.nv)
    by_name = {joint.path.rsplit(":", 1)[-1]: joint for joint in prepared.plan.joints}
    for joint in oracle.joints:
        own = by_name[joint.name]
        q[joint.q], v[joint.v] = start.q[own.q : own.q + own.nq, 0], start.v[own.v : own.v + own.nv, 0]
    expected = oracle.acceleration(q, v)
    scale = np.abs(expected).max()
    for joint in oracle.joints:
        own = by_name[joint.name]
        off = np.abs(found[own.v : own.v + own.nv, 0] - expected[joint.v]).max(initial=0.0)
        assert off < WHOLE_MODEL * scale, joint.name


@pytest.mark.parametrize("ends", ["always", "at the start"])
@pytest.mark.parametrize("kind", ["spring", "damper"])
def test_frames_at_one_point_pull_nowhere(kind: str, ends: str) -> None:
    """The line between both sides of a joint, or of a body that begins there, has no direction: no force, no crash."""

    def swinging(*, joined: bool) -> Model:
        builder = ModelBuilder(gravity=(0.0, 0.0, -9.81))
        a = builder.assembly("a")
        a.body("rod", **rod(1.0)).joint("pivot", "Ry", child="rod", initial_displacement=0.3)
        at = ("fixed", "origin")
        if ends == "at the start":
            a.body("slider", **rod(1.0)).joint("slide", "Tx", child="slider", initial_velocity=1.0)
            at = ("slider", "origin")
        if joined:
            a.restraint("pull", kind, frames=(at, ("rod", "origin")), coefficients=[[10.0, 0.0]])
        return builder.build()

    pulled = simulate(swinging(joined=True), 0.2, 1e-3, channels=["pivot.q"])
    free = simulate(swinging(joined=False), 0.2, 1e-3, channels=["pivot.q"])
    assert pulled.status == 0 and np.isfinite(pulled.channels["pivot.q"]).all()
    if ends == "always":
        assert np.abs(pulled.channels["pivot.q"] - free.channels["pivot.q"]).max() < ALGEBRA
