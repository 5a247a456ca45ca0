"""Reactions of joints: every body in balance by the oracle, closed formulas, cuts and machines that must not matter."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import pytest

from shiftjax.constraints import Harmonic
from shiftjax.dynamics.reactions import Reactions
from shiftjax.errors import ModelError
from shiftjax.formats import load, to_dict
from shiftjax.formats.builder import ModelBuilder
from shiftjax.measures.channels import channels
from shiftjax.run.closing import host_evaluation as host
from shiftjax.run.options import options_of
from shiftjax.run.programs.lane_program import Programs
from shiftjax.run.simulate import simulate
from shiftjax.run.start.prepare import prepare
from shiftjax.topology.partition import Partition
from tests.extensions import numpy_backend  # noqa: F401
from tests.mechanics.test_identities import KINDS, SEEDS, random_document, solved
from tests.reference.oracle import Motion, Oracle, piecewise
from tests.support.mechanisms import COUPLER, GROUND, four_bars, nominal_blocks, pendulum, rod
from tests.support.states import State, arrays, own_blocks, random_states
from tests.support.variants import Document, library

BALANCE = 1e-9  # of the largest force or moment in the state; dense sums against recursions, oracle accelerations
RUN = 1e-8  # N, N m: what is left after 0.3 s of steps of 1 ms, against formulas in the coordinates themselves
DIFFERENCE = 1e-4  # relative; central differences over 2 ms of a motion of about 10 rad/s: (0.01)^2 / 6 and its like
MACHINES = 1e-9  # relative; two machines round differently and integrate their own differences for 0.1 s
LIBRARY = (
    "four_bar",
    "slider_crank_turntable",
    "bricard",
    "sarrus",
    "andrews",
    "excavator",
    "double_wishbone",
    "delta",
)
STATES = 2
Wrenches = dict[str, np.ndarray]  # joint -> (6,) moment and force on the child, about its frame there


def reactions(document: Document, states: Sequence[State], cut: Sequence[str] = ()) -> list[Wrenches]:
    """The library's wrenches of every joint in every state, each under its own partition."""
    prepared = prepare(load(document), {}, options_of(cut=cut))
    q, v = arrays(prepared, states)
    a, _ = solved(prepared, q, v)
    lane = prepared.file_lane()
    out: list[Wrenches] = []
    for k, blocks in enumerate(own_blocks(prepared, q)):
        found = Reactions(lane, blocks, lane.motion(list(q[:, [k]]), list(v[:, [k]])), (), list(a[:, [k]]))
        wrenches = ([*found.on_child(j)[0], *found.on_child(j)[1]] for j in range(len(prepared.plan.joints)))
        names = (joint.path.rsplit(":", 1)[-1] for joint in prepared.plan.joints)
        out.append({name: host.per_member(w, 1)[:, 0] for name, w in zip(names, wrenches, strict=True)})
    return out


def in_oracle(oracle: Oracle, state: State) -> tuple[np.ndarray, np.ndarray, Motion]:
    q, v = (np.concatenate([state[j.name][k] for j in oracle.joints]) for k in (0, 1))
    return q, v, oracle.motion(q, v)


def about_world(oracle: Oracle, m: Motion, found: Wrenches) -> Wrenches:
    """The same wrenches about the world's origin."""
    out = {}
    for joint in oracle.joints:
        p, (moment, force) = (m.X[joint.child[0]] @ oracle.frame(joint.child)).p, np.split(found[joint.name], 2)
        out[joint.name] = np.r_[moment + np.cross(p, force), force]
    return out


