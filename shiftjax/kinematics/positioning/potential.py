"""The potential energy as a level: its slopes and curvature along motions of all joints. Host code.

On a manifold Phi = 0 curvature is that of the Lagrangian V + lambda^T Phi, lambda by which the loops bear the forces
(Nocedal, Wright, Numerical Optimization, section 12.5). Newton's step with all curvature made positive goes downhill
(section 3.4); as rows of a least-squares problem it is J = |W|^1/2 Q^T and e = |W|^-1/2 Q^T g for the curvature Q W
Q^T.
"""

from __future__ import annotations

import numpy as np

from shiftjax.access.answers import Question
from shiftjax.access.dynamic_terms import potential_energy
from shiftjax.access.lane_state import LaneState
from shiftjax.algebra import Scalar, Vec, basis_vector, is_zero, total
from shiftjax.kinematics.positioning.solving.levels import Answering, Local
from shiftjax.kinematics.positioning.solving.projection import restoring_change
from shiftjax.topology.plan import Plan


class EnergyRows:
    """The potential energy of gravity and of all conservative forces, in parts of a size [J].

    Args:
        size: [J]. stage: rows of loops, and speeds, of those that the level is of, where it is not of all.
    """

    curved, fixes = True, True

    def __init__(self, plan: Plan, size: float, stage: tuple[np.ndarray, np.ndarray] | None = None) -> None:
        self.plan, self.size, self._stage = plan, size, stage
        self.labels = ("potential energy [J]",)
        self.rows = sum(block.rows for block in plan.substructures)

    def _slopes(self, at: LaneState) -> list[Vec]:
        ways = [at.direction(q=at.coordinate_rates(basis_vector(k, self.plan.nv))) for k in range(self.plan.nv)]
        slopes = at.along(lambda x: [potential_energy(x)], ways)
        lines = [[line.get(k, 0.0) for k in range(self.plan.nv)] for rows in at.rows for line in rows.J]
        return [[potential_energy(at), *(x for (x,) in slopes)], *([0.0, *line] for line in lines)]

    def _curvature(self, at: LaneState) -> list[Vec]:
        ways = [at.direction(q=at.coordinate_rates(basis_vector(k, self.plan.nv))) for k in range(self.plan.nv)]

        def lagrangian(x: LaneState) -> Vec:
            gaps = [phi for rows in x.rows for phi in rows.phi]
            borne: list[Scalar] = [x.extra[k] * gap for k, gap in enumerate(gaps) if not is_zero(gap)]
            return [total([potential_energy(x), *borne])]

        def slopes(x: LaneState) -> Vec:
            every = [x.direction(q=x.coordinate_rates(basis_vector(k, self.plan.nv))) for k in range(self.plan.nv)]
            return [slope for (slope,) in x.along(lagrangian, every)]

        return at.along(slopes, ways)

    def at(self, answers: Answering, x: np.ndarray, members: np.ndarray) -> Local:
        """Energy, its slopes (B, nv) as what is missed, and its curvature (B, nv, nv) as slopes of these.

        Args:
            x: (n, B) of `Ground.parts`. members: (B,) of which it is.
        """
        whole = answers.in_numpy(Question("energy and its slopes", self._slopes), x)
        value, g, J = whole[:, 0, 0], whole[:, 0, 1:], whole[:, 1:, 1:]
        multipliers = np.zeros((len(members), 0))
        if self.rows:
            multipliers = self._multipliers(J, g)
        curvature = Question("curvature of energy", self._curvature, tuple(multipliers.T))
        H = answers.in_numpy(curvature, x)
        H = 0.5 * (H + H.transpose(0, 2, 1))
        return Local(value / self.size, g / self.size, H / self.size)

    def of_stage(self, rows: np.ndarray, speeds: np.ndarray) -> EnergyRows:
        """The level of some speeds, whose loops have some of all rows."""
        return EnergyRows(self.plan, self.size, (rows, speeds))

    def _multipliers(self, J: np.ndarray, g: np.ndarray) -> np.ndarray:
        """(B, rows) loads by which rows (B, rows, nv) of loops bear slopes (B, nv)."""
        if self._stage is None:
            return restoring_change(J.transpose(0, 2, 1), g)
        out, (rows, speeds) = np.zeros(J.shape[:2]), self._stage
        out[:, rows] = restoring_change(J[:, rows[:, None], speeds].transpose(0, 2, 1), g[:, speeds])
        return out

    def in_si(self, here: Local) -> np.ndarray:
        """(B, 1) the energy [J]."""
        return here.value[:, None] * self.size
