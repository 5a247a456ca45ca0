"""The closer: coordinates at which residuals vanish, by the least weighted change, of many members at once.

Problem: Phi(q) = 0 near a given q, where some columns stay still and heavy ones move less; what the residuals are, and
which change an iteration wants, is the caller's: loops, or also distances by their weights (`poses.nearest`).
Properties: a change in one iteration is at most `cap`, so that a pose does not leap over to another branch; a member
that is closed, or cannot be, moves no more and is computed no more, so that its result does not depend on the batch.
Reported are the residual, how far each member moved, and the Jacobian where it stands.

Host code. Damped Gauss-Newton on all rows (Nocedal, Wright, Numerical Optimization, section 10.3).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Protocol

import numpy as np

from shiftjax.record import record

STEP_ANGLE = np.deg2rad(10.0)
STEP_LENGTH = 0.05  # of the model's size
DAMPING = 1e-11  # of the mean diagonal of J^T J: turns the rank-deficient system into the one of least change
CLOSED = 1e-9  # residual of an assembled member, dimensionless
POLISHED = 1e-15  # residual below which nothing is gained
ROUNDED = 1e-11  # of loops: a residual that rounding keeps from vanishing is smaller
PATIENCE = 10  # iterations without a residual 1 % smaller than the best so far: it cannot be closed from here

# residuals (B, m), Jacobian (B, m, n), members (B,) -> change (B, n), all dimensionless
Step = Callable[[np.ndarray, np.ndarray, np.ndarray], np.ndarray]


class Residuals(Protocol):
    """What is to vanish, of some members."""

    def of(self, members: np.ndarray) -> Residuals:
        """Those of some of the members."""
        ...

    def at(self, q: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Residuals (B, m) and Jacobian (B, m, n) at coordinates (nq, B), dimensionless."""
        ...

    def moved(self, q: np.ndarray, change: np.ndarray) -> np.ndarray:
        """Coordinates (nq, B) after a dimensionless change (B, n)."""
        ...


@record
class Rule:
    """When a member stops.

    Attributes:
        closed: residual at which it does. iterations: at most. farthest: sum of its changes, from where it has left.
        rounded: residual below which it does where an iteration no longer halves it.
    """

    closed: float = POLISHED
    iterations: int = 80
    farthest: float = np.inf
    rounded: float = ROUNDED


@dataclass
class Closed:
    """Where members stand.

    Attributes:
        q: (nq, B); size: (B,) largest residual, infinite where it is no number; far: (B,) sum of the largest changes.
        J: (B, m, n) there; of members that still moved in the last iteration, before it.
    """

    q: np.ndarray
    size: np.ndarray
    far: np.ndarray
    J: np.ndarray


def closed(
    residuals: Residuals, q: np.ndarray, step: Step, cap: np.ndarray, rule: Rule, far: np.ndarray | None = None
) -> Closed:
    """Moves members until their residuals vanish; only those on their way are computed.

    Args:
        q: (nq, B) coordinates. step: the change that an iteration wants. cap: (n,) the largest that it may be.
        far: (B,) how far they have moved before.
    """
    count = q.shape[1]
    q, size, far = q.copy(), np.full(count, np.inf), np.zeros(count) if far is None else far.copy()
    best, since = size.copy(), np.zeros(count, int)
    running, J = np.arange(count), None
    for _ in range(rule.iterations):
        phi, J = residuals.at(q[:, running])
        if len(running) == count:
            last = np.zeros_like(J)
        now = np.abs(phi).max(1, initial=0.0)
        finite = np.isfinite(now)
        going = finite & (now > rule.closed) & ~((now < rule.rounded) & (now > 0.5 * size[running]))
        better = now < 0.99 * best[running]
        since[running] = np.where(better, 0, since[running] + 1)
        best[running] = np.where(better, now, best[running])
        going &= (since[running] < PATIENCE) & (far[running] <= rule.farthest)
        size[running] = np.where(finite, now, np.inf)
        last[running] = J
        if not going.any():
            break
        if not going.all():
            running, residuals, phi, J = running[going], residuals.of(going), phi[going], J[going]
        change = step(phi, J, running)
        with np.errstate(all="ignore"):  # changes of 1e308, of which a part of infinity is nothing
            most = np.abs(change)
            far[running] += most.max(1, initial=0.0)
            change /= np.maximum(most / cap, 1.0).max(1, initial=1.0)[:, None]
        q[:, running] = residuals.moved(q[:, running], change)
    return Closed(q, size, far, last)


def least_change(still: Sequence[int], weight: np.ndarray | None) -> Step:
    """The damped Gauss-Newton step of least weighted change.

    Args:
        still: columns that do not move. weight: (n,) of changes: a heavy one moves less.
    """

    @np.errstate(all="ignore")  # squares of entries of 1e160 overflow: such a member does not move
    def step(phi: np.ndarray, J: np.ndarray, _: np.ndarray) -> np.ndarray:
        if weight is not None:
            J = J / weight
        elif len(still):
            J = J.copy()
        J[:, :, list(still)] = 0.0
        Jt = J.transpose(0, 2, 1)
        normal = Jt @ J
        n = normal.shape[1]
        mean = np.maximum(np.trace(normal, axis1=1, axis2=2) / n, 1e-300)
        normal[:, np.arange(n), np.arange(n)] += DAMPING * mean[:, None]
        right = -(Jt @ phi[:, :, None])
        if not np.isfinite(normal.sum() + right.sum()):
            bad = ~(np.isfinite(normal).all((1, 2)) & np.isfinite(right).all((1, 2)))
            normal[bad], right[bad] = np.eye(n), 0.0
        change = np.linalg.solve(normal, right)[:, :, 0]
        return change if weight is None else change / weight

    return step
