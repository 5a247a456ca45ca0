"""Roots of closures, followed while the numbers of the mechanism change: all paths of a call at once. Host code.

Problem: X(t), F(X(t), p(t)) = 0 for t from 0 to 1, from given roots at t = 0. Predictor: Hermite's cubic through the
last two points and their tangents; corrector: Newton; steps by the size of the first correction (Sommese, Wampler, The
Numerical Solution of Systems of Polynomials, section 2.3). No step is taken whose first correction is larger than
`LEAP`, so that paths rarely change: two ends that meet are followed again with shorter steps (`start_roots`).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

import numpy as np

from shiftjax.run.assemblies.charts import numbers_of
from shiftjax.run.assemblies.skeleton import SHIFT, TURN, Posed, ScrewNumbers, Skeleton, moved, normal, rates
from shiftjax.watching import tell

REACHED, AT_INFINITY, STALLED = 0, 1, 2
LEAP = 0.1  # largest first correction of a step
AIMED = 1e-2  # first correction that steps aim at
CONVERGED = 1e-5  # second correction of a step that is accepted; the third would be of its square
SHORTEST = 1e-10  # step of t below which a path stalls
STEPS = 1500
FAR = 1e6  # shifts and cosines of a root at infinity
STALLED_FAR = 1e3  # of one whose path can be followed no farther: Jacobians are singular to rounding before 1e6
LATE = 0.9  # share of the way after which a root far away is taken to end at infinity
DIFFERENCE = 1e-7  # of t, for derivatives of residuals


class Homotopy(Protocol):
    """Equations F(X, t) = 0 of every path, n of them, whose roots are followed from t = 0 to 1.

    Paths are rows; `some` says which of them X (P, values) and t (P,) are of.
    """

    def linear(self, X: np.ndarray, t: np.ndarray, some: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Residuals (P, n) and Jacobian (P, n, n)."""
        ...

    def residuals(self, X: np.ndarray, t: np.ndarray, some: np.ndarray) -> np.ndarray:
        """Residuals (P, n)."""
        ...

    def moved(self, X: np.ndarray, change: np.ndarray) -> np.ndarray:
        """Values (P, values) after changes (P, n)."""
        ...

    def rates(self, X: np.ndarray, change: np.ndarray) -> np.ndarray:
        """(P, values) derivatives of values along changes (P, n)."""
        ...

    def normal(self, X: np.ndarray) -> np.ndarray:
        """Values that are predicted as they must be."""
        ...

    def size(self, X: np.ndarray, change: np.ndarray) -> np.ndarray:
        """(P,) of changes at X, 1 where Newton's method means nothing any more."""
        ...

    def far(self, X: np.ndarray, size: float) -> np.ndarray:
        """(P,) whether values of the equations are larger."""
        ...


