"""Loops that cannot close, as the most important level of goals: least squares of their gaps. Host code.

Joints of the tree hold exactly, as coordinates do; the joints at which loops are cut open, by as little as can be
(Vona, Virtual Articulation and Kinematic Abstraction in Robotics, 2009, section 4.3).
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

import shiftjax.run.closing.host_evaluation as host
from shiftjax.kinematics.positioning.solving.levels import Answering, Local
from shiftjax.run.closing.host_evaluation import StartLane

LOOPS = "loops"  # the name of the level


class LoopRows:
    """All rows of loops and drivers as a level.

    Args:
        lane: of all members. file_lane: of plain numbers, with coordinates (nq,) of some pose.

    Attributes:
        sizes: (m,) what makes rows that are dimensionless m or rad.
    """

    curved, fixes = False, True

    def __init__(self, lane: StartLane, file_lane: StartLane, q: Sequence[float]) -> None:
        self.lane, self.plan = lane, lane.plan
        self._speeds, self.labels, sizes = np.asarray(lane.units), list[str](), list[float]()
        motion = file_lane.motion([float(x) for x in q], None)
        for s, block in enumerate(self.plan.substructures):
            units = iter(file_lane.rows(motion, s).unit)
            for group in (self.plan.constraints[k] for k in block.groups):
                some = [next(units) for _ in range(group.rows)]
                name = group.name.removesuffix(" loop")
                self.labels += [f"{name} opens, row {row} [{unit}]" for row, unit in enumerate(some)]
                sizes += [lane.length if unit == "m" else 1.0 for unit in some]
        self.sizes = np.array(sizes)

    def in_si(self, here: Local) -> np.ndarray:
        """(B, m) gaps [m or rad]."""
        return here.missed * self.sizes

    def at(self, answers: Answering, x: np.ndarray, members: np.ndarray) -> Local:
        """As of `GoalRows`."""
        lane, q, phi, J = self.lane.of(members), x[: self.plan.nq], list[np.ndarray](), list[np.ndarray]()
        for s, block in enumerate(self.plan.substructures):
            values, slopes = host.closure(lane, q, s)
            wide = np.zeros((len(members), slopes.shape[1], self.plan.nv))
            wide[:, :, list(block.columns)] = slopes
            phi.append(values)
            J.append(wide / self._speeds)
        missed = np.concatenate(phi, axis=1)
        return Local(np.linalg.norm(missed, axis=1), missed, np.concatenate(J, axis=1))
