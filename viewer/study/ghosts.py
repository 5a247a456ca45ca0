"""Other members of a study, drawn translucent together with the selected one."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from shiftjax.viewer.members.ghost_choice import drawn
from shiftjax.viewer.members.study_like import ScenesLike
from shiftjax.viewer.scene.palette import ghost_opacity
from shiftjax.viewer.scene.ramp import ramp
from shiftjax.viewer.scene.scene import Ghosts


def ghosts_of(
    scenes: ScenesLike,
    members: np.ndarray,
    t: float,
    metric: np.ndarray | None = None,
    limits: tuple[float, float] | None = None,
    colours: Callable[[np.ndarray], np.ndarray] = lambda members: np.full((len(members), 3), np.nan),
) -> Ghosts | None:
    """The members at time t [s], each with its own lengths; of more than MOST_GHOSTS an evenly spaced selection.

    Args:
        members: (k,) ids, kept ones.
        metric: (members of the study,) values that colour them.
        limits: values at both ends of the colours; left out, those of the members drawn.
        colours: without a metric, (k,) members -> (k, 3) of each, NaN for those that are steel blue.
    """
    if not len(members):
        return None
    members = drawn(members, metric)
    shown = np.full((len(members), 4), [0.35, 0.45, 0.6, ghost_opacity(len(members))])
    if metric is not None:
        shown[:, :3] = ramp(metric[members], limits)
    else:
        tints = colours(members)
        shown[:, :3] = np.where(np.isnan(tints), shown[:, :3], tints)
    bodies = tuple(scenes.bodies(int(member)) for member in members)
    return Ghosts(scenes.study.poses_of(members, t), shown, bodies, members)