def imbalance(oracle: Oracle, state: State, found: Wrenches) -> float:
    """Largest part of any body's wrench that is no rate of momentum, over the largest wrench."""
    q, v, m = in_oracle(oracle, state)
    a, wrenches = oracle.acceleration(q, v), about_world(oracle, m, found)
    total = {name: np.zeros(6) for name in ("fixed", *oracle.bodies)}
    for joint in oracle.joints:
        total[joint.child[0]] += wrenches[joint.name]
        total[joint.parent[0]] -= wrenches[joint.name]
    for one in (r for r in oracle.restraints if "joint" not in r):
        x, gradient = oracle.measure(one, m, q)
        ends = [oracle.end(end) for end in one["body_frame_pair"]]
        F, G = (m.X[end[0]] @ oracle.frame(end) for end in ends)
        kind = one.get("distance_type")
        line = F.R @ np.eye(3)["xyz".index(kind[1].lower())] if kind else (G.p - F.p) / x
        pull = -piecewise(one, x if one["type"] == "spring" else float(gradient @ v)) * line
        for sign, (body, _) in zip((-1, 1), ends, strict=True):
            total[body] += sign * np.r_[np.cross(G.p, pull), pull]
    scale = max(np.abs(w).max() for w in wrenches.values())
    worst = 0.0
    for name in oracle.bodies:
        mass, centre, tensor = oracle.inertia(name)
        X, V, A = m.X[name], m.V[name], m.J[name] @ a + m.A[name]
        c, w, about_c = X.p + X.R @ centre, V[:3], X.R @ tensor @ X.R.T
        speed = V[3:] + np.cross(w, c)
        push = mass * (A[3:] + np.cross(A[:3], c) + np.cross(w, speed) - oracle.gravity)
        turn = about_c @ A[:3] + np.cross(w, about_c @ w) + np.cross(c, push)
        scale = max(scale, np.abs(push).max(), np.abs(turn).max())
        worst = max(worst, np.abs(total[name] - np.r_[turn, push]).max())
    return worst / scale


def misalignment(oracle: Oracle, state: State, found: Wrenches) -> float:
    """Largest part of a joint's wrench along its motions that is not its own spring or damper, over the largest one."""
    q, v, m = in_oracle(oracle, state)
    wrenches, worst = about_world(oracle, m, found), 0.0
    for joint in oracle.joints:
        F = m.X[joint.parent[0]] @ oracle.frame(joint.parent)
        along = joint.screws(F, F @ joint.pose(q))[0].T @ wrenches[joint.name]
        for words, x in (("stiffness", q[joint.q]), ("damping", v[joint.v])):
            if joint.entry.get(words):
                along = along + np.polyval(joint.entry[words][::-1], x)
        worst = max(worst, np.abs(along).max(initial=0.0))
    return worst / max(np.abs(w).max() for w in wrenches.values())


@pytest.mark.parametrize("case", [*SEEDS, *LIBRARY, "seven_axis_arm"])
def test_every_body_is_in_balance(case: int | str) -> None:
    """Newton and Euler for every body, with springs and gravity; along its motions a joint transmits its springs only.

    Together they leave nothing undetermined but what the mechanism itself leaves so.
    """
    document = random_document(case) if isinstance(case, int) else library(case)
    states = random_states(document, STATES, 7, reach=0.05)
    oracle = Oracle(document)
    for state, found in zip(states, reactions(document, states), strict=True):
        assert imbalance(oracle, state, found) < BALANCE
        assert misalignment(oracle, state, found) < BALANCE


def test_the_random_mechanisms_have_what_can_go_wrong() -> None:
    """Joints against the tree among tree joints and cuts, joint springs, and sliders: asked of the set, not of each."""
    plans = [prepare(load(random_document(seed)), {}).plan for seed in SEEDS]
    assert {joint.type for plan in plans for joint in plan.joints} >= set(KINDS)
    assert any(j.reverse and j.chord for p in plans for j in p.joints)
    assert any(j.reverse and not j.chord for p in plans for j in p.joints)
    assert all(any(force.kind in ("stiffness", "damping") for force in plan.forces) for plan in plans)


@pytest.mark.parametrize("case", [0, 3, 9, "double_wishbone"])
def test_the_cut_does_not_change_determinate_reactions(case: int | str) -> None:
    """All rows are primary: every reaction is determinate, whichever joint is cut."""
    document = random_document(case) if isinstance(case, int) else library(case)
    states = random_states(document, STATES, 7, reach=0.05)
    prepared = prepare(load(document), {})
    assert sum(len(block.primary) for block in nominal_blocks(prepared)) == prepared.plan.rows > 0
    expected, loop = reactions(document, states), prepared.plan.loops[0]
    movable = [k for k in loop.joints if 0 < prepared.plan.joints[k].nv and not prepared.plan.joints[k].chord]
    for k in (movable[0], movable[-1]):
        name = prepared.plan.joints[k].path.rsplit(":", 1)[-1]
        again = prepare(load(document), {}, options_of(cut=[name])).plan
        assert any(j.chord and j.path.endswith(f":{name}") for j in again.joints)
        for one, other in zip(reactions(document, states, cut=[name]), expected, strict=True):
            scale = max(np.abs(w).max() for w in other.values())
            assert max(np.abs(one[j] - other[j]).max() for j in other) < BALANCE * scale


