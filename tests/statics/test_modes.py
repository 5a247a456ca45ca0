"""`modes`: natural frequencies, damping ratios, shapes and eigenvalues of small motions. D26, M19."""

from typing import Any

import numpy as np
import pytest

import shiftjax
from shiftjax.errors import ModelError
from shiftjax.formats.builder import ModelBuilder
from shiftjax.formats.writer import to_dict
from shiftjax.mechanism.model import Model
from shiftjax.outcome import Outcome
from shiftjax.run.options import options_of
from shiftjax.statics.at_rest import AtRest, ranks_at
from shiftjax.statics.search import Search
from tests.support.models.mechanisms import four_bars, rod

CLOSED_FORM = 1e-10  # relative: derivatives
MOTION = 1e-4  # relative: a motion of 1e-4 rad is not infinitely small
DIFFERENCES = 1e-6  # of forces and slopes: h^2, and roundings over h
G = 9.81


def chain(lengths: tuple[float, ...], **force: Any) -> Model:
    """Point masses of 2 kg below each other, drawn at an angle; a joint spring on each joint."""
    builder = ModelBuilder(gravity=(0.0, 0.0, -G))
    a = builder.assembly("a")
    for k, length in enumerate(lengths):
        frames = {"end": (0.0, 0.0, -length)}
        a.body(f"rod{k}", mass=2.0, center_of_mass=(0.0, 0.0, -length), inertia=(0.0, 0.0, 0.0), frames=frames)
        parent = (f"rod{k - 1}", "end") if k else ("fixed", "origin")
        a.joint(f"pin{k}", "Ry", parent=parent, child=f"rod{k}", initial_displacement=0.4)
        if force:
            a.force(f"spring{k}", "joint_spring", joint=f"pin{k}", **force)
    return builder.build()


def test_a_pendulum_swings_by_its_length() -> None:
    """omega = sqrt(g / L + k / (m L^2)), zeta = c / (2 m L^2 omega), s = -zeta omega +- i omega sqrt(1 - zeta^2)."""
    lengths, k, c = np.array([0.5, 1.0, 2.0]), 3.0, 0.4
    vary = {"rod0.center_of_mass[2]": -lengths}
    plain = shiftjax.modes(chain((1.0,)), vary=vary)
    assert plain.frequencies[:, 0] == pytest.approx(np.sqrt(G / lengths) / (2.0 * np.pi), rel=CLOSED_FORM)
    assert (plain.stability == "stable").all() and np.abs(plain.damping_ratios).max() == 0.0
    damped = shiftjax.modes(chain((1.0,), k=k, c=c), vary=vary)
    mass = 2.0 * lengths**2
    omega = np.sqrt(G / lengths + k / mass)
    zeta = c / (2.0 * mass * omega)
    assert damped.frequencies[:, 0] == pytest.approx(omega / (2.0 * np.pi), rel=CLOSED_FORM)
    assert damped.damping_ratios[:, 0] == pytest.approx(zeta, rel=CLOSED_FORM)
    s = omega * (-zeta + 1j * np.sqrt(1.0 - zeta**2))
    assert damped.eigenvalues[:, 1] == pytest.approx(s, rel=CLOSED_FORM)
    assert damped.eigenvalues[:, 0] == pytest.approx(s.conj(), rel=CLOSED_FORM)
    assert damped.M[:, 0, 0] == pytest.approx(mass, rel=CLOSED_FORM)
    assert damped.C[:, 0, 0] == pytest.approx(c, rel=CLOSED_FORM)
    for member, length in enumerate(lengths):
        alone = shiftjax.modes(chain((1.0,), k=k, c=c), vary={"rod0.center_of_mass[2]": [-length]})
        assert alone.eigenvalues[0].tolist() == damped.eigenvalues[member].tolist()


def test_a_double_pendulum() -> None:
    """Equal masses and lengths: omega^2 = (2 -+ sqrt 2) g / L, the lower rod at +-sqrt 2 the upper one's angle."""
    swing = shiftjax.modes(chain((0.7, 0.7)))
    squares = (2.0 + np.sqrt(2.0) * np.array([-1.0, 1.0])) * G / 0.7
    assert (2.0 * np.pi * swing.frequencies) ** 2 == pytest.approx(squares, rel=CLOSED_FORM)
    first, second = swing.shapes["a:pin0"], swing.shapes["a:pin1"]
    assert (first + second) / first == pytest.approx(np.sqrt(2.0) * np.array([1.0, -1.0]), rel=CLOSED_FORM)
    assert swing.independent == ("a:pin0", "a:pin1")
    first_hz, second_hz = (f"{x:.6g}" for x in np.sqrt(squares) / (2.0 * np.pi))
    assert repr(swing) == f"Modes\n  {first_hz} Hz, damping 0\n  {second_hz} Hz, damping 0"
    assert swing.K == pytest.approx(2.0 * G * 0.7 * np.array([[3.0, 1.0], [1.0, 1.0]]), rel=CLOSED_FORM, abs=1e-9)


