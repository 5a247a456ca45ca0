"""Lane programs whose step size follows an error estimate: those of a run, and what is noted of each of their steps."""

from __future__ import annotations

from dataclasses import replace

from shiftjax.algebra import Scalar, Vec, larger, norm_squared, select, sqrt
from shiftjax.dynamics.kinematics import quaternion_places
from shiftjax.kernels.lane_program import LaneProgram
from shiftjax.run.programs.integrators import METHODS, order_of
from shiftjax.run.programs.lane_program import Programs
from shiftjax.run.programs.setup import ACCUMULATORS, REPORTS
from shiftjax.topology.partition import Partition

# Of the standard controller, h_new = h min(LARGEST, max(SMALLEST, SAFETY / error^(1/p))), p the method's order:
# Hairer, Norsett, Wanner, Solving Ordinary Differential Equations I, II.4, equation 4.13, with the numbers of DOPRI5.
SAFETY, SMALLEST, LARGEST = 0.9, 0.2, 10.0
TINY = 1e-20  # an error that would grow the step as far as it may


class ControlledPrograms(Programs):
    """The programs of a run, controlled.

    Args:
        plain: those with fixed steps. tolerance: of every coordinate and speed, see `error`.

    Attributes:
        noted: group of rows -> how many of its last are noted at the end of every step, in this order.
    """

    def __init__(self, plain: Programs, tolerance: float) -> None:
        super().__init__(plain.setup, (), plain.metrics)
        self.tolerance, layout = tolerance, self.layout
        measured = layout.na - len(ACCUMULATORS)
        self.noted = {"clock": 1, "q": layout.nq, "x": layout.nx, "dx": layout.nx, "acc": measured}
        self.width = sum(self.noted.values()) + 1  # and the kinetic energy
        self.layout = replace(layout, controlled=True, nc=self.width)
        self._controlled: dict[Partition, LaneProgram] = {}

    def of(self, partition: Partition) -> LaneProgram:
        """The lane program of one partition."""
        if partition not in self._controlled:
            builder = self.builder(partition)
            kinetic = builder.slots("rep")[REPORTS.index("kinetic")]
            seen = [k for name, count in self.noted.items() for k in builder.slots(name)[-count:] if count]
            estimates = [*builder.slots("eq"), *builder.slots("ex", builder.nx), *builder.slots("x", builder.nx)]
            note = builder.piece("note", lambda s: s, [*seen, kinetic], builder.slots("chan"))
            error = builder.piece("error", self.error, estimates, builder.slots("control"), self.tolerance)
            self._controlled[partition] = replace(super().of(partition), observe=(note,), error=(error,))
        return self._controlled[partition]

    def error(self, s: list[Scalar]) -> Vec:
        """The norm of the estimates as parts of what is allowed, and the factor of the step.

        The norm is the Euclidean one, not the mean square of the book: no coordinate of many may be worse than allowed.
        Allowed are, for a tolerance of T, T rad or parts of the model's length of a coordinate; of a speed T (1 + |v|)
        in rad/s or lengths a second; of a force's state T (1 + |s|) of its unit.
        """
        plan = self.setup.plan
        nq, nx = plan.nq, plan.nv + plan.ns
        eq, ex, x = s[:nq], s[nq : nq + nx], s[nq + nx :]
        units = [*self.setup.units, *[1.0] * plan.ns]
        parts = [e / (self.tolerance * unit) for e, unit in zip(eq, self._coordinates(), strict=True)]
        for e, value, unit in zip(ex, x, units, strict=True):
            parts.append(e / (self.tolerance * (unit + abs(value))))
        norm = sqrt(norm_squared(parts))
        factor = SAFETY * larger(norm, TINY) ** (-1.0 / order_of(METHODS[self.setup.method]))
        factor = larger(factor, SMALLEST)
        return [norm, select(factor < LARGEST, factor, LARGEST)]

    def _coordinates(self) -> list[float]:
        """(nq,) what a coordinate is measured by: half a radian of a quaternion, which turns by twice its change."""
        plan = self.setup.plan
        units, at = self.setup.units, 0
        quaternions, out = {first for first, _ in quaternion_places(plan)}, list[float]()
        while len(out) < plan.nq:
            turns = len(out) in quaternions
            out += [0.5] * 4 if turns else [units[at]]
            at += 3 if turns else 1
        return out
