"""Freedoms of loops that nothing feels: links between balls that spin about the axis of their mass. Host code.

Nothing holds such a link, and where its spin stands depends on the way that led there; yet all else that moves does not
depend on it. Each condition is linear in the motion, so that one motion in general position stands for all.
"""

from __future__ import annotations

import numpy as np

from shiftjax.algebra import cross, matvec, plus, transpose
from shiftjax.dynamics.kinematics import quaternion_places, vector_places
from shiftjax.gradients.start.loop_start import LoopStart
from shiftjax.run.closing.host_evaluation import StartLane, motion_of, per_member

FELT = 1e-8  # of the spin's rate, dimensionless: null vectors are right to rounding over the smallest singular value


def unfelt(lane: StartLane, q: np.ndarray, loop: LoopStart) -> np.ndarray:
    """(B,) whether the freedoms that a loop has left only turn balls, and no mass and no force moves with them.

    Args:
        lane: of the members. q: (nq, B) their closed coordinates.
    """
    plan, members = lane.plan, q.shape[1]
    v = np.zeros((plan.nv, members))
    v[loop.columns] = loop.idle_motion().T * loop.unit[:, None]
    balls = [speed + k for _, speed in (*quaternion_places(plan), *vector_places(plan)) for k in range(3)]
    acting = [speed for force in plan.forces for k in force.coordinates for speed in plan.coordinates[k].speeds]
    good = np.abs(np.delete(v, balls, axis=0)).max(0, initial=0.0) < FELT * min(1.0, lane.length)
    good &= np.abs(v[acting]).max(0, initial=0.0) < FELT
    motion, values = motion_of(lane, q, v)
    chain = motion.chain()
    for k in {place.node for force in plan.forces for place in force.frames}:
        good &= np.abs(per_member(values.numbers(chain.node(k).w), members)).max(0) < FELT
    for k, node in enumerate(plan.nodes):
        if node.numbers is not None:
            state = chain.node(k)
            centre = plus(state.p, matvec(state.R, motion.params.at(node.numbers.center_of_mass)))
            drift = per_member(values.numbers(plus(state.u, cross(state.w, centre))), members)
            good &= np.abs(drift).max(0) < FELT * lane.length
            inertia = per_member(lane.params.at(node.numbers.inertia), members)
            spin = values.numbers(matvec(transpose(state.R), state.w))
            good &= _symmetric(inertia, per_member(spin, members))
    return good


def _symmetric(inertia: np.ndarray, w: np.ndarray) -> np.ndarray:
    """(B,) whether bodies of inertia (6, B) stay what they are as they turn at w (3, B), in their axes."""
    zero = np.zeros_like(w[0])
    turn = np.array([[zero, -w[2], w[1]], [w[2], zero, -w[0]], [-w[1], w[0], zero]])
    tensor = inertia[[[0, 3, 5], [3, 1, 4], [5, 4, 2]]]
    product = np.einsum("ijb,jkb->ikb", turn, tensor)
    return np.abs(product + product.transpose(1, 0, 2)).max((0, 1)) <= FELT * np.abs(inertia).max(0)
