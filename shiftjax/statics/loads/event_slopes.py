"""How the poses of events along curves of equilibria, and their loads, go with numbers of a design. Host code.

An event is the zero of an expression s along a curve: with a number p its load factor goes by mu' = -s_p / s_mu, both
along equilibria (`slopes.tangent`), and the pose by both together.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from shiftjax.statics.at_rest import AtRest
from shiftjax.statics.loads.branching import Branching
from shiftjax.statics.loads.design_rates import DesignRates
from shiftjax.statics.slopes import opened, tangent

TOUCHING = 1e-9  # of the size of s_p: an expression that changes less along the curve only touches zero

Slopes = dict[str, dict[str, float]]  # number -> of the load factor, of loads and coordinates


def event_slopes(every: Branching, rates: DesignRates, paths: Sequence[str]) -> list[list[Slopes]]:
    """Of the events of each curve, in their order; NaN where an expression only touches zero.

    Args:
        paths: full ones, of the numbers.
    """
    out: list[list[Slopes]] = [[{} for _ in course.passed] for course in every.courses]
    places = [(curve, k) for curve, course in enumerate(every.courses) for k in range(len(course.passed))]
    if not places or not paths:
        return out
    passed = [every.courses[curve].passed[k][2] for curve, k in places]
    members = np.array([every.member[curve] for curve, _ in places])
    q, states = (np.concatenate([getattr(one.pose, name) for one in passed], axis=1) for name in ("q", "states"))
    factor = np.concatenate([one.pose.factor for one in passed])
    which, ranks = np.array([one.which for one in passed]), every.search.ranks[members]
    for each in np.unique(ranks, axis=0):
        rows = np.flatnonzero((ranks == each).all(1))
        plan, prepared = every.search.prepared.plan, every.search.prepared
        loading = every.loading.of(members[rows])
        still = AtRest(plan, prepared.lane_of(members[rows], 1.0), tuple(map(int, each)))
        rest = loading.at(still, factor[rows])
        at, inner = q[:, rows], states[:, rows]
        linear = rest.linear(at, inner)

        def along(numbers: dict[int, np.ndarray], rest=rest, at=at, inner=inner, linear=linear, rows=rows):
            change = tangent(rest, at, inner, linear, numbers)
            moved = rest.coordinate_rates(at, change.motion.T * rest.units[:, None])
            moved = np.where(opened(rest, at, numbers), np.nan, moved)
            seen = every.watched.slopes(rest, at, inner, moved, change.states, numbers)
            return moved, seen[which[rows], np.arange(len(rows))]

        by_factor, seen_by_factor = along(loading.slopes)
        for path in paths:
            numbers = rates.by(path, members[rows], factor[rows])
            moved, seen = along(numbers)
            touching = np.abs(seen_by_factor) <= TOUCHING * np.abs(seen)
            shift = -seen / np.where(touching, np.nan, seen_by_factor)
            moved = moved + by_factor * shift
            for k, row in enumerate(rows):
                curve, number = places[row]
                loads = {rates.name_of(place): float(numbers.get(place, np.zeros(len(rows)))[k] + shift[k] * slope[k])
                         for place, slope in loading.slopes.items()}  # fmt: skip
                named = {name: x if np.ndim(x) else float(x) for name, x in plan.by_coordinate(moved[:, k]).items()}
                out[curve][number][path] = {"factor": float(shift[k]), **loads, **named}
    return out
