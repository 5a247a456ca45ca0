"""Where the bodies of one mechanism stand at its coordinates, asked at pose after pose. Host code."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import numpy as np

from shiftjax.algebra import Scalar, Vec
from shiftjax.dynamics.lane import Lane
from shiftjax.editing.standing import Poses
from shiftjax.plan_elements import PlacedFrame
from shiftjax.run.closing.host_evaluation import AloneOn


class PlacedBodies:
    """All bodies of a plan, along its tree: without the records of a model, which took 0.2 s of 180 bodies.

    Args:
        lane: of one member. paths: of ground and the bodies that are asked for.
    """

    def __init__(self, lane: Lane, paths: Sequence[str]) -> None:
        nodes = {node.path: k for k, node in enumerate(lane.plan.nodes) if not node.virtual}
        self._paths = list(paths)

        def poses(valued: Lane, q: Vec) -> dict[int, Scalar]:
            motion, out = valued.motion(q, None), list[Scalar]()
            for path in self._paths:
                R, p = motion.pose(PlacedFrame(nodes[path], None))
                out += [*(x for row in R for x in row), *p]
            return dict(enumerate(out))

        self._of = AloneOn(lane, "poses of bodies", poses)

    def at(self, q: np.ndarray) -> Poses:
        """Rotations and origins in the world at coordinates (nq,)."""
        every = self._of(q).reshape(-1, 12)
        return {path: (one[:9].reshape(3, 3), one[9:]) for path, one in zip(self._paths, every, strict=True)}


def farthest(here: Poses, there: Poses, bodies: Iterable[str]) -> float:
    """By how much that of some bodies which moves most stands elsewhere, of a rotation matrix or [m]."""
    pairs = (zip(here[body], there[body], strict=True) for body in bodies if body in here)
    return max((float(np.abs(x - y).max()) for pair in pairs for x, y in pair), default=0.0)
