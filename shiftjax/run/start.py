"""Where the members of a run begin."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np


@dataclass
class Start:
    """Assembled starts of B members.

    Attributes:
        q: (nq, B) coordinates; v: (nv, B) speeds; states: (ns, B) of forces.
        closed: (B,) whether the loops are; gap: (B,) by which they are not [m or rad].
        worst: (B,) index of the constraint that stays open most.
        conflict: (B,) largest difference between a speed the user gave and the one the loops allow.
    """

    q: np.ndarray
    v: np.ndarray
    states: np.ndarray
    closed: np.ndarray
    gap: np.ndarray
    worst: np.ndarray
    conflict: np.ndarray
