"""Tree inertia and bias of one lane: H q'' + h = tau over all speeds of the cut tree.

Composite inertias and recursive Newton-Euler as in Featherstone, Rigid Body Dynamics Algorithms,
tables 5.1 and 6.2; per-tree reference points as in `kinematics`.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from shiftjax.algebra import Mat, Scalar, Vec, cross, dot, is_zero, known, matvec, minus, plus, scale, transpose, zeros
from shiftjax.dynamics.kinematics import Chain, Motion, SpeedScrew
from shiftjax.dynamics.reduction import Column
from shiftjax.forces import FORCES, Load


@dataclass
class SpatialInertia:
    """Spatial inertia about the reference point: mass, first moment m c, second moment (symmetric)."""

    mass: Scalar
    moment: Vec
    second: Mat

    def times(self, w: Vec, u: Vec) -> tuple[Vec, Vec]:
        """Angular and linear momentum of the motion (w, u)."""
        return (
            plus(matvec(self.second, w), cross(self.moment, u)),
            minus(scale(self.mass, u), cross(self.moment, w)),
        )

    def plus(self, other: SpatialInertia) -> SpatialInertia:
        second = [[0.0] * 3 for _ in range(3)]
        for i in range(3):
            for j in range(i, 3):
                second[i][j] = second[j][i] = self.second[i][j] + other.second[i][j]
        return SpatialInertia(self.mass + other.mass, plus(self.moment, other.moment), second)


def body_inertia(chain: Chain, node: int) -> SpatialInertia | None:
    """Inertia of a node's body; None for ground, virtual and massless bodies."""
    numbers, params = chain.plan.nodes[node].numbers, chain.params
    if numbers is None:
        return None
    mass, inertia = params.at(numbers.mass), params.at(numbers.inertia)
    if is_zero(mass) and all(map(is_zero, inertia)):
        return None
    state = chain.node(node)
    c = plus(state.p, matvec(state.R, params.at(numbers.center_of_mass)))
    moment = scale(mass, c)
    about_centre = _rotated(inertia, state.R)
    square = dot(moment, c)
    second = [[0.0] * 3 for _ in range(3)]
    for i in range(3):
        for j in range(i, 3):
            steiner = (square if i == j else 0.0) - moment[i] * c[j]
            second[i][j] = second[j][i] = about_centre[i][j] + steiner
    return SpatialInertia(mass, moment, second)


def _rotated(inertia: Sequence[Scalar], R: Mat) -> Mat:
    """R I R^T, upper triangle, of the entries Ixx, Iyy, Izz, Ixy, Iyz, Izx.

    Without products of inertia it is I_0 1 + sum (I_k - I_0) r_k r_k^T over the other two axes: half the operations,
    and for a body with an axis of symmetry a single term.
    """
    diagonal, products = inertia[:3], inertia[3:]
    if not all(is_zero(p) for p in products):
        local = [
            [diagonal[0], products[0], products[2]],
            [products[0], diagonal[1], products[1]],
            [products[2], products[1], diagonal[2]],
        ]
        half = [matvec(local, row) for row in R]
        return [[dot(half[i], R[j]) for j in range(3)] for i in range(3)]
    equal = [k for k in range(3) if sum(known(d) and known(diagonal[k]) and d == diagonal[k] for d in diagonal) > 1]
    common = equal[0] if equal else 0
    out = [[diagonal[common] if i == j else 0.0 for j in range(3)] for i in range(3)]
    for k, axis in enumerate(transpose(R)):
        excess = diagonal[k] - diagonal[common] if k != common else 0.0
        scaled = scale(excess, axis)
        for i in range(3):
            for j in range(i, 3):
                out[i][j] += scaled[i] * axis[j]
    return out


@dataclass
class Tree:
    """Forces and energies of one state, over all speeds of the cut tree.

    force: (nv,) tau - h - H a; kinetic, potential [J]; power [W] of non-conservative forces; wrenches: (moment, force)
    of every joint on its far body (recursive Newton-Euler), about the point of the rooted chain; rates: (ns,) of the
    forces' internal states.
    """

    force: Vec
    kinetic: Scalar
    potential: Scalar
    power: Scalar
    wrenches: list[tuple[Vec, Vec]]
    rates: Vec


def loads(motion: Motion, states: Sequence[Scalar], which: Sequence[int] | None = None) -> tuple[Load, Vec]:
    """Forces of the plan at one state, all or some, and the rates of their internal states (ns,)."""
    load, rates = Load(motion, motion.rooted), zeros(motion.plan.ns)
    elements = motion.plan.forces
    for element in elements if which is None else [elements[k] for k in which]:
        state_rates = FORCES[element.kind].apply(element, motion, load, [states[k] for k in element.states])
        for k, rate in zip(element.states, state_rates, strict=True):
            rates[k] = rate
    return load, rates


