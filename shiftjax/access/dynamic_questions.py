"""Matrices, forces and energies of a configuration, by `dynamic_terms`. Host code."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from functools import partial

from shiftjax.access import dynamic_terms as terms
from shiftjax.access.answers import Question
from shiftjax.access.asking import Asking, answered, texts_of
from shiftjax.access.lane_state import LaneState
from shiftjax.errors import ModelError, nearest, need_number
from shiftjax.measures.channels import channels
from shiftjax.mechanism.paths import listed


class DynamicQuestions(Asking):
    """Of each: shapes of one member; with members they are the first axis.

    Where `constrained` is False n are all speeds of the joints, loops cut, in the order of `speed_names`; where it is
    True the independent ones, loops closed, in the order of `independent_names`.
    """

    @answered
    def mass_matrix(self, *, constrained: bool = False) -> Question:
        """(n, n) M, the second derivatives of the kinetic energy with the speeds."""
        return Question(("mass_matrix", constrained), partial(terms.mass_matrix, constrained=constrained))

    @answered
    def inverse_mass_matrix(self, *, constrained: bool = False) -> Question:
        """(n, n) accelerations for a unit of each generalised force, loops closed: M^-1 where there are none.

        Of all speeds it is Z (Z^T M Z)^-1 Z^T.
        """
        return Question(("inverse_mass", constrained), partial(terms.inverse_mass_matrix, constrained=constrained))

    @answered
    def augmented_mass_matrix(self, step: float, *, constrained: bool = False) -> Question:
        """(n, n) M - h dtau/dv - h^2 dtau/dq, with which a linearly implicit Euler step of h [s] is solved."""
        need_number("step", step, "a number of seconds, at least 0", least=0.0)
        key, h = ("augmented", float(step), constrained), float(step)
        return Question(key, partial(terms.augmented_mass_matrix, step=h, constrained=constrained))

    @answered
    def coriolis_matrix(self, *, constrained: bool = False) -> Question:
        """(n, n) C, so that C v are the forces of the speeds and dM/dt - 2 C is skew.

        Of plain coordinates it is that of Christoffel's symbols (Echeandia, Wensing, 2021).
        """
        return Question(("coriolis_matrix", constrained), partial(terms.coriolis_matrix, constrained=constrained))

    @answered
    def coriolis_forces(self, *, constrained: bool = False) -> Question:
        """(n,) C v; with loops closed and driven ones among them what the drives' motion takes, too [N m, N]."""
        return Question(("coriolis_forces", constrained), partial(terms.coriolis_forces, constrained=constrained))

    @answered
    def gravity_forces(self, *, constrained: bool = False) -> Question:
        """(n,) g, the generalised forces that hold all against gravity [N m, N]."""
        return Question(("gravity", constrained), partial(terms.gravity_forces, constrained=constrained))

    @answered
    def applied_forces(self, of: str | Iterable[str] | None = None, *, constrained: bool = False) -> Question:
        """(n,) tau, generalised forces of springs, dampers, friction, motors, loads: all but gravity [N m, N].

        Args:
            of: paths of forces, or of joints with such on them; all where left out.
        """
        which = None if of is None else self._forces(of)
        return Question(
            ("applied", constrained, which), partial(terms.applied_forces, which=which, constrained=constrained)
        )

    def _forces(self, of: str | Iterable[str]) -> tuple[int, ...]:
        known = [force.path for force in self.plan.forces]
        paths = [self.model.resolve(path) for path in texts_of("of", of)]
        for path in paths:
            if path not in known:
                raise ModelError("of", repr(path), f"forces: {listed(known)}", nearest(path, known) or "Name one.")
        return tuple(k for k, path in enumerate(known) if path in paths)

    @answered
    def constraint_forces(self) -> Question:
        """(nv,) J^T lambda of all speeds: M a + C v + g - tau, which close loops and drive [N m, N]."""
        return Question(("constraint_forces",), terms.constraint_forces)

    @answered
    def multipliers(self) -> Question:
        """(m,) lambda of all rows (`row_names`) [N m, N]; of redundant ones those of least norm, as of reactions."""
        return Question(("multipliers",), terms.multipliers)

    @answered
    def constraint_jacobian(self) -> Question:
        """(m, nv) J of all rows of loops, drivers and constraints (`row_names`): J v = nu, J a = gamma."""
        return Question(("constraint_jacobian",), terms.constraint_jacobian)

    @answered
    def constraint_residuals(self) -> Question:
        """(m,) Phi of all rows [rad, m]: 0 where loops are closed."""
        return Question(("phi",), partial(terms.constraint_values, name="phi"))

    @answered
    def constraint_speeds(self) -> Question:
        """(m,) nu of J v = nu [per second]: 0 but for drivers."""
        return Question(("nu",), partial(terms.constraint_values, name="nu"))

    @answered
    def constraint_accelerations(self) -> Question:
        """(m,) gamma of J a = gamma [per second squared]."""
        return Question(("gamma",), partial(terms.constraint_values, name="gamma"))

    @answered
    def null_space(self) -> Question:
        """(nv, n) Z: all speeds for a unit of each independent one, loops closed; J Z = 0."""
        return Question(("null_space",), terms.null_space_matrix)

    @answered
    def accelerations(self) -> Question:
        """(nv,) accelerations of all joints: those that follow from the forces, or from what was given as `a`."""
        return Question(("accelerations",), lambda at: at.a)

    @answered
    def kinetic_energy(self) -> Question:
        """() [J]"""
        return Question(("kinetic",), terms.kinetic_energy)

    @answered
    def potential_energy(self) -> Question:
        """() of gravity and of all conservative forces [J]."""
        return Question(("potential",), terms.potential_energy)

    @answered
    def total_energy(self) -> Question:
        """() kinetic and potential energy [J]."""
        return Question(("total_energy",), terms.total_energy)

    @answered
    def lagrangian(self) -> Question:
        """() kinetic less potential energy [J]."""
        return Question(("lagrangian",), terms.lagrangian)

    @answered
    def generalized_momentum(self, *, constrained: bool = False) -> Question:
        """(n,) M v, the slopes of the kinetic energy with the speeds [kg m^2/s, kg m/s]."""
        return Question(("generalized", constrained), partial(terms.generalized_momentum, constrained=constrained))

    @answered
    def channel(self, path: str) -> Question:
        """() or (k,) any channel that a run can record, by its path: reactions, powers, states of forces and others."""
        (one,) = channels(self.plan, [path], self.model.resolve)

        def answer(at: LaneState) -> object:
            values = list(one.quantity.observe(at.observed, one.target))
            return values[0] if one.scalar else values

        observe: Callable[[LaneState], object] = answer
        return Question(("channel", one.path), observe)