def test_an_inverted_pendulum_leaves_and_a_ball_spins() -> None:
    up = shiftjax.modes(chain((1.0,)), unstable=True, assign={"pin0.initial_displacement": 3.0})
    assert up.stability == "unstable" and np.isnan(up.frequencies[0])
    assert np.real(up.eigenvalues) == pytest.approx([-np.sqrt(G), np.sqrt(G)], rel=CLOSED_FORM)
    builder = ModelBuilder(gravity=(0.0, 0.0, -G))
    a = builder.assembly("a")
    a.body("top", mass=2.0, center_of_mass=(0.0, 0.0, -0.5), inertia=(0.3, 0.2, 0.1))
    a.joint("ball", "spherical", child="top", initial_displacement={"rotation": [0.3, -0.2, 0.5]})
    ball = shiftjax.modes(builder.build())
    assert ball.status == Outcome.ok and ball.stability == "neutral"
    squares = [0.0, G / (0.3 + 0.5), G / (0.2 + 0.5)]
    assert (2.0 * np.pi * ball.frequencies) ** 2 == pytest.approx(squares, rel=1e-8)  # of where it settles


def sprung_four_bar(c: float) -> Model:
    """A four-bar with a spring and a damper on its crank, under gravity."""
    whole = to_dict(four_bars(1, speed=0.0))
    spring = {"name": "spring", "type": "joint_spring", "joint": "pivot", "k": 25.0, "rest": -0.3, "c": c}
    whole["assemblies"][0]["force_modules"] = [spring]
    return shiftjax.load(whole)


@pytest.mark.parametrize("c", [0.0, 0.15])
def test_a_four_bar_on_a_spring_swings_as_it_is_simulated(c: float) -> None:
    """A run of 1e-4 rad from the equilibrium is a cos(w t) e^(-zeta omega t), with a speed of 0 to begin with."""
    model = sprung_four_bar(c)
    swing, stand = shiftjax.modes(model), shiftjax.equilibrium(model)
    s = swing.eigenvalues[1]
    assert s.imag > 0.0
    name, small = "bar0:pivot", 1e-4
    place = float(stand.q[name])
    run = shiftjax.simulate(
        model, 1.5, 5e-4, channels=["pivot.q"], assign={"pivot.initial_displacement": place + small}
    )
    exact = small * (np.exp(s * run.time) * (1.0 + 1j * s.real / s.imag)).real
    assert np.abs(run.channels["pivot.q"] - place - exact).max() < 3.0 * MOTION * small
    assert swing.damping_ratios[0] == pytest.approx(-s.real / abs(s), abs=1e-12)
    assert swing.frequencies[0] == pytest.approx(abs(s) / (2.0 * np.pi), rel=CLOSED_FORM)


def ball_chain(kind: str) -> Model:
    """Two rods on ball joints, sprung to ground at the end, whose coordinates are quaternions or rotation vectors."""
    builder = ModelBuilder(gravity=(0.0, 0.0, -G))
    builder.frame("wall", T=(0.5, 0.4, -1.0))
    a = builder.assembly("a")
    for k, parent in enumerate([("fixed", "origin"), ("rod0", "tip")]):
        bar, turned = f"rod{k}", {"rotation": [0.2, 0.9, 0.3 * k]}
        a.body(bar, **rod(0.6))
        a.joint(f"ball{k}", kind, parent=parent, child=bar, initial_displacement=turned)
        turning = {"stiffness": [0.0] * 3, "turning_stiffness": [2.0] * 3}
        a.force(f"turn{k}", "bushing", frames=[parent, (bar, "origin")], **turning)
    a.restraint("tie", "spring", frames=[("fixed", "wall"), ("rod1", "tip")], coefficients=[[30.0, -6.0]])
    return builder.build()


@pytest.mark.parametrize("model", ["double_wishbone", "bricard", "spherical", "spherical_vector"])
def test_stiffness_is_the_slope_of_forces_on_closed_poses(model: str) -> None:
    """K y = -Z^T f at closed poses y away from equilibrium, which needs second derivatives of the loops."""
    made = ball_chain(model) if model.startswith("spherical") else shiftjax.load(model)
    search = Search()
    assert search.result(made, options_of()).status == Outcome.ok
    ((_, linear),) = search.linear
    plan, lane = search.prepared.plan, search.prepared.lane_of(np.array([0]), 1.0)
    rest = AtRest(plan, lane, tuple(map(int, ranks_at(plan, lane, search.q)[0])))
    states, h = np.zeros((plan.ns, 1)), 1e-4
    for k in range(rest.freedoms):
        ends = []
        for sign in (1.0, -1.0):
            q, closed = rest.closed(rest.moved(search.q, sign * h * linear.Z[:, :, k]))
            Z, force = rest.balance(q, states)
            assert closed.all()
            ends.append(linear.Z[0].T @ (Z[0] @ force[0]))
        slope = -(ends[0] - ends[1]) / (2.0 * h)
        assert np.abs(linear.K[0, :, k] - slope).max() < DIFFERENCES * linear.size[0]
    assert np.abs(linear.K - linear.K.transpose(0, 2, 1)).max() < 1e-10 * linear.size[0]  # there is a potential


