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
from typing import Protocol, runtime_checkable

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


@runtime_checkable
class Solved(Residuals, Protocol):
    """Residuals that come with the changes that an iteration wants."""

    def of(self, members: np.ndarray) -> Solved: ...

    def solves(self, still: Sequence[int]) -> bool:
        """Whether they do where some columns do not move."""
        ...

    def solved(
        self, q: np.ndarray, still: Sequence[int], *, jacobians: bool
    ) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Residuals (m, B), Jacobian (m, n, B) where it is wanted, and the changes (n, B) of `LeastChange` at
        coordinates (nq, B)."""
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

    def take(self, members: np.ndarray, on: _OnTheirWay, J: np.ndarray | None) -> None:
        """Takes members (K,) as they stand, with their Jacobians (m, n, K)."""
        self.q[:, members], self.size[members], self.far[members] = on.q, on.size, on.far
        if J is not None:
            self.J[members] = J.transpose(2, 0, 1)


def closed(
    residuals: Residuals, q: np.ndarray, step: Step, cap: np.ndarray, rule: Rule, far: np.ndarray | None = None, *,
    jacobians: bool = True,
) -> Closed:  # fmt: skip
    """Moves members until their residuals vanish; only those on their way are computed.

    Args:
        q: (nq, B) coordinates. step: the change that an iteration wants. cap: (n,) the largest that it may be.
        far: (B,) how far they have moved before. jacobians: whether those at the end are wanted; else they may be zero.
    """
    count = q.shape[1]
    out = Closed(q.copy(), np.full(count, np.inf), np.zeros(count) if far is None else far.copy(), np.empty(0))
    running = np.arange(count)
    on = _OnTheirWay(residuals, q, out.size.copy(), out.far.copy(), out.size.copy(), np.zeros(count, int))
    still = step.still if isinstance(step, LeastChange) and _solved(residuals, step) else None
    for _ in range(rule.iterations):
        phi, J, change = on.evaluated(still, jacobians=jacobians)
        if out.J.ndim == 1:
            out.J = np.zeros((count, *J.shape[:2]))  # C order: products add up in an order that depends on strides
        going = on.going(np.abs(phi).max(0, initial=0.0), rule)
        if not going.all():
            stops = ~going
            out.take(running[stops], on.some(stops), J[:, :, stops] if jacobians else None)
            running, on = running[going], on.some(going)
            if not len(running):
                break
            phi, J = (phi[:, going], J[:, :, going]) if change is None or jacobians else (phi, J)
            change = None if change is None else np.compress(going, change, axis=1)
        if change is None:
            change = step(np.ascontiguousarray(phi.T), np.ascontiguousarray(J.transpose(2, 0, 1)), running).T
        on.move(change, cap)
    else:
        out.take(running, on, J if jacobians else None)
    return out


@dataclass
class _OnTheirWay:
    """Members that are not closed yet; arrays have them last.

    Attributes:
        q: (nq, K). size, far: (K,) as of `Closed`. best, since: (K,) the smallest residual, and iterations since then.
    """

    residuals: Residuals
    q: np.ndarray
    size: np.ndarray
    far: np.ndarray
    best: np.ndarray
    since: np.ndarray

    def some(self, which: np.ndarray) -> _OnTheirWay:
        """Some of them, by a mask."""
        arrays = (self.size[which], self.far[which], self.best[which], self.since[which])
        return _OnTheirWay(self.residuals.of(which), np.compress(which, self.q, axis=1), *arrays)

    def evaluated(
        self, still: Sequence[int] | None, *, jacobians: bool
    ) -> tuple[np.ndarray, np.ndarray, np.ndarray | None]:
        """Residuals (m, K), Jacobian (m, n, K), where columns are `still` the changes (n, K) that come with them."""
        if still is not None and isinstance(self.residuals, Solved):
            return self.residuals.solved(self.q, still, jacobians=jacobians)
        phi, J = self.residuals.at(self.q)
        return phi.T, J.transpose(1, 2, 0), None

    def going(self, now: np.ndarray, rule: Rule) -> np.ndarray:
        """(K,) which members move on from where their largest residuals (K,) are `now`."""
        finite = np.isfinite(now)
        going = finite & (now > rule.closed) & ~((now < rule.rounded) & (now > 0.5 * self.size))
        better = now < 0.99 * self.best
        self.since = np.where(better, 0, self.since + 1)
        self.best = np.where(better, now, self.best)
        self.size = np.where(finite, now, np.inf)
        return going & (self.since < PATIENCE) & (self.far <= rule.farthest)

    def move(self, change: np.ndarray, cap: np.ndarray) -> None:
        """Moves members by the changes (n, K) that they want, or by as much as they may."""
        with np.errstate(all="ignore"):  # changes of 1e308, of which a part of infinity is nothing
            most = np.abs(change)
            self.far = self.far + most.max(0, initial=0.0)
            most /= cap[:, None]
            over = most.max(0, initial=1.0)
            if not (over == 1.0).all():
                change = change / over
        self.q = self.residuals.moved(self.q, change.T)


class LeastChange:
    """The damped Gauss-Newton step of least weighted change.

    Args:
        still: columns that do not move. weight: (n,) of changes: a heavy one moves less.
    """

    def __init__(self, still: Sequence[int], weight: np.ndarray | None) -> None:
        self.still, self.weight = still, weight

    @np.errstate(all="ignore")  # squares of entries of 1e160 overflow: such a member does not move
    def __call__(self, phi: np.ndarray, J: np.ndarray, _: np.ndarray) -> np.ndarray:
        """Changes (B, n) for residuals (B, m) and Jacobians (B, m, n)."""
        still, weight = self.still, self.weight
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


def _solved(residuals: Residuals, step: LeastChange) -> bool:
    """Whether residuals come with the changes of a step."""
    return step.weight is None and isinstance(residuals, Solved) and residuals.solves(step.still)


def least_change(still: Sequence[int], weight: np.ndarray | None) -> LeastChange:
    """The step of least weighted change; see `LeastChange`."""
    return LeastChange(still, weight)
