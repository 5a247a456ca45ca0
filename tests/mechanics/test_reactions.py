"""Reactions of joints: every body in balance by the oracle, closed formulas, cuts and machines that must not matter."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import shiftjax
from shiftjax.constraints import Harmonic, Polynomial
from shiftjax.dynamics.reactions import Reactions
from shiftjax.dynamics.tree import tree_terms
from shiftjax.errors import ModelError
from shiftjax.formats import load, to_dict
from shiftjax.formats.builder import ModelBuilder
from shiftjax.measures.channels import channels
from shiftjax.mechanism.model import Model
from shiftjax.run.assemble import assemble
from shiftjax.run.closing import host_evaluation as host
from shiftjax.run.info import info
from shiftjax.run.options import options_of
from shiftjax.run.programs.lane_program import Programs
from shiftjax.run.simulate import simulate
from shiftjax.run.start.prepare import prepare
from shiftjax.topology.partition import Partition
from tests.extensions import numpy_backend  # noqa: F401
from tests.mechanics.test_identities import KINDS, SEEDS, random_document, solved
from tests.reference.oracle import Motion, Oracle, piecewise
from tests.support.models.mechanisms import COUPLER, GROUND, four_bars, nominal_blocks, pendulum, rod
from tests.support.models.variants import Document, library
from tests.support.states import State, arrays, own_blocks, random_states

BALANCE = 1e-9  # of the largest force or moment in the state; dense sums against recursions, oracle accelerations
RUN = 1e-8  # N, N m: what is left after 0.3 s of steps of 1 ms, against formulas in the coordinates themselves
DIFFERENCE = 1e-4  # relative; central differences over 2 ms of a motion of about 10 rad/s: (0.01)^2 / 6 and its like
RANK = 1e-6  # of the largest singular value: models of the library have numbers of six digits
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
        motion = lane.motion(list(q[:, [k]]), list(v[:, [k]]))
        found = Reactions(lane, blocks, motion, tree_terms(motion, lane.gravity(), (), list(a[:, [k]])))
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


def open_directions(oracle: Oracle, state: State) -> tuple[list[str], np.ndarray]:
    """Joints, and an orthonormal basis of their wrenches that load no body and do no work along a joint's motions."""
    q, _, m = in_oracle(oracle, state)
    joints, names = list(oracle.joints), list(oracle.bodies)
    lines = [np.zeros((6 * len(names), 6 * len(joints)))]
    for k, joint in enumerate(joints):
        part = slice(6 * k, 6 * k + 6)
        p = (m.X[joint.child[0]] @ oracle.frame(joint.child)).p
        about_world = np.eye(6)
        about_world[:3, 3:] = np.cross(p, np.eye(3)).T
        for sign, body in ((1, joint.child[0]), (-1, joint.parent[0])):
            if body in names:
                row = 6 * names.index(body)
                lines[0][row : row + 6, part] += sign * about_world
        F = m.X[joint.parent[0]] @ oracle.frame(joint.parent)
        along = joint.screws(F, F @ joint.pose(q))[0].T @ about_world
        lines.append(np.zeros((len(along), 6 * len(joints))))
        lines[-1][:, part] = along
    _, size, right = np.linalg.svd(np.concatenate(lines))
    size = np.concatenate([size, np.zeros(len(right) - len(size))])
    return [joint.name for joint in joints], right[size < RANK * size[0]].T


@pytest.mark.parametrize("case", [*SEEDS, *LIBRARY])
def test_what_balance_leaves_open_is_of_least_norm(case: int | str) -> None:
    """No wrenches that load no body, taken by an SVD of all balances of the oracle, make the sum of squares smaller."""
    document = random_document(case) if isinstance(case, int) else library(case)
    states, oracle = random_states(document, STATES, 7, reach=0.05), Oracle(document)
    prepared = prepare(load(document), {})
    redundant = prepared.plan.rows - sum(len(block.primary) for block in nominal_blocks(prepared))
    weight = np.tile(np.repeat([1.0, prepared.setup.length], 3), len(oracle.joints))[:, None]
    for state, found in zip(states, reactions(document, states), strict=True):
        names, basis = open_directions(oracle, state)
        assert basis.shape[1] == redundant
        wrenches = weight[:, 0] * np.concatenate([found[name] for name in names])
        assert np.abs((weight * basis).T @ wrenches).max(initial=0.0) < BALANCE * np.abs(wrenches).max()


