"""Numbers nobody of this project wrote: closed forms, published values, independent integrations (`tests/reference`).

Every test names its source; the data files beside the oracle hold the numbers and their trust. Steps are those that
reach the tolerance; where a tolerance is not the source's own it says why.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from scipy.special import ellipj, ellipkm1

from shiftjax.formats import load
from shiftjax.formats.builder import ModelBuilder
from shiftjax.mechanism.model import Model
from shiftjax.models import path
from shiftjax.run.simulate import simulate

FOLDER = Path(__file__).resolve().parents[1] / "reference"
ANALYTIC = 1e-9  # A01, Andrews' angles: required
BENCHMARK = 1e-8  # A02 against the closed form, and where a page states nothing else
RANDOM_CRANKS = 1e-7  # rad, 256 random runs through flat poses: required
PARALLEL = 1e-9  # rad, all cranks of an N-four-bar: required
ENERGY = 1e-8  # the same runs: required
BRICARD = 1e-7  # m, A04: required
ALGEBRA = 1e-13  # accelerations at one state, published to 15 digits


def reference(name: str) -> Any:
    return json.loads((FOLDER / f"{name}.json").read_text())


def column(rows: Any, first: int, last: int | None = None) -> np.ndarray:
    """Columns of a table of numbers in text."""
    return np.array([[float(x) for x in row[first:last]] for row in rows])


def worst(found: Any, expected: Any) -> float:
    return float(np.abs(np.asarray(found) - np.asarray(expected)).max())


def rod(mass: float, end: Any, axis_inertia: float = 0.0) -> dict[str, Any]:
    """Keywords of a thin uniform rod from the body's origin to its frame `tip`."""
    end = np.asarray(end, float)
    square = mass / 12 * (end @ end * np.eye(3) - np.outer(end, end)) + axis_inertia * np.eye(3)
    inertia = square[[0, 1, 2, 0, 1, 2], [0, 1, 2, 1, 2, 0]]
    return {"mass": mass, "center_of_mass": tuple(end / 2), "inertia": tuple(inertia), "frames": {"tip": tuple(end)}}


# -- A01: pendulum -------------------------------------------------------------------------------------------------


def test_a01_simple_pendulum() -> None:
    """A01, closed form in elliptic functions: position and rate at 1, 2 ... 10 s; step 1 ms."""
    rows = reference("a01_simple_pendulum")["rows"]
    result = simulate("pendulum", 10.0, 1e-3, output_step=0.01, channels=["link:tip.position", "pivot.v"])
    at = np.rint(100 * column(rows, 0, 1)[:, 0]).astype(int)
    assert worst(result.channels["link:tip.position"][at, :2], column(rows, 1, 3)) < ANALYTIC
    assert worst(result.channels["pivot.v"][at], column(rows, 3)[:, 0]) < 5 * ANALYTIC  # a rate of 4.4 rad/s
    assert result.certificate["energy_error"] < ANALYTIC


# -- A02: N-four-bar -----------------------------------------------------------------------------------------------


def parallel_cranks(N: int, speeds: np.ndarray, time: np.ndarray) -> np.ndarray:
    """(B, n) crank angles: with all cranks parallel a pendulum thrown from upright, phi = pi + 2 am(W t - K | k^2)."""
    c = ((N + 1) / 2 + N) * 9.81 / ((N + 1) / 3 + N)
    square = speeds[:, None] ** 2 / 4
    am = ellipj(np.sqrt(square + c) * time - ellipkm1(square / (square + c)), c / (square + c))[3]
    return np.sign(speeds)[:, None] * (np.pi + 2 * am)


