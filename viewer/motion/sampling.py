"""Poses of members at instants of their runs, few enough to be looked at all together, and how far they reach."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from shiftjax.viewer.members.study_like import StudyLike
from shiftjax.viewer.motion.framing import Extent, extent_at, joined
from shiftjax.viewer.scene.scene import Scene

SAMPLES = 240  # instants of a motion, fewer where there are many bodies:
POINTS = 400_000  # corners in all, 10 MB


def sampled(study: StudyLike, member: int, most: int = SAMPLES) -> np.ndarray:
    """(m, nodes, 7) poses of a member at stored instants, the first and last among them."""
    track = study.track(member)
    most = max(2, min(most, POINTS // (8 * track.shape[1])))
    return track[np.unique(np.linspace(0, len(track) - 1, most).round().astype(int))]


def extent_of_motion(study: StudyLike, scene: Scene, members: Sequence[int]) -> Extent:
    """The extent of the whole motion of some members, drawn with the parts of one of them."""
    each = max(2, SAMPLES // max(len(members), 1))
    return joined(extent_at(scene, sampled(study, int(member), each)) for member in members)