@dataclass
class _Mechanisms:
    """Closures of a skeleton as equations of a way; `posed` says of which numbers."""

    skeleton: Skeleton

    def posed(self, X: np.ndarray, t: np.ndarray, some: np.ndarray) -> Posed:
        """The mechanisms at values X."""
        raise NotImplementedError

    def linear(self, X: np.ndarray, t: np.ndarray, some: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        return self.posed(X, t, some).linear()

    def residuals(self, X: np.ndarray, t: np.ndarray, some: np.ndarray) -> np.ndarray:
        return self.posed(X, t, some).residuals()

    def moved(self, X: np.ndarray, change: np.ndarray) -> np.ndarray:
        return moved(self.skeleton, X, change)

    def rates(self, X: np.ndarray, change: np.ndarray) -> np.ndarray:
        return rates(self.skeleton, X, change)

    def normal(self, X: np.ndarray) -> np.ndarray:
        return normal(self.skeleton, X)

    def size(self, X: np.ndarray, change: np.ndarray) -> np.ndarray:
        relative = change.copy()  # of shifts that are large
        for motion, at, column in zip(
            self.skeleton.motions, self.skeleton.first_value, self.skeleton.first_column, strict=False
        ):
            if motion == SHIFT:
                relative[:, column] /= np.maximum(np.abs(X[:, at]), 1.0)
        return largest(relative)

    def far(self, X: np.ndarray, size: float) -> np.ndarray:
        out = np.zeros(len(X), bool)
        for motion, at in zip(self.skeleton.motions, self.skeleton.first_value, strict=False):
            out |= np.abs(np.imag(X[:, at])) > np.log(2.0 * size) if motion == TURN else np.abs(X[:, at]) > size
        return out


@dataclass
class MechanismWay(_Mechanisms):
    """Numbers (P, K) of mechanisms from `start` to `end`, by a detour that leaves the real ones where both are real."""

    start: np.ndarray
    end: np.ndarray
    bend: np.ndarray | None = None

    def at(self, t: np.ndarray, some: np.ndarray) -> np.ndarray:
        """(len(some), K) at shares t of the way."""
        t = t[:, None]
        out = self.start[some] + t * (self.end[some] - self.start[some])
        return out if self.bend is None else out + t * (1.0 - t) * self.bend[some]

    def posed(self, X: np.ndarray, t: np.ndarray, some: np.ndarray) -> Posed:
        return Posed(self.skeleton, numbers_of(self.skeleton, self.at(t, some)), X)


@dataclass
class StandingMechanisms(_Mechanisms):
    """Mechanisms whose numbers stay."""

    numbers: ScrewNumbers

    def posed(self, X: np.ndarray, t: np.ndarray, some: np.ndarray) -> Posed:
        return Posed(self.skeleton, self.numbers.of(some), X)


def solved(J: np.ndarray, right: np.ndarray) -> np.ndarray:
    """(P, n) solutions of J x = right; infinite where J is singular to the last bit or no number."""
    bad = ~(np.isfinite(J).all((1, 2)) & np.isfinite(right).all(1))
    for _ in range(2):
        if bad.any():
            J, right = J.copy(), right.copy()
            J[bad], right[bad] = np.eye(J.shape[1]), 0.0
        try:
            out = np.linalg.solve(J, right[:, :, None])[:, :, 0]
            break
        except np.linalg.LinAlgError:  # which of them is singular it does not say
            bad |= np.linalg.slogdet(J)[0] == 0.0
    out[bad] = np.inf
    return out


def largest(x: np.ndarray) -> np.ndarray:
    """(P,) largest entry; infinite where one is no number."""
    return np.nan_to_num(np.abs(x).max(1, initial=0.0), nan=np.inf, posinf=np.inf)


def newton(
    way: Homotopy, X: np.ndarray, t: np.ndarray, some: np.ndarray, iterations: int
) -> tuple[np.ndarray, list[np.ndarray], np.ndarray]:
    """Newton's method at shares t (P,): values, sizes (P,) of all changes, the Jacobian before the last one.

    No change is made that is larger than what means something, so that nothing overflows.
    """
    sizes, J = [], np.zeros(0)
    for _ in range(iterations):
        phi, J = way.linear(X, t, some)
        change = solved(J, -phi)
        sizes.append(way.size(X, change))
        X = way.moved(X, np.where((sizes[-1] < 1.0)[:, None], change, 0.0))
    return X, sizes, J


class Paths:
    """All paths of one way, as they are followed."""

    def __init__(self, way: Homotopy, X: np.ndarray, aimed: float) -> None:
        P = len(X)
        self.way, self.aimed = way, aimed
        self.X, self.t, self.step = X.copy(), np.zeros(P), np.full(P, 0.02)
        self.status = np.full(P, -1)
        every = np.arange(P)
        _, J = way.linear(self.X, self.t, every)
        self.rate = self._tangent(self.X, self.t, every, J)
        self.before = self.X.copy(), self.t.copy(), self.rate.copy()

    def _tangent(self, X: np.ndarray, t: np.ndarray, some: np.ndarray, J: np.ndarray) -> np.ndarray:
        """(P, values) dX/dt at roots X, where the residuals are 0."""
        after = self.way.residuals(X, t + DIFFERENCE, some)
        return self.way.rates(X, solved(J, -after / DIFFERENCE))

    def _predicted(self, some: np.ndarray, t: np.ndarray) -> np.ndarray:
        X, now, rate = self.X[some], self.t[some][:, None], self.rate[some]
        X0, t0, rate0 = (x[some] for x in self.before)
        span = now - t0[:, None]
        first = span == 0.0
        h = np.where(first, 1.0, span)
        s = (t[:, None] - t0[:, None]) / h
        cubic = (
            (2 * s**3 - 3 * s**2 + 1) * X0
            + (s**3 - 2 * s**2 + s) * h * rate0
            + (3 * s**2 - 2 * s**3) * X
            + (s**3 - s**2) * h * rate
        )
        return self.way.normal(np.where(first, X + (t[:, None] - now) * rate, cubic))

    def follow(self) -> None:
        """To the end of the way, or to where a path cannot be followed."""
        for _ in range(STEPS):
            some = np.flatnonzero(self.status < 0)
            if not len(some):
                return
            tell(float(np.minimum(self.t, 1.0).mean()))
            self._advance(some)
        self.status[self.status < 0] = STALLED

    def _advance(self, some: np.ndarray) -> None:
        t = np.minimum(self.t[some] + self.step[some], 1.0)
        X, sizes, J = newton(self.way, self._predicted(some, t), t, some, 2)
        good = (sizes[0] < LEAP) & (sizes[1] < CONVERGED)
        with np.errstate(all="ignore"):
            factor = np.where(good, np.clip((self.aimed / sizes[0]) ** 0.25, 0.5, 2.0), 0.4)
        taken, there = some[good], X[good]
        if len(taken):
            self.before[0][taken], self.before[1][taken] = self.X[taken], self.t[taken]
            self.before[2][taken] = self.rate[taken]
            self.X[taken], self.t[taken] = there, t[good]
            self.rate[taken] = self._tangent(there, t[good], taken, J[good])
        self.step[some] *= factor
        self._end(some)

    def _end(self, some: np.ndarray) -> None:
        far = self.way.far(self.X[some], FAR)
        short = self.step[some] < SHORTEST
        far |= short & self.way.far(self.X[some], STALLED_FAR)
        far &= self.t[some] > LATE
        self.status[some] = np.where(far, AT_INFINITY, np.where(short, STALLED, -1))
        arrived = self.t[some] >= 1.0
        self.status[some[arrived]] = REACHED


def followed(way: Homotopy, X: np.ndarray, aimed: float = AIMED) -> tuple[np.ndarray, np.ndarray]:
    """Roots X (P, values) at the start of a way, at its end, and how each path ended (P,)."""
    paths = Paths(way, X, aimed)
    paths.follow()
    reached = np.flatnonzero(paths.status == REACHED)
    if len(reached):
        refined, sizes, _ = newton(way, paths.X[reached], np.ones(len(reached)), reached, 3)
        paths.X[reached] = refined
        paths.status[reached[sizes[-1] > 1e-6]] = STALLED
    return paths.X, paths.status
