"""Open chains of which coordinates alone are wanted: each is put where it is wanted, without iterations. Host code.

Without loops no coordinate depends on another one. Of its goals those of its most important level decide: with weights
w and values x the sum of (w (q - x))^2 is least at the mean of x by w^2, and within limits at the nearest place there.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from shiftjax.kinematics.positioning.goals import Goal, JointGoal, level_number
from shiftjax.kinematics.positioning.rows import coordinate_named
from shiftjax.kinematics.positioning.solving.damping import Positioned
from shiftjax.kinematics.positioning.solving.manifold import Goals
from shiftjax.mechanism.model import Model


class LoneJoints:
    """Mechanisms without loops, of which coordinates alone are wanted.

    Args:
        given: the goals, as the call and the model state them. q: (nq, B) where members begin.
    """

    def __init__(self, model: Model, goals: Goals, given: Sequence[JointGoal], q: np.ndarray) -> None:
        self.goals = goals
        self._wanted: dict[int, np.ndarray] = {}  # coordinate -> (B,)
        by_coordinate: dict[int, dict[float, list[tuple[float, Any]]]] = {}
        for k, goal in enumerate(given):
            place = coordinate_named(model, goals.plan, goal.coordinate, f"goals[{k}]").q
            value = q[place] if goal.value is None else goal.value
            levels = by_coordinate.setdefault(place, {})
            levels.setdefault(level_number(f"goals[{k}]", goal.level), []).append((goal.weight**2, value))
        for place, levels in by_coordinate.items():
            first = levels[min(levels)]
            whole = sum(weight for weight, _ in first)
            mean = first[0][1] if len(first) == 1 else sum(weight * np.asarray(x) for weight, x in first) / whole
            self._wanted[place] = np.broadcast_to(np.asarray(mean, float), q.shape[1:])

    @staticmethod
    def serves(goals: Goals, given: Sequence[Goal]) -> bool:
        """Whether these mechanisms and goals are such."""
        return (
            not goals.loops
            and not goals.opened
            and all(isinstance(goal, JointGoal) and goal.box is None for goal in given)
        )

    def descended(self, q: np.ndarray, members: np.ndarray) -> Positioned:
        """Where some members (B,), that begin at coordinates (nq, B), are put."""
        out = Positioned.at(q, len(self.goals.levels))
        for place, values in self._wanted.items():
            out.q[place] = values[members]
        limits = self.goals.limits
        out.q[limits.q] = np.clip(out.q[limits.q], limits.low[:, members], limits.high[:, members])
        for level in range(len(self.goals.levels)):
            out.value[level] = self.goals.local(level, out.q, members).value
        return out
