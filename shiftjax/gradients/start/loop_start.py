"""The derivative of poses and speeds of one substructure where assembly has left its members. Host code.

Problem: with held joints h and the others f, J_f delta_f = -(Phi_p dp + J_h delta_h) by the implicit function theorem;
speeds as `start_speeds` finds them: told ones t stay, v_r = J_r^+ (nu - J_t v_t) for the rest, and where nothing
agrees with these, v + J^+ (nu - J v).
All is dimensionless, members first.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property

import numpy as np

from shiftjax.gradients.start.least_norm import LeastNorm, apply, inverse_and_rank, pseudo_inverse, transposed
from shiftjax.run.closing.holding import AGREES
from shiftjax.run.closing.host_evaluation import StartLane, closure, prescribed_speeds
from shiftjax.topology.partition import RANK

TINY = np.finfo(float).tiny


class LoopStart:
    """One substructure of B members that hold the same joints.

    Args:
        lane: of the members. q: (nq, B) closed coordinates; given: (nv, B) stated speeds. index: of the substructure.
        held_columns, stated_columns: local ones whose displacements, whose speeds stay as stated.

    Attributes:
        columns: speeds; unit: (n,) what makes them dimensionless. J: (B, m, n).
        idle: (B,) freedoms of the loops that no held joint takes away.
    """

    def __init__(
        self,
        lane: StartLane,
        q: np.ndarray,
        given: np.ndarray,
        index: int,
        held_columns: Sequence[int],
        stated_columns: Sequence[int],
    ) -> None:
        block = lane.plan.substructures[index]
        self.columns, self.unit = list(block.columns), np.asarray(lane.units)[list(block.columns)]
        self.J = closure(lane, q, index)[1]
        every = range(len(self.columns))
        self.held, self.free = list(held_columns), [k for k in every if k not in held_columns]
        self.stated, self._rest = list(stated_columns), [k for k in every if k not in stated_columns]
        self._inverse, ranks = inverse_and_rank(self.J[:, :, self.free], RANK)
        self.idle = len(self.free) - ranks
        moves = any(lane.plan.constraints[k].time_dependent for k in block.groups)
        nu = prescribed_speeds(lane, q, index) if moves else np.zeros(self.J.shape[:2])
        self._solve_speeds(nu, (given[self.columns] / self.unit[:, None]).T)

    def _solve_speeds(self, nu: np.ndarray, v: np.ndarray) -> None:
        J, stated, rest = self.J, self.stated, self._rest
        right, A, v = nu - apply(J[:, :, stated], v[:, stated]), J[:, :, rest], v.copy()
        inverse = self._inverse if rest == self.free else pseudo_inverse(A, RANK)
        v[:, rest] = apply(inverse, right)
        missing = nu - apply(J, v)
        self._off = np.abs(missing).max(1, initial=0.0) > AGREES * (1.0 + np.abs(v).max(1, initial=0.0))
        self._first = LeastNorm(A, inverse, right, self._off)
        self._second = LeastNorm(J, self._whole, missing, self._off) if self._off.any() else None
        self._v = v

    @cached_property
    def _whole(self) -> np.ndarray:
        """J^+ (B, n, m) of all joints."""
        return pseudo_inverse(self.J, RANK)

    # -- poses ---------------------------------------------------------------------------------------------------------

    def pose_tangent(self, phi: np.ndarray, moves: np.ndarray) -> np.ndarray:
        """(B, n) displacements from the changes of Phi (B, m) at standing joints and of held joints."""
        out = np.zeros((len(self.J), len(self.columns)))
        out[:, self.held] = moves
        out[:, self.free] = -apply(self._inverse, phi + apply(self.J[:, :, self.held], moves))
        return out

    def pose_adjoint(self, bar: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Cotangents of Phi (B, m) and of held joints from those of displacements (B, n)."""
        phi_bar = -transposed(self._inverse, bar[:, self.free])
        return phi_bar, bar[:, self.held] + transposed(self.J[:, :, self.held], phi_bar)

    def push(self, phi: np.ndarray, moves: np.ndarray) -> np.ndarray:
        """(B, m) by which the rows would open if only the held joints moved."""
        return phi + apply(self.J[:, :, self.held], moves)

    def unreachable(self, push: np.ndarray) -> np.ndarray:
        """(B,) part of a push that no displacement of joints that are not held takes back."""
        return _part(push - apply(self.J[:, :, self.free], apply(self._inverse, push)), push)

    def unclosable(self, push: np.ndarray) -> np.ndarray:
        """(B,) part of a push that no displacement of any joint takes back."""
        return _part(push - apply(self.J, apply(self._whole, push)), push)

    @cached_property
    def _spaces(self) -> tuple[np.ndarray, np.ndarray]:
        """(B, m, m) and (B, n, n): rows that no motion opens and motions that open none, from one decomposition; the
        other columns are 0."""
        u, s, vt = np.linalg.svd(np.ascontiguousarray(self.J), full_matrices=True)
        ranks = (s > RANK * s.max(1, initial=0.0, keepdims=True)).sum(1)[:, None]
        rows, motions = (np.arange(size)[None] >= ranks for size in self.J.shape[1:])
        return u * rows[:, None, :], vt.transpose(0, 2, 1) * motions[:, None, :]

    @property
    def redundant(self) -> np.ndarray:
        """(B,) whether a loop moves though it has rows too many: a change may take its mobility."""
        return np.logical_and(*((space != 0.0).any((1, 2)) for space in self._spaces))

    def locking(self, J: np.ndarray) -> np.ndarray:
        """(B,) part of a change of J (B, m, n) that closes motions with rows that no motion opened."""
        rows, motions = self._spaces
        closed = np.ascontiguousarray(rows.transpose(0, 2, 1) @ J @ motions)
        return _part(closed.reshape(len(J), -1), J.reshape(len(J), -1))

    def motion(self) -> np.ndarray:
        """(B, n) one in general position that opens no row."""
        motions = self._spaces[1]
        return apply(motions, np.broadcast_to(np.cos(1.0 + np.arange(motions.shape[2])), motions.shape[::2]))

    def idle_motion(self) -> np.ndarray:
        """(B, n) a motion in general position that the loops and the held joints leave, its largest part 1."""
        general = np.cos(1.0 + np.arange(len(self.free)))
        moved = general - apply(
            self._inverse @ self.J[:, :, self.free], np.broadcast_to(general, (len(self.J), len(general)))
        )
        out = np.zeros((len(self.J), len(self.columns)))
        out[:, self.free] = moved / np.maximum(np.abs(moved).max(1, keepdims=True), TINY)
        return out

    # -- speeds --------------------------------------------------------------------------------------------------------

    def speed_tangent(self, J: np.ndarray, nu: np.ndarray, stated: np.ndarray) -> np.ndarray:
        """(B, n) change of the speeds from those of J (B, m, n), nu (B, m) and stated speeds."""
        out = np.zeros((len(self.J), len(self.columns)))
        out[:, self.stated] = stated
        right = nu - apply(J[:, :, self.stated], self._v[:, self.stated]) - apply(self.J[:, :, self.stated], stated)
        out[:, self._rest] = self._first.tangent(right, J[:, :, self._rest])
        if self._second is not None:
            missing = nu - apply(J, self._v) - apply(self.J, out)
            out += np.where(self._off[:, None], self._second.tangent(missing, J), 0.0)
        return out

    def speed_adjoint(self, bar: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Cotangents of J (B, m, n), nu (B, m) and stated speeds from those of the speeds (B, n)."""
        J_bar, nu_bar = np.zeros_like(self.J), np.zeros(self.J.shape[:2])
        if self._second is not None:
            nu_bar, J_bar = self._second.adjoint(np.where(self._off[:, None], bar, 0.0))
            J_bar -= nu_bar[:, :, None] * self._v[:, None, :]
            bar = bar - transposed(self.J, nu_bar)
        right_bar, A_bar = self._first.adjoint(bar[:, self._rest])
        J_bar[:, :, self._rest] += A_bar
        J_bar[:, :, self.stated] -= right_bar[:, :, None] * self._v[:, None, self.stated]
        return J_bar, nu_bar + right_bar, bar[:, self.stated] - transposed(self.J[:, :, self.stated], right_bar)


def _part(left: np.ndarray, whole: np.ndarray) -> np.ndarray:
    return np.linalg.norm(left, axis=1) / np.maximum(np.linalg.norm(whole, axis=1), TINY)
