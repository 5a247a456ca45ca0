"""Which points of a grid a frame reaches with every orientation in the plane. Host code.

The grid of both places and of the frame's angle is flooded; a point belongs to the dexterous part where all angles of
the grid are reached. Angles between them are not looked at: what they cut off more is, of a hand of length l and n
angles, narrower than l (pi / n)^2 / 2.
"""

from __future__ import annotations

import numpy as np

from shiftjax.errors import ModelError
from shiftjax.kinematics.workspaces.grid import Flood
from shiftjax.kinematics.workspaces.reaching import Reaching

FEWEST = 12  # angles, so that a step from one to the next is no leap


def dexterous_part(reaching: Reaching, axes: tuple[np.ndarray, ...], orientations: int, searched: int) -> np.ndarray:
    """(n, m) which points of the grid are reached with all orientations.

    Args:
        axes: of both places of a frame. orientations: how many, over a turn.

    Raises:
        ModelError: coordinates that are no places of a frame in a plane; too few freedoms, or angles.
    """
    if orientations < FEWEST:
        raise ModelError("orientations", str(orientations), f"0, or from {FEWEST} on", "Give more of them.")
    frames = {name.rpartition(".")[0] for name in reaching.names}
    if len(reaching.names) != 2 or len(frames) != 1 or set(reaching.units) != {"m"}:
        fault = " and ".join(reaching.names)
        raise ModelError("orientations", fault, "both places of a frame in a plane", "Name a frame, as 'arm:tip'.")
    if reaching.freedoms < 3:
        fault = f"a mechanism of {reaching.freedoms} freedoms"
        raise ModelError("orientations", fault, "at least 3: two places and an angle", "Leave orientations out.")
    turned = reaching.with_angle()
    angles = np.pi * (2.0 * np.arange(orientations) + 1.0 - orientations) / orientations  # none where it jumps
    flood = Flood(turned, (*axes, angles))
    poses = turned.poses(searched)
    flood.begin(poses[:, turned.within(poses)])
    return np.asarray(flood.reached.all(-1))
