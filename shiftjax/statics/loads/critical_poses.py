"""Where on a curve of equilibria a mechanism snaps through, or where another curve branches off. Host code.

Between two poses the tangent's part along the load changes its sign at a limit point, the determinant of the bordered
stiffness at a simple branch point (Allgower, Georg, Numerical Continuation Methods, chapters 8 and 9). A limit point is
that zero itself. Next to a branch point the plane of corrections and the other curve are almost one, so that its place
is the zero of a polynomial through poses around it, as in `kinematics.singularities`.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy.optimize import brentq

from shiftjax.record import record
from shiftjax.statics.at_rest import AtRest, along
from shiftjax.statics.loads.load_curves import Loading, Poses, corrected, poses_at

AROUND = 8  # poses about a branch point through which polynomials go
NODES = np.cos(np.pi * (np.arange(AROUND) + 0.5) / AROUND)  # of Chebyshev
WEIGHTS = np.sin(np.pi * (np.arange(AROUND) + 0.5) / AROUND) * (-1.0) ** np.arange(AROUND)
WIDTH = 0.3, 0.02  # of the stride, and of arclength, whichever is less, to either side of a branch point
FLAT = 1e-3  # of a singular value at the poses about a branch point: what is less there vanishes
NEAR = 1e-4  # of the stride, to which a zero is known before polynomials tell it


@record
class Critical:
    """A pose at which a curve turns round in the load, or meets another one.

    Attributes:
        kind: "limit", "branch", or "multiple" where more than two curves meet. q: (nq,); states: (ns,); factor: of the
            load. length: from the beginning of the stride. way: (nv + 1,) the tangent of a limit point, of a branch
            point the direction of the other curve, across the first one, dimensionless speeds and then the factor.
    """

    kind: str
    q: np.ndarray
    states: np.ndarray
    factor: float
    length: float
    way: np.ndarray


class Stride:
    """One stride of one curve, whose poses are told by their distance along its tangent.

    Args:
        rest, loading, poses: of the one curve, where it begins. length: of the stride.
    """

    def __init__(self, rest: AtRest, loading: Loading, poses: Poses, length: float) -> None:
        self.rest, self.loading, self.begin, self.length = rest, loading, poses, length

    def at(self, distances: np.ndarray) -> Poses:
        """The poses at distances (K,)."""
        copies = np.zeros(len(distances), int)
        rest, loading, begin = self.rest.of(copies), self.loading.of(copies), self.begin.some(copies)
        return corrected(rest, loading, begin, begin.ways, distances, begin.ways)[0]

    def limit(self) -> Critical | None:
        """The pose at which the load factor stands still; None where it does not."""
        length = self._zero(lambda x: float(self.at(np.array([x])).ways[0, -1]), 1e-15)
        if length is None:
            return None
        pose = self.at(np.array([length]))
        return Critical("limit", pose.q[:, 0], pose.states[:, 0], float(pose.factor[0]), length, pose.ways[0])

    def branch(self) -> Critical | None:
        """The pose at which another curve meets; None where no rank drops there."""
        length = self._zero(lambda x: float(self.at(np.array([x])).bordered[0]), NEAR * self.length)
        if length is None:
            return None
        width = min(WIDTH[0] * self.length, WIDTH[1])
        poses = self.at(length + width * NODES)
        share: Any = brentq(lambda x: float(_between(poses.bordered, x)), NODES.min(), NODES.max(), xtol=1e-16)
        length += width * float(share)
        values = _between(np.concatenate([poses.q, poses.states, poses.factor[None]]), float(share))[:, None]
        q, states, factor = np.split(values, [len(poses.q), len(values) - 1])
        q = self.loading.at(self.rest, factor[0]).closed(q)[0]
        pose = poses_at(self.rest, self.loading, q, states, factor[0], self.begin.ways)
        way, others = self._other(pose, poses)
        if not others:
            return None
        kind = "branch" if others == 1 else "multiple"
        return Critical(kind, q[:, 0], states[:, 0], float(factor[0, 0]), length, way)

    def _other(self, pose: Poses, about: Poses) -> tuple[np.ndarray, int]:
        """The direction (nv + 1,) of the other curve, across this one, and how many other directions there are."""
        scale = float(np.sqrt(1.0 + (pose.shift * pose.shift).sum(1))[0])
        matrix = pose.matrix()[0]
        matrix[:, -1] /= scale
        _, sizes, right = np.linalg.svd(matrix)
        beside = np.linalg.svd(about.matrix(), compute_uv=False).mean(0)
        null = right[int((sizes > FLAT * beside).sum()) :]
        tangent = about.ways.mean(0, keepdims=True)  # at the pose itself it is any vector of the null space
        along_it = np.append(along(pose.linear.Z, tangent[:, :-1])[0], scale * tangent[0, -1])
        share = null @ along_it
        across = np.linalg.svd(share[None])[2][1:] @ null
        if not len(across):
            return pose.ways[0], 0
        change = across[:1].copy()
        change[:, -1] /= scale
        way = pose.whole(change)[0]
        return way / np.linalg.norm(way), len(across)

    def _zero(self, function: Any, within: float) -> float | None:
        """Where a function of the distance vanishes; None where its ends have one sign."""
        if function(0.0) * function(self.length) > 0.0:
            return None
        root: Any = brentq(function, 0.0, self.length, xtol=within)
        return float(root)


def _between(values: np.ndarray, x: float) -> np.ndarray:
    """(...) at x of polynomials through values (..., AROUND) at `NODES` (Berrut, Trefethen, SIAM Review 46, 2004)."""
    apart = x - NODES
    if (apart == 0.0).any():
        return values[..., int(np.argmin(np.abs(apart)))]
    shares = WEIGHTS / apart
    return (values * shares).sum(-1) / shares.sum()