@pytest.mark.parametrize("joint", ["crank_pivot", "rocker_pivot"])
def test_in_its_plane_a_planar_four_bar_is_determinate(joint: str) -> None:
    """Out of the plane it is not: three rows are secondary, and their forces are 0 at the cut."""
    document = library("four_bar")
    states = random_states(document, STATES, 7)
    assert all(np.array_equal(j.axis, [0, 1, 0]) for j in Oracle(document).joints)
    plane = [1, 3, 5]  # moment about y, forces along x and z
    for one, other in zip(reactions(document, states, cut=[joint]), reactions(document, states), strict=True):
        scale = max(np.abs(w).max() for w in other.values())
        assert max(np.abs((one[j] - other[j])[plane]).max() for j in other) < BALANCE * scale


def test_a_rod_let_go_level() -> None:
    """Uniform rod of mass m at angle q below level: 5/2 m g sin q along it at the pivot, 1/4 m g cos q across."""
    result = simulate(pendulum(), span=0.3, output_step=0.05, channels=["pivot.q", *both("pivot")])
    q, weight = result.channels["pivot.q"], 9.81
    along, across = (np.stack([a, 0 * q, b], 1) for a, b in ((np.cos(q), -np.sin(q)), (-np.sin(q), -np.cos(q))))
    expected = -2.5 * weight * np.sin(q)[:, None] * along - 0.25 * weight * np.cos(q)[:, None] * across
    assert result.channels["pivot.reaction_force"].shape == expected.shape
    assert np.abs(result.channels["pivot.reaction_force"] - expected).max() < RUN
    assert np.abs(result.channels["pivot.reaction_moment"]).max() < RUN
    assert [result.units[path] for path in both("pivot")] == ["N", "N m"]


def test_a_massless_coupler_is_a_rod_that_pulls() -> None:
    """Its force lies along it and turns the rocker: F x lever = I alpha - moment of gravity, about the hinge."""
    document = to_dict(four_bars(speed=4.0))
    document["assemblies"][0]["bodies"][1]["inertia"] = {"mass": 0.0}
    names = ["hinge.a", "rocker.position", "rocker:tip.position", "crank:tip.position"]
    asked = [*names, *both("pin"), *both("joint"), *both("hinge")]
    result = simulate(load(document), span=0.3, output_step=0.05, channels=asked)
    get = result.channels
    hinge, tip, crank = (get[name] for name in names[1:])
    coupler = (tip - crank) / COUPLER
    assert np.abs(hinge - [GROUND, 0, 0]).max() == 0.0
    inertia = rod(0.4)["inertia"][1] + 0.2**2
    lever = np.cross(tip - hinge, coupler)[:, 1]
    pull = (inertia * get["hinge.a"] - np.cross((tip - hinge) / 2, [0, 0, -9.81])[:, 1]) / lever
    assert np.ptp(pull) > 1.0  # N: a force that is worth a test
    on_rocker = get["joint.reaction_force"]
    assert np.abs(on_rocker - pull[:, None] * coupler).max() < RUN
    assert np.abs(get["pin.reaction_force"] - on_rocker).max() < RUN
    assert max(np.abs(get[f"{joint}.reaction_moment"][:, 1]).max() for joint in ("pin", "joint", "hinge")) < RUN


def test_springs_and_drives_of_a_joint_are_part_of_what_it_transmits() -> None:
    """About its axis: the torque of spring and damper, or all that a prescribed angle takes."""
    paths = ["pivot.q", "pivot.v", *both("pivot")]
    sprung = simulate(pendulum(stiffness=[1.0, 30.0], damping=[0, 0.7]), span=0.3, output_step=0.05, channels=paths)
    get = sprung.channels
    torque = -(1.0 + 30.0 * get["pivot.q"]) - 0.7 * get["pivot.v"]
    assert np.abs(get["pivot.reaction_moment"][:, 1] - torque).max() < RUN
    drive = {"pivot": Harmonic(rate=2.0)}
    driven = simulate(pendulum(initial_velocity=2.0), span=0.3, output_step=0.05, channels=paths, drive=drive)
    get = driven.channels
    assert np.abs(get["pivot.reaction_moment"][:, 1] + 0.5 * 9.81 * np.cos(get["pivot.q"])).max() < RUN


