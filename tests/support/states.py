"""States of a document's mechanism by joint name, so that one state can be given to differently written models.

The oracle makes them (closed, moving); the library evaluates them with its lane functions on NumPy arrays.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from shiftjax.formats import load
from shiftjax.run.closing import host_evaluation as host
from shiftjax.run.options import options_of
from shiftjax.run.start.prepare import prepare
from shiftjax.run.start.prepared import Prepared
from shiftjax.topology.partition import RANK_TOLERANCE, Block, MemberBlocks, blocks_of, complete_pivoting
from tests.reference.oracle import Oracle
from tests.reference.rotations import rotation_of
from tests.support.models.mechanisms import host_acceleration
from tests.support.models.variants import SCALARS, Document

State = dict[str, tuple[np.ndarray, np.ndarray]]  # joint -> coordinates and speeds as its user writes them
REGULAR = 1e-2  # least pivot ratio of a state that is compared


def random_states(document: Document, count: int, seed: int, reach: float = 0.1, steps: int = 4) -> list[State]:
    """Closed, moving states away from singular poses: random walks of the oracle from the file's start."""
    oracle, rng = Oracle(document), np.random.default_rng(seed)
    prepared = prepare(load(document), {})
    out: list[State] = []
    start = oracle.closed(oracle.start()[0])
    for _ in range(20 * count):
        q = start
        for _ in range(steps):
            N = oracle.null(oracle.motion(q, np.zeros(oracle.nv)).rows)
            q = oracle.closed(oracle.moved(q, reach * (N @ rng.standard_normal(N.shape[1]))))
        N = oracle.null(oracle.motion(q, np.zeros(oracle.nv)).rows)
        state = by_name(oracle, q, 2.0 * (N @ rng.standard_normal(N.shape[1])))
        if oracle.gap(q) < 1e-9 and _well_conditioned(prepared, state):
            out.append(state)
        if len(out) == count:
            return out
    raise AssertionError(f"{len(out)} of {count} states found")


def _well_conditioned(prepared: Prepared, state: State) -> bool:
    q, _ = arrays(prepared, [state])
    lane = prepared.file_lane()
    blocks = own_blocks(prepared, q)[0]
    return all(host.block_monitors(lane, q, s, b)[1][0] > REGULAR for s, b in enumerate(blocks))


def by_name(oracle: Oracle, q: np.ndarray, v: np.ndarray) -> State:
    return {joint.name: (q[joint.q], v[joint.v]) for joint in oracle.joints}


def arrays(prepared: Prepared, states: Sequence[State]) -> tuple[np.ndarray, np.ndarray]:
    """q (nq, B) and v (nv, B) in the order of a plan."""
    plan = prepared.plan
    q, v = np.zeros((plan.nq, len(states))), np.zeros((plan.nv, len(states)))
    for k, state in enumerate(states):
        for joint in plan.joints:
            own = state[joint.path.rsplit(":", 1)[-1]]
            q[joint.q : joint.q + joint.nq, k], v[joint.v : joint.v + joint.nv, k] = own
    return q, v


def own_blocks(prepared: Prepared, q: np.ndarray, free: Sequence[str] = ()) -> list[tuple[Block, ...]]:
    """The partition of every state; joints of `free` stay independent."""
    plan, lane = prepared.plan, prepared.file_lane()
    kept = {j.v + i for j in plan.joints if j.path.rsplit(":", 1)[-1] in free for i in range(j.nv)}
    columns: list[MemberBlocks] = []
    for s, block in enumerate(plan.substructures):
        _, J = host.closure(lane, q, s)
        local = [k for k, c in enumerate(block.columns) if c in kept]
        columns.append(blocks_of(complete_pivoting(J, RANK_TOLERANCE["f64"], local), block))
    return list(zip(*columns, strict=True)) if columns else [()] * q.shape[1]


def accelerations(
    document: Document, states: Sequence[State], cut: Sequence[str] = (), free: Sequence[str] = ()
) -> list[dict[str, np.ndarray]]:
    """Accelerations of every joint in every state, each under its own partition."""
    prepared = prepare(load(document), {}, options_of(cut=cut))
    q, v = arrays(prepared, states)
    own = own_blocks(prepared, q, free)
    out: list[dict[str, np.ndarray]] = [{} for _ in states]
    for blocks in dict.fromkeys(own):
        mine = [k for k, b in enumerate(own) if b == blocks]
        a, _ = host_acceleration(prepared, q[:, mine], v[:, mine], blocks)
        for column, k in enumerate(mine):
            for joint in prepared.plan.joints:
                out[k][joint.path.rsplit(":", 1)[-1]] = a[joint.v : joint.v + joint.nv, column]
    return out


def difference(found: Sequence[dict[str, np.ndarray]], expected: Sequence[dict[str, np.ndarray]]) -> float:
    """Largest difference over all joints, relative to the largest acceleration of the state."""
    worst = 0.0
    for one, other in zip(found, expected, strict=True):
        scale = max(np.abs(a).max(initial=0.0) for a in other.values())
        worst = max(worst, *(float(np.abs(one[k] - other[k]).max(initial=0.0)) / scale for k in other))
    return worst


def turned_state(document: Document, name: str, state: State) -> State:
    """The same state for the document with joint `name` turned round (a turning joint, a slider, a ball or a weld)."""
    kind = _kind(document, name)
    q, v = state[name]
    if kind in SCALARS or kind == "rigid":
        return state | {name: (-q, -v)}
    assert kind == "spherical"
    return state | {name: (q * [1, -1, -1, -1], -rotation_of(q) @ v)}


def turned_accelerations(document: Document, name: str, state: State, found: dict[str, np.ndarray]) -> dict:
    """Accelerations in the user's first sense again, from those of the joint turned round."""
    turn = rotation_of(state[name][0]).T if _kind(document, name) == "spherical" else np.eye(len(found[name]))
    return found | {name: -turn @ found[name]}


def _kind(document: Document, name: str) -> str:
    return next(j["type"] for a in document["assemblies"] for j in a["joints"] if j["name"] == name)
