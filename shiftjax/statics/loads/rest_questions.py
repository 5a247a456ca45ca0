"""What channels are at poses of mechanisms at rest, how they go with what moves there, and where expressions vanish.

Host code over lane code: the graphs are those of `access`, for many poses of many members at once.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from shiftjax.access.answers import Nested, Question, answers_of
from shiftjax.access.common_partition import common_partition
from shiftjax.access.derivatives import along_direction
from shiftjax.access.lane_state import Ground, LaneState
from shiftjax.algebra import Vec
from shiftjax.errors import ModelError
from shiftjax.kinematics.stops import ends_of_ways
from shiftjax.measures.channel import Channel
from shiftjax.measures.channels import channels
from shiftjax.measures.events import ReadEvent
from shiftjax.measures.metric_texts import Reader
from shiftjax.mechanism.events import events_of
from shiftjax.run.start.prepared import Prepared
from shiftjax.statics.at_rest import AtRest, all_finite

SIDES = {-1: "lower", 1: "upper"}


class RestQuestions:
    """Answers at poses without speeds.

    Args:
        prepared: whose numbers may vary. q: (nq, B) poses of its members, of which the partition is one that serves.
    """

    def __init__(self, prepared: Prepared, q: np.ndarray) -> None:
        setup, plan = prepared.setup, prepared.plan
        good = all_finite(np.concatenate([q, prepared.values]).T[:, None])
        partition = common_partition(prepared, q, good, (), ())
        numbers = tuple(None if k in setup.varied else x for k, x in enumerate(setup.numbers))
        self.ground = Ground(plan, partition, numbers, setup.varied, setup.matrices, setup.length, setup.functions)
        self._answers = answers_of(self.ground)

    def values(self, question: Question, rest: AtRest, q: np.ndarray, states: np.ndarray) -> np.ndarray:
        """(K, ...) the answer where mechanisms stand at coordinates (nq, K), with states of forces (ns, K)."""
        K, plan = q.shape[1], self.ground.plan
        numbers = [np.broadcast_to(rest.lane.params.numbers[place], K) for place in self.ground.varied]
        calm, begin = np.zeros((plan.nv, K)), np.zeros((1, K))
        return self._answers.in_numpy(question, np.concatenate([q, calm, states, begin, np.reshape(numbers, (-1, K))]))

    def slopes(
        self, question: Question, rest: AtRest, q: np.ndarray, states: np.ndarray, rates: np.ndarray,
        state_rates: np.ndarray, numbers: Mapping[int, np.ndarray],
    ) -> np.ndarray:  # fmt: skip
        """(K, ...) how the answer changes along rates of coordinates (nq, K), states (ns, K), numbers place -> (K,)."""
        still = np.zeros(q.shape[1])
        changes = (*rates, *state_rates, *(numbers.get(place, still) for place in self.ground.varied))
        along = along_direction(question, ("q", "states", "numbers"))
        return self.values(Question(along.key, along.answer, changes), rest, q, states)


def channel_question(channel: Channel) -> Question:
    """A channel as it is asked of a state: (size,) numbers."""
    return Question(("numbers of a channel", channel.path), lambda at: list(channel.observe(at.observed)))


class WatchedExpressions:
    """Expressions whose zeros are noted along curves of equilibria: events, and ends of the ways of joints.

    Attributes:
        names: of all. events: those that a user gave, by name.

    Args:
        prepared: the model. q: (nq, B) as of `RestQuestions`. given: name -> expression, mapping or `Event`.

    Raises:
        ModelError: what is no event; one that sets numbers.
    """

    def __init__(self, prepared: Prepared, q: np.ndarray, given: Mapping[str, Any] | None) -> None:
        plan = prepared.plan
        self.events = events_of(given)
        for name, event in self.events.items():
            if event.action == "set":
                fault, todo = "an event that sets numbers", "Let it mark or stop, and begin another path there."
                raise ModelError(f"event {name}", fault, "events of equilibria, which mark or stop", todo)

        def by_path(paths: Sequence[str]) -> Sequence[Channel]:
            return channels(plan, paths, prepared.model.resolve)

        self.read = [Reader(f"event {name}", by_path, (0.0, 0.0)).read_event(name, event)
                     for name, event in self.events.items()]  # fmt: skip
        self.ends = ends_of_ways(prepared.model, plan)
        self.names = [*self.events, *(f"{one.coordinate.path}.{SIDES[one.end]}" for one in self.ends)]
        self.questions = RestQuestions(prepared, q) if self.names else None
        self.question = Question(
            ("watched", tuple(_code_of(one) for one in self.read), tuple((one.coordinate.q, one.end, one.number)
                                                                        for one in self.ends)),
            self._answer,
        )  # fmt: skip

    def _answer(self, at: LaneState) -> Nested:
        values: Vec = []
        for one in self.read:
            observed = {channel.path: channel.observe(at.observed) for _, channel in one.signal.channels}
            values += one.signal.value(observed, at.t)
        return values + [one.end * (at.q[one.coordinate.q] - at.lane.params.at(one.number)) for one in self.ends]

    def values(self, rest: AtRest, q: np.ndarray, states: np.ndarray) -> np.ndarray:
        """(E, K) of all expressions at coordinates (nq, K) with states (ns, K); positive beyond ends of ways."""
        if self.questions is None:
            return np.zeros((0, q.shape[1]))
        return self.questions.values(self.question, rest, q, states).T

    def slopes(
        self, rest: AtRest, q: np.ndarray, states: np.ndarray, rates: np.ndarray, state_rates: np.ndarray,
        numbers: Mapping[int, np.ndarray],
    ) -> np.ndarray:  # fmt: skip
        """(E, K) how they change along rates of coordinates (nq, K), states (ns, K), numbers place -> (K,)."""
        if self.questions is None:
            return np.zeros((0, q.shape[1]))
        return self.questions.slopes(self.question, rest, q, states, rates, state_rates, numbers).T

    def counts(self, which: int, direction: str) -> bool:
        """Whether a passage in a direction, "up" or "down", is one of an event, or of an end of a way: any is."""
        return which >= len(self.read) or self.read[which].event.direction in ("any", direction)

    def stops(self, which: int) -> bool:
        """Whether a curve ends there."""
        return which < len(self.read) and self.read[which].event.action == "stop"


def _code_of(event: ReadEvent) -> tuple[str, tuple[str, ...]]:
    return event.signal.text, tuple(channel.path for _, channel in event.signal.channels)
