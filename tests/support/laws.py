"""Laws of mechanics that hold in every state of every mechanism, checked by differences and by forward mode."""

from __future__ import annotations

import numpy as np

from shiftjax.dynamics.kinematics import coordinate_rates
from shiftjax.dynamics.tree import tree_terms
from shiftjax.lanes.building import graph_of
from shiftjax.lanes.forward import forward
from shiftjax.lanes.in_numpy import InNumpy
from shiftjax.run.closing import host_evaluation as host
from shiftjax.run.start.prepared import Prepared
from tests.support.models.mechanisms import host_acceleration
from tests.support.states import own_blocks

ALGEBRA = 1e-11  # relative; sums of up to twenty bodies' terms in double precision
DIFFERENCE = 1e-7  # relative; central differences with steps of 1e-5
STEP = 1e-5


def solved(prepared: Prepared, q: np.ndarray, v: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Accelerations (nv, B) and power (B,) of states, each under its own partition."""
    a, power = np.zeros_like(v), np.zeros(v.shape[1])
    for k, blocks in enumerate(own_blocks(prepared, q)):
        found, out = host_acceleration(prepared, q[:, [k]], v[:, [k]], blocks)
        a[:, k], power[k] = found[:, 0], np.ravel(out.power)[0]
    return a, power


def check_rows(prepared: Prepared, q: np.ndarray, v: np.ndarray, seed: int) -> None:
    """J v = dPhi/dt by forward mode and d(J v)/dt = -gamma at constant speeds, of all rows at closed moving states."""
    plan, lane, h, members = prepared.plan, prepared.file_lane(), STEP, q.shape[1]
    for s in range(len(plan.substructures)):
        rows = lane.rows(lane.motion(list(q), list(v)), s)
        rate = host.per_member(rows.velocity_residual(list(v)), members)
        assert np.abs(rate).max() < ALGEBRA * np.abs(v).max() * 100  # the speeds are consistent
        arbitrary = v + np.random.default_rng(seed).standard_normal(v.shape)
        expected = host.per_member(rows.velocity_residual(list(arbitrary)), members)
        phi = graph_of(lambda x, s=s: lane.rows(lane.motion(x, None), s).phi, plan.nq)
        count = len(phi.outputs)
        along = InNumpy(forward(phi, plan.nq, range(plan.nq), range(count), 1))
        tangent = along([*q, *coordinate_rates(plan, list(q), list(arbitrary))])[count:]
        assert np.abs(host.per_member(tangent, members) - expected).max() < 1e-8 * np.abs(arbitrary).max()
        ends = [host.retract(plan, q, sign * h * v) for sign in (1, -1)]
        drift = [
            host.per_member(lane.rows(lane.motion(list(end), None), s).velocity_residual(list(v)), members)
            for end in ends
        ]
        gamma = host.per_member(rows.gamma, members)
        assert np.abs((drift[0] - drift[1]) / (2 * h) + gamma).max() < DIFFERENCE * max(1.0, np.abs(gamma).max()) * 100


def check_power(prepared: Prepared, q: np.ndarray, v: np.ndarray) -> np.ndarray:
    """dE/dt along the motion is the power of what dissipates and nothing else: loops, gravity, springs do no net work.

    Returns:
        (B,) that power [W].
    """
    plan, lane, h = prepared.plan, prepared.file_lane(), STEP
    states = lane.states()
    a, power = solved(prepared, q, v)
    rates = tree_terms(lane.motion(list(q), list(v)), lane.gravity(), states).rates
    energy = []
    for sign in (1, -1):
        there = host.retract(plan, q, sign * h * v + h * h / 2 * a)
        then = [x + sign * h * rate for x, rate in zip(states, rates, strict=True)]
        tree = tree_terms(lane.motion(list(there), list(v + sign * h * a)), lane.gravity(), then)
        energy.append(host.per_member([tree.kinetic, tree.potential], q.shape[1]))
    change = (energy[0] - energy[1]) / (2 * h)
    scale = np.abs(change).max(0) + np.abs(power)
    assert np.abs(change.sum(0) - power).max() < DIFFERENCE * scale.max() * 10
    return power
