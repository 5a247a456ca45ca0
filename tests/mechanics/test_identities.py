"""Laws of mechanics on random mechanisms: energies, Jacobians, null spaces, balances of power, and the dense oracle."""

from __future__ import annotations

from functools import cache
from typing import Any

import numpy as np
import pytest

from shiftjax.dynamics.tree import composite_mass_matrix, tree_terms
from shiftjax.formats import load
from shiftjax.run.closing import host_evaluation as host
from shiftjax.run.start.prepare import prepare
from shiftjax.run.start.prepared import Prepared
from tests.reference.oracle import Oracle
from tests.reference.rotations import rotation
from tests.support.laws import ALGEBRA, check_power, check_rows, solved
from tests.support.models.variants import Document
from tests.support.states import State, accelerations, arrays, difference, own_blocks, random_states

ORACLE = 1e-9  # relative; dense least squares of the oracle
SEEDS = range(6)
KINDS = ("Rx", "Ry", "Rz", "revolute", "revolute", "prismatic", "Tx", "spherical", "float", "rigid")
PLACED = ("spherical", "float", "rigid")  # begin at a placement


def random_document(seed: int) -> Document:
    """A mechanism of 7 to 11 bodies and one to three spatial loops, closed where all coordinates are zero.

    Bodies and joints get random places in the world; a joint's frames are what puts both there. Springs, dampers,
    off-diagonal inertias, joints against the tree and one massless body in a chain are among it.
    """
    rng = np.random.default_rng(seed)
    count, loops = int(rng.integers(7, 12)), int(rng.integers(1, 4))
    poses = {"fixed": (np.eye(3), np.zeros(3))} | {f"b{k}": _pose(rng) for k in range(count)}
    frames: dict[str, list[Document]] = {name: [] for name in poses}
    ends = [(f"b{k - 1}" if k % 4 else "fixed", f"b{k}") for k in range(count)]  # chains of four bodies
    ends += [(f"b{count - 1 - k}", f"b{k}" if count - 1 - k > k + 3 else "fixed") for k in range(loops)]
    joints = []
    for k, (near, far) in enumerate(ends):
        place = _pose(rng)
        written = [[[body], _frame(frames[body], f"f{k}", poses[body], place)] for body in (near, far)]
        kind = "spherical" if k >= count else str(rng.choice(KINDS))
        joint: Document = {"name": f"j{k}", "type": kind, "initial_displacement": {} if kind in PLACED else 0}
        joint["parent"], joint["child"] = written if rng.random() < 0.6 else written[::-1]
        if kind in ("revolute", "prismatic"):
            joint["axis"] = rng.standard_normal(3).tolist()
        if kind not in PLACED and rng.random() < 0.4:
            joint["stiffness"], joint["damping"] = rng.standard_normal(3).tolist(), [0.0, float(rng.random())]
        joints.append(joint)
    bodies = [_body(f"b{k}", rng, frames[f"b{k}"], massless=k == 1) for k in range(count)]
    pair = [[["b2"], "f2"], [["b6"], "f6"]]
    coil = {
        "name": "coil",
        "type": "spring",
        "body_frame_pair": pair,
        "knot_points": [],
        "coefficients": [[30.0, -5.0]],
    }
    slide = {
        "name": "slide",
        "type": "damper",
        "body_frame_pair": pair,
        "distance_type": "Ty",
        "coefficients": [[2.0, 0.0]],
    }
    assembly = {"name": "a", "bodies": bodies, "joints": joints, "restraints": [coil, slide]}
    gravity = {"version": "2.0", "gravity": (3.0 * rng.standard_normal(3)).tolist()}
    return {"model_parameters": gravity, "frames": frames["fixed"], "assemblies": [assembly]}


def _pose(rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray]:
    return rotation(2.0 * rng.standard_normal(3)), rng.standard_normal(3)


def _frame(frames: list[Document], name: str, body: tuple[np.ndarray, np.ndarray], place: Any) -> str:
    R, p = body
    frames.append({"name": name, "R": (R.T @ place[0]).tolist(), "T": (R.T @ (place[1] - p)).tolist()})
    return name


def _body(name: str, rng: np.random.Generator, frames: list[Document], massless: bool) -> Document:
    """A random solid: an inertia that some mass distribution has."""
    scatter = rng.standard_normal((3, 3))
    second = scatter @ scatter.T / 10
    inertia = np.trace(second) * np.eye(3) - second
    entries = ("Ixx", "Iyy", "Izz", "Ixy", "Iyz", "Izx")
    values = [0.0] * 6 if massless else inertia[[0, 1, 2, 0, 1, 2], [0, 1, 2, 1, 2, 0]].tolist()
    own = {"mass": 0.0 if massless else 0.5 + float(rng.random()), **dict(zip(entries, values, strict=True))}
    return {"name": name, "center_of_mass": rng.standard_normal(3).tolist(), "inertia": own, "frames": frames}