@pytest.mark.parametrize("N", [1, 2])
def test_a02_n_four_bar(N: int) -> None:
    """A02, closed form: top of the first crank and crank rate at 0.5, 1 ... 10 s, energy; step 1 ms."""
    rows = reference("a02_n_four_bar")["cases"][f"A02_N{N}"]["rows"]
    wanted = ["crank_0:tip.position", "pivot_0.v", "pivot_0.q"]
    result = simulate(f"n_four_bar_{N}", 10.0, 1e-3, output_step=0.5, channels=wanted)
    at = np.rint(2 * column(rows, 0, 1)[:, 0]).astype(int)
    assert worst(result.channels["crank_0:tip.position"][at, :2], column(rows, 1, 3)) < BENCHMARK
    assert worst(result.channels["pivot_0.v"][at], -column(rows, 3)[:, 0]) < 10 * BENCHMARK  # rates of 7 rad/s
    assert worst(parallel_cranks(N, np.array([-1.0]), result.time)[0], result.channels["pivot_0.q"]) < BENCHMARK
    assert result.status == 0 and result.certificate["energy_error"] < ENERGY


def thrown_cranks(N: int, members: int, **settings: Any) -> tuple[Any, np.ndarray, np.ndarray]:
    """Random crank speeds of 0.1 to 6 rad/s, both signs: result, all crank angles (N + 1, B, n), the closed form."""
    rng = np.random.default_rng(7)
    speeds = rng.uniform(0.1, 6.0, members) * rng.choice([-1.0, 1.0], members)
    wanted = [f"pivot_{i}.q" for i in range(N + 1)]
    vary = {"pivot_0.initial_velocity": speeds}
    result = simulate(f"n_four_bar_{N}", 10.0, 1e-3, output_step=0.01, channels=wanted, vary=vary, **settings)
    angles = np.stack([result.channels[name] for name in wanted])
    return result, angles, parallel_cranks(N, speeds, result.time)


@pytest.mark.parametrize("N", [1, 2, 5])
def test_s11_256_random_n_four_bars_pass_their_flat_poses(N: int) -> None:
    """A02, S11: rank drops by N twice a turn; every crank every 10 ms on the closed form, energy, parallelism."""
    result, angles, exact = thrown_cranks(N, 256)
    assert worst(angles, exact) < RANDOM_CRANKS
    assert worst(angles, angles[:1]) < PARALLEL
    assert result.certificate["energy_error"].max() < ENERGY
    assert (result.status <= 0).all() and result.certificate["rejected"].min() > 0


def test_steps_that_land_on_flat_poses_are_lost() -> None:
    """With the moving of steps switched off the test above visibly fails: measured 0.05 rad."""
    result, angles, exact = thrown_cranks(1, 256, move_steps=False)
    assert worst(angles, exact) > 1e4 * RANDOM_CRANKS and result.certificate["energy_error"].max() > ENERGY


# -- A03: Andrews' squeezing mechanism -----------------------------------------------------------------------------


def test_a03_andrews() -> None:
    """A03, refined values: seven angles at 5 to 50 ms, mirror pair, first accelerations; step 5 us."""
    data = reference("a03_andrews")
    q = [f"{name}.q" for name in ("beta", "theta", "gamma", "phi", "delta", "omega", "epsilon")]
    wanted = [*q, "beta.v", "beta.a", "theta.a"]
    result = simulate("andrews", 0.05, 5e-6, output_step=0.005, channels=wanted)
    rows = data["refined"]["rows"]
    at = np.rint(np.array([float(row[0]) for row in rows]) / 0.005).astype(int)
    angles = np.stack([result.channels[name] for name in q], axis=1)
    assert worst(angles[at], [[float(x) for x in row[1]] for row in rows]) < ANALYTIC
    assert worst(angles[:, 5], -angles[:, 3]) < ANALYTIC
    rates = np.array([float(row[2][0]) for row in rows])
    assert worst(result.channels["beta.v"][at] / rates, 1.0) < BENCHMARK
    first = [result.channels[name][0] for name in ("beta.a", "theta.a")]
    assert first == pytest.approx(data["published_initial_accel_beta_theta"], rel=1e-11)
    assert result.certificate["energy_error"] < ANALYTIC


