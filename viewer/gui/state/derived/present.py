"""Values of joints and their mobility at the instant that is shown, worked out once an instant.

A value is that of the channel `JOINT.q` at this instant: SI units, whole turns of angles counted.
"""

from __future__ import annotations

import numpy as np

from shiftjax.numerics.spacing import nearest_places
from shiftjax.viewer.gui.state import values
from shiftjax.viewer.gui.state.state import WindowState
from shiftjax.viewer.motion.mechanism import Mechanism
from shiftjax.viewer.motion.tree_coordinates import is_angle
from shiftjax.viewer.motion.turns import Turns, nearest_turn


def joint_value(state: WindowState, path: str) -> np.ndarray:
    """The value of a joint now: (1,) [rad or m], or more for a joint of several coordinates."""
    plan = state.mechanism.plan
    joint = plan.joints[plan.joint_index(path)]
    return _coordinates(state)[joint.q : joint.q + joint.nq]


def turns(state: WindowState, path: str) -> bool:
    """Whether a value of a joint is an angle, whose whole turns are counted."""
    plan = state.mechanism.plan
    joint = plan.joints[plan.joint_index(path)]
    return any(is_angle(one) for one in plan.coordinates if joint.q <= one.q < joint.q + joint.nq)


def _coordinates(state: WindowState) -> np.ndarray:
    """(nq,) of all joints now, by the poses that are shown, in the turns that the run has come to."""

    def made() -> np.ndarray:
        q = values.coordinates_at(state.mechanism, state.body_poses())
        return nearest_turn(state.mechanism.plan, q, _recorded(state))

    return state.cached("coordinates", made)


def _recorded(state: WindowState) -> np.ndarray:
    """(nq,) at the nearest stored instant; of a run that goes on as it recorded them, where it did."""
    study, plan, time = state.study, state.mechanism.plan, state.clock.time
    moving = [joint for joint in plan.joints if joint.nq]
    if study.growing and all(f"{joint.path}.q" in study.channels for joint in moving):
        rows = [study.channel(f"{joint.path}.q", state.choice.member) for joint in moving]
        count = min(len(row) for row in rows)  # a running simulation may add instants meanwhile
        k = int(nearest_places(study.time[:count], time))
        return np.concatenate([np.atleast_1d(row[k]) for row in rows])
    return state.pane_data(Turns).near(study, state.choice.member, state.mechanism, time)


class LatestMobility:
    """Of the last pose for which it was asked, by the mechanism."""

    def __init__(self) -> None:
        self.mechanism: Mechanism | None = None
        self.values: dict[str, float] = {}


def mobility(state: WindowState) -> dict[str, float]:
    """Joint path -> its mobility now, see `values.mobility`; of the pose before while a hand moves something.

    It takes as long as all other panes together.
    """
    latest = state.pane_data(LatestMobility)
    if latest.mechanism is not state.mechanism or not state.panels.by_hand:
        latest.values = state.cached("mobility", lambda: values.mobility(state.mechanism, state.body_poses()))
        latest.mechanism = state.mechanism
    return latest.values