@cache
def mechanism(seed: int) -> tuple[Document, list[State], Prepared, np.ndarray, np.ndarray]:
    """A random mechanism and four closed, moving states of it."""
    document = random_document(seed)
    states = random_states(document, 4, seed, reach=0.05)
    prepared = prepare(load(document), {})
    return document, states, prepared, *arrays(prepared, states)


@pytest.mark.parametrize("seed", SEEDS)
def test_kinetic_energy_is_half_v_m_v(seed: int) -> None:
    """T = v^T H v / 2 for any speeds of the cut tree, also those that open the loops."""
    _, _, prepared, q, v = mechanism(seed)
    v = v + np.random.default_rng(seed).standard_normal(v.shape)
    motion = prepared.file_lane().motion(list(q), list(v))
    H = composite_mass_matrix(motion)
    members = q.shape[1]
    full = host.matrices_per_member([[column.get(k, 0.0) for k in range(len(H))] for column in H], members)
    kinetic = host.per_member([tree_terms(motion, prepared.file_lane().gravity(), ()).kinetic], members)[0]
    assert np.allclose(full, full.transpose(0, 2, 1), rtol=0, atol=0)
    assert kinetic == pytest.approx(0.5 * np.einsum("ik,kij,jk->k", v, full, v), rel=ALGEBRA)


@pytest.mark.parametrize("seed", SEEDS)
def test_jacobian_and_gamma_are_derivatives_of_the_closure(seed: int) -> None:
    _, _, prepared, q, v = mechanism(seed)
    check_rows(prepared, q, v, seed)


@pytest.mark.parametrize("seed", SEEDS)
def test_null_space_and_accelerations_keep_all_rows(seed: int) -> None:
    """J Z = 0 and J a = gamma on all rows, the secondary ones included."""
    _, _, prepared, q, v = mechanism(seed)
    plan, lane = prepared.plan, prepared.file_lane()
    a, _ = solved(prepared, q, v)
    for k, blocks in enumerate(own_blocks(prepared, q)):
        for s, block in enumerate(blocks):
            rows = lane.rows(lane.motion(list(q[:, [k]]), list(v[:, [k]])), s)
            J = np.array([[float(np.ravel(r.get(c, 0.0))[0]) for c in range(plan.nv)] for r in rows.J])
            for column in lane.solve(block, rows, rows.gamma).Z:
                z = np.zeros(plan.nv)
                z[list(column)] = [float(np.ravel(x)[0]) for x in column.values()]
                assert np.abs(J @ z).max() < ALGEBRA * 10  # columns of Z up to ten
            gamma = host.per_member(rows.gamma, 1)[:, 0]
            assert np.abs(J @ a[:, k] - gamma).max() < ALGEBRA * max(1.0, np.abs(a[:, k]).max())


@pytest.mark.parametrize("seed", SEEDS)
def test_power_is_the_rate_of_energy(seed: int) -> None:
    _, _, prepared, q, v = mechanism(seed)
    assert (check_power(prepared, q, v) < 0).all()


@pytest.mark.parametrize("seed", SEEDS)
def test_accelerations_of_random_mechanisms_are_the_oracles(seed: int) -> None:
    """Springs, dampers, massless bodies, reversed joints, balls, several loops: the dense oracle's accelerations."""
    document, states, _, _, _ = mechanism(seed)
    oracle = Oracle(document)
    for state, found in zip(states, accelerations(document, states), strict=True):
        q, v = (np.concatenate([state[j.name][k] for j in oracle.joints]) for k in (0, 1))
        a = oracle.acceleration(q, v)
        assert difference([found], [{j.name: a[j.v] for j in oracle.joints}]) < ORACLE


def test_random_mechanisms_have_loops_and_freedoms() -> None:
    """The mechanisms above are worth testing: loops, substructures, freedoms, all kinds of joints."""
    plans = [mechanism(seed)[2].plan for seed in SEEDS]
    assert {1, 2, 3} >= {len(plan.loops) for plan in plans} and sum(len(plan.loops) for plan in plans) > len(plans)
    assert {joint.type for plan in plans for joint in plan.joints} >= set(KINDS)
    assert any(joint.reverse for plan in plans for joint in plan.joints)
