"""How channels and poses go with the load, or with numbers of a design, along curves of equilibria. Host code.

Along a curve the mechanism stays in equilibrium, so that coordinates and states of forces follow numbers as implicit
functions (`slopes`); how a channel goes with these is the tangent of its graph.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

import numpy as np

from shiftjax.errors import ModelError
from shiftjax.measures.channel import Channel
from shiftjax.statics.at_rest import AtRest
from shiftjax.statics.loads.branching import Branching
from shiftjax.statics.loads.design_rates import DesignRates
from shiftjax.statics.loads.rest_questions import RestQuestions, channel_question
from shiftjax.statics.slopes import opened, tangent

Numbers = Mapping[int, np.ndarray]  # place in the plan -> (K,) rates


class PathSlopes:
    """Slopes at all poses of all curves, but where one branches off and has none of its own.

    Args:
        observed: the channels.
    """

    def __init__(self, every: Branching, observed: Sequence[Channel]) -> None:
        self.every, self.observed = every, observed
        loading, self.prepared = every.loading, every.search.prepared
        factor = np.array([course.factor for course in every.courses])
        begins = np.array([first >= 0 for first in every.begins])
        self.shape = factor.shape
        self.curves, self.poses = np.nonzero(
            np.isfinite(factor) & ~(begins[:, None] & (np.arange(factor.shape[1]) == 0))
        )
        self.member = np.array(every.member, int)[self.curves]
        self.factor = factor[self.curves, self.poses]
        self.q, self.states = (
            np.array([getattr(every.courses[k], name)[n] for k, n in zip(self.curves, self.poses, strict=True)]).T
            for name in ("q", "states")
        )
        self.along = loading.of(self.member)

    def by_load(self, load: str) -> dict[str, np.ndarray]:
        """Channel path -> (C, n, ...) by the value of one of the loads, along which the others go; NaN where there is
        no pose.

        Args:
            load: path of its number.

        Raises:
            ModelError: a load that stays as it is.
        """
        place = next(k for k, number in enumerate(self.prepared.plan.numbers) if number.path == load)
        if place not in self.every.loading.places:
            fault, todo = "a first load that stays as it is", "Name one that goes first."
            raise ModelError("slopes", fault, "slopes by a load that goes", todo)
        if not len(self.curves):
            return self._channels({})
        with np.errstate(all="ignore"):  # members whose load stays have no slope
            rate = 1.0 / self.along.slopes[place]
        return self._slopes({number: x * rate for number, x in self.along.slopes.items()})[0]

    def by_number(self, rates: DesignRates, path: str) -> dict[str, np.ndarray]:
        """Channel or coordinate -> (C, n, ...) by a number of the design, loads as they are; NaN where there is no pose
        or the number opens loops.

        Args:
            path: the full one.
        """
        plan = self.prepared.plan
        if not len(self.curves):
            return self._channels({}) | plan.by_coordinate(np.full((*self.shape, plan.nq), np.nan))
        values, moved = self._slopes(rates.by(path, self.member, self.factor))
        q = np.full((*self.shape, plan.nq), np.nan)
        q[self.curves, self.poses] = moved.T
        return plan.by_coordinate(q) | values

    def _slopes(self, numbers: Numbers) -> tuple[dict[str, np.ndarray], np.ndarray]:
        """Of the channels (C, n, ...), and of coordinates (nq, K)."""
        questions = self._questions
        values = {one.path: np.full((len(self.curves), one.size), np.nan) for one in self.observed}
        moved = np.full(self.q.shape, np.nan)
        ranks = self.every.search.ranks[self.member]
        for each in np.unique(ranks, axis=0):
            rows = np.flatnonzero((ranks == each).all(1))
            there = AtRest(self.prepared.plan, self.prepared.lane_of(self.member[rows], 1.0), tuple(map(int, each)))
            rest, q, states = self.along.of(rows).at(there, self.factor[rows]), self.q[:, rows], self.states[:, rows]
            some = {number: x[rows] for number, x in numbers.items()}
            change = tangent(rest, q, states, rest.linear(q, states), some)
            rates = rest.coordinate_rates(q, change.motion.T * rest.units[:, None])
            rates = np.where(opened(rest, q, some), np.nan, rates)
            moved[:, rows] = rates
            for one in self.observed:
                values[one.path][rows] = questions.slopes(
                    channel_question(one), rest, q, states, rates, change.states, some
                )
        return self._channels(values), moved

    @property
    def _questions(self) -> RestQuestions:
        values = self.prepared.values[:, self.member].copy()
        for row, number in enumerate(self.prepared.places):
            if number in self.along.places:
                values[row] = self.along.values(self.factor)[self.along.places.index(number)]
        return RestQuestions(replace(self.prepared, values=values), self.q)

    def _channels(self, values: Mapping[str, np.ndarray]) -> dict[str, np.ndarray]:
        """Channel path -> (C, n, ...) of values (K, size)."""
        out = {}
        for one in self.observed:
            whole = np.full((*self.shape, one.size), np.nan)
            if one.path in values:
                whole[self.curves, self.poses] = values[one.path]
            out[one.path] = whole[:, :, 0] if one.scalar else whole
        return out
