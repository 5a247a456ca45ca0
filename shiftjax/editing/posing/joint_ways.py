"""How far coordinates go from a pose: to limits, stops and the ends of their travel. Host code."""

from __future__ import annotations

from contextlib import suppress

import numpy as np

from shiftjax.errors import ModelError
from shiftjax.kinematics.positioning.solving.manifold import Limits
from shiftjax.kinematics.ranges.travel import travel, travel_apart
from shiftjax.mechanism.model import Model
from shiftjax.record import record
from shiftjax.topology.plan import TreeCoordinate

STILL = 1e-9  # rad or m: ends that are no farther apart are one place


@record
class JointWay:
    """How far a coordinate goes.

    Attributes:
        low, high: [rad or m]. dead: coordinate -> its place at a dead point, of either end of the travel.
    """

    low: float
    high: float
    dead: tuple[dict[str, float], ...]


def joint_way(
    posed: Model | None, one: TreeCoordinate, at: float, limits: Limits, size: float, *, apart: bool = False
) -> JointWay:
    """How far a coordinate goes in a model.

    Args:
        posed: None where loops of its stage are open: then a travel has no beginning. at: where it is [rad or m].
        limits: of the model. size: of the model [m], to which side it goes without an end. apart: whether loops of
            later stages are open.
    """
    low, high = -np.inf, np.inf
    for q, (lowest,), (highest,) in zip(limits.q, limits.low, limits.high, strict=True):
        low, high = (float(lowest), float(highest)) if int(q) == one.q else (low, high)
    dead: list[dict[str, float]] = []
    with suppress(ModelError):  # other freedoms are left, by which it goes on
        if posed is not None:
            travels = travel_apart(posed, one.path) if apart else travel(posed, one.path)
            low, high = max(low, float(travels.low)), min(high, float(travels.high))
            ends = ((travels.low, travels.at_low), (travels.high, travels.at_high))
            moves = travels.high - travels.low > STILL  # or what drives it holds it where it is
            dead = [{name: float(x) for name, x in there.items()} for end, there in ends if moves and np.isfinite(end)]
    room = np.pi if one.unit == "rad" else size
    low, high = low if np.isfinite(low) else at - room, high if np.isfinite(high) else at + room
    return JointWay(low, high, tuple(dead))
