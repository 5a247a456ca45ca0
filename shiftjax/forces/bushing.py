"""Bushings: springs and dampers of six directions between two frames, coupled as a 6 x 6 matrix."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from shiftjax.algebra import Mat, Scalar, dot, matvec, negative, plus, total, transpose
from shiftjax.field import Field, Role
from shiftjax.forces.kind import ForceKind, Load
from shiftjax.plan_elements import ORIGIN, ForceElement, MotionView

NONE = (0.0, 0.0, 0.0)
THREE_OR_NINE = "three along x, y, z of the first frame, or nine of a matrix by rows"
SYMMETRIC = ("stiffness", "turning_stiffness")  # have a potential


def _numbers(name: str, unit: str, doc: str, default: tuple[float, ...] | None = NONE) -> Field:
    return Field(name, f"{doc}: {THREE_OR_NINE}", "numbers", Role.NUMBER, unit, default,
                 required=default is None, fewest=3)  # fmt: skip


class Bushing(ForceKind):
    """The second frame is pulled to the first by K x + C x', x its shift and turn as the first sees them.

    K = [[stiffness, coupling], [coupling^T, turning_stiffness]], and C of both dampings. Turns are counted by their
    sines, s = vee(R - R^T) / 2: a bushing turns by some degrees. With s' = (tr R - R) w / 2 the torque of the spring is
    -(tr R - R)^T (K x)_turn / 2, so that x K x / 2 is its potential whatever the turn.
    """

    doc = "Springs K x and dampers C x' of the shift and the turn x of the second frame, as the first sees them."
    frames, dissipates, drawing = 2, True, "spring"
    fields = (
        _numbers("stiffness", "N/m", "against shifts", None),
        _numbers("turning_stiffness", "N m/rad", "against turns", None),
        _numbers("coupling", "N/rad", "forces along x, y, z by turns about them, and torques by shifts"),
        _numbers("damping", "N s/m", "against speeds"),
        _numbers("turning_damping", "N m s/rad", "against angular speeds"),
    )

    def apply(
        self, element: ForceElement, motion: MotionView, load: Load, states: Sequence[Scalar]
    ) -> Sequence[Scalar]:
        (first, second), numbers = element.frames, motion.values(element.numbers)
        n = {field.name: _matrix(numbers[field.name]) for field in self.fields}
        R, p = motion.pose(second, relative=first)
        v, w = motion.velocity(second, relative=first), motion.angular_velocity(second, relative=first)
        sines = [0.5 * (R[2][1] - R[1][2]), 0.5 * (R[0][2] - R[2][0]), 0.5 * (R[1][0] - R[0][1])]
        force = plus(matvec(n["stiffness"], p), matvec(n["coupling"], sines))
        turn = plus(matvec(transpose(n["coupling"]), p), matvec(n["turning_stiffness"], sines))
        trace = total([R[k][k] for k in range(3)])
        rates = [[0.5 * ((trace if i == j else 0.0) - R[i][j]) for j in range(3)] for i in range(3)]  # s' = rates w
        drag, brake = matvec(n["damping"], v), matvec(n["turning_damping"], w)
        torque = plus(matvec(transpose(rates), turn), brake)
        load.add_wrench_at(second, ORIGIN, negative(plus(force, drag)), negative(torque), axes=first, reaction=first)
        load.add_potential(0.5 * (dot(p, force) + dot(sines, turn)))
        load.dissipate(dot(v, drag) + dot(w, brake))
        return ()

    def faults(self, n: Mapping[str, Any]) -> dict[str, Any]:
        out: dict[str, Any] = {}
        for field in self.fields:
            values = n[field.name]
            diagonal = values[::4] if len(values) == 9 else values
            if field.name != "coupling":
                out[f"{field.name} below 0"] = sum(value < 0.0 for value in diagonal)
            out[f"{field.name} of {len(values)} numbers, not 3 or 9"] = len(values) not in (3, 9)
            if field.name in SYMMETRIC and len(values) == 9:
                out[f"{field.name} that is not symmetric"] = sum(
                    values[3 * i + j] != values[3 * j + i] for i, j in ((0, 1), (0, 2), (1, 2))
                )
        return out


def _matrix(values: Sequence[Scalar]) -> Mat:
    """3 x 3, of a diagonal or by rows."""
    if len(values) == 3:
        return [[values[i] if i == j else 0.0 for j in range(3)] for i in range(3)]
    return [list(values[3 * i : 3 * i + 3]) for i in range(3)]
