"""That there is one root near a pose, and how near: the theorem of Newton and Kantorovich. Host code.

Where h = beta K eta <= 1/2, of beta the norm of the inverse Jacobian, eta that of Newton's change and K a bound of
second derivatives nearby, a root is within (1 - sqrt(1 - 2 h)) / (beta K), and no other one within (1 + sqrt(1 - 2 h))
/ (beta K) (Kantorovich, Akilov, Functional Analysis, chapter XVIII; Ortega, Rheinboldt, section 12.6). For real poses.
K follows from lengths alone: a point at a distance r from axes moves with second derivatives of at most r (sum of
changes)^2. Residuals count with a bound of their rounding; all is floating-point arithmetic in f64, not intervals.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from shiftjax.run.assemblies.skeleton import DISTANCE, LOOP, SHIFT, Posed, ScrewNumbers, Skeleton

NEAR = 0.1  # radius in which K holds, dimensionless
ROUNDING = 2.0**-52


@dataclass
class Certificate:
    """(P,) Kantorovich's h, the distance within which the root is, and that within which it is the only one."""

    h: np.ndarray
    radius: np.ndarray
    alone: np.ndarray

    def of(self, poses: np.ndarray) -> Certificate:
        """That of some poses."""
        return Certificate(self.h[poses], self.radius[poses], self.alone[poses])

    @property
    def good(self) -> np.ndarray:
        return (self.h <= 0.5) & (self.radius <= NEAR)


def certified(skeleton: Skeleton, numbers: ScrewNumbers, X: np.ndarray) -> Certificate:
    """Of real values X (P, values); lengths dimensionless."""
    phi, J = Posed(skeleton, numbers, X.astype(complex)).linear()
    phi, J = np.real(phi), np.real(J)
    K, scale = _second_derivatives(skeleton, numbers, X)
    n = J.shape[2]
    with np.errstate(all="ignore"):
        U, sizes, V = np.linalg.svd(J)
        beta = 1.0 / sizes[:, -1]
        newton = np.einsum("pji,pj->pi", V, np.einsum("pji,pj->pi", U, phi) / sizes)
        rounding = 8.0 * n * ROUNDING * scale
        eta = np.linalg.norm(newton, axis=1) + beta * rounding
        h = np.nan_to_num(beta * K * eta, nan=np.inf)
        root = np.sqrt(np.maximum(1.0 - 2.0 * h, 0.0))
        return Certificate(h, 2.0 * eta / (1.0 + root), np.where(h <= 0.5, (1.0 + root) / (beta * K), 0.0))


def _second_derivatives(skeleton: Skeleton, numbers: ScrewNumbers, X: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """(P,) a bound of the norm of second derivatives, and of the size of residuals."""
    squares, scale = np.zeros(len(X)), np.ones(len(X))
    for k, tie in enumerate(skeleton.closures):
        ends = [numbers.end_p[:, k], np.zeros_like(numbers.other[:, k]) if tie.kind == LOOP else numbers.other[:, k]]
        reach = [_reach(skeleton, numbers, X, way, end) for way, end in zip(tie.branches, ends, strict=True)]
        columns = [sum(3 if skeleton.motions[j] == "ball" else 1 for j in way) for way in tie.branches]
        curve = sum(n * (r + 1.0) for n, r in zip(columns, reach, strict=True))
        size = sum(reach) + 1.0
        if tie.kind == DISTANCE:
            curve = size * curve + sum(np.sqrt(n) * (r + 1.0) for n, r in zip(columns, reach, strict=True)) ** 2
            size = size**2
        squares += curve**2 + (sum(columns) ** 2 if tie.kind == LOOP else 0.0)
        scale = np.maximum(scale, size)
    return np.sqrt(squares), scale


def _reach(
    skeleton: Skeleton, numbers: ScrewNumbers, X: np.ndarray, way: tuple[int, ...], end: np.ndarray
) -> np.ndarray:
    """(P,) the farthest that the end of a branch can be from its axes, shifts where they are."""
    total, last = np.zeros(len(X)), None
    for k in way:
        if skeleton.motions[k] == SHIFT:
            total = total + np.abs(X[:, skeleton.first_value[k]]) + NEAR
            continue
        center = np.real(numbers.center[:, k])
        total = total + (np.linalg.norm(center, axis=1) if last is None else np.linalg.norm(center - last, axis=1))
        last = center
    last = np.zeros_like(np.real(end)) if last is None else last
    return total + np.linalg.norm(np.real(end) - last, axis=1)