# -- A04: Bricard --------------------------------------------------------------------------------------------------

P3 = "rod2:tip.position"


def bricard_errors(**settings: Any) -> tuple[Any, float]:
    """A run of 10 s and the largest error of P3 at the instants of the table."""
    rows = reference("a04_bricard")["rows"]
    result = simulate("bricard", 10.0, 1e-3, output_step=0.5, channels=[P3], **settings)
    at = [round(2 * row[0]) for row in rows]
    return result, worst(result.channels[P3][at], [row[3:6] for row in rows])


@pytest.mark.parametrize("joint", [f"joint{k}" for k in range(1, 7)])
def test_s13_a04_bricard_from_every_partition(joint: str) -> None:
    """A04, S13: the start pose ties all six coordinates; those with a turning point repartition, and all agree."""
    result, error = bricard_errors(independent=[joint])
    assert error < BRICARD
    assert result.status == 0 and result.certificate["energy_error"] < BENCHMARK
    assert result.report["substructures"][0]["rank"] == 5
    assert result.certificate["repartitions"] >= 1 or joint in SWINGING


SWINGING = ("joint1", "joint3", "joint5")  # they swing through half a turn without a turning point on the way


def test_s13_bricard_is_lost_without_repartition() -> None:
    """S12, S13: with the trigger off the run is off by 2e-6 m and 5e-6 of the energy, and its certificate says so."""
    result, error = bricard_errors(independent=["joint2"], repartition=False)
    assert not error < 10 * BRICARD
    assert result.certificate["angle_error"] > error and result.certificate["energy_error"] > 1e-6


def thrown_bricard(multiplier: float) -> Model:
    """A04's Bricard, as fast that it goes round its whole closed curve."""
    document = json.loads(path("bricard").read_text())
    document["model_parameters"]["solvers"][0]["infinity_norm_multiplier"] = multiplier
    document["assemblies"][0]["joints"][0]["initial_velocity"] = 8.0
    return load(document)


@pytest.mark.parametrize("multiplier", [1.5, 2.0])
def test_s12_four_repartitions_a_turn(multiplier: float) -> None:
    """S12, S13: round the closed curve sin a + sin b + sin a sin b = 0, exactly 4 in each turn after the first."""
    wanted = ["joint1.q", "joint2.q"]
    result = simulate(thrown_bricard(multiplier), 10.0, 1e-3, output_step=1e-3, channels=wanted)
    a, b = (result.channels[name] for name in wanted)
    assert worst(np.sin(a) + np.sin(b) + np.sin(a) * np.sin(b), 0.0) < BRICARD
    middle = a - np.pi / 2
    starts = result.time[1:][(middle[:-1] < 0) & (middle[1:] >= 0)]  # a rises through a quarter turn: once a turn
    assert len(starts) >= 4
    assert a.max() > 2 * np.pi / 3 + np.pi / 2 - 0.02 and a.min() < -np.pi / 6 + 0.02  # the whole curve
    counts, _ = np.histogram([line["time"] for line in result.log], starts)
    assert counts.tolist() == [4] * (len(starts) - 1)


# -- small loops ---------------------------------------------------------------------------------------------------


def drake_four_bar(rate: float) -> Model:
    """Drake's examples/multibody/four_bar with an ideal pin in place of its bushing."""
    side, base = np.arctan2(np.sqrt(15), 1), np.arctan2(np.sqrt(15), -1)
    builder = ModelBuilder(gravity=(0.0, 0.0, -9.8)).frame("w", T=(-2, 0, 0))
    bar = builder.assembly("bar")
    box = {"mass": 20.0, "center_of_mass": (2, 0, 0), "inertia": (0.1, 29.466666666666667, 29.4)}
    for name in "abc":
        bar.body(name, **box, frames={"tip": (4, 0, 0)})
    bar.joint("qa", "Ry", child="a", initial_displacement=side, initial_velocity=rate)
    bar.joint("qb", "Ry", parent=("a", "tip"), child="b", initial_displacement=base)
    bar.joint("qc", "Ry", parent=("fixed", "w"), child="c", initial_displacement=base)
    bar.joint("pin", "Ry", parent=("b", "tip"), child=("c", "tip"), initial_displacement=base - side - base)
    return builder.build()