def test_the_drive_of_a_crank_feeds_the_whole_loop() -> None:
    """Torque about the driven axis times its speed is the rate of energy of the mechanism."""
    rate, h = 3.0, 1e-3
    paths = ["energy.total", *both("pivot")]
    asked: dict[str, Any] = {"span": 0.2, "step": h, "output_step": h, "channels": paths}
    get = simulate(four_bars(speed=rate), **asked, drive={"pivot": Harmonic(offset=-1.0, rate=rate)}).channels
    slope = (get["energy.total"][2:] - get["energy.total"][:-2]) / (2 * h)
    power = rate * get["pivot.reaction_moment"][1:-1, 1]
    assert np.abs(power).min() > 1.0
    assert np.abs(power - slope).max() < DIFFERENCE * np.abs(power).max()


def test_a_joint_written_the_other_way_round_gives_the_opposite_wrench() -> None:
    """The wrench is on the child, about the child's frame."""
    forth, back = (ModelBuilder(gravity=(0.0, 0.0, -9.81)) for _ in range(2))
    ways: tuple[dict[str, Any], ...] = ({"child": "cart"}, {"parent": "cart", "child": "fixed"})
    for builder, ends in zip((forth, back), ways, strict=True):
        place = 0.5 if builder is forth else -0.5
        builder.assembly("a").body("cart", **rod(1.0)).joint("rail", "Tx", **ends, initial_displacement=place)
    found = [simulate(b.build(), span=0.1, channels=both("rail")).channels for b in (forth, back)]
    weight = 9.81
    for sign, place, get in ((1, 0.0, found[0]), (-1, 0.5, found[1])):
        assert np.abs(get["rail.reaction_force"] - [0, 0, sign * weight]).max() < RUN
        moment = -sign * weight * (0.5 + place)  # lever x force about y: of the rod's middle from the child's frame
        assert np.abs(get["rail.reaction_moment"] - [0, moment, 0]).max() < RUN


def both(joint: str) -> list[str]:
    return [f"{joint}.reaction_force", f"{joint}.reaction_moment"]


@pytest.mark.parametrize("name", ["four_bar", "two_slider_cranks"])
def test_both_machines_agree(name: str) -> None:
    """The compiled code and the step loop on NumPy."""
    joints = [path for path, _ in load(name).joints()]
    asked: dict[str, Any] = {
        "span": 0.1,
        "output_step": 0.05,
        "method": "euler",
        "channels": [c for j in joints for c in both(j)],
    }
    cpu, numpy = (simulate(name, **asked, backend=backend).channels for backend in ("cpu", "numpy"))
    scale = max(np.abs(values).max() for values in numpy.values())
    assert scale > 0.1
    assert max(np.abs(cpu[path] - numpy[path]).max() for path in numpy) < MACHINES * scale


@pytest.mark.parametrize("name", ["four_bar", "two_slider_cranks"])
def test_what_is_not_asked_for_costs_nothing(name: str) -> None:
    """With the channel the code of every other piece stays the same; without it there is no piece that observes."""
    prepared = prepare(load(name), {})
    partition = Partition(tuple(nominal_blocks(prepared)))
    paths = both(prepared.plan.joints[0].path)
    asked = channels(prepared.plan, paths, str)
    plain, recording = (Programs(prepared.setup, c).of(partition) for c in ((), asked))
    assert plain.observe == () and len(recording.observe) == 1
    for phase in ("accelerate", "project", "drift", "accumulate"):
        assert [p.key for p in plain.phase(phase)] == [p.key for p in recording.phase(phase)]


def test_only_joints_have_reactions() -> None:
    with pytest.raises(ModelError, match="joint"):
        simulate("pendulum", span=0.01, channels=["link.reaction_force"])
    with pytest.raises(ModelError, match="reaction_force"):
        simulate("pendulum", span=0.01, channels=["pivot.reaction_forces"])
