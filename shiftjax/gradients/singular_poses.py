"""What derivatives leave out at singular poses: of which members. Host code.

A start on such a pose has accelerations that lie between those of poses beside it, and recorded instants next to one,
of steps that a tolerance chose, lie between both ends of a step. Derivatives take the equations at the pose itself.
"""

from __future__ import annotations

import numpy as np

from shiftjax.gradients.doubts import Cause
from shiftjax.run.beginning import Begun

AT_START = (
    "it starts on a singular pose, where no derivative follows the way to its accelerations: begin beside the pose"
)
AT_INSTANTS = (
    "instants were recorded next to a singular pose, where derivatives are uncertain: take fixed steps, or other "
    "instants"
)


def causes_at_poses(begun: Begun, asked: np.ndarray, recorded: int) -> tuple[Cause, ...]:
    """Why slopes of some members may be wrong.

    Args:
        asked: (B, M) outputs of members of which slopes are asked for. recorded: how many of them are of channels.
    """
    at_pose = begun.start.at_pose
    starts = np.zeros(len(asked), bool) if at_pose is None else at_pose >= 0
    every = ((starts & asked.any(1), AT_START), (begun.lanes.interpolated & asked[:, :recorded].any(1), AT_INSTANTS))
    return tuple(Cause(np.asarray(members), text) for members, text in every if members.any())
