"""Poses along the travel of a joint at which loops lose rank, beside the ends of it. Host code."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from shiftjax.kinematics.ranges.travel import travel
from shiftjax.kinematics.singularities import singularities
from shiftjax.mechanism.model import Model
from shiftjax.record import record

POSES = 181  # of a way: every two degrees of a crank
LEAST = 46  # of that of a large mechanism, every eight degrees
PLENTY = 20  # coordinates of one with as many poses as that; of more it has fewer, 0.7 s of 13 coordinates
MOST = 60  # coordinates of one that is looked at
WITHIN = 1e-7  # of a travel, from its ends, where its joint does not lead the others any more
SAME = 1e-6  # rad or m: two places are one
MEANING = {
    "crossing": "two ways to go on meet",
    "isolated": "no other way to go on comes through",
    "cusp": "two ways to go on touch",
    "degenerate": "more than two ways to go on meet, or they meet to a higher order",
}


@record
class SingularPlace:
    """A pose at which loops lose rank.

    Attributes:
        kind: as of `Singularity`, no "end". places: coordinate -> where it is then [rad or m].
    """

    kind: str
    places: Mapping[str, float]

    @property
    def text(self) -> str:
        """What it is, in words."""
        return f"{self.kind}: {MEANING[self.kind]}"


def singular_places(model: Model, coordinate: str) -> tuple[SingularPlace, ...]:
    """The poses at which loops of a mechanism of one freedom lose rank while a coordinate goes through its travel, or
    turns round once; none of one with more than `MOST` coordinates, which takes long.

    Raises:
        ModelError: other freedoms; what `travel` and `singularities` raise.
    """
    size = len(model.coordinate_units())
    if size > MOST:
        return ()
    way, poses = travel(model, coordinate, together=True), max(LEAST, POSES * PLENTY // max(size, PLENTY))
    low, high = float(way.low), float(way.high)
    if bool(way.unlimited) and way.unit == "rad":
        # from a place that no mechanism is drawn at: its own pose may be singular, and a zero at both ends is one
        places = float(way.begin) + 0.5 * 2.0 * np.pi / (poses - 1) + np.linspace(0.0, 2.0 * np.pi, poses)
    elif np.isfinite(high - low) and high > low:
        places = np.linspace(low + WITHIN * (high - low), high - WITHIN * (high - low), poses)
    else:
        return ()
    out = list[SingularPlace]()
    for one in singularities(model, {way.coordinate: places}):
        if one.kind != "end" and not any(_same(model, one.q, other.places) for other in out):
            out.append(SingularPlace(one.kind, one.q))
    return tuple(out)


def _same(model: Model, one: Mapping[str, float], other: Mapping[str, float]) -> bool:
    """Whether two poses are one but for whole turns."""
    units = model.coordinate_units()
    ways = {path: abs(x - other[path]) for path, x in one.items()}
    turns = {path: way % (2.0 * np.pi) if units.get(path) == "rad" else way for path, way in ways.items()}
    return all(min(way, 2.0 * np.pi - way) < SAME if units.get(path) == "rad" else way < SAME
               for path, way in turns.items())  # fmt: skip
