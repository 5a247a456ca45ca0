"""Force elements of a lane: joint polynomials, restraints and wrenches from outside, summed into one load."""

from __future__ import annotations

from shiftjax.dynamics.kinematics import Motion
from shiftjax.forces import external, joint_polynomial, restraint
from shiftjax.forces.load import Load


def loads(motion: Motion) -> Load:
    """All force elements of the plan at one state."""
    load = Load()
    for joint, name, count in motion.plan.joint_polynomials:
        joint_polynomial.apply(motion, load, joint, name, count)
    for element in motion.plan.restraints:
        restraint.apply(motion, load, element)
    for node in motion.plan.external:
        external.apply(motion, load, node)
    return load


def dissipates(plan_polynomials: tuple[tuple[int, str, int], ...], restraint_types: tuple[str, ...]) -> bool:
    """True where some element's power must be integrated to balance the energy."""
    return any(name == "damping" for _, name, _ in plan_polynomials) or any(t != "spring" for t in restraint_types)


__all__ = ["Load", "dissipates", "loads"]
