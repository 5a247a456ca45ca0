"""What questions about poses of members stand on, and the numbers that these have. Host code."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from shiftjax.access.common_partition import common_partition
from shiftjax.access.lane_state import Ground
from shiftjax.access.stated_state import StatedState
from shiftjax.kinematics.positioning.solving.lone_loops import LoneLoops
from shiftjax.run.closing.host_evaluation import StartLane


@dataclass(frozen=True)
class Footing:
    """What calls about the same mechanisms have in common, wherever these stand.

    Attributes:
        ground: of questions. lane: all members. lone: loops of one alone, where it is evaluated pose by pose.
    """

    ground: Ground
    lane: StartLane
    lone: LoneLoops | None

    @classmethod
    def of(cls, stated: StatedState) -> Footing:
        """That of mechanisms that begin somewhere."""
        members = stated.q.shape[1]
        lane = stated.prepared.lane_of(np.arange(members), 1.0)
        return cls(ground_of(stated)[0], lane, LoneLoops.of(lane) if members == 1 else None)


def ground_of(stated: StatedState) -> tuple[Ground, np.ndarray]:
    """What questions about poses of these mechanisms stand on, and (n, B) of its parts where members begin."""
    prepared, setup = stated.prepared, stated.prepared.setup
    partition = common_partition(prepared, stated.q, stated.status <= 0, (), ())
    numbers = tuple(None if k in setup.varied else x for k, x in enumerate(setup.numbers))
    ground = Ground(prepared.plan, partition, numbers, setup.varied, setup.matrices, setup.length, setup.functions)
    return ground, parts_of(stated)


def parts_of(stated: StatedState) -> np.ndarray:
    """(n, B) of the parts of a ground where members begin."""
    return np.concatenate([stated.q, np.zeros_like(stated.v), stated.states, stated.t[None], stated.numbers])


def number_of(stated: StatedState, place: int) -> Any:
    """A number of the plan, (B,) where it varies."""
    setup = stated.prepared.setup
    return stated.numbers[setup.varied.index(place)] if place in setup.varied else float(setup.numbers[place] or 0.0)
