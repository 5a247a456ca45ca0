"""How far the motion of what is shown reaches, which the camera must show, and how low, where the ground is.

Poses of stored runs are sampled: at instants few enough to be looked at all together.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from shiftjax.numerics.spacing import evenly_spaced
from shiftjax.record import record
from shiftjax.viewer.latest_values import LatestValues
from shiftjax.viewer.members.study_like import Design, StudyLike
from shiftjax.viewer.motion.framing import Extent, boxes_of, extent_at, extent_of, ground_of, joined
from shiftjax.viewer.scene.scene import Scene

SAMPLES = 240  # instants of a motion, fewer where there are many bodies:
POINTS = 400_000  # corners in all, 10 MB
LOWER = 0.05  # of the model's size: how far below a new lowest point of a running simulation the ground is put


def sampled(study: StudyLike, member: int, most: int = SAMPLES) -> np.ndarray:
    """(m, nodes, 7) poses of a member at stored instants, the first and last among them."""
    track = study.track(member)
    most = max(2, min(most, POINTS // (8 * track.shape[1])))
    return track[evenly_spaced(len(track), most)]


def extent_of_motion(study: StudyLike, scene: Scene, members: Sequence[int]) -> Extent:
    """The extent of the whole motion of some members, drawn with the parts of one of them."""
    each = max(2, SAMPLES // max(len(members), 1))
    return joined(extent_at(scene, sampled(study, int(member), each)) for member in members)


@record
class Shown:
    """What is in the picture: the current member with its scene, all members drawn, the design in the right half."""

    study: StudyLike
    scene: Scene
    member: int
    members: tuple[int, ...]
    right: Design | None


class StoredReach:
    """Of a stored study: of the whole motion."""

    def __init__(self) -> None:
        self._known = LatestValues()

    def motion(self, shown: Shown) -> Extent:
        """The extent of the motion of all members drawn."""
        extent = self._known.get(
            shown.member,
            f"motion of {shown.members}",
            lambda: extent_of_motion(shown.study, shown.scene, list(shown.members)),
        )
        right = shown.right
        if right is None or (right.study is shown.study and right.member == shown.member):
            return extent
        return joined([extent, extent_of_motion(right.study, right.scene, [right.member])])

    def ground(self, shown: Shown) -> float | None:
        """Height of the ground along up [m], see `framing.ground_of`; below what the right half reaches, too: both
        stand on one ground.
        """
        right = shown.right
        name = f"ground of {right and (right.study is shown.study, right.member)}"
        return self._known.get(shown.member, name, lambda: _lowest(shown))


def _lowest(shown: Shown) -> float | None:
    lowest = ground_of(shown.scene, sampled(shown.study, shown.member))
    right = shown.right
    if lowest is None or right is None:
        return lowest
    other = ground_of(right.scene, sampled(right.study, right.member))
    return lowest if other is None else min(lowest, other)


class LiveReach:
    """Of a running simulation: of its motion so far. It grows with a margin, so that the camera moves seldom."""

    def __init__(self, scene: Scene, poses: np.ndarray) -> None:
        """poses: (nodes, 7) of the last instant so far."""
        self._extent = extent_at(scene, poses)
        self._lowest = ground_of(scene, poses[None])
        self._boxes: tuple[Scene, np.ndarray] = scene, boxes_of(scene)

    def motion(self, shown: Shown) -> Extent:
        """The extent so far."""
        return self._extent

    def ground(self, shown: Shown) -> float | None:
        """Height of the ground along up [m]: that of the start until the motion reaches lower."""
        return self._lowest

    def grow(self, scene: Scene, poses: np.ndarray) -> bool:
        """Whether the poses (nodes, 7) of now reach farther than all before."""
        if self._boxes[0] is not scene:
            self._boxes = scene, boxes_of(scene)
        now = extent_of(self._boxes[1], poses, scene)
        if self._extent.holds(now):
            return False
        self._extent = self._extent.grown(now)
        lowest = ground_of(scene, poses[None])
        if lowest is not None and self._lowest is not None and lowest < self._lowest:
            self._lowest = lowest - LOWER * scene.size
        return True