@pytest.mark.parametrize(("rate", "key"), [(0.1, "drake_fourbar_v0.1"), (3.0, "drake_fourbar_v3")])
def test_drake_four_bar(rate: float, key: str) -> None:
    """Drake's four-bar, independent minimal-coordinate integration: three angles at 0.5 to 10 s; step 1 ms."""
    data = reference("loops_small")["drake_four_bar"][key]
    wanted = ["qa.q", "qb.q", "qc.q", "qa.v", "energy.total"]
    result = simulate(drake_four_bar(rate), 10.0, 1e-3, output_step=0.5, channels=wanted)
    at = np.rint(2 * np.array(data["t"])).astype(int)
    angles = np.stack([result.channels[name] for name in wanted[:3]], axis=1)
    assert worst(angles[at], data["x"]) < ANALYTIC
    assert worst(result.channels["qa.v"][at], np.ravel(data["qd"])) < BENCHMARK


def test_drake_four_bar_rests_in_its_equilibrium() -> None:
    """The documented equilibrium atan2(sqrt 15, 1): no acceleration there."""
    result = simulate(drake_four_bar(0.0), 1e-3, 1e-3, channels=["qa.a", "qb.a", "qc.a"])
    assert worst([result.channels[name] for name in result.channels], 0.0) < ALGEBRA


def rbd_four_bar(rate: float) -> Model:
    """The four-bar of RigidBodyDynamics.jl's test_simulate.jl."""
    angles = (1.6707963267948966, -1.4591054166649482, 1.5397303602625536)
    lengths, masses, centres, inertias = (0.5, 1.20, 0.75), (0.5, 1.0, 0.75), (0.25, 0.6, 0.375), (0.333, 0.537, 0.4)
    builder = ModelBuilder(gravity=(0.0, 0.0, -9.81)).frame("right", T=(1.10, 0, 0))
    bar = builder.assembly("bar")
    for name, length, mass, centre, inertia in zip("abc", lengths, masses, centres, inertias, strict=True):
        shape = (0.01, inertia, inertia)
        bar.body(name, mass=mass, center_of_mass=(centre, 0, 0), inertia=shape, frames={"tip": (length, 0, 0)})
    about = {"type": "revolute", "axis": (0, -1, 0)}
    bar.joint("theta", child="a", initial_displacement=angles[0], initial_velocity=rate, **about)
    bar.joint("gamma", parent=("a", "tip"), child="b", initial_displacement=angles[1], **about)
    bar.joint("phi", parent=("fixed", "right"), child="c", initial_displacement=angles[2], **about)
    closing = angles[2] - angles[0] - angles[1]
    bar.joint("pin", parent=("b", "tip"), child=("c", "tip"), initial_displacement=closing, **about)
    return builder.build()


@pytest.mark.parametrize(("rate", "key"), [(0.0, "rbd_fourbar_v0"), (0.5, "rbd_fourbar_v0.5")])
def test_rigid_body_dynamics_four_bar(rate: float, key: str) -> None:
    """RigidBodyDynamics.jl's four-bar, independent integration: angles at 0.25 to 10 s, energy; step 0.5 ms."""
    data = reference("loops_small")["rbd_jl_four_bar"][key]
    wanted = ["theta.q", "gamma.q", "phi.q"]
    result = simulate(rbd_four_bar(rate), 10.0, 5e-4, output_step=0.25, channels=wanted)
    at = np.rint(4 * np.array(data["t"])).astype(int)
    angles = np.stack([result.channels[name] for name in wanted], axis=1)
    assert worst(angles[at], data["x"]) < BENCHMARK
    assert result.certificate["energy_error"] < BENCHMARK and result.certificate["gap"] < 1e-12