def composite_mass_matrix(motion: Motion, joints: Sequence[int] | None = None) -> list[Column]:
    """H of the cut tree by composite inertias; `joints`: those of some whole trees only."""
    plan, chain = motion.plan, motion.rooted
    composite: dict[int, SpatialInertia] = {}
    H: list[Column] = [{} for _ in range(plan.nv)]
    for index in reversed(range(len(plan.joints)) if joints is None else joints):
        joint = plan.joints[index]
        body, carried = body_inertia(chain, joint.far), composite.get(joint.far)
        inertia = body if carried is None else (carried if body is None else carried.plus(body))
        if inertia is None:
            continue
        if joint.near:
            near = composite.get(joint.near)
            composite[joint.near] = inertia if near is None else near.plus(inertia)
        for k, screw in enumerate(chain.screws_of(index)):
            momentum = inertia.times(screw.angular, screw.linear)
            for other, other_screw in _ancestors(chain, index):
                entry = _power(other_screw, momentum)
                if other <= joint.v + k and not is_zero(entry):
                    H[joint.v + k][other] = H[other][joint.v + k] = entry
    return H


def tree_terms(
    motion: Motion,
    gravity: Vec,
    states: Sequence[Scalar],
    a: Vec | None = None,
    which: Sequence[int] | None = None,
) -> Tree:
    """Forces and energies at one state (recursive Newton-Euler, gravity as an acceleration).

    Args:
        states: (ns,) of the forces. a: (nv,) accelerations of the joints, all 0 if left out.
        which: the forces of the plan that act; all if left out.
    """
    plan, chain = motion.plan, motion.rooted
    load, rates = loads(motion, states, which)
    accelerations = _joint_accelerations(chain, zeros(plan.nv) if a is None else a)
    wrenches: list[tuple[Vec, Vec]] = [(zeros(), zeros())] * len(plan.joints)
    force_on: dict[int, tuple[Vec, Vec]] = {}
    kinetic: Scalar = 0.0
    potential: Scalar = load.potential
    force: Vec = zeros(plan.nv)
    for index in reversed(range(len(plan.joints))):
        joint = plan.joints[index]
        moment, linear = force_on.get(joint.far, (zeros(), zeros()))
        inertia, state = body_inertia(chain, joint.far), chain.node(joint.far)
        if inertia is not None:
            spin, momentum = inertia.times(state.w, state.u)
            alpha, acc = accelerations[joint.far]
            weight = _gravity_on(chain, joint.far, gravity)
            rate_n, rate_f = inertia.times(plus(state.alpha, alpha), minus(plus(state.acc, acc), weight))
            moment = plus(moment, plus(rate_n, plus(cross(state.w, spin), cross(state.u, momentum))))
            linear = plus(linear, plus(rate_f, cross(state.w, momentum)))
            kinetic += 0.5 * (dot(state.w, spin) + dot(state.u, momentum))
            potential -= dot(weight, _first_moment(motion, joint.far, inertia))
        if joint.far in load.wrenches:
            applied = load.wrenches[joint.far]
            moment, linear = minus(moment, applied[0]), minus(linear, applied[1])
        for k, screw in enumerate(chain.screws_of(index)):
            tau = load.generalized.get(joint.v + k, 0.0)
            force[joint.v + k] = tau - _power(screw, (moment, linear))
        wrenches[index] = (moment, linear)
        if joint.near:
            near = force_on.get(joint.near, (zeros(), zeros()))
            force_on[joint.near] = (plus(near[0], moment), plus(near[1], linear))
    return Tree(force, kinetic, potential, load.power, wrenches, rates)


def gravity_power(motion: Motion, gravity: Vec) -> Scalar:
    """What gravity does to all bodies [W]."""
    chain = motion.rooted
    power: Scalar = 0.0
    for joint in motion.plan.joints:
        if (inertia := body_inertia(chain, joint.far)) is not None:
            state = chain.node(joint.far)
            power += dot(_gravity_on(chain, joint.far, gravity), inertia.times(state.w, state.u)[1])
    return power


def _gravity_on(chain: Chain, node: int, gravity: Vec) -> Vec:
    """The gravity that acts on a node's body."""
    numbers = chain.plan.nodes[node].numbers
    return gravity if numbers is None else scale(chain.params.at(numbers.gravity_scale), gravity)


def _joint_accelerations(chain: Chain, a: Vec) -> dict[int, tuple[Vec, Vec]]:
    """Node -> the part of its spatial acceleration that is linear in a."""
    accelerations = {0: (zeros(), zeros())}
    for index, joint in enumerate(chain.plan.joints):
        alpha, acc = accelerations[joint.near]
        for k, screw in enumerate(chain.screws_of(index)):
            alpha = plus(alpha, scale(a[joint.v + k], screw.angular))
            acc = plus(acc, scale(a[joint.v + k], screw.linear))
        accelerations[joint.far] = (alpha, acc)
    return accelerations


def _first_moment(motion: Motion, node: int, inertia: SpatialInertia) -> Vec:
    """Mass times the centre's position from one point of ground (floating trees have a moving reference point)."""
    rooted, fixed = motion.rooted, motion.chain()
    if rooted is fixed:
        return inertia.moment
    return plus(inertia.moment, scale(inertia.mass, minus(fixed.node(node).p, rooted.node(node).p)))


def _power(screw: SpeedScrew, wrench: tuple[Vec, Vec]) -> Scalar:
    return dot(screw.angular, wrench[0]) + dot(screw.linear, wrench[1])


def _ancestors(chain: Chain, index: int) -> list[tuple[int, SpeedScrew]]:
    """Speeds and screws of a joint and its ancestors."""
    out: list[tuple[int, SpeedScrew]] = []
    while index >= 0:
        joint = chain.plan.joints[index]
        out += [(joint.v + k, screw) for k, screw in enumerate(chain.screws_of(index))]
        index = chain.plan.nodes[joint.near].joint
    return out
