"""Stiffness and damping written in a joint: Q = -sum c_k q^k and Q = -sum d_k q'^k, ascending."""

from __future__ import annotations

from shiftjax.algebra import add, mul, neg, sub
from shiftjax.dynamics.kinematics import Motion
from shiftjax.forces.load import Load
from shiftjax.forces.polynomials import antiderivative, ascending


def apply(motion: Motion, load: Load, joint: int, name: str, count: int) -> None:
    """Adds the polynomial `name` ("stiffness" or "damping") of one joint."""
    tree_joint = motion.plan.joints[joint]
    c = [motion.params.number(f"{tree_joint.path}.{name}[{k}]") for k in range(count)]
    if name == "stiffness":
        q = motion.q[tree_joint.q]
        load.push(tree_joint.v, neg(ascending(c, q)))
        load.potential = add(load.potential, ascending(antiderivative(c), q))
    elif motion.v is not None:
        v = motion.v[tree_joint.v]
        force = ascending(c, v)
        load.push(tree_joint.v, neg(force))
        load.power = sub(load.power, mul(force, v))