def test_dependent_rates_of_the_four_bar() -> None:
    """RigidBodyDynamics.jl: the crank keeps its 0.5 rad/s, the others follow from the loop."""
    result = simulate(rbd_four_bar(0.5), 1e-3, 1e-3, channels=["theta.v", "gamma.v", "phi.v"])
    found = [result.channels[name][0] for name in result.channels]
    assert found == pytest.approx([0.5, -0.47195025, 0.34126252], abs=5e-9)


def five_bar() -> Model:
    """EoM_samples' five-bar: springs without force and a constant upward force hold it in this configuration."""
    points = {"a": (0.0, 0.0), "c": (-1.0, -1.0), "d": (0.5, -2.0), "e": (2.0, -1.0), "b": (1.0, 0.0)}
    place = {name: np.array([x, 0.0, z]) for name, (x, z) in points.items()}
    builder = ModelBuilder(gravity=(0.0, 0.0, -9.81)).frame("b", T=tuple(place["b"]))
    bars = builder.assembly("five")
    for name, (start, end), mass in (("ac", "ac", 1.0), ("cd", "cd", 1.5), ("de", "de", 1.5), ("eb", "eb", 1.0)):
        bars.body(name, **rod(mass, place[end] - place[start]))
    bars.joint("a", "Ry", child="ac")
    bars.joint("c", "Ry", parent=("ac", "tip"), child="cd")
    bars.joint("d", "Ry", parent=("cd", "tip"), child="de")
    bars.joint("e", "Ry", parent=("de", "tip"), child="eb")
    bars.joint("b", "Ry", parent=("eb", "tip"), child=("fixed", "b"))
    for name, body, point in (("bc", "ac", "c"), ("bd", "cd", "d")):
        length = float(np.linalg.norm(place[point] - place["b"]))
        ends = (("fixed", "b"), (body, "tip"))
        bars.restraint(name, "spring", frames=ends, coefficients=[[100.0, -100.0 * length]])
    lift = [[-0.5 * 9.81 * 5]]
    bars.restraint("lift", "spring", frames=("fixed", ("cd", "tip")), distance_type="Tz", coefficients=lift)
    return builder.build()


def test_five_bar_frequencies() -> None:
    """EoM_samples' five-bar: equilibrium, and frequencies from accelerations at starts assembled close to it.

    Accelerations along both coordinates by a fourth-order difference over the angles of `a` and `c`; at rest the
    curvature of the constraint surface does not enter.
    """
    h, eye = 1e-3, np.eye(2)
    starts = np.concatenate([s * h * eye for s in (-2, -1, 1, 2)] + [np.zeros((1, 2))])
    vary = {f"{joint}.initial_displacement": starts[:, k] for k, joint in enumerate("ac")}
    result = simulate(five_bar(), 1e-3, 1e-3, channels=["a.a", "c.a"], vary=vary)
    a = np.stack([result.channels[name][:, 0] for name in ("a.a", "c.a")], axis=1)
    assert worst(a[8], 0.0) < 100 * ALGEBRA  # forces of 25 N on 0.3 kg m^2
    slope = (a[0:2] - 8 * a[2:4] + 8 * a[4:6] - a[6:8]) / (12 * h)
    omega = np.sqrt(np.sort(np.linalg.eigvals(-slope.T).real))
    assert omega == pytest.approx(reference("loops_small")["five_bar_pendulum_eom"]["omega"], rel=BENCHMARK)


# -- chains and free bodies ----------------------------------------------------------------------------------------


