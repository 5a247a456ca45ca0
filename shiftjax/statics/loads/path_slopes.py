"""How channels go with the load along curves of equilibria: exact slopes at every pose. Host code.

Along a curve the mechanism stays in equilibrium, so that coordinates and states of forces follow the load as implicit
functions (`slopes`); how a channel goes with these is the tangent of its graph.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from shiftjax.errors import ModelError
from shiftjax.measures.channel import Channel
from shiftjax.statics.at_rest import AtRest
from shiftjax.statics.loads.branching import Branching
from shiftjax.statics.loads.rest_questions import RestQuestions, channel_question
from shiftjax.statics.slopes import tangent


def path_slopes(every: Branching, load: str, observed: Sequence[Channel]) -> dict[str, np.ndarray]:
    """Channel path -> (C, n, ...) by the value of one of the loads, along which the others go; NaN where there is no
    pose, and where a curve branches off and has no slope of its own.

    Args:
        load: path of its number.

    Raises:
        ModelError: a load that stays as it is.
    """
    loading, prepared = every.loading, every.search.prepared
    place = next(k for k, number in enumerate(prepared.plan.numbers) if number.path == load)
    if place not in loading.places:
        fault, todo = "a first load that stays as it is", "Name one that goes first."
        raise ModelError("slopes", fault, "slopes by a load that goes", todo)
    factor = np.array([course.factor for course in every.courses])
    begins = np.array([first >= 0 for first in every.begins])
    curves, poses = np.nonzero(np.isfinite(factor) & ~(begins[:, None] & (np.arange(factor.shape[1]) == 0)))
    out = {one.path: np.full((*factor.shape, *(() if one.scalar else (one.size,))), np.nan) for one in observed}
    if not len(curves):
        return out
    member, factor = np.array(every.member, int)[curves], factor[curves, poses]
    q, states = (np.array([getattr(every.courses[k], name)[n] for k, n in zip(curves, poses, strict=True)]).T
                 for name in ("q", "states"))  # fmt: skip
    along = loading.of(member)
    values = prepared.values[:, member].copy()
    for row, number in enumerate(prepared.places):
        if number in along.places:
            values[row] = along.values(factor)[along.places.index(number)]
    questions = RestQuestions(replace(prepared, values=values), q)
    with np.errstate(all="ignore"):  # members whose load stays have no slope
        rate = 1.0 / along.slopes[place]
    ranks = every.search.ranks[member]
    for each in np.unique(ranks, axis=0):
        rows = np.flatnonzero((ranks == each).all(1))
        there = AtRest(prepared.plan, prepared.lane_of(member[rows], 1.0), tuple(map(int, each)))
        rest = along.of(rows).at(there, factor[rows])
        numbers = {number: x[rows] * rate[rows] for number, x in along.slopes.items()}
        change = tangent(rest, q[:, rows], states[:, rows], rest.linear(q[:, rows], states[:, rows]), numbers)
        rates = rest.coordinate_rates(q[:, rows], change.motion.T * rest.units[:, None])
        for one in observed:
            slope = questions.slopes(
                channel_question(one), rest, q[:, rows], states[:, rows], rates, change.states, numbers
            )
            out[one.path][curves[rows], poses[rows]] = slope[:, 0] if one.scalar else slope
    return out
