"""Back over loops that were closed again where an event has set numbers of them. Host code.

Problem: independent coordinates and their speeds stay, the dependent ones follow from Phi(q, p) = 0 and J v = nu with
the new numbers, as `run.closing.walks.Renumbered` finds them: the map of an assembled start at which the independent
coordinates are held and stated (`gradients.start.loop_start`), taken where a run stands.
Left out, and refused before (`event_refusals`): loops that move with time, and coordinates of several numbers in loops,
of which a part may be independent.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from shiftjax.gradients.start.coordinates import changes_of_coordinates, displacements
from shiftjax.gradients.start.loop_start import LoopStart
from shiftjax.gradients.start.start_functions import StartFunctions
from shiftjax.run.closing.walks import Renumbered
from shiftjax.run.programs.setup import Setup
from shiftjax.topology.partition import Partition


class ClosedAgain:
    """Loops of members of one partition that were closed again.

    Args:
        members: their numbers before and after. q: (nq, B), v: (nv, B) before.

    Attributes:
        q, v: after.
    """

    def __init__(self, members: Renumbered, partition: Partition, q: np.ndarray, v: np.ndarray) -> None:
        self._members, self._before = members, q
        for s, block in enumerate(partition.blocks):
            q, v, _ = members.closed(q, v, s, block)
        self.q, self.v = q, v
        lane = members.lane_of(np.arange(q.shape[1]), 1.0)
        self._loops = list[LoopStart]()
        for s, block in enumerate(partition.blocks):
            place = {speed: k for k, speed in enumerate(members.setup.plan.substructures[s].columns)}
            still = [place[speed] for speed in block.independent]
            self._loops.append(LoopStart(lane, q, v, s, still, still))

    def adjoint(
        self, functions: StartFunctions, q_bar: np.ndarray, v_bar: np.ndarray
    ) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Cotangents of coordinates and speeds before, and of the numbers (np, B) after, from those of coordinates and
        speeds after.

        Args:
            functions: of `functions_of`.
        """
        plan, now = self._members.setup.plan, self._members.now
        at, q_bar, p_bar = np.concatenate([self.q, now]), q_bar.copy(), np.zeros_like(now)
        v_before = v_bar.copy()
        for loop, rows in zip(self._loops, functions.rows, strict=True):
            J_bar, nu_bar, speeds_bar = loop.speed_adjoint((v_bar[loop.columns] * loop.unit[:, None]).T)
            both = rows.adjoint(at, np.concatenate([J_bar.reshape(len(J_bar), -1), nu_bar], axis=1).T)
            q_bar, p_bar = q_bar + both[: plan.nq], p_bar + both[plan.nq :]
            v_before[loop.columns] = 0.0
            v_before[np.array(loop.columns)[loop.stated]] = speeds_bar.T / loop.unit[loop.stated, None]
        moved_bar = displacements(plan, self.q, q_bar, transposed=True)
        moves_before, tied = moved_bar.copy(), set[int]()
        for loop, phi in zip(self._loops, functions.phi, strict=True):
            phi_bar, moves_bar = loop.pose_adjoint((moved_bar[loop.columns] * loop.unit[:, None]).T)
            p_bar += phi.adjoint(at, phi_bar.T)
            moves_before[loop.columns] = 0.0
            moves_before[np.array(loop.columns)[loop.held]] = moves_bar.T / loop.unit[loop.held, None]
            tied |= {*loop.columns}
        q_before = changes_of_coordinates(plan, self._before, moves_before, transposed=True)
        apart = [row for one in plan.coordinates if one.v not in tied for row in range(one.q, one.q + one.nq)]
        q_before[apart] = q_bar[apart]
        return q_before, v_before, p_bar


def functions_of(setup: Setup) -> StartFunctions:
    """The closures and rows of loops as functions of coordinates and the numbers of lanes."""
    setup = replace(setup, precision="f64")
    text = "" if setup.foreign else f"{setup.identity()} where it stands"
    return StartFunctions(setup, setup.known_numbers, setup.varied, text)