def chain(case: dict[str, Any]) -> Model:
    """RBDL's chains: unit bodies on revolute joints, joint i at an offset of the body before it."""
    axes = case["axis"]
    count = len(axes)
    parents = case.get("parents", list(range(count)))
    offsets = case.get("joint_offset", [[0, 0, 0]] * count)
    massless = case.get("massless", [False] * count)
    shapes = case.get("inertia_diag", [[1, 1, 1]] * count)
    builder = ModelBuilder(gravity=(0.0, -9.81, 0.0))
    tree = builder.assembly("tree")
    for i in range(count):
        frames = {f"at{k}": tuple(offsets[k]) for k in range(count) if parents[k] == i + 1}
        mass, shape = (0.0, (0, 0, 0)) if massless[i] else (1.0, tuple(shapes[i]))
        tree.body(f"b{i}", mass=mass, center_of_mass=tuple(case["com"][i]), inertia=shape, frames=frames)
        parent = (f"b{parents[i] - 1}", f"at{i}") if parents[i] else ("fixed", "origin")
        q = case.get("q", [0] * count)[i]
        tree.joint(f"j{i}", f"R{axes[i]}", parent=parent, child=f"b{i}", initial_displacement=q)
    return builder.build()


@pytest.mark.parametrize("name", [case["name"] for case in reference("spatial_chains")["cases"]])
def test_accelerations_of_spatial_chains(name: str) -> None:
    """Featherstone's spatial_v1 numbers as printed in RBDL's tests, trees and massless bodies among them."""
    case = next(case for case in reference("spatial_chains")["cases"] if case["name"] == name)
    count = len(case["axis"])
    result = simulate(chain(case), 1e-3, 1e-3, channels=[f"j{i}.a" for i in range(count)])
    found = [result.channels[f"j{i}.a"][0] for i in range(count)]
    assert worst(found, case["qdd"]) < 5 * ALGEBRA  # 15 digits are given, of numbers up to 6


def test_velocity_of_a_point_of_a_floating_base() -> None:
    """RBDL's FloatingBaseTests: six one-degree joints, velocity of the point (1, 0, 0) of the body."""
    values = (0.1, 1.1, 1.2, 1.3, 1.5, 1.7)
    builder = ModelBuilder(gravity=(0.0, -9.81, 0.0))
    base = builder.assembly("base")
    last = len(values) - 1
    for k, (kind, q) in enumerate(zip(("Tx", "Ty", "Tz", "Rz", "Ry", "Rx"), values, strict=True)):
        mass = float(k == last)
        base.body(f"b{k}", mass=mass, inertia=(mass, mass, mass), frames={"point": (1, 0, 0)} if k == last else {})
        parent = f"b{k - 1}" if k else "fixed"
        base.joint(f"j{k}", kind, parent=parent, child=f"b{k}", initial_displacement=q, initial_velocity=q)
    result = simulate(builder.build(), 1e-3, 1e-3, channels=["b5:point.velocity"])
    expected = (-0.3888503432977729, -0.3171179347202455, 1.093894197498446)
    assert worst(result.channels["b5:point.velocity"][0], expected) < ALGEBRA


def free_body(inertia: Any, rates: Any) -> Model:
    """A body on a float joint without gravity."""
    builder = ModelBuilder(gravity=(0.0, 0.0, 0.0))
    top = builder.assembly("free").body("top", mass=1.0, inertia=inertia)
    top.joint("float", "float", child="top", initial_displacement={}, initial_velocity=(0, 0, 0, *rates))
    return builder.build()


def test_euler_top_a() -> None:
    """Dzhanibekov's flip, Jacobi's solution: rates and quaternion at 1 to 10 s; step 0.1 ms.

    One ulp of the middle rate moves the rates at 10 s by 8e-11; RK4 at any step ends between 7e-10 and 4e-9.
    """
    data = reference("rigid_body_classics")["euler_top_A"]
    wanted = ["float.v", "float.q"]
    result = simulate(free_body(data["I"], data["w0"]), 10.0, 1e-4, output_step=1.0, channels=wanted)
    rows = data["jacobi"]["rows"][:4]
    at = [int(row[0]) for row in rows]
    assert worst(result.channels["float.v"][at, 3:], column(rows, 1)) < BENCHMARK
    turned = np.array([[float(x) for x in row[1:5]] for row in data["quaternion_rows"][:4]])
    found = result.channels["float.q"][at, 3:]
    sign = np.sign((found * turned).sum(1, keepdims=True))
    assert worst(found * sign, turned) < BENCHMARK
    assert result.certificate["energy_error"] < 1e-11