def test_a_stated_pose_has_matrices_too() -> None:
    """K of a pendulum at an angle is m g L cos(angle), without going to where it hangs."""
    tilted = shiftjax.modes(chain((1.0,)), settle=False)
    assert tilted.K[0, 0] == pytest.approx(2.0 * G * np.cos(0.4), rel=CLOSED_FORM)


def test_as_many_independent_coordinates_as_freedoms() -> None:
    with pytest.raises(ModelError, match="2, as many as freedoms"):
        shiftjax.modes(chain((0.7, 0.7)), independent=["pin0"])
    other = shiftjax.modes(chain((0.7, 0.7)), independent=["pin1", "pin0"])
    assert other.independent == ("a:pin1", "a:pin0")
    assert other.K[0, 0] == pytest.approx(2.0 * G * 0.7, rel=CLOSED_FORM)


def sliding(kind: str, **numbers: float) -> Model:
    """A block of 3 kg on a level way."""
    builder = ModelBuilder(gravity=(0.0, 0.0, -G))
    a = builder.assembly("a")
    a.body("block", mass=3.0, inertia=(0.1,) * 3).joint("way", "Tx", child="block", initial_displacement=0.2)
    a.force("it", kind, **({"joints": ["way", "way"]} if "pid" in kind else {"joint": "way"}), **numbers)
    return builder.build()


def test_bristles_are_springs_of_the_whole_system_alone() -> None:
    """z' = v at rest: s^2 + (c_1 + c_2) s / m + k / m = 0 and s = 0; M, C and K do not see z."""
    bristles = {
        "static": 9.0,
        "kinetic": 6.0,
        "stribeck_speed": 0.1,
        "stiffness": 500.0,
        "damping": 8.0,
        "viscous": 2.0,
    }
    rest = shiftjax.modes(sliding("lugre_friction", **bristles))
    assert rest.stability == "neutral" and rest.frequencies == 0.0 and rest.K == 0.0
    s = np.roots([3.0, 10.0, 500.0])
    assert abs(rest.eigenvalues[0]) < 1e-9
    assert rest.eigenvalues[1:] == pytest.approx(sorted(s, key=lambda x: x.imag), rel=1e-9)


def test_a_state_that_goes_on_changing_has_no_equilibrium() -> None:
    stand = shiftjax.equilibrium(sliding("joint_position_pid", p=50.0, i=20.0, d=1.0, target=0.1, limit=1e3))
    assert stand.status == Outcome.ok and stand.q["a:way"] == pytest.approx(0.1, abs=1e-12)  # its error vanishes
    pushed = to_dict(sliding("joint_position_pid", p=50.0, i=20.0, d=1.0, target=0.1, limit=1e3))
    push = {"name": "push", "type": "constant_load", "joint": "way", "load": 5.0}
    pushed["assemblies"][0]["force_modules"].append(push)
    lost = shiftjax.equilibrium(shiftjax.load(pushed))
    assert lost.status == Outcome.no_equilibrium
    assert "a:it.integral goes on changing at rest" in lost.messages[0]


def test_a_mode_is_a_motion_that_can_be_looked_at() -> None:
    """At every phase the loops are closed, and what moves most is where amplitude x sin(phase) has it."""
    model = sprung_four_bar(0.0)
    swing, stand = shiftjax.modes(model), shiftjax.equilibrium(model)
    path = next(name for name, shape in swing.shapes.items() if shape[0] == 1.0)
    played = shiftjax.mode_motion(model, amplitude=0.02, poses=9, channels=[f"{path}.q"])
    assert played.status == 0 and played.settings["parameter"] == "phase"
    assert played.certificate["gap"] < 1e-12
    moved = played.channels[f"{path}.q"] - stand.q[path]
    assert np.abs(moved - 0.02 * np.sin(played.time)).max() < 0.02 * 0.02  # the loops bend
    poses = played.poses[f"{path.partition(':')[0]}:coupler"]
    assert poses.shape == (9, 7) and np.isfinite(poses).all() and np.ptp(poses[:, 0]) > 1e-3
    some = shiftjax.mode_motion("four_bar", poses=5, vary={"coupler:tip.T[0]": [0.5, 1.2]}, channels=["crank_pivot.q"])
    assert some.status.tolist() == [Outcome.ok, Outcome.not_assembled] and some.messages[1]
    assert np.isfinite(some.channels["crank_pivot.q"]).all(1).tolist() == [True, False]
    with pytest.raises(ModelError, match="1 to 1"):
        shiftjax.mode_motion("four_bar", 2)
