"""Other members of a study, drawn translucent together with the selected one."""

from __future__ import annotations

import numpy as np

from shiftjax.viewer.scene.colours import ghost_opacity
from shiftjax.viewer.scene.scene import Ghosts
from shiftjax.viewer.study.member_scenes import MemberScenes

MOST = 64  # ghosts at once; more cannot be told apart
RAMP = np.array(  # from low to high, near the colours of viridis (Smith, van der Walt 2015)
    [[0.27, 0.00, 0.33], [0.23, 0.32, 0.55], [0.13, 0.57, 0.55], [0.37, 0.79, 0.38], [0.99, 0.91, 0.14]]
)


def ends(values: np.ndarray) -> tuple[float, float]:
    """The smallest and the largest finite value, to which the ends of the ramp belong; zeros if there is none."""
    finite = np.asarray(values, float)[np.isfinite(values)]
    return (float(finite.min()), float(finite.max())) if len(finite) else (0.0, 0.0)


def ramp(values: np.ndarray) -> np.ndarray:
    """(k, 3) colours of finite values from their smallest to their largest; grey for the others."""
    values = np.asarray(values, float)
    finite = np.isfinite(values)
    low, high = ends(values)
    fraction = np.where(finite, (values - low) / (high - low) if high > low else 0.5, 0.5)
    knots = np.linspace(0.0, 1.0, len(RAMP))
    colours = np.stack([np.interp(fraction, knots, RAMP[:, c]) for c in range(3)], axis=1)
    colours[~finite] = 0.5
    return colours


def drawn(members: np.ndarray, metric: np.ndarray | None = None) -> np.ndarray:
    """(<= MOST,) the members that are drawn of (k,) ones: all, or an evenly spaced selection, by a metric if given."""
    if metric is not None:
        members = members[np.argsort(metric[members], kind="stable")]  # so that a selection spans the metric
    if len(members) > MOST:
        members = members[np.linspace(0, len(members) - 1, MOST).round().astype(int)]
    return members


def ghosts_of(scenes: MemberScenes, members: np.ndarray, t: float, metric: np.ndarray | None = None) -> Ghosts | None:
    """The members at time t [s], each with its own lengths; of more than MOST an evenly spaced selection.

    Args:
        members: (k,) ids, kept ones.
        metric: (members of the study,) values that colour them; left out, all are steel blue.
    """
    if not len(members):
        return None
    members = drawn(members, metric)
    shown = np.full((len(members), 4), [0.35, 0.45, 0.6, ghost_opacity(len(members))])
    if metric is not None:
        shown[:, :3] = ramp(metric[members])
    own = tuple(scenes.bodies(int(member)) for member in members)
    return Ghosts(scenes.study.poses_of(members, t), shown, own, members)