def test_euler_top_b() -> None:
    """I = (1, 2, 3) spun about its middle axis, Jacobi's solution at 20 s to 1e-11, T and |L| kept; step 1 ms."""
    shape, rates = np.array([1.0, 2.0, 3.0]), (0.01, 1.0, 0.01)
    result = simulate(free_body(tuple(shape), rates), 20.0, 1e-3, output_step=20.0, channels=["float.v"])
    spin = result.channels["float.v"][:, 3:]
    expected = (-0.0058138369621877, -1.0000330991021133, 0.0088279990224833)
    assert worst(spin[-1], expected) < 1e-11
    assert np.linalg.norm(shape * spin, axis=1) == pytest.approx(np.linalg.norm(shape * rates), rel=1e-11)


def babyboot() -> Model:
    """Kane's pendulum with a plate that spins about the pendulum's long axis."""
    builder = ModelBuilder(gravity=(0.0, 0.0, 9.81))
    boot = builder.assembly("boot")
    boot.body("a", mass=0.01, center_of_mass=(0, 0, 0.075), inertia=(50e-7, 50e-7, 0))
    boot.body("b", mass=0.1, center_of_mass=(0, 0, 0.2), inertia=(2.5e-4, 5e-5, 2e-4))
    boot.joint("qa", "Rx", child="a", initial_displacement=np.pi / 2)
    boot.joint("qb", "Rz", parent="a", child="b", initial_displacement=np.radians(1.0))
    return builder.build()


def test_chaotic_babyboot() -> None:
    """Kane 1974, Mitiguy: 1 to 10 s against 20-digit values; errors grow a millionfold; step 0.1 ms."""
    data = reference("rigid_body_classics")["babyboot"]
    wanted = ["qa.q", "qb.q", "qa.v", "qb.v", "qa.a", "qb.a"]
    result = simulate(babyboot(), 10.0, 1e-4, output_step=1.0, channels=wanted)
    found = np.stack([result.channels[name] for name in wanted], axis=1)
    for row in data["rows"]:
        expected = np.array([float(x) for x in row[1:]])
        expected[:2] = np.radians(expected[:2])
        assert worst(found[row[0], :2], expected[:2]) < (1e-11 if row[0] <= 2 else BENCHMARK)
    last = np.array([float(x) for x in data["t10"]["derived_32digit"]])
    assert worst(found[10, :2], np.radians(last[:2])) < BENCHMARK
    assert worst(found[10, 2:] / last[2:], 1.0) < 10 * BENCHMARK


def test_double_pendulum_of_point_masses() -> None:
    """Two unit point masses let go from the horizontal, 16-digit values at 0.5 to 10 s; step 0.25 ms."""
    builder = ModelBuilder(gravity=(0.0, 0.0, -9.81))
    pair = builder.assembly("pair")
    for name in ("one", "two"):
        pair.body(name, mass=1.0, center_of_mass=(0, 0, -1), inertia=(0, 0, 0), frames={"end": (0, 0, -1)})
    pair.joint("first", "Rx", child="one", initial_displacement=np.pi / 2)
    pair.joint("second", "Rx", parent=("one", "end"), child="two")
    result = simulate(builder.build(), 10.0, 2.5e-4, output_step=0.5, channels=["first.q", "second.q"])
    rows = reference("rigid_body_classics")["double_pendulum_pointmass"]["rows"]
    at = [round(2 * row[0]) for row in rows]
    first, second = (result.channels[name][at] for name in ("first.q", "second.q"))
    found = np.stack([first, first + second], axis=1)
    assert worst(found, column(rows, 1, 3)) < BENCHMARK
