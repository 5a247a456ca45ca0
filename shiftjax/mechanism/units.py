"""The unit of every number of a model, by its path. All numbers are SI, whatever the file's `units` were."""

from __future__ import annotations

from shiftjax.joints import KINDS
from shiftjax.mechanism.model import Model
from shiftjax.mechanism.paths import split, steps
from shiftjax.mechanism.records import Joint, Restraint

EVERYWHERE = {
    "gravity": "m/s^2",
    "mass": "kg",
    "inertia": "kg m^2",
    "center_of_mass": "m",
    "T": "m",
    "rotation": "rad",
    "axis": "1",
}


def unit_of(model: Model, path: str) -> str:
    """The unit of a number as stores write it: "kg", "N m s/rad".

    Args:
        path: a key of `model.numbers()`.
    """
    thing, field = split(path)
    first, *inside = steps(field)
    if first == "initial_displacement" and inside:
        first = inside[0]  # T or rotation of a placement
    if isinstance(first, str) and first in EVERYWHERE:
        return EVERYWHERE[first]
    joints = dict(model.joints())
    if thing in joints:
        return _of_joint(joints[thing], str(first), inside)
    restraint = dict(model.restraints())[thing]
    unit = KINDS[joints[restraint.joint].type].unit if restraint.joint else "m"
    return _of_restraint(restraint, unit, str(first), inside)


def _of_joint(joint: Joint, first: str, inside: list[str | int]) -> str:
    kind = KINDS[joint.type]
    if first in ("stiffness", "damping"):
        return _coefficient(kind.unit, int(inside[0]), rate=first == "damping")
    if first == "initial_displacement":
        return kind.unit
    if not inside:
        return f"{kind.unit}/s"
    return "m/s" if int(inside[0]) < kind.nv - 3 else "rad/s"  # a float's speeds: along the axes, then about them


def _of_restraint(restraint: Restraint, unit: str, first: str, inside: list[str | int]) -> str:
    rate = restraint.type != "spring"
    if first == "knot_points":
        return f"{unit}/s" if rate else unit
    piece, place = (int(k) for k in inside)
    return _coefficient(unit, len(restraint.coefficients[piece]) - 1 - place, rate=rate)  # the highest power first


def _coefficient(unit: str, power: int, *, rate: bool) -> str:
    """Of x^power in a force (x in m) or torque (x in rad), x being a rate in dampers."""
    force = "N" if unit == "m" else "N m"
    if not power:
        return force
    exponent = f"^{power}" if power > 1 else ""
    return f"{force}{f' s{exponent}' if rate else ''}/{unit}{exponent}"