@pytest.mark.parametrize("joint", ["crank_pivot", "rocker_pivot"])
def test_in_its_plane_a_planar_four_bar_is_determinate(joint: str) -> None:
    """Out of the plane it is not: three rows are secondary; the least norm over its joints knows no cut either."""
    document = library("four_bar")
    for body in document["assemblies"][0]["bodies"]:
        body["center_of_mass"] = [*body["center_of_mass"][:1], 0.03, *body["center_of_mass"][2:]]
    states = random_states(document, STATES, 7)
    assert all(np.array_equal(j.axis, [0, 1, 0]) for j in Oracle(document).joints)
    plane = [1, 3, 5]  # moment about y, forces along x and z
    for one, other in zip(reactions(document, states, cut=[joint]), reactions(document, states), strict=True):
        scale = max(np.abs(w).max() for w in other.values())
        assert max(np.abs((one[j] - other[j])[plane]).max() for j in other) < BALANCE * scale
        assert max(np.abs(one[j] - other[j]).max() for j in other) < BALANCE * scale
        assert max(np.abs(np.delete(w, plane)).max() for w in other.values()) > 1e-3 * scale, "worth a test"


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


MASS, WEIGHT = 3.4, 3.4 * 9.81  # of what is carried below


def carried(joints: Mapping[str, Sequence[float]], type_: str, centre: Sequence[float]) -> Model:
    """A slab at rest on joints of one type to ground, at places of its own, its centre of mass where asked."""
    builder = ModelBuilder(gravity=(0.0, 0.0, -9.81))
    a = builder.assembly("a")
    a.body("slab", mass=MASS, inertia=(1.0, 1.0, 1.0), center_of_mass=centre, frames=joints)
    for name, place in joints.items():
        builder.frame(name, T=place)
        a.joint(name, type_, parent=("fixed", name), child=("slab", name))
    return builder.build()


def at_rest(model: Model) -> dict[str, np.ndarray]:
    """Wrenches of every joint, moment and force."""
    joints = [path for path, _ in model.joints()]
    get = simulate(model, 0.01, channels=[c for j in joints for c in both(j)]).channels
    return {j.rpartition(":")[2]: np.r_[get[both(j)[1]][-1], get[both(j)[0]][-1]] for j in joints}


FEET = {"a": (0.4, 0.3, 0.0), "b": (0.4, -0.3, 0.0), "c": (-0.4, 0.3, 0.0), "d": (-0.4, -0.3, 0.0)}


def test_a_table_on_four_balls_leans_on_all() -> None:
    """Least squares of four vertical forces with the balance of moments: m g / 4 (1 + x xc / a^2 + y yc / b^2)."""
    for x, y in ((0.0, 0.0), (0.1, -0.06)):
        for foot, wrench in at_rest(carried(FEET, "spherical", (x, y, 0.0))).items():
            px, py, _ = FEET[foot]
            share = WEIGHT / 4 * (1 + px * x / 0.16 + py * y / 0.09)
            assert np.abs(wrench - [0, 0, 0, 0, 0, share]).max() < RUN


@pytest.mark.parametrize("type_", ["Tx", "rigid"])
def test_three_legs_of_a_symmetric_table_carry_a_third_each(type_: str) -> None:
    """Slides and welds, whose loops move nothing at all: 11.1 N each."""
    turn = 2 * np.pi / 3
    legs = {f"leg{k}": (0.4 * np.cos(k * turn), 0.4 * np.sin(k * turn), 0.0) for k in range(3)}
    found = at_rest(carried(legs, type_, (0.0, 0.0, 0.2)))
    assert WEIGHT / 3 == pytest.approx(11.118)
    for wrench in found.values():
        assert np.abs(wrench - [0, 0, 0, 0, 0, WEIGHT / 3]).max() < RUN


@pytest.mark.parametrize("order", [("top", "middle", "low"), ("low", "top", "middle")])
def test_a_door_on_three_hinges(order: Sequence[str]) -> None:
    """T = m g d is carried by a couple of forces f at +-s and three moments M; 2 f^2 + 3 (M / l)^2 is least with
    f = k s, M = k l^2 and T = k (2 s^2 + 3 l^2).
    """
    s, d = 0.6, 0.35
    places = {"top": (0.0, 0.0, s), "middle": (0.0, 0.0, 0.0), "low": (0.0, 0.0, -s)}
    model = carried({name: places[name] for name in order}, "Rz", (d, 0.0, 0.0))
    length, moment = prepare(model, {}).setup.length, WEIGHT * d
    k = moment / (2 * s**2 + 3 * length**2)
    for hinge, wrench in at_rest(model).items():
        z = places[hinge][2]
        assert np.abs(wrench - [0, -k * length**2, 0, -k * z, 0, WEIGHT / 3]).max() < RUN


def test_drives_of_one_freedom_share_its_load() -> None:
    """Two hinges on one axis, both driven: half of the torque each, whichever row is primary."""
    model = carried({"top": (0.0, 0.0, 0.6), "low": (0.0, 0.0, -0.6)}, "Rz", (0.35, 0.0, 0.0))
    law = Polynomial([0.0, 0.0, 1.5])
    get = simulate(model, 0.01, channels=["top.drive_load", "low.drive_load"], drive={"top": law, "low": law}).channels
    for load_ in get.values():
        assert np.abs(load_ - 0.5 * 3.0 * (1.0 + MASS * 0.35**2)).max() < RUN


def test_what_is_one_choice_is_a_note_and_in_info() -> None:
    """Rows and joints by name, where such a reaction is recorded or measured; a determinate load is not."""
    rows = [f"four_bar:rocker_pin {row}" for row in ("rotation x", "rotation z", "translation y")]
    (part,) = info(load("four_bar"))["indeterminate"]
    assert part["rows"] == rows and len(part["joints"]) == 4 and not part["constraints"]
    asked: tuple[dict[str, Any], ...] = (
        {"channels": both("crank_pin")},
        {"metrics": {"side": "maximum(rocker_pivot.reaction_force[1])"}},
    )
    for one in asked:
        (note,) = simulate("four_bar", 0.01, **one).notes
        assert "statically indeterminate" in note and "least norm" in note and rows[0] in note and "crank_pin" in note
    assert assemble("four_bar", channels=both("crank_pin")).notes == (note,)
    drive = {"crank_pivot": Harmonic(rate=6.0, offset=np.pi / 3)}
    assert not simulate("four_bar", 0.01, drive=drive, channels=["crank_pivot.drive_load", "crank_pivot.q"]).notes
    joints = [path for path, _ in load("double_wishbone").joints()]
    assert not simulate("double_wishbone", 0.01, channels=[c for j in joints for c in both(j)]).notes
    assert info(load("double_wishbone"))["indeterminate"] == []
    (part,) = info(carried({"a": FEET["a"], "b": FEET["b"]}, "rigid", (0.0, 0.0, 0.0)))["indeterminate"]
    assert len(part["rows"]) == 6 and part["joints"] == ["a:a", "a:b"]


def test_two_drives_of_one_freedom_are_a_note() -> None:
    model = carried({"top": (0.0, 0.0, 0.6), "low": (0.0, 0.0, -0.6)}, "Rz", (0.35, 0.0, 0.0))
    law = Polynomial([0.0, 0.0, 1.5])
    notes = simulate(model, 0.01, channels=["top.drive_load"], drive={"top": law, "low": law}).notes
    assert len(notes) == 1 and "a:low_drive" in notes[0]


def test_two_ties_of_one_freedom_are_a_note() -> None:
    builder = ModelBuilder()
    shafts = builder.assembly("a")
    for name in ("left", "right"):
        shafts.body(f"{name}_disc", mass=1, inertia=(0.01, 0.02, 0.02)).joint(name, "Ry", child=f"{name}_disc")
    model, once = builder.build(), {"gear": "left.q == -2 * right.q"}
    assert not assemble(model, tie=once, channels=["gear.multiplier"]).notes
    (note,) = assemble(model, tie=once | {"belt": "right.q == -0.5 * left.q"}, channels=["gear.multiplier"]).notes
    assert "gear" in note and "belt" in note and "least norm" in note


def test_reactions_of_least_norm_have_derivatives() -> None:
    """Of the share of the middle hinge by the place of the centre of mass, against a central difference."""
    model = carried({"top": (0.0, 0.0, 0.6), "middle": (0.0, 0.0, 0.1), "low": (0.0, 0.0, -0.6)}, "Rz", (0.3, 0.0, 0.2))

    def push(x: Any) -> Any:
        vary = {"slab.center_of_mass[0]": x}
        return shiftjax.simulate(model, 0.01, vary=vary, metrics={"m": "final(middle.reaction_force[0])"}).metrics["m"][
            0
        ]

    slope = float(jax.grad(push)(jnp.array([0.3]))[0])
    assert abs(slope) > 0.1
    assert slope == pytest.approx(float(push(np.array([0.31])) - push(np.array([0.29]))) / 0.02, rel=1e-6)
